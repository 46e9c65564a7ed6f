package conn

import (
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/resp"
)

// withSocket runs a test in virtual time with a socket of 1 s time-outs to a server that is a function.
func withSocket(t *testing.T, serve func(far net.Conn), test func(t *testing.T, one *socket)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		go func() {
			r := resp.NewReader(far, 0)
			_, _ = r.ReadCommand() // HELLO
			_, _ = io.WriteString(far, "%0\r\n")
			serve(far)
		}()
		s := &server{conns: &Conns{Options: Options{MostReply: 1 << 30}}, opt: &redis.Options{DisableIdentity: true, ReadTimeout: time.Second, WriteTimeout: time.Second}}
		one := &socket{Conn: near, most: 1 << 30, ended: make(chan struct{})}
		one.client = redis.NewClient(s.optionsOf(one, shared, new(atomic.Bool)))
		test(t, one)
		one.fail(io.EOF)
		_ = far.Close()
		_ = one.client.Close()
		time.Sleep(2 * time.Second) // go-redis's pool looks each second whether it may dial again
		synctest.Wait()
	})
}

func read(far net.Conn, commands ...[]any) {
	size := 0
	for _, c := range commands {
		size += len(resp.AppendCommand(nil, c...))
	}
	_, _ = io.ReadFull(far, make([]byte, size))
}

func replies(commands []redis.Cmder, err error) (all []any) {
	for _, c := range commands {
		all = append(all, replyOf(c, err))
	}
	return all
}

var fivePings = [][]any{{"PING"}, {"PING"}, {"PING"}, {"PING"}, {"PING"}}

func TestABatchMayTakeLongerThanOneReply(t *testing.T) {
	withSocket(t, func(far net.Conn) {
		read(far, fivePings...)
		for range fivePings {
			time.Sleep(900 * time.Millisecond)
			_, _ = io.WriteString(far, "+PONG\r\n")
		}
	}, func(t *testing.T, one *socket) {
		commands := commandsOf(fivePings)
		require.NoError(t, one.run(commands))
		require.Equal(t, []any{"PONG", "PONG", "PONG", "PONG", "PONG"}, replies(commands, nil))
		one.watch(0)
		time.Sleep(time.Hour)
		require.True(t, one.unwatch(), "nothing is awaited any more")
	})
}

func TestALargeCommandMayTakeLongerThanOneWrite(t *testing.T) {
	large := []any{"SET", "k", strings.Repeat("x", 5*maxPart)}
	withSocket(t, func(far net.Conn) {
		size := len(resp.AppendCommand(nil, large...))
		for part := make([]byte, maxPart); size > 0; {
			time.Sleep(900 * time.Millisecond)
			n, _ := io.ReadFull(far, part[:min(size, maxPart)])
			size -= n
		}
		_, _ = io.WriteString(far, "+OK\r\n")
	}, func(t *testing.T, one *socket) {
		commands := commandsOf([][]any{large})
		require.NoError(t, one.run(commands))
		require.Equal(t, []any{"OK"}, replies(commands, nil))
	})
}

func TestASilentServerIsGivenUp(t *testing.T) {
	withSocket(t, func(far net.Conn) {
		read(far, []any{"PING"})
	}, func(t *testing.T, one *socket) {
		require.NoError(t, one.client.Conn().Close()) // the handshake
		began := time.Now()
		require.ErrorIs(t, one.run(commandsOf([][]any{{"PING"}})), ErrLost)
		require.Equal(t, time.Second, time.Since(began))
		require.ErrorIs(t, one.run(commandsOf([][]any{{"PING"}})), ErrUnsent, "the socket has failed for good")
	})
}

// What an offer was answered, which is nothing, is known also where the connection breaks behind it.
func TestARepliedCommandStaysReplied(t *testing.T) {
	withSocket(t, func(far net.Conn) {
		read(far, fivePings[:2]...)
		_, _ = io.WriteString(far, "$-1\r\n")
		_ = far.Close()
	}, func(t *testing.T, one *socket) {
		commands := commandsOf(fivePings[:2])
		err := one.run(commands)
		require.ErrorIs(t, err, ErrLost)
		require.Equal(t, []any{nil, err}, replies(commands, err))
	})
}

func TestTheEndOfAnIdleSocketIsNoticed(t *testing.T) {
	withSocket(t, func(far net.Conn) {
		read(far, fivePings[0])
		_, _ = io.WriteString(far, "+PONG\r\n")
		time.Sleep(time.Minute)
		_ = far.Close()
	}, func(t *testing.T, one *socket) {
		require.NoError(t, one.run(commandsOf(fivePings[:1])))
		one.watch(0)
		<-one.ended
		require.False(t, one.unwatch())
	})
}

// What a server will always answer so is not asked again.
func TestRefusalsThatLast(t *testing.T) {
	for reply, lasts := range map[resp.Error]bool{
		"NOPERM User worker has no permissions to run the 'client|unblock' command": true,
		"NOAUTH Authentication required.":                                           true,
		"ERR unknown subcommand 'UNBLOCK'. Try CLIENT HELP.":                        true,
		"ERR Unknown subcommand or wrong number of arguments for 'UNBLOCK'":         true,
		"ERR unknown command `CLIENT`, with args beginning with: `UNBLOCK`":         true,
		"NOSCRIPT No matching script. Please use EVAL.":                             false,
		"ERR Protocol error: invalid bulk length":                                   false,
		"LOADING Redis is loading the dataset in memory":                            false,
	} {
		require.Equal(t, lasts, isForbidden(reply), "%s", reply)
	}
}
