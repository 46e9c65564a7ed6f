package redis

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/resp"
)

func init() { probeTimeout = time.Second } // a silent server is found out sooner

// Serving has each connection to addr served, and closed after that, until the test ends.
func Serving(t *testing.T, serve func(net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	return l.Addr().String()
}

// endless is a server that greets, and then sends what follows again and again.
func endless(t *testing.T, begin, again string) (addr string) {
	t.Helper()
	return Serving(t, func(c net.Conn) {
		in := resp.NewReader(c, 0)
		for command, err := in.ReadCommand(); err == nil; command, err = in.ReadCommand() {
			if !strings.EqualFold(command[0], "get") {
				fmt.Fprint(c, "-ERR unknown command\r\n")
				continue
			}
			fmt.Fprint(c, begin)
			for err == nil && again != "" {
				_, err = io.WriteString(c, again)
			}
		}
	})
}

// A client of a server that sends a reply without end, or that announces one, ends soon and takes little memory.
func TestAReplyWithoutEnd(t *testing.T) {
	for name, sent := range map[string][2]string{
		"a line":           {"+", strings.Repeat("x", 1<<16)},
		"a string":         {"$9000000000\r\n", strings.Repeat("x", 1<<16)},
		"a list":           {"*2000000000\r\n", strings.Repeat(":1\r\n", 1<<14)},
		"a list of lists":  {"", strings.Repeat("*1\r\n", 1<<14)},
		"no reply of RESP": {"*x\r\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Connect("redis://" + endless(t, sent[0], sent[1]))
			require.NoError(t, err)
			defer c.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			require.Error(t, c.Do(ctx, "GET", "k").Err())
			require.NoError(t, ctx.Err())
			runtime.ReadMemStats(&after)
			require.Less(t, after.Sys-before.Sys, uint64(8*maxReply))
		})
	}
}

type reading struct {
	net.Conn
	io.Reader
	closed bool
}

func (r *reading) Read(p []byte) (int, error) { return r.Reader.Read(p) }
func (r *reading) Close() error               { r.closed = true; return nil }

func TestRepliesWithinTheBoundPass(t *testing.T) {
	const most = 200
	small := "+OK\r\n$5\r\nab\r\nc\r\n*3\r\n:1\r\n$-1\r\n*0\r\n%1\r\n+a\r\n*2\r\n#t\r\n_\r\n|1\r\n+k\r\n+v\r\n,1.5\r\n>2\r\n+m\r\n$0\r\n\r\n*-1\r\n"
	text := strings.Repeat(small, 50) // far more than the bound, each reply within
	for name, wrap := range map[string]func(io.Reader) io.Reader{"at once": func(r io.Reader) io.Reader { return r }, "by bytes": iotest.OneByteReader} {
		got, err := io.ReadAll(newBounded(&reading{Reader: wrap(strings.NewReader(text))}, most))
		require.NoError(t, err, name)
		require.Equal(t, text, string(got))
	}
	for _, large := range []string{
		small + "+" + strings.Repeat("x", most) + "\r\n", small + "$200\r\n", "*13\r\n", "%7\r\n", "*3\r\n" + strings.Repeat("$60\r\n"+strings.Repeat("x", 62), 3),
		"*1\r\n*1\r\n*12\r\n", strings.Repeat("*1\r\n", maxDepth+1), "$x\r\n", "\n",
	} {
		c := &reading{Reader: strings.NewReader(large)}
		_, err := io.ReadAll(newBounded(c, most))
		require.ErrorIs(t, err, errReply, large)
		require.True(t, c.closed)
	}
}

func FuzzBounded(f *testing.F) {
	f.Add("*2\r\n$1\r\na\r\n:1\r\n", uint8(3))
	f.Add("|1\r\n+k\r\n+v\r\n%1\r\n+a\r\n*0\r\n", uint8(1))
	f.Fuzz(func(t *testing.T, text string, at uint8) {
		whole := newBounded(nil, 1000)
		first := whole.pass([]byte(text))
		parts, cut := newBounded(nil, 1000), min(int(at), len(text))
		second := parts.pass([]byte(text[:cut]))
		if second == nil {
			second = parts.pass([]byte(text[cut:]))
		}
		require.Equal(t, first == nil, second == nil, "how bytes come makes no difference")
		if first == nil {
			require.LessOrEqual(t, len(whole.open), len(text))
			require.GreaterOrEqual(t, whole.left, int64(0))
		}
	})
}
