package embedded

import (
	"bufio"
	"fmt"
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

// An endless script ends with an error, and the server goes on.
func TestAnEndlessScriptIsEnded(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	e, err := serve(l, Hooks{}, 50*time.Millisecond)
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

// What would end the process, or never end, is refused at once.
func TestHostileCommandsAreRefused(t *testing.T) {
	t.Parallel()
	e, err := Start(t.Context())
	require.NoError(t, err)
	defer e.Close()
	e.Exclusive(func() { e.machine.most = memory{text: 4 << 20, held: 64 << 20, look: 16 << 20} })
	in := send(t, e, "SETRANGE q 4294967295000 a\r\nSETBIT q 429496729500000 1\r\nHRANDFIELD h -9223372036854775808\r\nPING\r\n")
	for _, want := range []string{"no SETRANGE", "no SETBIT", "no HRANDFIELD", "+PONG"} {
		reply, err := in.ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, reply, want)
	}
	for body, want := range map[string]string{
		"return #string.rep('x',1024^3*4)":                                                "no text of more than",
		"local s = 'x' while true do s = s .. s end":                                      "no text of more than",
		"local t, s = {}, ('x'):rep(2^20) for i = 1, 10000 do t[i] = s .. i end":          "no more than 67108864 bytes",
		"local s = ('x'):rep(2^20) for i = 1, 2000 do local t = s .. i end return 'done'": "done",
		"return string.format('%2000000000d',1)":                                          "width or precision too long",
		"return ('ab'):rep(3) .. ('%5.2f'):format(1)":                                     "ababab 1.00",
	} {
		in := send(t, e, fmt.Sprintf("*3\r\n$4\r\neval\r\n$%d\r\n%s\r\n$1\r\n0\r\n", len(body), body))
		reply, err := in.ReadString('\n')
		require.NoError(t, err)
		if reply[0] == '$' {
			reply, err = in.ReadString('\n')
			require.NoError(t, err)
		}
		require.Contains(t, reply, want)
	}
}
