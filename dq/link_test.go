package dq

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/resp"
)

// withLink runs a test with a link of 1 s time-outs to a server that is a function, in
// virtual time.
func withLink(t *testing.T, serve func(far net.Conn), f func(t *testing.T, l *link)) {
	t.Helper()
	t.Parallel()
	owner := redis.NewClient(&redis.Options{
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		go serve(far)
		l := newLink(&connection{Conn: near, owner: owner}, time.Second, time.Second)
		f(t, l)
		l.fail(io.EOF)
		_ = far.Close()
	})
}

func readCommands(far net.Conn, commands ...[]any) {
	var all []byte
	for _, c := range commands {
		all = resp.AppendCommand(all, c...)
	}
	_, _ = io.ReadFull(far, make([]byte, len(all)))
}

func TestFaultABatchMayTakeLongerThanOneReply(t *testing.T) {
	ping := []any{"PING"}
	commands := [][]any{ping, ping, ping, ping, ping}
	withLink(t, func(far net.Conn) {
		readCommands(far, commands...)
		for range commands {
			time.Sleep(900 * time.Millisecond)
			_, _ = io.WriteString(far, "+PONG\r\n")
		}
	}, func(t *testing.T, l *link) {
		replies, err := l.send(commands...).wait(t.Context())
		require.NoError(t, err)
		require.Len(t, replies, len(commands))
		time.Sleep(time.Hour)
		require.True(t, l.alive(), "nothing is awaited any more")
	})
}

func TestFaultALargeCommandMayTakeLongerThanOneWrite(t *testing.T) {
	large := []any{"SET", "k", string(make([]byte, 5*maxPart))}
	withLink(t, func(far net.Conn) {
		size := len(resp.AppendCommand(nil, large...))
		for part := make([]byte, maxPart); size > 0; {
			time.Sleep(900 * time.Millisecond)
			n, _ := io.ReadFull(far, part[:min(size, maxPart)])
			size -= n
		}
		_, _ = io.WriteString(far, "+OK\r\n")
	}, func(t *testing.T, l *link) {
		reply, err := l.send(large).wait1(t.Context())
		require.NoError(t, err)
		require.Equal(t, "OK", reply)
	})
}

func TestFaultASilentServerIsGivenUp(t *testing.T) {
	withLink(t, func(far net.Conn) {
		readCommands(far, []any{"PING"})
	}, func(t *testing.T, l *link) {
		began := time.Now()
		_, err := l.send([]any{"PING"}).wait1(t.Context())
		require.ErrorIs(t, err, errLost)
		require.Equal(t, time.Second, time.Since(began))
		_, err = l.send([]any{"PING"}).wait1(t.Context())
		require.ErrorIs(t, err, errUnsent, "the link has failed for good")
	})
}

// What was confirmed before the connection broke is known, and so is what never left.
func TestFaultARepliedCommandStaysReplied(t *testing.T) {
	ping := []any{"PING"}
	withLink(t, func(far net.Conn) {
		readCommands(far, ping, ping)
		_, _ = io.WriteString(far, "+PONG\r\n")
		_ = far.Close()
	}, func(t *testing.T, l *link) {
		replies, err := l.send(ping, ping).wait(t.Context())
		require.ErrorIs(t, err, errLost)
		require.Equal(t, []any{"PONG"}, replies)
	})
}
