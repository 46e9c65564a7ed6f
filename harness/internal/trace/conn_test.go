package trace

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// serve answers one connection with serverSide and returns its address.
func serve(t *testing.T, serverSide func(net.Conn, *bufio.Reader)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		serverSide(conn, bufio.NewReader(conn))
	}()
	t.Cleanup(func() { listener.Close(); <-done })
	return listener.Addr().String()
}

// request reads one request and returns its arguments.
func request(in *bufio.Reader) []string {
	var n int
	if _, err := fmt.Fscanf(in, "*%d\r\n", &n); err != nil {
		return nil
	}
	args := make([]string, n)
	for i := range args {
		in.ReadString('\n')
		arg, _ := in.ReadString('\n')
		args[i] = strings.TrimSuffix(arg, "\r\n")
	}
	return args
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestConnReadsLinesAndSaysWhenItEnds(t *testing.T) {
	long := strings.Repeat(`\x00`, 200_000)
	addr := serve(t, func(conn net.Conn, in *bufio.Reader) {
		if got := fmt.Sprint(request(in)); got != "[AUTH user secret]" {
			fmt.Fprintf(conn, "-ERR unexpected %s\r\n", got)
			return
		}
		fmt.Fprint(conn, "+OK\r\n")
		request(in)
		fmt.Fprint(conn, "+OK\r\n"+`+1.000000 [0 127.0.0.1:1] "get" "k"`+"\r\n")
		fmt.Fprintf(conn, `+2.000000 [0 lua] "set" "k" "%s"`+"\r\n", long)
	})
	ctx := testContext(t)
	c, err := Dial(ctx, "redis://user:secret@"+addr)
	require.NoError(t, err)
	defer c.Close()
	line, err := c.Read(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"get", "k"}, line.Args)
	line, err = c.Read(ctx)
	require.NoError(t, err)
	require.Len(t, line.Args[2], 200_000)
	for range 2 {
		_, err = c.Read(ctx)
		require.ErrorIs(t, err, ErrClosed)
	}
}

func TestReadGoesOnAfterItsContextEnded(t *testing.T) {
	firstHalf, secondHalf := make(chan struct{}), make(chan struct{})
	addr := serve(t, func(conn net.Conn, in *bufio.Reader) {
		request(in)
		fmt.Fprint(conn, "+OK\r\n"+`+1.000000 [0 127.0.0.1:1] "ge`)
		close(firstHalf)
		<-secondHalf
		fmt.Fprint(conn, `t" "k"`+"\r\n")
	})
	c, err := Dial(testContext(t), "redis://"+addr)
	require.NoError(t, err)
	defer c.Close()
	<-firstHalf
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = c.Read(short)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	close(secondHalf)
	line, err := c.Read(testContext(t))
	require.NoError(t, err)
	require.Equal(t, []string{"get", "k"}, line.Args)
}

func TestDialExplains(t *testing.T) {
	refusing := serve(t, func(conn net.Conn, in *bufio.Reader) {
		request(in)
		fmt.Fprint(conn, "-NOPERM this user has no permissions to run the 'monitor' command\r\n")
	})
	silent := serve(t, func(_ net.Conn, in *bufio.Reader) { in.ReadString(0) })
	tests := []struct{ name, url, want string }{
		{"refused by the server", "redis://" + refusing, "NOPERM"},
		{"a cluster", "redis+cluster://127.0.0.1:1", "address of one server"},
		{"nobody there", "redis://127.0.0.1:1", "expected a Redis at 127.0.0.1:1"},
		{"silent", "redis://" + silent, "deadline exceeded"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := Dial(ctx, tt.url)
			require.ErrorContains(t, err, tt.want)
		})
	}
}
