package resp

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadsCommandsOfProgramsAndOfPeople(t *testing.T) {
	r := NewReader(strings.NewReader("*2\r\n$4\r\nLLEN\r\n$3\r\na\r\n\r\n"+"PING  inline\r\n"+"get k\n"+"\r\n"+"*0\r\n"+"*-1\r\n"+"*1\r\n$4\r\nPING\r\n"), 16)
	for _, want := range [][]string{{"LLEN", "a\r\n"}, {"PING", "inline"}, {"get", "k"}, {}, {}, {}, {"PING"}} {
		got, err := r.ReadCommand()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := r.ReadCommand()
	require.ErrorIs(t, err, io.EOF)
}

func TestRefusesWhatIsNoCommand(t *testing.T) {
	for _, text := range []string{
		"*x\r\n", "*9999999999\r\n", "*1\r\n:1\r\n", "*1\r\n$-1\r\n", "*1\r\n$99999999999\r\n", "*1\r\n$1\r\nabc", strings.Repeat("x", 2*maxLine),
	} {
		_, err := NewReader(strings.NewReader(text), 16).ReadCommand()
		require.ErrorIs(t, err, ErrProtocol, "%.40q", text)
	}
	for _, text := range []string{"", "PING", "*1\r\n", "*1\r\n$5\r\nab", "*1048576\r\n$1\r\na\r\n", "*1\r\n$536870912\r\nabc"} {
		_, err := NewReader(strings.NewReader(text), 16).ReadCommand()
		require.Error(t, err, "%q", text)
		require.NotErrorIs(t, err, ErrProtocol, "%q", text)
	}
}

func TestCommands(t *testing.T) {
	require.Equal(t, "*5\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n\x00\n\r\n$2\r\n12\r\n$2\r\n-3\r\n",
		string(AppendCommand[any](nil, "SET", "k", []byte{0, '\n'}, 12, int64(-3))))
}

func FuzzCommandIsReadBack(f *testing.F) {
	f.Add("SET", []byte("k"), int64(9))
	f.Fuzz(func(t *testing.T, a string, b []byte, n int64) {
		r := NewReader(bytes.NewReader(AppendCommand[any](nil, a, b, n)), 16)
		got, err := r.Read()
		require.NoError(t, err)
		require.Equal(t, []any{a, string(b), fmt.Sprint(n)}, got)
		_, err = r.Read()
		require.ErrorIs(t, err, io.EOF)
	})
}

// Any input gives commands or an error, and a command written as clients write it comes
// out as it went in.
func FuzzReadCommand(f *testing.F) {
	f.Add([]byte("*1\r\n$4\r\nPING\r\n"))
	f.Add([]byte("PING inline\r\n\r\n"))
	f.Add([]byte("*2\r\n$-1\r\n"))
	f.Add([]byte("*-1\r\n*9999999999\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := NewReader(bytes.NewReader(in), 16)
		for {
			args, err := r.ReadCommand()
			if err != nil {
				return
			}
			again, err := NewReader(bytes.NewReader(AppendCommand(nil, args...)), 16).ReadCommand()
			require.NoError(t, err)
			require.Equal(t, args, again)
		}
	})
}
