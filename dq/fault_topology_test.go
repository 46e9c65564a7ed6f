package dq_test

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
)

// follower is a Client of several servers, and what its observer saw.
type follower struct {
	client     *dq.Client
	rdb        redis.UniversalClient
	queue      *dq.Taker[string]
	delayed    *dq.Sender[string]
	subscribed chan string
	lost       atomic.Int64 // how often the subscription was, or a transfer failed
	closed     atomic.Bool
}

func follow(t *testing.T, rdb redis.UniversalClient, queue string, options ...dq.Option) *follower {
	t.Helper()
	f := &follower{rdb: rdb, subscribed: make(chan string, 10_000)}
	client, err := dq.NewClient(rdb, append(options,
		on(func(e dq.Subscribed) { f.subscribed <- e.Queue }),
		on(func(dq.Disconnected) { f.lost.Add(1) }),
		on(func(e dq.Transferred) {
			if e.Err != nil {
				f.lost.Add(1)
			}
		}))...)
	require.NoError(t, err)
	f.client = client
	t.Cleanup(func() { f.close(t); _ = rdb.Close() })
	f.queue = dq.NewTaker(client, queue, codec.String{})
	f.delayed = dq.NewSender(f.queue)
	require.NoError(t, f.delayed.Ready(deadline(t)))
	<-f.subscribed
	return f
}

// close closes the Client and checks that it takes no longer than promised.
func (f *follower) close(t *testing.T) {
	t.Helper()
	if f.closed.Swap(true) {
		return
	}
	began := time.Now()
	require.NoError(t, f.client.Close())
	require.Less(t, time.Since(began), 4*time.Second, "Close")
}

// taken is what a consumer took.
type taken struct {
	mu     sync.Mutex
	values map[string]time.Time
	twice  []string
	more   chan struct{}
}

// consume takes until the test ends.
func (f *follower) consume(t *testing.T, workers int) *taken {
	t.Helper()
	k := &taken{values: make(map[string]time.Time), more: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = consume(ctx, f.queue, workers, k.add)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return k
}

func (k *taken) add(v string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.values[v]; ok {
		k.twice = append(k.twice, v)
	}
	k.values[v] = time.Now()
	select {
	case k.more <- struct{}{}:
	default:
	}
}

func (k *taken) has(v string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, ok := k.values[v]
	return ok
}

// oneOf returns whether one of the values was taken within d.
func (k *taken) oneOf(values []string, d time.Duration) bool {
	end := time.After(d)
	for !slices.ContainsFunc(values, k.has) {
		select {
		case <-k.more:
		case <-end:
			return false
		}
	}
	return true
}

// works offers until a value is taken, and returns how long the first offer that
// succeeded and the first value took. It offers again when a value does not come, for
// what a master acknowledges after its successor was chosen is lost.
func (f *follower) works(t *testing.T, k *taken, name string) (offered, taken time.Duration) {
	t.Helper()
	began := time.Now()
	var acked []string
	for i := 0; ; i++ {
		v := fmt.Sprintf("%s %d", name, i)
		again := 5 * time.Millisecond
		err := f.delayed.Offer(deadline(t), v, 0)
		if err == nil {
			acked = append(acked, v)
			if len(acked) == 1 {
				offered = time.Since(began)
			}
			again = 200 * time.Millisecond
		}
		if k.oneOf(acked, again) {
			return offered, time.Since(began)
		}
		require.Less(t, time.Since(began), testDeadline, "not taken: %q, last error %v", acked, err)
	}
}

// tally counts what became of many writes.
type tally struct {
	mu        sync.Mutex
	acked     []string
	uncertain map[string]bool
	refused   int
	slowest   time.Duration
	errors    map[string]int
}

func (y *tally) note(v string, err error, took time.Duration) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.slowest = max(y.slowest, took)
	switch {
	case err == nil:
		y.acked = append(y.acked, v)
		return
	case errors.Is(err, dq.ErrUncertain):
		y.uncertain[v] = true
	default:
		y.refused++
	}
	y.errors[err.Error()]++
}

// load writes unique values from 20 goroutines, a little spaced, at least n of them
// and until stop is closed.
func load(t *testing.T, name string, n int, stop <-chan struct{}, write func(ctx context.Context, v string) error) *tally {
	t.Helper()
	y := &tally{uncertain: make(map[string]bool), errors: make(map[string]int)}
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	const writers = 20
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if i >= n/writers {
					select {
					case <-stop:
						return
					default:
					}
				}
				v := fmt.Sprintf("%s-%d-%d", name, w, i)
				began := time.Now()
				y.note(v, write(ctx, v), time.Since(began))
				time.Sleep(4 * time.Millisecond)
			}
		})
	}
	all.Wait()
	require.NoError(t, ctx.Err(), "the load came to no end")
	return y
}

// lost counts what was acknowledged and is not among what is there.
func (y *tally) lost(t *testing.T, there []string) int {
	t.Helper()
	count := make(map[string]int)
	for _, v := range there {
		count[v]++
		require.True(t, count[v] == 1 || y.uncertain[v], "%s is there %d times", v, count[v])
	}
	lost := 0
	for _, v := range y.acked {
		if count[v] == 0 {
			lost++
		}
	}
	return lost
}

func (y *tally) String() string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return fmt.Sprintf("%d acknowledged, %d uncertain, %d refused, slowest %s, %v",
		len(y.acked), len(y.uncertain), y.refused, y.slowest.Round(time.Millisecond), y.errors)
}

// leaks runs f with a label that goroutines inherit, and then waits until none of those
// of package dq is left.
func leaks(t *testing.T, within time.Duration, f func()) {
	t.Helper()
	pprof.Do(context.Background(), pprof.Labels("fault", t.Name()), func(context.Context) { f() })
	require.Eventually(t, func() bool { return labelled(t.Name()) == "" }, within, 20*time.Millisecond)
}

// labelled returns the stacks of a test's goroutines that run package dq.
func labelled(name string) string {
	var b strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&b, 1)
	var own []string
	for _, stack := range strings.Split(b.String(), "\n\n") {
		if strings.Contains(stack, fmt.Sprintf("%q:%q", "fault", name)) && strings.Contains(stack, "dq-bench/dq.") {
			own = append(own, stack)
		}
	}
	return strings.Join(own, "\n\n")
}
