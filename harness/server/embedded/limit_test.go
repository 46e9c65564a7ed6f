package embedded

import (
	"bufio"
	"net"
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
