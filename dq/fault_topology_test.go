package dq_test

import (
	"context"
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

func follow(t *testing.T, rdb redis.UniversalClient, queue string) *follower {
	t.Helper()
	f := &follower{rdb: rdb, subscribed: make(chan string, 10_000)}
	client, err := dq.NewClient(rdb,
		on(func(e dq.Subscribed) { f.subscribed <- e.Queue }),
		on(func(dq.Disconnected) { f.lost.Add(1) }),
		on(func(e dq.Transferred) {
			if e.Err != nil {
				f.lost.Add(1)
			}
		}))
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
