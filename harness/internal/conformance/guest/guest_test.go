package guest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func line(db int, peer string, args ...string) monitor.Line {
	return monitor.Line{DB: db, Peer: peer, Args: args}
}

// connect returns one connection to a new server, and the options to have more.
func connect(t *testing.T) (Do, *goredis.Options) {
	t.Helper()
	url := redistest.Start(t, "process", "redis").URL()
	options, err := goredis.ParseURL(url)
	require.NoError(t, err)
	conn, err := redis.Dial(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return By(conn), options
}

func TestClientsAreReadAndLinksLeftOut(t *testing.T) {
	list := "id=3 addr=127.0.0.1:52555 laddr=127.0.0.1:6379 fd=8 name=till-7 age=27 idle=0 flags=N db=0 cmd=get user=default\n" +
		"id=4 addr=10.0.0.1:1 name= age=1 flags=O cmd=monitor\n" +
		"id=5 addr=10.0.0.2:1 name= age=1 flags=S cmd=replconf\n" +
		"id=6 addr=10.0.0.3:6379 name= age=1 flags=M cmd=\n" +
		"id=7 addr=10.0.0.4:1 name=sentinel-0123abcd-cmd age=1 flags=N cmd=ping\n" +
		"id=8 addr=10.0.0.4:2 name=sentinel-0123abcd-pubsub age=1 flags=P cmd=subscribe\n" +
		"nonsense\n"
	do := func(context.Context, ...string) (any, error) { return list, nil }
	clients, permitted, err := Clients(t.Context(), do)
	require.NoError(t, err)
	require.True(t, permitted)
	require.Len(t, clients, 2)
	require.Equal(t, `127.0.0.1:52555 (name "till-7", connected for 27s, last command get)`, clients[0].String())
	require.False(t, clients[0].Monitors())
	require.True(t, clients[1].Monitors())
}

func TestStrangeKeysAreNotAdvisedToBeDeleted(t *testing.T) {
	var s Strange
	require.False(t, s.Note(line(0, "10.0.0.1:1", "PING")))
	require.False(t, s.Note(line(0, "10.0.0.1:1", "PUBLISH", "__sentinel__:hello", "10.0.0.4,26379")))
	require.True(t, s.Note(line(0, "10.0.0.1:1", "EVAL", "…", "1", "a")))
	require.True(t, s.Note(line(0, monitor.LuaPeer, "rpush", "b", "secret")))
	ours := []Key{{0, "a"}, {0, "b"}, {1, "a"}, {0, "c"}}
	require.Equal(t, []Key{{1, "a"}, {0, "c"}}, s.Untouched(ours))
	require.Len(t, s.Commands, 1)
	require.Equal(t, `EVAL "a" of 10.0.0.1:1 in database 0`, s.Commands[0].String())
	for i := range 20_000 {
		s.Note(line(0, "10.0.0.1:1", "SET", fmt.Sprint(i), "x"))
	}
	require.Empty(t, s.Untouched(ours), "too many to tell")
	require.LessOrEqual(t, len(s.keys), 10_001)
}

func TestErrorSaysWhatWasFoundAndWhatToDo(t *testing.T) {
	found := Findings([]Key{{0, "a"}, {3, "b"}, {0, "c"}, {0, "d"}}, nil, nil)
	err := error(&InUseError{Addr: "db:6379", Found: found, Left: []Key{{0, "it's"}, {2, "{q}"}}})
	require.ErrorIs(t, err, ErrInUse)
	require.EqualError(t, err, `db:6379: expected a server that nobody else uses, found keys that this run did not make: `+
		`"a" (database 0), "b" (database 3), "c" (database 0) and 1 more; the run has stopped there and deletes nothing more. `+
		`Name an empty server that only you use, or let dq-bench start one: --redis process. `+
		`What the run leaves behind itself: redis-cli -n 0 DEL 'it'\''s' && redis-cli -n 2 DEL '{q}'`)
}

func TestRemoveDeletesInEachDatabaseWhatItIsGiven(t *testing.T) {
	do, options := connect(t)
	ctx := t.Context()
	for _, db := range []string{"0", "3"} {
		for _, command := range [][]string{{"SELECT", db}, {"SET", "ours", "x"}, {"SET", "theirs", "x"}} {
			_, err := do(ctx, command...)
			require.NoError(t, err)
		}
	}
	own := func(k Key) bool { return k.Name == "ours" }
	ours, others, err := Sort(ctx, do, own)
	require.NoError(t, err)
	require.Equal(t, []Key{{0, "ours"}, {3, "ours"}}, ours)
	require.Equal(t, []Key{{0, "theirs"}, {3, "theirs"}}, others)

	disturbed := errors.New("disturbed")
	require.ErrorIs(t, Remove(ctx, do, ours, func(context.Context) error { return disturbed }), disturbed)
	third := goredis.NewClient(&goredis.Options{Addr: options.Addr, DB: 3})
	defer third.Close()
	calm := 0
	err = Remove(ctx, do, ours, func(ctx context.Context) error {
		if calm++; calm == 2 {
			return third.Append(ctx, "ours", "y").Err()
		}
		return nil
	})
	require.ErrorIs(t, err, ErrChanged)
	left, _, err := Sort(ctx, do, own)
	require.NoError(t, err)
	require.Equal(t, []Key{{3, "ours"}}, left, "the first database's is deleted, the changed one is not")
}

func TestRelayMarksItsConnectionsAndWaitsForTheirEnd(t *testing.T) {
	_, options := connect(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	relay, err := NewRelay("redis://" + options.Addr)
	require.NoError(t, err)
	defer relay.Close()
	require.NoError(t, relay.WaitIdle(ctx))
	watch, err := monitor.Dial(ctx, "redis://"+options.Addr)
	require.NoError(t, err)
	defer watch.Close()

	address, err := relay.URL("rediss://user:pw@" + options.Addr + "/2")
	require.NoError(t, err)
	through, err := goredis.ParseURL(address)
	require.NoError(t, err)
	require.Nil(t, through.TLSConfig)
	require.Equal(t, []any{"user", "pw", 2}, []any{through.Username, through.Password, through.DB})

	client := goredis.NewClient(&goredis.Options{Addr: through.Addr, DisableIdentity: true})
	require.NoError(t, client.Set(ctx, "k", "v", 0).Err())
	first, err := watch.Read(ctx)
	require.NoError(t, err)
	require.True(t, relay.Marks(first), first.Text())
	for l := first; l.Name() != "set"; {
		l, err = watch.Read(ctx)
		require.NoError(t, err)
		require.Equal(t, first.Peer, l.Peer)
	}
	short, stop := context.WithTimeout(ctx, 20*time.Millisecond)
	defer stop()
	require.ErrorContains(t, relay.WaitIdle(short), "1 are left")
	require.NoError(t, client.Close())
	require.NoError(t, relay.WaitIdle(ctx))
}

func FuzzParseClients(f *testing.F) {
	f.Add("id=3 addr=127.0.0.1:41042 laddr=127.0.0.1:6379 fd=8 name= age=12 flags=N db=0 cmd=client|list\n")
	f.Add("id=x addr=\naddr=/tmp/redis.sock:0 age=-1 flags=OS\n")
	f.Fuzz(func(t *testing.T, text string) {
		clients := ParseClients(text)
		require.LessOrEqual(t, len(clients), strings.Count(text, "addr="))
		for _, c := range clients {
			require.NotEmpty(t, c.Addr)
		}
	})
}
