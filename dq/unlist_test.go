package dq_test

import (
	"context"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redistest"
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
		_, err := b.redis.Pipelined(ctx, func(p goredis.Pipeliner) error {
			for _, i := range order[first:min(first+1000, len(order))] {
				var id [8]byte
				for k := range id {
					id[k] = byte(i >> (8 * k))
				}
				member := string(layout.Pack(id, []byte(strconv.Itoa(i))))
				p.ZAdd(ctx, b.names.TimeoutSet, goredis.Z{Score: float64(due(i)), Member: member})
				p.RPush(ctx, b.names.Pending, member)
			}
			return nil
		})
		require.NoError(t, err)
	}
}

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

// takes fails unless a queue has these values, in this order.
func takes(t *testing.T, ctx context.Context, q *dq.Taker[string], want ...string) {
	t.Helper()
	require.Equal(t, want, takeAll(t, ctx, q, len(want)))
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
			var passes atomic.Int64
			b := setup(t, append(given.options, on(func(dq.Unlisted) { passes.Add(1) }))...)
			start := time.Now().Add(time.Second).UnixMilli()
			b.fill(t, wire.LayoutBc0Lc0, given.n, func(i int) int64 { return start + int64(i)*given.spread.Milliseconds()/int64(given.n) })
			b.delayed(t)
			takeAll(t, deadline(t), b.queue, min(given.n, 2))
			require.Zero(t, passes.Load())
			require.Equal(t, []bool{false}, b.redis.ScriptExists(t.Context(), scripts.Unlist().SHA1).Val())
		})
	}
}

// turnsChannel is where clients of the queue "orders" hear each other.
const turnsChannel = "redisson_delay_queue_turns:{orders}"

// listen waits until so many clients hear each other.
func listen(t testing.TB, rdb *goredis.Client, n int64) {
	t.Helper()
	require.Eventually(t, func() bool {
		return rdb.PubSubNumSub(t.Context(), turnsChannel).Val()[turnsChannel] == n
	}, testDeadline, time.Millisecond, "%d listen", n)
}

// Of 20 clients one transfers, and each value comes once. A client that is 10 ms late has another stand in, so
// the test does not run beside others.
func TestOneOfManyClientsTransfers(t *testing.T) {
	const clients, messages = 20, 30
	s := redistest.Redis(t)
	var transfers atomic.Int64
	observer := on(func(dq.Transferred) { transfers.Add(1) })
	var first *bundle
	var delayed *dq.Sender[string]
	for range clients {
		b := setupOn(t, s, "orders", observer)
		d := b.delayed(t)
		if first == nil {
			first, delayed = b, d
		}
	}
	listen(t, first.redis, clients)
	ctx := deadline(t)
	for i := range messages {
		require.NoError(t, delayed.Offer(ctx, strconv.Itoa(i), time.Duration(200+30*i)*time.Millisecond))
	}
	before, few := transfers.Load(), 0
	for i := range messages {
		takes(t, ctx, first.queue, strconv.Itoa(i))
		made := transfers.Load()
		if made-before <= 2 {
			few++
		}
		before = made
	}
	// A machine that stands still has the others stand in; one that does not lets each due time have one.
	require.Positive(t, few, "not each of the %d every time", clients)
	require.Zero(t, first.redis.Exists(ctx, first.names.Pending, first.names.TimeoutSet).Val())
}

// A client tells the clients that listen of its first transfer, which looks for members that others took out of the list.
func TestAFirstTransferIsTold(t *testing.T) {
	t.Parallel()
	b, unlisted := setup(t), scripts.UnlistingOf("orders").Unlisted[0]
	b.fill(t, wire.LayoutBc0Lc0, 1, func(int) int64 { return 1 })
	require.NoError(t, b.redis.SAdd(deadline(t), unlisted, b.redis.LPop(t.Context(), b.names.Pending).Val()).Err())
	others := b.redis.Subscribe(deadline(t), turnsChannel)
	defer func() { _ = others.Close() }()
	_, err := others.Receive(deadline(t))
	require.NoError(t, err)
	b.delayed(t)
	for told := ""; !strings.HasPrefix(told, "moved "); {
		message, err := others.ReceiveMessage(deadline(t))
		require.NoError(t, err)
		told = message.Payload
	}
	takes(t, deadline(t), b.queue, "0")
	require.Zero(t, b.redis.Exists(t.Context(), unlisted).Val())
}

// A client under strict wire does not listen.
func TestStrictClientsTakeNoTurns(t *testing.T) {
	t.Parallel()
	b := setup(t, dq.WithRedissonCommands())
	b.delayed(t)
	listen(t, b.redis, 0)
	setupOn(t, b.server, "orders").delayed(t)
	listen(t, b.redis, 1)
}

// process runs the program of ledgerAt for the queue "orders" of a server, and kills it at the end of the test.
func process(t testing.TB, url string, stderr io.Writer, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0]) //nolint:noctx // killed by the test
	cmd.Env, cmd.Stderr = append(os.Environ(), append(env, ledgerAt+"="+url)...), stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}
