package dq_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// fill puts n members with the values 0 to n-1 into the queue, as offers would leave them, in
// an order that has nothing to do with when they are due: due(i) in Unix ms.
func (b *bundle) fill(t testing.TB, layout wire.Layout, n int, due func(i int) int64) {
	t.Helper()
	b.fillInOrder(t, layout, rand.New(rand.NewPCG(1, 2)).Perm(n), due)
}

func (b *bundle) fillInOrder(t testing.TB, layout wire.Layout, order []int, due func(i int) int64) {
	t.Helper()
	ctx := t.Context()
	for first := 0; first < len(order); first += 1000 {
		_, err := b.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, i := range order[first:min(first+1000, len(order))] {
				var id [8]byte
				for k := range id {
					id[k] = byte(i >> (8 * k))
				}
				member := string(layout.Pack(id, []byte(strconv.Itoa(i))))
				p.ZAdd(ctx, b.names.TimeoutSet, redis.Z{Score: float64(due(i)), Member: member})
				p.RPush(ctx, b.names.Pending, member)
			}
			return nil
		})
		require.NoError(t, err)
	}
}

// passes collects the passes that a client makes.
type passes struct {
	mu  sync.Mutex
	all []dq.Unlisted
}

func (p *passes) observer() dq.Option {
	return on(func(e dq.Unlisted) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.all = append(p.all, e)
	})
}

func (p *passes) made() []dq.Unlisted {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.all)
}

// takeAll takes values until n have come.
func takeAll(t *testing.T, ctx context.Context, q *dq.Taker[string], n int) []string {
	t.Helper()
	all := make([]string, 0, n)
	for len(all) < n {
		one, err := q.Take(ctx)
		require.NoError(t, err, "%d of %d came", len(all), n)
		all = append(all, one)
	}
	return all
}

// No pass is made through short queues, and those in order.
func TestWhatIsNotUnlisted(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]struct {
		n       int
		spread  time.Duration
		options []dq.Option
	}{
		"short":  {n: 900, spread: time.Second},
		"sparse": {n: 5000, spread: time.Hour},
		"strict": {n: 2000, spread: time.Second, options: []dq.Option{dq.WithRedissonCommands()}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p passes
			b := setup(t, append(given.options, p.observer())...)
			start := time.Now().Add(time.Second).UnixMilli()
			b.fill(t, wire.LayoutBc0Lc0, given.n, func(i int) int64 { return start + int64(i)*given.spread.Milliseconds()/int64(given.n) })
			b.delayed(t)
			takeAll(t, deadline(t), b.queue, min(given.n, 2))
			require.Empty(t, p.made())
			require.Equal(t, []bool{false}, b.redis.ScriptExists(t.Context(), scripts.Unlist().SHA1).Val())
		})
	}
}

// What comes due at the end of a long list, a few at a time, is looked for there: no pass pays for it,
// and a walk through the whole list for each would.
func TestShortDelaysInALongQueue(t *testing.T) {
	t.Parallel()
	const long, short = 12_000, 40
	var p passes
	b := setup(t, p.observer())
	later := time.Now().Add(time.Hour).UnixMilli()
	b.fill(t, wire.LayoutBc0Lc0, long, func(int) int64 { return later })
	before := b.redis.LRange(t.Context(), b.names.Pending, 0, -1).Val()
	d := b.delayed(t)
	var want []string
	for i := range short {
		want = append(want, fmt.Sprintf("short %d", i))
		require.NoError(t, d.Offer(t.Context(), want[i], 2*time.Second+time.Duration(i)*20*time.Millisecond))
	}
	require.Equal(t, want, takeAll(t, deadline(t), b.queue, short))
	require.Empty(t, p.made())
	require.Equal(t, []bool{true}, b.redis.ScriptExists(t.Context(), scripts.Transfer().SHA1).Val())
	require.Equal(t, before, b.redis.LRange(t.Context(), b.names.Pending, 0, -1).Val())
}
