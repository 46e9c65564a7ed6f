package dq_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// layoutValues wait in a queue, in this order, one of them in the other layout.
var layoutValues = []string{"first", "middle", "last"}

// layoutCalls are what people do with values that wait, what the calls answer and what
// they leave of layoutValues.
var layoutCalls = []struct {
	name string
	call func(ctx context.Context, d *dq.DelayedQueue[string]) (any, error)
	want any
	left []string
}{
	{"Poll", func(ctx context.Context, d delayedQueue) (any, error) { return d.Poll(ctx) }, "first", layoutValues[1:]},
	{"PollN one", func(ctx context.Context, d delayedQueue) (any, error) { return d.PollN(ctx, 1) }, layoutValues[:1], layoutValues[1:]},
	{"PollN two", func(ctx context.Context, d delayedQueue) (any, error) { return d.PollN(ctx, 2) }, layoutValues[:2], layoutValues[2:]},
	{"PollN all", func(ctx context.Context, d delayedQueue) (any, error) { return d.PollN(ctx, 9) }, layoutValues, nil},
	{"Peek", func(ctx context.Context, d delayedQueue) (any, error) { return d.Peek(ctx) }, "first", layoutValues},
	{"Size", func(ctx context.Context, d delayedQueue) (any, error) { return d.Size(ctx) }, 3, layoutValues},
	{"ReadAll", func(ctx context.Context, d delayedQueue) (any, error) { return d.ReadAll(ctx) }, layoutValues, layoutValues},
	{"All", func(ctx context.Context, d delayedQueue) (any, error) { return walk(ctx, d) }, layoutValues, layoutValues},
	{"Contains first", contains("first"), true, layoutValues},
	{"Contains middle", contains("middle"), true, layoutValues},
	{"Contains last", contains("last"), true, layoutValues},
	{"Contains absent", contains("absent"), false, layoutValues},
	{"ContainsAll", func(ctx context.Context, d delayedQueue) (any, error) {
		return d.ContainsAll(ctx, "last", "first", "middle")
	}, true, layoutValues},
	{"ContainsAll but one", func(ctx context.Context, d delayedQueue) (any, error) { return d.ContainsAll(ctx, "last", "absent") }, false, layoutValues},
	{"Remove first", remove("first"), true, layoutValues[1:]},
	{"Remove middle", remove("middle"), true, []string{"first", "last"}},
	{"Remove last", remove("last"), true, layoutValues[:2]},
	{"Remove absent", remove("absent"), false, layoutValues},
	{"RemoveAll", func(ctx context.Context, d delayedQueue) (any, error) {
		return d.RemoveAll(ctx, "last", "absent", "first")
	}, true, layoutValues[1:2]},
	{"RemoveAll absent", func(ctx context.Context, d delayedQueue) (any, error) { return d.RemoveAll(ctx, "absent") }, false, layoutValues},
	{"Retain", func(ctx context.Context, d delayedQueue) (any, error) { return d.Retain(ctx, "middle") }, true, layoutValues[1:2]},
	{"Retain all", func(ctx context.Context, d delayedQueue) (any, error) { return d.Retain(ctx, layoutValues...) }, false, layoutValues},
	{"RemoveAt first", func(ctx context.Context, d delayedQueue) (any, error) { return nil, d.RemoveAt(ctx, 0) }, nil, layoutValues[1:]},
	{"RemoveAt middle", func(ctx context.Context, d delayedQueue) (any, error) { return nil, d.RemoveAt(ctx, 1) }, nil, []string{"first", "last"}},
	{"RemoveAt last", func(ctx context.Context, d delayedQueue) (any, error) { return nil, d.RemoveAt(ctx, 2) }, nil, layoutValues[:2]},
	{"RemoveAt behind", func(ctx context.Context, d delayedQueue) (any, error) { return nil, d.RemoveAt(ctx, 3) }, nil, layoutValues},
	{"PollLastAndOfferFirstTo", func(ctx context.Context, d delayedQueue) (any, error) {
		return d.PollLastAndOfferFirstTo(ctx, "other of "+d.Name())
	}, "last", layoutValues[:2]},
}

type delayedQueue = *dq.DelayedQueue[string]

func contains(v string) func(context.Context, delayedQueue) (any, error) {
	return func(ctx context.Context, d delayedQueue) (any, error) { return d.Contains(ctx, v) }
}

func remove(v string) func(context.Context, delayedQueue) (any, error) {
	return func(ctx context.Context, d delayedQueue) (any, error) { return d.Remove(ctx, v) }
}

func walk(ctx context.Context, d delayedQueue) (all []string, err error) {
	for v, err := range d.All(ctx) {
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
}

// Each call does with a queue of both layouts what it does with one of its own, whether
// the client has met the other layout before or meets it in the call.
func TestFaultLayoutCalls(t *testing.T) {
	t.Parallel()
	forBothReleases(t, func(t *testing.T, release string) {
		s := redistest.Redis(t)
		ctx := deadline(t)
		for foreign, place := range layoutValues {
			for _, known := range []bool{false, true} {
				for _, c := range layoutCalls {
					name := fmt.Sprintf("%s, foreign is %s, known is %t", c.name, place, known)
					b := setupOn(t, s, name, dq.WithRelease(release))
					d := dq.NewDelayedQueue(b.queue)
					if !known {
						require.NoError(t, d.Ready(ctx))
					}
					for i, v := range layoutValues {
						l := layoutOf(t, release)
						if i == foreign {
							l = l.Other()
						}
						b.seed(t, l, time.Now().Add(time.Hour).UnixMilli()+int64(i), v)
					}
					if known {
						require.NoError(t, d.Ready(ctx))
					}
					got, err := c.call(ctx, d)
					require.NoError(t, err, name)
					require.Equal(t, c.want, got, name)
					b.requireWaiting(t, d, c.left)
					require.NoError(t, b.client.Close())
				}
			}
		}
	})
}

// requireWaiting checks what waits, in the list and in the set.
func (b *bundle) requireWaiting(t *testing.T, d delayedQueue, want []string) {
	t.Helper()
	all, err := d.ReadAll(t.Context())
	require.NoError(t, err)
	require.True(t, slices.Equal(want, all), "%s: expected %q to be left, got %q", d.Name(), want, all)
	listed, err := b.redis.LRange(t.Context(), b.names.Pending, 0, -1).Result()
	require.NoError(t, err)
	inTime, err := b.redis.ZRange(t.Context(), b.names.TimeoutSet, 0, -1).Result()
	require.NoError(t, err)
	require.Equal(t, listed, inTime, d.Name())
}

// shiftedClock is the clock of the machine, but that it can be set forward.
type shiftedClock struct {
	mu     sync.Mutex
	by     time.Duration
	timers []*shiftedTimer
}

func newShiftedClock() *shiftedClock { return &shiftedClock{} }

func (c *shiftedClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.by)
}

func (c *shiftedClock) NewTimer() clock.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &shiftedTimer{Timer: clock.Runtime().NewTimer(), clock: c}
	c.timers = append(c.timers, t)
	return t
}

// shift sets the clock forward, and all timers with it.
func (c *shiftedClock) shift(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by += by
	for _, t := range c.timers {
		if !t.at.IsZero() {
			t.Timer.Reset(t.at.Add(-c.by))
		}
	}
}

// shiftedTimer is a timer of a shiftedClock, whose mutex guards at.
type shiftedTimer struct {
	clock.Timer
	clock *shiftedClock
	at    time.Time // zero where it is stopped
}

func (t *shiftedTimer) Reset(at time.Time) {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.at = at
	t.Timer.Reset(at.Add(-t.clock.by))
}

func (t *shiftedTimer) Stop() {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.at = time.Time{}
	t.Timer.Stop()
}
