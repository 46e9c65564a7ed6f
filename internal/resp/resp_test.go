package resp

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func read(text string) (any, error) { return NewReader(strings.NewReader(text), 16).Read() }

func TestReadsEveryKindOfReply(t *testing.T) {
	for text, want := range map[string]any{
		"+OK\r\n":                             "OK",
		"-ERR no\r\n":                         Error("ERR no"),
		":-7\r\n":                             int64(-7),
		"$3\r\na\r\n\r\n":                     "a\r\n",
		"$-1\r\n":                             nil,
		"*-1\r\n":                             nil,
		"_\r\n":                               nil,
		",1.5e+300\r\n":                       "1.5e+300",
		"(123456789012345678901234567890\r\n": "123456789012345678901234567890",
		"#t\r\n":                              true,
		"#f\r\n":                              false,
		"=7\r\ntxt:abc\r\n":                   "abc",
		"!5\r\nERR x\r\n":                     Error("ERR x"),
		"*2\r\n:1\r\n*1\r\n$0\r\n\r\n":        []any{int64(1), []any{""}},
		"~1\r\n:1\r\n":                        []any{int64(1)},
		"%1\r\n+a\r\n:1\r\n":                  []any{"a", int64(1)},
		">2\r\n+message\r\n+x\r\n":            Push{"message", "x"},
		"|1\r\n+ttl\r\n:3\r\n:9\r\n":          int64(9),
	} {
		got, err := read(text)
		require.NoError(t, err, "%q", text)
		require.Equal(t, want, got, "%q", text)
	}
}

func TestReadsLongStringsAndLines(t *testing.T) {
	long := strings.Repeat("x", 200_017)
	got, err := read(fmt.Sprintf("$%d\r\n%s\r\n", len(long), long))
	require.NoError(t, err)
	require.Equal(t, long, got)
	got, err = read("-ERR " + long[:1000] + "\r\n")
	require.NoError(t, err)
	require.Equal(t, Error("ERR "+long[:1000]), got)
}

func TestRefusesWhatIsNoReply(t *testing.T) {
	for _, text := range []string{
		"hello\r\n", "*x\r\n", "*-2\r\n", "*99999999999\r\n", "$-2\r\n", "$99999999999\r\n", "$1\r\nabc", ":x\r\n", "+a\n",
		strings.Repeat("*1\r\n", 100), "%99999999999\r\n", "\r\n", "$1\r\na\rX", "$1\r\naX\n",
	} {
		_, err := read(text)
		require.ErrorIs(t, err, ErrProtocol, "%q", text)
	}
	for _, text := range []string{"", "*1\r\n", "$5\r\nab", "+OK", "$536870912\r\nabc", "*67108864\r\n:1\r\n"} {
		_, err := read(text)
		require.Error(t, err, "%q", text)
		require.NotErrorIs(t, err, ErrProtocol, "%q", text)
	}
}

func TestReadLineGoesOnAfterADeadline(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	r := NewReader(near, 16)
	go func() { _, _ = io.WriteString(far, "+a line that is longer ") }()
	require.NoError(t, r.Wait())
	require.False(t, r.HasLine())
	require.NoError(t, near.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
	_, _, err := r.ReadLine(100)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, near.SetReadDeadline(time.Time{}))
	go func() { _, _ = io.WriteString(far, "than the buffer\r\n$1\r\nx\r\n"); far.Close() }()
	kind, text, err := r.ReadLine(100)
	require.NoError(t, err)
	require.Equal(t, "+a line that is longer than the buffer", string(kind)+text)
	reply, err := r.Read()
	require.NoError(t, err)
	require.Equal(t, "x", reply)
}

func TestReadLineHasALimit(t *testing.T) {
	_, _, err := NewReader(strings.NewReader("+"+strings.Repeat("x", 1000)+"\r\n"), 16).ReadLine(100)
	require.ErrorIs(t, err, ErrLineTooLong)
	require.ErrorIs(t, err, ErrProtocol)
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\n17\r\n"))
	f.Add([]byte("%1\r\n+a\r\n,1.5\r\n"))
	f.Add([]byte("|1\r\n+a\r\n:1\r\n>1\r\n_\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(bytes.NewReader(b), 16)
		for {
			if _, err := r.Read(); err != nil {
				return
			}
		}
	})
}

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

// Any input gives commands or an error, and a command written as clients write it comes out as it went in.
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
