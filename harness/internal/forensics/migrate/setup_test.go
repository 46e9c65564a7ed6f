package migrate_test

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics/migrate"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

const (
	dLc0   = wire.LayoutDLc0
	bc0Lc0 = wire.LayoutBc0Lc0
)

// bundle is one queue on a server.
type bundle struct {
	t      testing.TB
	ctx    context.Context
	client goredis.UniversalClient
	names  wire.Names
	random *rand.Rand
}

func setup(t testing.TB, seed uint64) *bundle {
	t.Helper()
	client := redistest.Client(redistest.Redis(t))
	t.Cleanup(func() { client.Close() })
	return with(t, client, seed)
}

func with(t testing.TB, client goredis.UniversalClient, seed uint64) *bundle {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	t.Cleanup(cancel)
	return &bundle{t: t, ctx: ctx, client: client, names: wire.NamesOf("orders"), random: rand.New(rand.NewPCG(seed, 1))}
}

// member packs a value with a random id, which nothing but its layout can be read from.
func (b *bundle) member(l wire.Layout, size int, value []byte) string {
	var id [8]byte
	binary.LittleEndian.PutUint64(id[:], b.random.Uint64()|0x10_00_00_00_00_00_00_10)
	return string(wire.Member{Layout: l, ID: id, Value: value, LengthSize: size}.Bytes())
}

func (b *bundle) timed(member, score string) {
	b.t.Helper()
	require.NoError(b.t, b.client.Do(b.ctx, "ZADD", b.names.TimeoutSet, score, member).Err())
}

func (b *bundle) listed(members ...string) {
	b.t.Helper()
	for _, member := range members {
		require.NoError(b.t, b.client.RPush(b.ctx, b.names.Pending, member).Err())
	}
}

// fill offers n members of a layout with values of their own, in few calls.
func (b *bundle) fill(n int, l wire.Layout) {
	b.t.Helper()
	_, err := b.client.Pipelined(b.ctx, func(pipe goredis.Pipeliner) error {
		for i := range n {
			member := b.member(l, wire.LengthSize, []byte("order "+strconv.Itoa(i)))
			pipe.ZAdd(b.ctx, b.names.TimeoutSet, goredis.Z{Score: float64(4e12 + b.random.IntN(1000)), Member: member})
			pipe.RPush(b.ctx, b.names.Pending, member)
		}
		return nil
	})
	require.NoError(b.t, err)
}

func (b *bundle) run(o migrate.Options) *migrate.Migration {
	b.t.Helper()
	done, err := migrate.Run(b.ctx, redis.On(b.client), b.names.Destination, o)
	require.NoError(b.t, err)
	return done
}

// state is all that the keys of a queue hold.
type state struct {
	List       []string
	Set        map[string]string // member → score as the server writes it
	Ghosts     []string
	Quarantine map[string]string
}

func (b *bundle) state() state {
	b.t.Helper()
	return state{
		List: b.list(b.names.Pending), Set: b.set(b.names.TimeoutSet),
		Ghosts: b.list(migrate.GhostsKey("orders")), Quarantine: b.set(scripts.Quarantine("orders")),
	}
}

func (b *bundle) list(key string) []string {
	all, err := b.client.LRange(b.ctx, key, 0, -1).Result()
	require.NoError(b.t, err)
	return all
}

func (b *bundle) set(key string) map[string]string {
	flat, err := b.client.Do(b.ctx, "EVAL", "return redis.call('zrange', KEYS[1], 0, -1, 'withscores')", 1, key).StringSlice()
	require.NoError(b.t, err)
	set := map[string]string{}
	for i := 0; i < len(flat); i += 2 {
		set[flat[i]] = flat[i+1]
	}
	return set
}

// in is the state with every member of the list and the set in a layout.
func (s state) in(l wire.Layout) state {
	moved := state{Set: map[string]string{}, Ghosts: s.Ghosts, Quarantine: s.Quarantine, List: []string{}}
	for _, entry := range s.List {
		moved.List = append(moved.List, in(entry, l))
	}
	for member, score := range s.Set {
		moved.Set[in(member, l)] = score
	}
	return moved
}

// in is a member in a layout, itself where it is of none.
func in(member string, l wire.Layout) string {
	m, err := l.UnpackAny([]byte(member))
	if err != nil {
		return member
	}
	m.Layout, m.LengthSize = l, wire.LengthSize
	return string(m.Bytes())
}

// as is a client of the same server that is another user.
func (b *bundle) as(user string) goredis.UniversalClient {
	options := *b.client.(*goredis.Client).Options()
	options.Username, options.Password = user, "any"
	client := goredis.NewClient(&options)
	b.t.Cleanup(func() { client.Close() })
	return client
}
