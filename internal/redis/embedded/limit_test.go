package embedded

import (
	"bufio"
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// send sends commands as they go over the wire, and returns what comes back, for a minute.
func send(t *testing.T, e *Server, commands string) *bufio.Reader {
	t.Helper()
	conn, err := net.Dial("tcp", e.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = conn.Write([]byte(commands))
	require.NoError(t, err)
	return bufio.NewReader(conn)
}

// An endless script ends with an error, and the server goes on.
func TestAnEndlessScriptIsEnded(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	e, err := Serve(l, Hooks{}, 50*time.Millisecond)
	require.NoError(t, err)
	in := send(t, e, "*3\r\n$4\r\neval\r\n$17\r\nwhile true do end\r\n$1\r\n0\r\n*3\r\n$4\r\neval\r\n$8\r\nreturn 7\r\n$1\r\n0\r\n")
	reply, err := in.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, reply, "-ERR the embedded server ended the script after 50ms")
	reply, err = in.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, ":7\r\n", reply)
	require.NoError(t, e.Close())
}

// A script that would end the process is ended, and the server goes on.
func TestScriptsHaveBoundedMemory(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	e, err := Serve(l, Hooks{}, time.Minute) // the race detector is slow
	require.NoError(t, err)
	defer e.Close()
	e.Exclusive(func() { e.machine.most = 256 << 20 })
	for body, want := range map[string]string{
		"return #string.rep('x',1024^3*4)":                                               "no text of more than",
		"local s = 'x' while true do s = s .. s end":                                     "too much memory",
		"local t, s = {}, ('x'):rep(2^20) for i = 1, 10000 do t[i] = s .. i end":         "too much memory",
		"local s = ('x'):rep(2^20) for i = 1, 400 do local t = s .. i end return 'done'": "$4",
		"return string.format('%2000000000d',1)":                                         "no text of more than",
	} {
		runtime.GC()
		reply, err := send(t, e, fmt.Sprintf("*3\r\n$4\r\neval\r\n$%d\r\n%s\r\n$1\r\n0\r\n", len(body), body)).ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, reply, want, body)
	}
}
