package dq_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/harness/server"
	"github.com/dq-bench/dq-bench/harness/server/servertest"
)

// A server whose writes are paused postpones BLPOP, and ends itself when it is asked to
// unblock that client. A graceful fail-over in a cluster is such a pause.
func TestFaultAPausedServerSurvivesTakesThatEnd(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(ctx context.Context, c *dq.Client, q *dq.BlockingQueue[string]){
		"cancelled": func(ctx context.Context, _ *dq.Client, q *dq.BlockingQueue[string]) {
			ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
			defer cancel()
			_, _ = q.Take(ctx)
		},
		"PollWithin": func(ctx context.Context, _ *dq.Client, q *dq.BlockingQueue[string]) {
			_, _ = q.PollWithin(ctx, 200*time.Millisecond)
		},
		"probed": func(ctx context.Context, _ *dq.Client, q *dq.BlockingQueue[string]) {
			ctx, cancel := context.WithTimeout(ctx, 4500*time.Millisecond)
			defer cancel()
			_, _ = q.Take(ctx)
		},
		"closed": func(ctx context.Context, c *dq.Client, q *dq.BlockingQueue[string]) {
			taken := make(chan struct{})
			go func() { _, _ = q.Take(ctx); close(taken) }()
			<-time.After(200 * time.Millisecond) // of blocking
			_ = c.Close()
			<-taken
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := servertest.Process(t)
			b := setupOn(t, s, "orders")
			client, err := dq.NewClient(connect(t, s.URL()))
			require.NoError(t, err)
			t.Cleanup(func() { _ = client.Close() })
			q := dq.NewBlockingQueue(client, "orders", codec.String{})
			ctx := deadline(t)
			for range 2 { // the second time, with connections that are there already
				require.NoError(t, b.redis.Do(ctx, "CLIENT", "PAUSE", 5000, "WRITE").Err())
				take(ctx, client, q)
				require.NoError(t, b.redis.Do(ctx, "CLIENT", "UNPAUSE").Err())
				require.NoError(t, b.redis.RPush(ctx, "orders", "v").Err(), "the server lives")
				require.Eventually(t, func() bool { return b.redis.LLen(ctx, "orders").Val() == 1 }, testDeadline, time.Millisecond,
					"and a taker that is gone took nothing")
				require.NoError(t, b.redis.Del(ctx, "orders").Err())
			}
		})
	}
}

// What a paused server gives to a taker that is gone goes back, however long that
// takes, and whatever else is asked of the server meanwhile.
func TestFaultValuesGoBackOverAPause(t *testing.T) {
	t.Parallel()
	s := servertest.Process(t)
	b := setupOn(t, s, "orders")
	var mu sync.Mutex
	var returned []string
	client, err := dq.NewClient(connect(t, s.URL()), dq.WithObserver(dq.Observer{Returned: func(e dq.ReturnedEvent) {
		mu.Lock()
		defer mu.Unlock()
		if e.Err != nil {
			returned = append(returned, fmt.Sprintf("%s: %v", e.Value, e.Err))
		}
	}}))
	require.NoError(t, err)
	t.Cleanup(func() { closeWithin(t, client, 3*time.Second+slack) })
	q := dq.NewBlockingQueue(client, "orders", codec.String{})
	ctx := deadline(t)
	for range 2 {
		require.NoError(t, b.redis.RPush(ctx, "orders", "v").Err())
		require.NoError(t, b.redis.Do(ctx, "CLIENT", "PAUSE", 3000, "WRITE").Err())
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		_, err := q.Take(short)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		cancel()
		// It is popped when the pause is over, and then comes back.
		short, cancel = context.WithTimeout(ctx, 20*time.Second)
		v, err := q.Take(short)
		cancel()
		require.NoError(t, err)
		require.Equal(t, "v", v)
	}
	mu.Lock()
	defer mu.Unlock()
	require.Empty(t, returned)
}

// throttled reads no more than a part at a time, as from a slow network.
type throttled struct {
	net.Conn
	part  int
	every time.Duration
}

func (c throttled) Read(p []byte) (int, error) {
	time.Sleep(c.every)
	return c.Conn.Read(p[:min(len(p), c.part)])
}

// throttledClient reads 330 kB a second.
func throttledClient(t *testing.T, s *server.Server) *dq.Client {
	t.Helper()
	opt, err := redis.ParseURL(s.URL())
	require.NoError(t, err)
	opt.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return throttled{conn, 8 << 10, 25 * time.Millisecond}, err
	}
	client, err := dq.NewClient(redis.NewClient(opt))
	require.NoError(t, err)
	t.Cleanup(func() { closeWithin(t, client, 3*time.Second+slack) })
	return client
}

// A value that takes longer to arrive than a silent connection is given is no loss.
func TestFaultASlowValueArrives(t *testing.T) {
	t.Parallel()
	s := servertest.Redis(t)
	admin := connect(t, s.URL())
	q := dq.NewBlockingQueue(throttledClient(t, s), "orders", codec.String{})
	ctx := deadline(t)
	value := strings.Repeat("x", 3<<20) // about 9 s
	require.NoError(t, admin.RPush(ctx, "orders", value, value).Err())
	got := make(chan error, 2)
	check := func(v string, err error) {
		if err == nil && v != value {
			err = fmt.Errorf("%d bytes", len(v))
		}
		got <- err
	}
	go func() { check(q.Take(ctx)) }()
	go func() { check(q.Poll(ctx)) }()
	require.NoError(t, <-got)
	require.NoError(t, <-got)
}

// A poll whose context ends takes nothing away: the reply is waited for, or what comes
// later goes back.
func TestFaultACancelledPollLosesNothing(t *testing.T) {
	t.Parallel()
	for name, poll := range map[string]func(ctx context.Context, q *dq.BlockingQueue[string]) ([]string, error){
		"Poll": func(ctx context.Context, q *dq.BlockingQueue[string]) ([]string, error) {
			v, err := q.Poll(ctx)
			if err != nil {
				return nil, err
			}
			return []string{v}, nil
		},
		"PollN":   func(ctx context.Context, q *dq.BlockingQueue[string]) ([]string, error) { return q.PollN(ctx, 3) },
		"DrainTo": func(ctx context.Context, q *dq.BlockingQueue[string]) ([]string, error) { return q.DrainTo(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupOn(t, servertest.Redis(t), "orders")
			const values = 500
			seen := expect(values)
			for i := range values {
				require.NoError(t, b.redis.RPush(t.Context(), "orders", fmt.Sprint(i)).Err())
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%50)*10*time.Microsecond)
				got, _ := poll(ctx, b.queue)
				cancel()
				seen.add(got...)
			}
			seen.add(b.redis.LRange(t.Context(), "orders", 0, -1).Val()...)
			seen.requireOnce(t, ended())
		})
	}
}

// Where the server stands still for longer than the caller is kept, the values come back
// in their order.
func TestFaultACancelledPollGivesBackWhatComesLate(t *testing.T) {
	t.Parallel()
	for name, poll := range map[string]func(ctx context.Context, q *dq.BlockingQueue[string]) error{
		"PollN": func(ctx context.Context, q *dq.BlockingQueue[string]) error { _, err := q.PollN(ctx, 3); return err },
		"PollLastN": func(ctx context.Context, q *dq.BlockingQueue[string]) error {
			_, err := q.PollLastN(ctx, 3)
			return err
		},
		"PollLast": func(ctx context.Context, q *dq.BlockingQueue[string]) error { _, err := q.PollLast(ctx); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := servertest.Process(t)
			observe, returned := observeReturned()
			b := at(t, s, s.URL(), observe)
			ctx := deadline(t)
			want := []string{"1", "2", "3", "4"}
			for _, v := range want {
				require.NoError(t, b.queue.Offer(ctx, v))
			}
			_, err := b.queue.PollN(ctx, 0) // there is a connection, and the script is known
			require.NoError(t, err)
			_, err = b.queue.PollLastN(ctx, 0)
			require.NoError(t, err)
			node := s.Nodes()[0]
			require.NoError(t, node.Pause())
			short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			defer cancel()
			require.ErrorIs(t, poll(short, b.queue), context.DeadlineExceeded)
			require.NoError(t, node.Resume())
			e := <-returned
			require.NoError(t, e.Err)
			require.Eventually(t, func() bool { return b.redis.LLen(ctx, "orders").Val() == 4 }, testDeadline, time.Millisecond)
			require.Equal(t, want, b.redis.LRange(ctx, "orders", 0, -1).Val())
		})
	}
}

// A user who may push but not take out of the pending list repeats no value.
func TestFaultATransferThatMayNotUnlistRepeatsNothing(t *testing.T) {
	t.Parallel()
	b := as(t, servertest.Redis(t), "~* &* +@all -lrem")
	ctx := deadline(t)
	require.NoError(t, b.delayed(t).Offer(ctx, "v", 0))
	<-time.After(1500 * time.Millisecond) // of transfers that fail
	require.LessOrEqual(t, b.redis.LLen(ctx, "orders").Val(), int64(1))
	require.NoError(t, b.redis.Do(ctx, "ACL", "SETUSER", "app", "+@all").Err())
	require.Eventually(t, func() bool { return b.redis.ZCard(ctx, b.names.TimeoutSet).Val() == 0 }, testDeadline, time.Millisecond)
	require.LessOrEqual(t, b.redis.LLen(ctx, "orders").Val(), int64(2))
}

// Every graceful fail-over of a cluster pauses the master's writes, with takers there.
func TestFaultClusterFailoverWithTakersThatComeAndGo(t *testing.T) {
	t.Parallel()
	c := servertest.ClusterOf(t, server.ClusterOptions{Masters: 1, Replicas: 1})
	f := follow(t, clusterClient(t, c), "orders")
	ctx, stop := context.WithCancel(deadline(t))
	var takers sync.WaitGroup
	for i := range 8 {
		takers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				short, cancel := context.WithTimeout(ctx, time.Duration(1+(i*37+n*13)%300)*time.Millisecond)
				_, _ = f.queue.Take(short)
				cancel()
			}
		})
	}
	for range 3 {
		replicas, err := c.ReplicasOf(deadline(t), ownerOf(t, c, "orders"))
		require.NoError(t, err)
		require.NotEmpty(t, replicas)
		rdb := replicas[0].NewClient()
		require.NoError(t, rdb.Do(deadline(t), "CLUSTER", "FAILOVER").Err())
		require.Eventually(t, func() bool {
			return strings.Contains(rdb.Info(deadline(t), "replication").Val(), "role:master")
		}, testDeadline, 10*time.Millisecond)
		require.NoError(t, rdb.Close())
		require.NoError(t, c.Settle(deadline(t)))
	}
	stop()
	takers.Wait()
	for _, n := range c.Nodes() {
		require.True(t, n.Running(), "a node has ended")
	}
}

// A poll of a delayed queue is waited for as well. What comes later is told, with the
// value: its due time is gone.
func TestFaultACancelledPollOfADelayedQueueLosesNothing(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]dq.Option{"": nil, "strict": {dq.WithStrictWire()}} {
		t.Run("delayed "+name, func(t *testing.T) {
			t.Parallel()
			s := servertest.Process(t)
			observe, returned := observeReturned()
			b := at(t, s, s.URL(), append(options, observe)...)
			ctx := deadline(t)
			d := b.delayed(t)
			for _, v := range []string{"soon", "late", "last"} {
				require.NoError(t, d.Offer(ctx, v, time.Hour))
			}
			_, err := d.PollN(ctx, 0)
			require.NoError(t, err)
			v, err := d.Poll(ctx) // the script is known from now on
			require.NoError(t, err)
			require.Equal(t, "soon", v)
			poll := func(pause int) (string, error) {
				require.NoError(t, b.redis.Do(ctx, "CLIENT", "PAUSE", pause, "WRITE").Err())
				short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
				return d.Poll(short)
			}
			v, err = poll(500)
			require.NoError(t, err)
			require.Equal(t, "late", v)
			_, err = poll(2000)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			e := <-returned
			require.Equal(t, "last", string(e.Value))
			require.ErrorContains(t, e.Err, "not put back")
		})
	}
}

// Contexts that end at any moment of a poll of a delayed queue.
func TestFaultPollsOfADelayedQueueThatEndAtAnyMoment(t *testing.T) {
	t.Parallel()
	b := setupOn(t, servertest.Redis(t), "orders")
	d := b.delayed(t)
	const values = 300
	for i := range values {
		require.NoError(t, d.Offer(t.Context(), fmt.Sprint(i), time.Hour))
	}
	seen := expect(values)
	for i := range 2 * values {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%100)*10*time.Microsecond)
		got, _ := d.PollN(ctx, 2)
		cancel()
		seen.add(got...)
	}
	rest, err := d.ReadAll(t.Context())
	require.NoError(t, err)
	seen.add(rest...)
	seen.requireOnce(t, ended())
}

// A caller without a deadline fares no worse than one that cancels.
func TestFaultAPollOfAServerThatStandsStill(t *testing.T) {
	t.Parallel()
	s := servertest.Process(t)
	observe, returned := observeReturned()
	b := at(t, s, s.URL()+"?read_timeout=1s", observe)
	ctx := deadline(t)
	want := []string{"1", "2", "3"}
	for _, v := range want {
		require.NoError(t, b.queue.Offer(ctx, v))
	}
	_, err := b.queue.PollN(ctx, 0)
	require.NoError(t, err)
	require.NoError(t, s.Nodes()[0].Pause())
	_, err = b.queue.PollN(ctx, 2)
	require.ErrorContains(t, err, "what still comes is put back")
	require.NoError(t, s.Nodes()[0].Resume())
	for range 2 {
		require.NoError(t, (<-returned).Err)
	}
	require.Equal(t, want, b.redis.LRange(ctx, "orders", 0, -1).Val())
}

// A poll with a time-out waits for a reply that is coming in.
func TestFaultASlowValueArrivesAfterTheTimeoutOfItsPoll(t *testing.T) {
	t.Parallel()
	s := servertest.Redis(t)
	client := throttledClient(t, s)
	ctx := deadline(t)
	value := strings.Repeat("x", 3<<19) // about 5 s
	require.NoError(t, connect(t, s.URL()).RPush(ctx, "orders", value).Err())
	v, err := dq.NewBlockingQueue(client, "orders", codec.String{}).PollTimeout(ctx, time.Second)
	require.NoError(t, err)
	require.Equal(t, value, v)
}

func TestFaultAnotherQueueNeedsAName(t *testing.T) {
	t.Parallel()
	b := setupOn(t, servertest.Redis(t), "orders")
	ctx := deadline(t)
	const says = "expected the name of another queue"
	_, err := b.queue.PollLastAndOfferFirstTo(ctx, "")
	require.ErrorContains(t, err, says)
	_, err = b.queue.PollLastAndOfferFirstToTimeout(ctx, "", time.Second)
	require.ErrorContains(t, err, says)
	_, err = b.queue.TakeLastAndOfferFirstTo(ctx, "")
	require.ErrorContains(t, err, says)
	_, err = b.queue.PollFromAny(ctx, time.Second, "other", "")
	require.ErrorContains(t, err, says)
}
