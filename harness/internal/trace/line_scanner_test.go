package trace

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

const scanned = "OK\r\n" + // line 1
	`1.000001 [0 a:1] "PING"` + "\r\n" +
	"\n# a remark\nnothing\n" + // 3 to 5
	`+2.000002 [0 lua] "zadd" "k" "1" "\x00\xffm"` + " \n" +
	`3.000003 [0 a:1] "PI` // 7

func TestScanner(t *testing.T) {
	for name, in := range map[string]io.Reader{
		"at once": strings.NewReader(scanned), "byte by byte": iotest.OneByteReader(strings.NewReader(scanned)),
	} {
		t.Run(name, func(t *testing.T) {
			s := NewLineScanner(in)
			var got []string
			for s.Scan() {
				l, err := s.Line()
				if err != nil {
					var syntax *SyntaxError
					require.ErrorAs(t, err, &syntax)
					got = append(got, "bad")
					continue
				}
				require.True(t, strings.HasPrefix(strings.TrimPrefix(scanned[l.Offset:], "+"), l.Raw))
				got = append(got, strings.Join(l.Args, " "))
			}
			require.NoError(t, s.Err())
			require.Equal(t, []string{"PING", "bad", "zadd k 1 \x00\xffm", "bad"}, got)
		})
	}
}

func TestScannerPassesOverALineThatIsTooLong(t *testing.T) {
	long := strings.Repeat("x", MaxScannedBytes+1)
	s := NewLineScanner(strings.NewReader(long + "\n1.000001 [0 a:1] \"PING\"\n"))
	require.True(t, s.Scan())
	_, err := s.Line()
	require.ErrorIs(t, err, ErrLineTooLong)
	require.True(t, s.Scan())
	l, err := s.Line()
	require.NoError(t, err)
	require.Equal(t, 2, l.Number)
	require.EqualValues(t, len(long)+1, l.Offset)
	require.False(t, s.Scan())
}

func TestScannerSaysThatTheReaderFailed(t *testing.T) {
	broken := errors.New("broken")
	s := NewLineScanner(io.MultiReader(strings.NewReader("1.000001 [0 a:1] \"PING\"\n"), iotest.ErrReader(broken)))
	require.True(t, s.Scan())
	require.False(t, s.Scan())
	require.ErrorIs(t, s.Err(), broken)
}

// What Read takes a LineScanner takes too, as the same.
func FuzzScanner(f *testing.F) {
	f.Add([]byte(scanned))
	f.Add([]byte("1.000001 [0 a:1] \"PING\"\n"))
	f.Fuzz(func(t *testing.T, log []byte) {
		var lines []Line
		bad := false
		s := NewLineScanner(bytes.NewReader(log))
		for s.Scan() {
			l, err := s.Line()
			if bad = bad || err != nil; err == nil {
				l.Args = append([]string(nil), l.Args...)
				lines = append(lines, l)
			}
		}
		require.NoError(t, s.Err())
		if rec, err := Read(bytes.NewReader(log), ""); err == nil {
			require.False(t, bad)
			require.Equal(t, rec.Lines, lines)
		}
	})
}
