package dq_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/scripts"
)

// killedBy consumes "orders" as a process does that ends with poison: of what it held then nothing is sent any
// more. It notes in begun how often each was.
func (b *bundle) killedBy(t *testing.T, poison string, limit int, begun map[string]int) {
	t.Helper()
	options, err := redis.ParseURL(b.server.URL())
	require.NoError(t, err)
	rdb := redis.NewClient(options)
	defer rdb.Close()
	client, err := dq.NewClient(rdb)
	require.NoError(t, err)
	defer client.Close()
	q := dq.NewReliableQueue(dq.NewBlockingQueue(client, "orders", codec.String{}),
		dq.ReliableOptions{Visibility: time.Second, MaxAttempts: limit})
	defer q.Close()
	ctx, cancel := context.WithTimeout(t.Context(), testDeadline)
	defer cancel()
	var dead atomic.Bool
	err = q.Consume(ctx, func(_ context.Context, d *dq.Delivery[string]) error {
		if dead.Load() {
			return nil
		}
		begun[d.Value]++
		if d.Value == poison {
			dead.Store(true)
			return client.Close()
		}
		return nil
	}, dq.ReliableConsumeOptions{})
	require.ErrorIs(t, err, dq.ErrClosed)
}

// A message that ends its process becomes a dead letter after MaxAttempts, and none of those that were held
// behind it, or handled just before it.
func TestReliablePoisonTakesNoOtherWithIt(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]int{"once": 1, "three times": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			names := scripts.ReliableNamesOf("orders")
			values := numbered(300)
			poison := values[150]
			b.push(t, values...)
			q := b.reliably(t, dq.ReliableOptions{Visibility: time.Second, MaxAttempts: limit})
			begun := map[string]int{}
			for life := range limit {
				fresh := make([]any, 40) // in front of what comes back, so that it is taken with others where it may be
				for i := range fresh {
					fresh[i] = fmt.Sprintf("fresh %d of %d", i, life)
				}
				require.NoError(t, b.redis.LPush(t.Context(), "orders", fresh...).Err())
				b.killedBy(t, poison, limit, begun)
				require.Eventually(t, func() bool { return b.redis.Exists(t.Context(), names.Held).Val() == 0 }, testDeadline, 10*time.Millisecond)
			}
			require.Equal(t, limit, begun[poison])
			ctx, cancel := context.WithTimeout(t.Context(), testDeadline)
			defer cancel()
			go func() {
				defer cancel()
				for pauseFor(ctx, 10*time.Millisecond) == nil {
					if b.redis.Exists(ctx, "orders", names.Moved, names.MovedBefore, names.Held).Val() == 0 {
						return
					}
				}
			}()
			err := q.Consume(ctx, func(_ context.Context, d *dq.Delivery[string]) error {
				begun[d.Value]++
				return nil
			}, dq.ReliableConsumeOptions{})
			require.ErrorIs(t, err, context.Canceled)
			letters, err := q.DeadLetters(t.Context(), 0, len(values))
			require.NoError(t, err)
			require.Equal(t, 1, len(letters)) //nolint:testifylint // without all of them in the message
			require.Equal(t, poison, letters[0].Value)
			require.Equal(t, limit, letters[0].Attempts)
			require.Len(t, begun, len(values)+40*limit)
		})
	}
}

// What may be begun no more when its process ends is acknowledged before the next one is begun.
func TestReliableAcknowledgesAtOnceWhatMayNotComeAgain(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]dq.ReliableOptions{"one attempt": {MaxAttempts: 1}, "held before": {MaxAttempts: 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			q := b.reliably(t, o)
			values := numbered(50)
			b.push(t, values...)
			if o.MaxAttempts > 1 {
				held := make([]*dq.Delivery[string], len(values))
				for i := range held {
					held[i] = reserve(t, q)
				}
				for _, d := range held {
					require.NoError(t, d.Nack(t.Context(), 0, "")) // to the front, the last one foremost
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), testDeadline)
			defer cancel()
			handled := 0
			err := q.Consume(ctx, func(ctx context.Context, _ *dq.Delivery[string]) error {
				if n := b.redis.ZCard(ctx, scripts.ReliableNamesOf("orders").Held).Val(); n != 1 {
					return fmt.Errorf("%d are held", n)
				}
				if handled++; handled == len(values) {
					cancel()
				}
				return nil
			}, dq.ReliableConsumeOptions{Failed: func(_ any, err error) { t.Error(err) }})
			require.ErrorIs(t, err, context.Canceled)
			b.nothingLeft(t)
		})
	}
}

// A turn that a server with another clock began does not keep what nobody holds until this one has caught up.
func TestReliableTurnThatLiesAhead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	names := scripts.ReliableNamesOf(b.queue.Name())
	require.NoError(t, b.redis.RPush(t.Context(), names.MovedBefore, "moved").Err())
	require.NoError(t, b.redis.HSet(t.Context(), names.Attempts, "turned", time.Now().Add(time.Hour).UnixMilli()).Err())
	q := b.reliably(t, dq.ReliableOptions{})
	d := reserve(t, q)
	require.Equal(t, "moved", d.Value)
	require.NoError(t, d.Ack(t.Context()))
}

// What no dq has written is passed over: what others hold comes back, and dead letters are read.
func TestReliablePassesOverForeignMembers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, names := t.Context(), scripts.ReliableNamesOf(b.queue.Name())
	q := b.reliably(t, dq.ReliableOptions{Visibility: 200 * time.Millisecond, MaxAttempts: 1})
	b.push(t, "refused")
	require.NoError(t, reserve(t, q).Nack(ctx, 0, "no"))
	for _, key := range []string{names.Held, names.Dead} {
		require.NoError(t, b.redis.ZAdd(ctx, key, redis.Z{Member: "foreign"}).Err())
	}
	require.NoError(t, b.redis.ZAdd(ctx, names.Dead, redis.Z{Score: 1, Member: strings.Repeat("long and foreign ", 3)}).Err())
	require.NoError(t, b.redis.HSet(ctx, names.Attempts, "turned", "foreign").Err())
	require.NoError(t, b.redis.RPush(ctx, names.MovedBefore, "moved").Err())
	d := reserve(t, q)
	require.Equal(t, "moved", d.Value)
	require.NoError(t, d.Ack(ctx))
	require.Equal(t, "foreign", b.redis.ZRange(ctx, names.Held, 0, -1).Val()[0])

	letters, err := q.DeadLetters(ctx, 0, 10)
	require.NoError(t, err)
	require.Len(t, letters, 3)
	require.Error(t, letters[0].Err)
	require.Equal(t, "foreign", string(letters[0].Data))
	require.Equal(t, "refused", letters[2].Value)
	n, err := q.Replay(ctx, letters...)
	require.NoError(t, err)
	require.Equal(t, 1, n, "what is foreign stays")
	d = reserve(t, q)
	require.Equal(t, "refused", d.Value)
	require.NoError(t, d.Ack(ctx))
	n, err = q.Drop(ctx, letters...)
	require.NoError(t, err)
	require.Equal(t, 2, n)
}

// A dead letter that cannot be pushed stays.
func TestReliableReplayLosesNothingForWantOfARight(t *testing.T) {
	t.Parallel()
	s := setup(t)
	names := scripts.ReliableNamesOf("orders")
	q := s.reliably(t, dq.ReliableOptions{MaxAttempts: 1})
	s.push(t, "refused")
	require.NoError(t, reserve(t, q).Nack(t.Context(), 0, "no"))
	letters, err := q.DeadLetters(t.Context(), 0, 1)
	require.NoError(t, err)
	for _, command := range []string{"rpush", "zrem"} {
		b := as(t, s.server, "allcommands allkeys allchannels -"+command)
		trimmed := dq.NewReliableQueue(b.queue, dq.ReliableOptions{})
		_, err = trimmed.Replay(t.Context(), letters...)
		require.Error(t, err)
		require.EqualValues(t, 1, s.redis.ZCard(t.Context(), names.Dead).Val(), "without "+command)
		require.NoError(t, trimmed.Close())
	}
}
