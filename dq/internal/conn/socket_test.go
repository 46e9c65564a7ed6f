package conn

import (
	"io"
	"net"
	"strings"
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
		go serve(far)
		one := newSocket(near, shared, 1<<30)
		one.readFor, one.writeFor = time.Second, time.Second
		go one.serve()
		test(t, one)
		one.fail(io.EOF)
		_ = far.Close()
		synctest.Wait()
	})
}

func run(one *socket, commands [][]any) ([]any, error) {
	b := one.send(commands, nil)
	<-b.done
	return b.replies, b.err
}

func read(far net.Conn, commands ...[]any) {
	size := 0
	for _, c := range commands {
		size += len(resp.AppendCommand(nil, c...))
	}
	_, _ = io.ReadFull(far, make([]byte, size))
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
		replies, err := run(one, fivePings)
		require.NoError(t, err)
		require.Equal(t, []any{"PONG", "PONG", "PONG", "PONG", "PONG"}, replies)
		time.Sleep(time.Hour)
		require.True(t, one.alive(), "nothing is awaited any more")
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
		replies, err := run(one, [][]any{large})
		require.NoError(t, err)
		require.Equal(t, []any{"OK"}, replies)
	})
}

func TestASilentServerIsGivenUp(t *testing.T) {
	withSocket(t, func(far net.Conn) {
		read(far, []any{"PING"})
	}, func(t *testing.T, one *socket) {
		began := time.Now()
		_, err := run(one, [][]any{{"PING"}})
		require.ErrorIs(t, err, ErrLost)
		require.Equal(t, time.Second, time.Since(began))
		_, err = run(one, [][]any{{"PING"}})
		require.ErrorIs(t, err, ErrUnsent, "the socket has failed for good")
	})
}

// What an offer was answered, which is nothing, is known also where the connection breaks behind it.
func TestARepliedCommandStaysReplied(t *testing.T) {
	withSocket(t, func(far net.Conn) {
		read(far, fivePings[:2]...)
		_, _ = io.WriteString(far, "$-1\r\n")
		_ = far.Close()
	}, func(t *testing.T, one *socket) {
		replies, err := run(one, fivePings[:2])
		require.ErrorIs(t, err, ErrLost)
		require.Equal(t, []any{nil, err}, replies)
	})
}

func TestTheEndOfAnIdleSocketIsNoticed(t *testing.T) {
	withSocket(t, func(far net.Conn) {
		read(far, fivePings[0])
		_, _ = io.WriteString(far, "+PONG\r\n")
		time.Sleep(time.Minute)
		_ = far.Close()
	}, func(t *testing.T, one *socket) {
		_, err := run(one, fivePings[:1])
		require.NoError(t, err)
		<-one.ctx.Done()
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
		require.Equal(t, lasts, begins(reply, forbidden), "%s", reply)
	}
	require.True(t, begins(resp.Error("ERR max number of clients reached"), useless), "a connection without its id would never be unblocked")
}

// Servers that come and go, as in Kubernetes, must not pile up.
func TestSlotTable(t *testing.T) {
	t.Parallel()
	c, err := New(redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"seed:1"}}), Usual)
	require.NoError(t, err)
	defer func() { c.Stop(); c.Wait() }()
	table := c.topology.(*cluster)
	replica, gone, recent := table.at("c:1"), table.at("gone:1"), table.at("recent:1")
	replica.absent, gone.absent = time.Now().Add(-2*absentGrace), time.Now().Add(-2*absentGrace)
	slots := &slotTable{}
	require.NoError(t, slots.read([]any{
		[]any{int64(100), int64(200), []any{"b", int64(1)}, []any{"c", int64(1)}}, []any{int64(0), int64(99), []any{"a", int64(1)}},
	}, "seed:1"))
	require.True(t, table.load(slots, nil))
	require.Equal(t, map[string]*server{"c:1": replica, "recent:1": recent}, table.servers)
	<-gone.ctx.Done()
	require.NotSame(t, gone, table.at("gone:1"), "it may come back")
	for address, forGood := range map[string]bool{"d:1": false, "c:1": true} { // the slot of foo is 12182
		require.Equal(t, address, table.redirect("foo", address, forGood).opt.Addr)
		require.Equal(t, forGood, table.isMaster(address))
	}
	for slot, want := range map[int]string{0: "a:1", 99: "a:1", 100: "b:1", 200: "b:1", 201: "", 12182: "c:1"} {
		require.Equal(t, want, slots.masters[slot], "slot %d", slot)
	}
}

func TestParseSlots(t *testing.T) {
	t.Parallel()
	server := func(host any, port int64) []any { return []any{host, port, "id"} }
	slots := &slotTable{}
	require.NoError(t, slots.read([]any{
		[]any{int64(0), int64(5), server("10.0.0.1", 7000), server(nil, 7001), server("?", 7002), server("127.0.0.1", 7003)},
	}, "redis.example:7000"))
	require.Equal(t, []string{"10.0.0.1:7000", "redis.example:7001", "redis.example:7002", "redis.example:7003"}, slots.addresses)
	for _, reply := range []any{
		nil, "OK", []any{}, []any{"x"}, []any{[]any{int64(0), int64(5)}}, []any{[]any{int64(6), int64(5), server("a", 1)}},
		[]any{[]any{int64(0), int64(16384), server("a", 1)}}, []any{[]any{int64(0), int64(5), server("a", 0)}},
		[]any{[]any{int64(0), int64(5), "a"}}, []any{[]any{"0", int64(5), server("a", 1)}},
	} {
		require.Error(t, new(slotTable).read(reply, "redis.example:7000"), "%v", reply)
	}
}
