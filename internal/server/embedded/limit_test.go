package embedded

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// send sends commands as they go over the wire, and returns what comes back, for 20 s.
func send(t *testing.T, e *Server, commands string) *bufio.Reader {
	t.Helper()
	conn, err := net.Dial("tcp", e.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	_, err = conn.Write([]byte(commands))
	require.NoError(t, err)
	return bufio.NewReader(conn)
}

// A text that no memory holds is refused: Go would end the process.
func TestATextWithoutMeasureIsRefused(t *testing.T) {
	t.Parallel()
	e, err := Start(t.Context())
	require.NoError(t, err)
	defer e.Close()
	in := send(t, e, "*3\r\n$4\r\neval\r\n$43\r\nreturn string.rep(string.rep('ab',1e6),1e6)\r\n$1\r\n0\r\n")
	reply, err := in.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, reply, "not enough memory")
}

// What would take the process all of its memory, or of its stack, is refused, and the server goes on.
func TestWhatHasNoMeasureIsRefused(t *testing.T) {
	t.Parallel()
	e, err := Start(t.Context())
	require.NoError(t, err)
	defer e.Close()
	for script, refusal := range map[string]string{
		"local function f() return coroutine.wrap(f)() end return f()":                                 "too many coroutines",
		"local t = {} for i = 1, 10000 do t = {t} end return cjson.encode(t)":                          "excessive nesting (1001)",
		"local t = {} t[1] = t return cjson.encode(t)":                                                 "excessive nesting (1001)",
		"return " + strings.Repeat("{", 300_000) + strings.Repeat("}", 300_000):                        "the embedded server takes 524288 at most",
		"error((select(2, loadstring(string.rep('(', 1e6)))))":                                         "the embedded server takes 524288 at most",
		"error((select(2, load(function() return '((((((((((((((((((((((((((((((((((((((((((' end))))": "the embedded server takes 524288 at most",
	} {
		in := send(t, e, fmt.Sprintf("*3\r\n$4\r\neval\r\n$%d\r\n%s\r\n$1\r\n0\r\n*1\r\n$4\r\nping\r\n", len(script), script))
		reply, err := in.ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, reply, refusal)
		reply, err = in.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "+PONG\r\n", reply)
	}
}

// A script that does not end holds up neither the others for ever nor Close.
func TestAnEndlessScriptIsEnded(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	e, err := serve(l, Hooks{}, 50*time.Millisecond)
	require.NoError(t, err)
	in := send(t, e, "*3\r\n$4\r\neval\r\n$17\r\nwhile true do end\r\n$1\r\n0\r\n*3\r\n$4\r\neval\r\n$8\r\nreturn 7\r\n$1\r\n0\r\n")
	reply, err := in.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, reply, "-ERR the script ran for more than 50ms, where the embedded server ends it")
	reply, err = in.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, ":7\r\n", reply)
	require.NoError(t, e.Close())
}
