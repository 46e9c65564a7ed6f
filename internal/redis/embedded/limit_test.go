package embedded

import (
	"bufio"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An endless script ends with an error, and the server goes on.
func TestAnEndlessScriptIsEnded(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	e, err := Serve(l, Hooks{}, 50*time.Millisecond)
	require.NoError(t, err)
	conn, err := net.Dial("tcp", e.Addr())
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = io.WriteString(conn, "*3\r\n$4\r\neval\r\n$17\r\nwhile true do end\r\n$1\r\n0\r\n*3\r\n$4\r\neval\r\n$8\r\nreturn 7\r\n$1\r\n0\r\n")
	require.NoError(t, err)
	in := bufio.NewReader(conn)
	reply, err := in.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, reply, "-ERR the embedded server ended the script after 50ms")
	reply, err = in.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, ":7\r\n", reply)
	require.NoError(t, e.Close())
}
