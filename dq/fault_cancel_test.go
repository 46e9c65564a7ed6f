package dq_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/internal/redis/proxy"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// takeGrace is how much longer than its context a Take may last.
const takeGrace = time.Second + slack/2

// A paused server has a command that it has not read yet, or a value under way.
func TestFaultACancelledTakeOfAPausedServerLosesNothing(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t)
	observe, returned := observeReturned()
	b := setupOn(t, s, "orders", observe)
	ctx := deadline(t)
	short, cancel := context.WithCancel(ctx)
	taken := make(chan error, 1)
	go func() { _, err := b.queue.Take(short); taken <- err }()
	waitBlocked(t, b.redis)
	node := s.Nodes()[0]
	require.NoError(t, node.Pause())
	// Two pushes wait in the socket of a connection that the server reads before any other.
	pushed := make(chan error, 1)
	go func() { pushed <- b.redis.RPush(context.Background(), "orders", "first", "second").Err() }()
	cancel()
	within(t, takeGrace, "a cancelled Take", func() { require.ErrorIs(t, <-taken, context.Canceled) })
	<-time.After(2200 * time.Millisecond) // the first CLIENT UNBLOCK is given up meanwhile
	require.NoError(t, node.Resume())
	require.NoError(t, <-pushed)
	select {
	case e := <-returned:
		require.NoError(t, e.Err)
		require.Equal(t, "orders", e.Queue)
		require.Equal(t, "first", string(e.Value))
	case <-time.After(time.Second): // CLIENT UNBLOCK was there before the values
		t.Log("nothing had to be put back")
	}
	for _, want := range []string{"first", "second"} {
		v, err := b.queue.Take(ctx)
		require.NoError(t, err)
		require.Equal(t, want, v, "it is back at the head")
	}
}

func TestFaultACancelledTakeOverADeadConnectionIsGivenUp(t *testing.T) {
	t.Parallel()
	b, p := through(t, redistest.Redis(t), quick())
	ctx, cancel := context.WithCancel(deadline(t))
	taken := make(chan error, 1)
	go func() { _, err := b.queue.Take(ctx); taken <- err }()
	dead, err := p.Wait(ctx, waiting("BLPOP"))
	require.NoError(t, err)
	waitBlocked(t, b.redis)
	dead.Set(proxy.Fault{Drop: proxy.Both})
	cancel()
	within(t, takeGrace, "the Take", func() { require.ErrorIs(t, <-taken, context.Canceled) })
	within(t, 6*time.Second+slack, "until the connection is closed", func() {
		require.NoError(t, p.Until(deadline(t), func() bool { return len(p.Conns(sent("BLPOP"))) == 0 }))
	})
}

// cancelledTakes runs takers whose contexts end all the time, while values are offered,
// and fails if one is lost or comes twice.
func cancelledTakes(t *testing.T, b *bundle, values int, disturb func(ctx context.Context)) int64 {
	t.Helper()
	ctx := deadline(t)
	got := expect(values)
	var takers sync.WaitGroup
	var cancelled atomic.Int64
	var longest atomic.Int64
	for range 8 {
		takers.Go(func() {
			for ctx.Err() == nil {
				select {
				case <-got.all:
					return
				default:
				}
				wait := time.Duration(rand.Int64N(int64(4 * time.Millisecond)))
				short, cancel := context.WithTimeout(ctx, wait)
				began := time.Now()
				v, err := b.queue.Take(short)
				cancel()
				if late := time.Since(began) - wait; int64(late) > longest.Load() {
					longest.Store(int64(late))
				}
				if err == nil {
					got.add(v)
				} else {
					cancelled.Add(1)
				}
			}
		})
	}
	go disturb(ctx)
	for i := range values {
		for b.redis.RPush(ctx, "orders", fmt.Sprint(i)).Err() != nil {
			require.NoError(t, ctx.Err())
		}
		_ = pauseFor(ctx, time.Duration(rand.Int64N(int64(4*time.Millisecond))))
	}
	got.requireOnce(t, ctx)
	takers.Wait()
	t.Logf("%d takes cancelled, the slowest returned %s after its context",
		cancelled.Load(), time.Duration(longest.Load()).Round(time.Millisecond))
	require.Less(t, time.Duration(longest.Load()), takeGrace)
	return cancelled.Load()
}

func TestFaultCancelledTakesWithPauses(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t)
	b := setupOn(t, s, "orders")
	node := s.Nodes()[0]
	cancelled := cancelledTakes(t, b, 300, func(ctx context.Context) {
		for _, pause := range []time.Duration{100 * time.Millisecond, 2200 * time.Millisecond} {
			_ = pauseFor(ctx, 100*time.Millisecond)
			_ = node.Pause()
			_ = pauseFor(ctx, pause)
			_ = node.Resume()
		}
	})
	require.Greater(t, cancelled, int64(100))
}

// A user who may not send CLIENT UNBLOCK, or learn of its id, waits a second at most for the end of a cancelled take.
func TestFaultCancelledTakesOfAUserWithoutUnblock(t *testing.T) {
	t.Parallel()
	for _, rights := range []string{"~* &* +@all -client|unblock", "~* &* +@all -client"} {
		b := as(t, redistest.Redis(t), rights)
		require.Positive(t, cancelledTakes(t, b, 300, func(context.Context) {}))
		n, err := b.redis.Do(t.Context(), "CLIENT", "LIST").Text()
		require.NoError(t, err)
		require.LessOrEqual(t, strings.Count(n, "\n"), 8+16+4, "connections that are left")
	}
}

func TestFaultCloseIsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, rights string
		paused       bool
		bound        time.Duration
	}{
		{"the server answers", "+@all", false, slack},
		{"the server is paused", "+@all", true, 3*time.Second + slack},
		{"without CLIENT UNBLOCK", "+@all -client|unblock", false, slack},
		{"without CLIENT UNBLOCK, paused", "+@all -client|unblock", true, 3*time.Second + slack},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Process(t)
			b := as(t, s, "~* &* "+c.rights)
			d := b.delayed(t)
			var calls sync.WaitGroup
			cancelled, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			for i := range 20 {
				ctx := t.Context()
				if i%2 == 0 {
					ctx = cancelled
				}
				calls.Go(func() { _, _ = b.queue.Take(ctx) })
			}
			<-cancelled.Done()
			waitBlocked(t, b.redis)
			if c.paused {
				require.NoError(t, s.Nodes()[0].Pause())
				for range 20 {
					calls.Go(func() { _ = d.Offer(t.Context(), "v", time.Hour) })
				}
			}
			within(t, c.bound, "Close", func() { require.NoError(t, b.client.Close()) })
			within(t, slack, "the calls", calls.Wait)
		})
	}
}

// A context without a deadline that is cancelled ends every call at once, also where
// the server stands still.
func TestFaultACancelledCallToAPausedServerReturns(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t)
	b := setupOn(t, s, "orders")
	d := b.delayed(t)
	require.NoError(t, d.Offer(deadline(t), "v", time.Hour))
	require.NoError(t, s.Nodes()[0].Pause())
	ctx, cancel := context.WithCancel(t.Context())
	calls := map[string]func() error{
		"Offer":       func() error { return d.Offer(ctx, "v", time.Hour) },
		"OfferAll":    func() error { _, err := d.OfferAll(ctx, time.Hour, "a", "b"); return err },
		"queue Offer": func() error { return b.queue.Offer(ctx, "v") },
		"Poll":        func() error { _, err := b.queue.Poll(ctx); return err },
		"Take":        func() error { _, err := b.queue.Take(ctx); return err },
		"Size":        func() error { _, err := d.Size(ctx); return err },
		"Ready": func() error {
			return dq.NewSender(dq.NewTaker(b.client, "new", codec.String{})).Ready(ctx)
		},
		"ReadAll": func() error { _, err := d.ReadAll(ctx); return err },
	}
	type result struct {
		name string
		err  error
	}
	results := make(chan result, len(calls))
	for name, call := range calls {
		go func() { results <- result{name, call()} }()
	}
	_ = pauseFor(t.Context(), 200*time.Millisecond) // all are under way
	cancel()
	began := time.Now()
	for range calls {
		r := <-results
		t.Logf("%s: %s, %v", r.name, time.Since(began).Round(time.Millisecond), r.err)
		require.ErrorIs(t, r.err, context.Canceled, r.name)
	}
	require.Less(t, time.Since(began), 1500*time.Millisecond)
}
