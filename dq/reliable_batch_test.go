package dq_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/scripts"
)

func numbered(n int) []string {
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprintf("order %04d", i)
	}
	return values
}

// A backlog is held several at a time, in order, each once, and is acknowledged.
func TestReliableConsumesABacklogInBatches(t *testing.T) {
	t.Parallel()
	b := setup(t)
	q := b.reliably(t, dq.ReliableOptions{})
	values := numbered(1000)
	b.push(t, values...)
	ctx, cancel := context.WithTimeout(t.Context(), testDeadline)
	defer cancel()
	var got []string
	err := q.Consume(ctx, func(_ context.Context, d *dq.Delivery[string]) error {
		if got = append(got, d.Value); d.Attempt != 1 {
			return errors.New("once")
		}
		if len(got) == len(values) {
			cancel()
		}
		return nil
	}, dq.ReliableConsumeOptions{Failed: func(v any, err error) { t.Errorf("%v: %v", v, err) }})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, values, got)
	require.Equal(t, []bool{true}, b.redis.ScriptExists(t.Context(), scripts.HoldNext().SHA1).Val())
	b.nothingLeft(t)
}

// What a handler keeps waiting goes back in its order, and counts no attempt.
func TestReliableGivesBackWhatWaits(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var returned []string
	b := setup(t, on(func(e dq.Returned) {
		mu.Lock()
		defer mu.Unlock()
		returned = append(returned, string(e.Value))
	}))
	q := b.reliably(t, dq.ReliableOptions{})
	values := numbered(300)
	b.push(t, values...)
	ctx, cancel := context.WithTimeout(t.Context(), testDeadline)
	defer cancel()
	var got []string
	err := q.Consume(ctx, func(ctx context.Context, d *dq.Delivery[string]) error {
		if got = append(got, d.Value); d.Attempt != 1 {
			return fmt.Errorf("%q is at its attempt %d", d.Value, d.Attempt)
		}
		switch len(got) {
		case 50: // others of its batch wait behind it
			for {
				mu.Lock()
				n := len(returned)
				mu.Unlock()
				if n > 0 {
					rest := b.redis.LRange(ctx, "orders", 0, -1).Val()
					if !slices.Equal(values[50:], rest) {
						return fmt.Errorf("expected all behind it in order, got %d: %q", len(rest), rest[:min(len(rest), 3)])
					}
					return nil
				}
				if err := pauseFor(ctx, 5*time.Millisecond); err != nil {
					return err
				}
			}
		case len(values):
			cancel()
		}
		return nil
	}, dq.ReliableConsumeOptions{Failed: func(v any, err error) { t.Errorf("%v: %v", v, err); cancel() }})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, values, got)
	b.nothingLeft(t)
}

// An acknowledgement that comes too late is told, like one of a message alone.
func TestReliableTellsWhichAcknowledgementsFail(t *testing.T) {
	t.Parallel()
	b := setup(t)
	q := b.reliably(t, dq.ReliableOptions{})
	b.push(t, "a", "taken away", "c")
	ctx, cancel := context.WithTimeout(t.Context(), testDeadline)
	defer cancel()
	var mu sync.Mutex
	failed := map[any]error{}
	err := q.Consume(ctx, func(ctx context.Context, d *dq.Delivery[string]) error {
		switch d.Value {
		case "taken away":
			return b.redis.Del(ctx, scripts.ReliableNamesOf("orders").Held).Err()
		case "c":
			cancel()
		}
		return nil
	}, dq.ReliableConsumeOptions{Prefetch: 1, Failed: func(v any, err error) { mu.Lock(); failed[v] = err; mu.Unlock() }})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, failed["taken away"], dq.ErrNotHeld)
	require.NotContains(t, failed, "c")
}

// Whatever command a user may not call, no message is lost: it is in the queue, held, or a dead letter.
func TestReliableLosesNothingForWantOfARight(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, command := range []string{"hget", "hset", "hdel", "zadd", "zrem", "lrem", "lpush", "rpush", "lrange", "ltrim", "publish"} {
		t.Run(command, func(t *testing.T) {
			s.redis.FlushDB(t.Context())
			b := as(t, s.server, "allcommands allkeys allchannels -"+command)
			q := dq.NewReliableQueue(b.queue, dq.ReliableOptions{})
			t.Cleanup(func() { require.NoError(t, q.Close()) })
			values := numbered(40)
			for _, v := range values {
				require.NoError(t, s.queue.Offer(t.Context(), v))
			}
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			var mu sync.Mutex
			acknowledged := map[string]bool{}
			_ = q.Consume(ctx, func(_ context.Context, d *dq.Delivery[string]) error {
				mu.Lock()
				defer mu.Unlock()
				acknowledged[d.Value] = true // and if that fails it comes again
				switch d.Value[len(d.Value)-1] {
				case '3':
					acknowledged[d.Value] = false
					return errors.New("later")
				case '7':
					acknowledged[d.Value] = false
					return &dq.PermanentError{Err: errors.New("never")}
				}
				return nil
			}, dq.ReliableConsumeOptions{Workers: 2, Backoff: func(int) time.Duration { return time.Hour }})
			there := map[string]bool{}
			note := func(members []string) {
				for _, m := range members {
					there[m[max(len(m)-len(values[0]), 0):]] = true // behind whatever is in front of the value
				}
			}
			names := scripts.ReliableNamesOf("orders")
			for _, list := range []string{"orders", names.Moved, names.MovedBefore} {
				note(s.redis.LRange(t.Context(), list, 0, -1).Val())
			}
			for _, set := range []string{names.Held, names.Dead, s.names.TimeoutSet} {
				note(s.redis.ZRange(t.Context(), set, 0, -1).Val())
			}
			for _, v := range values {
				require.True(t, acknowledged[v] || there[v], "%q is gone", v)
			}
		})
	}
}
