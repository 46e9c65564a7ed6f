package proxy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCommandLog(t *testing.T) {
	t.Parallel()
	stream := "*2\r\n$4\r\nLLEN\r\n$1\r\nq\r\nPING\r\n*1\r\n$400\r\n" + strings.Repeat("x", 400) + "\r\n\r\n*0\r\n"
	for _, step := range []int{1, 7, len(stream)} {
		var l commandLog
		for at := 0; at < len(stream); at += step {
			l.write([]byte(stream[at:min(at+step, len(stream))]))
		}
		require.False(t, l.broken)
		require.Equal(t, [][]string{{"LLEN", "q"}, {"PING"}, {strings.Repeat("x", argKept)}}, l.commands)
		require.True(t, l.sent([]string{"llen", "Q"}))
		require.False(t, l.sent([]string{"LLEN", "q", "x"}))
	}
}

func TestCommandLogForgetsTheOldest(t *testing.T) {
	t.Parallel()
	var l commandLog
	l.write([]byte("FIRST x\r\n" + strings.Repeat("PING\r\n", 2*logKept)))
	require.LessOrEqual(t, len(l.commands), logKept)
	require.True(t, l.sent([]string{"FIRST"}), "a name is kept")
	require.False(t, l.sent([]string{"FIRST", "x"}))
}

func FuzzParseCommand(f *testing.F) {
	for _, seed := range []string{"PING\r\n", "*1\r\n$4\r\nPING\r\n", "*1\r\n$-1\r\n", "*-1\r\n", "$3\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, n, ok := parseCommand(data)
		if n < 0 || n > len(data) || !ok && n != 0 {
			t.Fatalf("took %d of %d bytes, ok %t", n, len(data), ok)
		}
	})
}
