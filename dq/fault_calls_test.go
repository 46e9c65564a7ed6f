package dq_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// What the error of an offer says of the value, by what the server refuses.
func TestFaultWhatARefusedOfferLeaves(t *testing.T) {
	t.Parallel()
	all, n := "~* &* +@all", wire.NamesOf("orders")
	for _, c := range []struct {
		name, rights string
		prepare      []any // a command
		code         string
		uncertain    bool
		queued       int64 // in the timeout set
	}{
		{"the pending list is a string", all, []any{"SET", n.Pending, "x"}, "WRONGTYPE", true, 1},
		// The first write fails here, with the words of the case above.
		{"the timeout set is a string", all, []any{"SET", n.TimeoutSet, "x"}, "WRONGTYPE", true, 0},
		{"the user may not publish there", "~* resetchannels +@all", nil, "channel", true, 1},
		{"the user may not send PUBLISH", all + " -publish", nil, "", true, 1},
		{"the user may not send EVALSHA or EVAL", all + " -evalsha -eval", nil, "NOPERM", false, 0},
		{"the user may not use the key", "~other &* +@all", nil, "NOPERM", false, 0},
		{"a replica", all, []any{"REPLICAOF", "127.0.0.1", "1"}, "READONLY", false, 0},
		{"a master that is not replicated", all, []any{"CONFIG", "SET", "min-replicas-to-write", "1"}, "NOREPLICAS", false, 0},
		{"a server without memory", all, []any{"CONFIG", "SET", "maxmemory", "1"}, "OOM", false, 0},
	} {
		for _, release := range []string{"3.16.6", "3.21.3", "4.7.0"} { // EVAL, EVALSHA
			t.Run(c.name+"/"+release, func(t *testing.T) {
				t.Parallel()
				b := as(t, redistest.Redis(t), c.rights, dq.WithRelease(release), dq.WithOfferRetryTimeout(100*time.Millisecond))
				ctx := deadline(t)
				if c.prepare != nil {
					require.NoError(t, b.redis.Do(ctx, c.prepare...).Err())
				}
				err := dq.NewSender(b.queue).Offer(ctx, "v", time.Hour)
				require.ErrorContains(t, err, c.code)
				require.Equal(t, c.uncertain, errors.Is(err, dq.ErrUncertain), "%v", err)
				queued, _ := b.redis.ZCard(ctx, b.names.TimeoutSet).Result()
				require.Equal(t, c.queued, queued)
			})
		}
	}
}

func TestFaultAnOfferOverABrokenNetwork(t *testing.T) {
	t.Parallel()
	b, p := through(t, redistest.Redis(t), dq.WithOfferRetryTimeout(100*time.Millisecond))
	ctx := deadline(t)
	d := b.delayed(t)
	require.NoError(t, d.Offer(ctx, "v", time.Hour))

	p.OnCommand(func(_ *redis.ProxyConn, command []string) redis.Verdict {
		if strings.HasPrefix(command[0], "EVAL") && command[2] == "4" { // an offer, by its four keys
			return redis.CutReply
		}
		return redis.Pass
	})
	require.ErrorIs(t, d.Offer(ctx, "w", time.Hour), dq.ErrUncertain, "it was sent, and nobody answered")
	p.OnCommand(nil)

	p.Refuse()
	p.Reset()
	require.Eventually(t, func() bool {
		err := d.Offer(ctx, "x", time.Hour)
		return err != nil && strings.Contains(err.Error(), "refused")
	}, testDeadline, time.Millisecond, "a connection that broke may swallow one offer, or two")
	require.NoError(t, p.Heal())
	require.NoError(t, d.Offer(ctx, "y", time.Hour))
}

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
	taken := async(func() error { _, err := b.queue.Take(short); return err })
	waitBlocked(t, b.redis)
	node := s.Nodes()[0]
	require.NoError(t, node.Pause())
	// Two pushes wait in the socket of a connection that the server reads before any other.
	pushed := async(func() error { return b.redis.RPush(context.Background(), "orders", "first", "second").Err() })
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
	takes(t, ctx, b.queue, "first", "second")
}

func TestFaultACancelledTakeOverADeadConnectionIsGivenUp(t *testing.T) {
	t.Parallel()
	b, p := through(t, redistest.Redis(t), quick())
	ctx, cancel := context.WithCancel(deadline(t))
	taken := async(func() error { _, err := b.queue.Take(ctx); return err })
	dead, err := p.Wait(ctx, waiting("BLPOP"))
	require.NoError(t, err)
	waitBlocked(t, b.redis)
	dead.Set(redis.Fault{Stall: true})
	cancel()
	within(t, takeGrace, "the Take", func() { require.ErrorIs(t, <-taken, context.Canceled) })
	within(t, 6*time.Second+slack, "until the connection is closed", func() {
		require.NoError(t, p.Until(deadline(t), func() bool { return len(p.Conns(sent("BLPOP"))) == 0 }))
	})
}

// cancelledTakes runs takers whose contexts end all the time, while values are offered, and fails if one is lost or comes twice.
func cancelledTakes(t *testing.T, b *bundle, values int, disturb func(ctx context.Context)) int64 {
	t.Helper()
	ctx := deadline(t)
	got, all := newTaken(), make(chan struct{})
	var takers sync.WaitGroup
	var cancelled atomic.Int64
	var longest atomic.Int64
	for range 8 {
		takers.Go(func() {
			for ctx.Err() == nil {
				select {
				case <-all:
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
					got.came <- v
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
		_ = conn.Pause(ctx, time.Duration(rand.Int64N(int64(4*time.Millisecond))))
	}
	for _, v := range numbered(values) {
		require.True(t, got.oneOf([]string{v}, testDeadline), "%s is lost", v)
	}
	close(all)
	takers.Wait()
	got.requireOnce(t)
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
			_ = conn.Pause(ctx, 100*time.Millisecond)
			_ = node.Pause()
			_ = conn.Pause(ctx, pause)
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

// A server that hangs holds a Shutdown up once, and not once for each queue.
func TestFaultShutdownIsBounded(t *testing.T) {
	t.Parallel()
	b := setupOn(t, redistest.Process(t), "orders")
	w, begun := dq.NewWorker(b.client, dq.WorkerOptions{}), new(sync.WaitGroup)
	for i := range 6 {
		begun.Add(1)
		q := must(dq.NewQueue(b.client, dq.PartitionName("orders", i), codec.String{}))
		dq.Handle(w, q, func(context.Context, *dq.Message[string]) error { begun.Done(); <-t.Context().Done(); return nil })
		require.NoError(t, b.redis.RPush(t.Context(), q.Name(), "v").Err())
	}
	go func() { _ = w.Run(t.Context()) }()
	begun.Wait()
	require.NoError(t, b.server.Nodes()[0].Pause())
	ended, end := context.WithCancel(t.Context())
	end()
	within(t, 5*time.Second+slack, "Shutdown", func() { require.Error(t, w.Shutdown(ended)) })
	require.NoError(t, b.server.Nodes()[0].Resume())
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

// A server that accepts and says nothing, as one whose process stands still.
func TestFaultTakesDoNotPileUpDials(t *testing.T) {
	s := redistest.Redis(t)
	p := redistest.NewProxy(t, s.Addr)
	direct, client := connect(t, s.URL()), clientOf(t, connect(t, "redis://"+p.Addr))
	queue := dq.NewTaker(client, "orders", codec.String{})
	p.Set(redis.Fault{Stall: true})
	within(t, 300*time.Millisecond+slack, "300 takes of 0 to 1 ms", func() {
		for i := range 300 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%2)*time.Millisecond)
			_, err := queue.Take(ctx)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
	})
	require.LessOrEqual(t, p.Accepted.Load(), int64(10), "connections that were dialled")
	require.NoError(t, p.Heal())
	require.NoError(t, direct.RPush(t.Context(), "orders", "v").Err())
	takes(t, deadline(t), queue, "v")

	p.Set(redis.Fault{Stall: true})
	closeWithin(t, client, time.Second+slack)
	require.NoError(t, p.Heal())
}

func TestFaultADeadBlockingConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	b, p := through(t, redistest.Redis(t), quick())
	ctx := deadline(t)
	const values = 50
	p.OnCommand(func(_ *redis.ProxyConn, command []string) redis.Verdict {
		if command[0] == "BLPOP" {
			assert.Equal(t, []string{"BLPOP", "orders", "1"}, command)
		}
		return redis.Pass
	})
	got := b.taken(ctx)
	dead, err := p.Wait(ctx, waiting("BLPOP"))
	require.NoError(t, err)
	waitBlocked(t, b.redis)
	dead.Set(redis.Fault{Stall: true})
	for i := range values {
		require.NoError(t, b.redis.RPush(ctx, "orders", fmt.Sprint(i)).Err())
	}
	// The server gave the first value to the connection that is dead.
	within(t, 10*time.Second+slack, "the first value over a new connection", func() {
		for i := 1; i < values; i++ {
			require.Equal(t, fmt.Sprint(i), <-got)
		}
	})
	require.Zero(t, b.redis.LLen(ctx, "orders").Val(), "nothing is left waiting")
	// The server has been told to end the command of the dead connection, which takes nothing later.
	_, err = p.Wait(ctx, func(c *redis.ProxyConn) bool { return c != dead && c.Waiting("BLPOP") })
	require.NoError(t, err)
	require.NoError(t, b.redis.RPush(ctx, "orders", "later").Err())
	require.Equal(t, "later", <-got)
}

func TestFaultManyCancelledTakesLeaveFewConnections(t *testing.T) {
	t.Parallel()
	b, p := through(t, redistest.Redis(t), dq.WithConn(func(o *conn.Options) { o.Idle = time.Second }))
	ctx, cancel := context.WithCancel(deadline(t))
	var takers sync.WaitGroup
	for range 100 {
		takers.Go(func() { _, _ = b.queue.Take(ctx) })
	}
	blocked := waiting("BLPOP")
	require.NoError(t, p.Until(deadline(t), func() bool { return len(p.Conns(blocked)) == 100 }))
	cancel()
	within(t, time.Second+slack, "100 cancelled takes", takers.Wait)
	ctx = deadline(t)
	within(t, 5*time.Second, "until few connections are left", func() {
		require.NoError(t, p.Until(ctx, func() bool { return len(p.Conns(nil)) <= 20 }))
	})
	within(t, 10*time.Second, "until the idle ones are closed", func() {
		require.NoError(t, p.Until(ctx, func() bool { return len(p.Conns(sent("BLPOP"))) == 0 }))
	})
	require.NoError(t, b.redis.RPush(ctx, "orders", "v").Err())
	takes(t, ctx, b.queue, "v")
}

// Remove does not choose among equal values whose order it could not learn.
func TestFaultARemoveWithoutTheOrderRemovesNothing(t *testing.T) {
	t.Parallel()
	b, p := through(t, redistest.Redis(t))
	ctx, q := deadline(t), queueOf(t, b, codec.String{})
	for _, delay := range []time.Duration{2 * time.Hour, time.Hour} {
		_, err := q.Offer(ctx, "twin", delay)
		require.NoError(t, err)
	}
	p.OnCommand(func(_ *redis.ProxyConn, command []string) redis.Verdict {
		if command[0] == "LPOS" {
			return redis.CutReply
		}
		return redis.Pass
	})
	_, err := q.Remove(ctx, "twin")
	require.Error(t, err)
	require.EqualValues(t, 2, b.redis.ZCard(ctx, b.names.TimeoutSet).Val())
}
