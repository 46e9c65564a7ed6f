package dq_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// reliably opens a ReliableQueue of the bundle's queue.
func (b *bundle) reliably(t *testing.T, o dq.ReliableOptions) *dq.ReliableQueue[string] {
	t.Helper()
	o.Failed = func(err error) { t.Errorf("a sweep failed: %v", err) }
	q := dq.NewReliableQueue(b.queue, o)
	require.NoError(t, q.Err())
	t.Cleanup(func() { require.NoError(t, q.Close()) })
	return q
}

func (b *bundle) push(t *testing.T, values ...string) {
	t.Helper()
	for _, v := range values {
		require.NoError(t, b.queue.Offer(t.Context(), v))
	}
}

func reserve(t *testing.T, q *dq.ReliableQueue[string]) *dq.Delivery[string] {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testDeadline)
	defer cancel()
	d, err := q.Reserve(ctx)
	require.NoError(t, err)
	return d
}

// nothingLeft requires that no key of the queue is there but what is named.
func (b *bundle) nothingLeft(t *testing.T, but ...string) {
	t.Helper()
	keys, err := b.redis.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	slices.Sort(keys)
	// The counts also say when the last turn was.
	attempts := scripts.ReliableNamesOf(b.queue.Name()).Attempts
	if fields := b.redis.HKeys(t.Context(), attempts).Val(); len(fields) == 1 && fields[0] == "turned" {
		keys = slices.DeleteFunc(keys, func(k string) bool { return k == attempts })
	}
	require.ElementsMatch(t, but, keys)
}

func TestReliableTakesInOrderAndAcknowledges(t *testing.T) {
	t.Parallel()
	b := setup(t)
	q := b.reliably(t, dq.ReliableOptions{})
	b.push(t, "a", "b", "c")
	for _, want := range []string{"a", "b", "c"} {
		d := reserve(t, q)
		require.Equal(t, want, d.Value)
		require.Equal(t, 1, d.Attempt)
		require.NoError(t, d.Ack(t.Context()))
		require.ErrorIs(t, d.Ack(t.Context()), dq.ErrNotHeld)
	}
	b.nothingLeft(t)
}

func TestReliableComesBackWhenTheTimeIsOver(t *testing.T) {
	t.Parallel()
	b := setup(t)
	q := b.reliably(t, dq.ReliableOptions{Visibility: 300 * time.Millisecond})
	b.push(t, "a", "b", "c")
	lost := []*dq.Delivery[string]{reserve(t, q), reserve(t, q)}
	attempts := map[string]int{}
	for range 3 {
		d := reserve(t, q)
		attempts[d.Value] = d.Attempt
		require.NoError(t, d.Ack(t.Context()))
	}
	require.Equal(t, map[string]int{"a": 2, "b": 2, "c": 1}, attempts)
	require.ErrorIs(t, lost[0].Ack(t.Context()), dq.ErrNotHeld)
	require.ErrorIs(t, lost[1].Extend(t.Context()), dq.ErrNotHeld)
	b.nothingLeft(t)
}

func TestReliableExtendHoldsLonger(t *testing.T) {
	t.Parallel()
	b := setup(t)
	q := b.reliably(t, dq.ReliableOptions{Visibility: 3 * time.Second})
	b.push(t, "a")
	d := reserve(t, q)
	first := d.Deadline()
	for time.Now().Before(first.Add(100 * time.Millisecond)) {
		require.NoError(t, pauseFor(t.Context(), 200*time.Millisecond))
		require.NoError(t, d.Extend(t.Context()))
	}
	require.True(t, d.Deadline().After(first.Add(time.Second)))
	require.NoError(t, d.Ack(t.Context()), "it would have gone back by now")
	b.nothingLeft(t)
}

// Given back with a delay, a message is an ordinary one of the delayed queue, which Java services see.
func TestReliableNackGoesThroughTheDelayedQueue(t *testing.T) {
	t.Parallel()
	for _, release := range []string{"3.16.6", "4.7.0"} {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			b := setup(t, dq.WithRelease(release))
			delayed := dq.NewDelayedQueue(b.queue)
			t.Cleanup(func() { require.NoError(t, delayed.Close()) })
			require.NoError(t, delayed.Ready(t.Context()))
			q := b.reliably(t, dq.ReliableOptions{})
			b.push(t, "a", "b")
			began := time.Now()
			require.NoError(t, reserve(t, q).Nack(t.Context(), 400*time.Millisecond, "busy"))
			waiting, err := delayed.ReadAll(t.Context())
			require.NoError(t, err)
			require.Equal(t, []string{"a"}, waiting)
			require.NoError(t, reserve(t, q).Nack(t.Context(), 0, "busy"))
			second := reserve(t, q)
			require.Equal(t, "b", second.Value, "in front, at once")
			require.Equal(t, 2, second.Attempt)
			require.NoError(t, second.Ack(t.Context()))
			first := reserve(t, q)
			require.Equal(t, "a", first.Value)
			require.Equal(t, 2, first.Attempt)
			require.GreaterOrEqual(t, time.Since(began), 390*time.Millisecond)
			require.NoError(t, first.Ack(t.Context()))
			b.nothingLeft(t)
		})
	}
}

func TestReliableGivesUpAfterMaxAttempts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	q := b.reliably(t, dq.ReliableOptions{Visibility: 200 * time.Millisecond, MaxAttempts: 2})
	b.push(t, "refused", "silent")
	require.NoError(t, reserve(t, q).Nack(t.Context(), 0, "no"))
	require.NoError(t, reserve(t, q).Nack(t.Context(), 0, "no again"))
	require.Equal(t, "silent", reserve(t, q).Value)
	require.Equal(t, "silent", reserve(t, q).Value)
	names := scripts.ReliableNamesOf("orders")
	require.Eventually(t, func() bool { return b.redis.ZCard(t.Context(), names.Dead).Val() == 2 }, testDeadline, 5*time.Millisecond)
	b.nothingLeft(t, names.Dead)

	letters, err := q.DeadLetters(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Len(t, letters, 2)
	require.Equal(t, "refused", letters[0].Value)
	require.Equal(t, "no again", letters[0].Reason)
	require.Equal(t, 2, letters[0].Attempts)
	require.WithinDuration(t, time.Now(), letters[0].At, time.Minute)
	require.Equal(t, "silent", letters[1].Value)
	require.Equal(t, "the visibility timeout ran out", letters[1].Reason)
	page, err := q.DeadLetters(t.Context(), 1, 1)
	require.NoError(t, err)
	require.Equal(t, letters[1:], page)

	n, err := q.Replay(t.Context(), letters[0])
	require.NoError(t, err)
	require.Equal(t, 1, n)
	d := reserve(t, q)
	require.Equal(t, "refused", d.Value)
	require.Equal(t, 1, d.Attempt, "it begins anew")
	require.NoError(t, d.Ack(t.Context()))
	n, err = q.Drop(t.Context(), letters...)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	b.nothingLeft(t)
}

// A consumer that died between BLMOVE and the hold, or whose context ended there.
func TestReliableMovedAndNeverHeldComesBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	names := scripts.ReliableNamesOf("orders")
	require.NoError(t, b.redis.RPush(t.Context(), names.Moved, "a", "b").Err())
	require.NoError(t, b.redis.RPush(t.Context(), "orders", "c").Err())
	q := b.reliably(t, dq.ReliableOptions{})
	got := map[string]bool{}
	for range 3 {
		d := reserve(t, q)
		require.Equal(t, 1, d.Attempt)
		got[d.Value] = true
		require.NoError(t, d.Ack(t.Context()))
	}
	require.Len(t, got, 3)
	b.nothingLeft(t)
}

func TestReliableLosesNothingByAWrongKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	names := scripts.ReliableNamesOf("orders")
	for _, key := range []string{names.Held, names.Attempts} {
		require.NoError(t, b.redis.Set(t.Context(), key, "not ours", 0).Err())
	}
	q := dq.NewReliableQueue(b.queue, dq.ReliableOptions{})
	b.push(t, "a")
	_, err := q.Reserve(t.Context())
	require.ErrorContains(t, err, "WRONGTYPE")
	require.NoError(t, q.Close())
	require.Equal(t, []string{"a"}, b.redis.LRange(t.Context(), names.Moved, 0, -1).Val())
	require.NoError(t, b.redis.Del(t.Context(), names.Held, names.Attempts).Err())
	require.Equal(t, "a", reserve(t, b.reliably(t, dq.ReliableOptions{})).Value)
}

func TestReliableValueThatCannotBeDecodedIsADeadLetter(t *testing.T) {
	t.Parallel()
	b := setup(t)
	q := dq.NewReliableQueue(dq.NewBlockingQueue(b.client, "orders", codec.Long{}), dq.ReliableOptions{})
	t.Cleanup(func() { require.NoError(t, q.Close()) })
	b.push(t, "no number")
	_, err := q.Reserve(t.Context())
	var broken *dq.DecodeError
	require.ErrorAs(t, err, &broken)
	letters, err := q.DeadLetters(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Len(t, letters, 1)
	require.Error(t, letters[0].Err)
	require.Equal(t, "no number", string(letters[0].Data))
}

// Redis before 6.2 has no BLMOVE.
func TestReliableOnAnOlderServer(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t, "--rename-command", "BLMOVE", "")
	b := setupOn(t, s, "orders")
	q := b.reliably(t, dq.ReliableOptions{})
	b.push(t, "a")
	d := reserve(t, q)
	require.Equal(t, "a", d.Value)
	require.NoError(t, d.Ack(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := q.Reserve(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestReliableConsume(t *testing.T) {
	t.Parallel()
	b := setup(t)
	delayed := dq.NewDelayedQueue(b.queue)
	t.Cleanup(func() { require.NoError(t, delayed.Close()) })
	q := b.reliably(t, dq.ReliableOptions{MaxAttempts: 3})
	b.push(t, "fine", "panics once", "ends once", "fails", "permanent", "settles itself")
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	attempts := map[string]int{}
	failures := map[any]int{}
	ended := make(chan error, 1)
	go func() {
		ended <- q.Consume(ctx, func(_ context.Context, d *dq.Delivery[string]) error {
			mu.Lock()
			defer mu.Unlock()
			attempts[d.Value]++
			switch {
			case d.Value == "panics once" && d.Attempt == 1:
				panic("!")
			case d.Value == "ends once" && d.Attempt == 1:
				runtime.Goexit()
			case d.Value == "fails":
				return errors.New("no")
			case d.Value == "permanent":
				return fmt.Errorf("never: %w", &dq.PermanentError{Err: errors.New("bad order")})
			case d.Value == "settles itself":
				return d.Bury(t.Context(), "by hand")
			}
			return nil
		}, dq.ReliableConsumeOptions{
			Workers: 3,
			Backoff: func(int) time.Duration { return 20 * time.Millisecond },
			Failed:  func(value any, _ error) { mu.Lock(); failures[value]++; mu.Unlock() },
		})
	}()
	names := scripts.ReliableNamesOf("orders")
	require.Eventually(t, func() bool {
		return b.redis.ZCard(t.Context(), names.Dead).Val() == 3 && b.redis.Exists(t.Context(), "orders", b.names.Pending, names.Moved, names.Held).Val() == 0
	}, testDeadline, 5*time.Millisecond)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Equal(t, map[string]int{"fine": 1, "panics once": 2, "ends once": 2, "fails": 3, "permanent": 1, "settles itself": 1}, attempts)
	require.Equal(t, map[any]int{"panics once": 1, "ends once": 1, "fails": 3, "permanent": 1}, failures)
	letters, err := q.DeadLetters(t.Context(), 0, 10)
	require.NoError(t, err)
	reasons := map[string]string{}
	for _, l := range letters {
		reasons[l.Value] = l.Reason
	}
	require.Equal(t, map[string]string{"fails": "no", "permanent": "never: bad order", "settles itself": "by hand"}, reasons)
}

func TestReliableConsumeKeepsHeldWhatTakesLong(t *testing.T) {
	t.Parallel()
	b := setup(t)
	q := b.reliably(t, dq.ReliableOptions{Visibility: 2 * time.Second})
	b.push(t, "long", "lost")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var causes []error
	err := q.Consume(ctx, func(held context.Context, d *dq.Delivery[string]) error {
		if d.Value == "long" {
			return pauseFor(held, 3*time.Second)
		}
		require.NoError(t, b.redis.Del(t.Context(), scripts.ReliableNamesOf("orders").Held).Err())
		<-held.Done()
		causes = append(causes, context.Cause(held))
		cancel()
		return nil
	}, dq.ReliableConsumeOptions{KeepHeld: true})
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, causes, 1)
	require.ErrorIs(t, causes[0], dq.ErrNotHeld)
}

// Consumers that vanish at any instant, with several reapers at work: every message is acknowledged
// at least once, and nothing is left.
func TestReliableConsumersThatVanish(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const messages = 400
	values := make([]string, messages)
	for i := range values {
		values[i] = fmt.Sprintf("order %03d", i)
	}
	b.push(t, values...)
	var mu sync.Mutex
	acknowledged := map[string]int{}
	ctx, cancel := context.WithTimeout(t.Context(), 3*testDeadline)
	defer cancel()
	done := func() bool { mu.Lock(); defer mu.Unlock(); return len(acknowledged) == messages }
	var all sync.WaitGroup
	for i := range 4 {
		random := rand.New(rand.NewPCG(uint64(i), 1))
		all.Go(func() {
			for !done() && ctx.Err() == nil {
				vanishing(ctx, t, b, random, func(value string) { mu.Lock(); acknowledged[value]++; mu.Unlock() })
			}
		})
	}
	all.Wait()
	for _, v := range values {
		require.Positive(t, acknowledged[v], v)
	}
	b.nothingLeft(t)
}

// vanishing is a process that consumes for a while, and is gone then without a word.
func vanishing(ctx context.Context, t *testing.T, b *bundle, random *rand.Rand, acknowledged func(string)) {
	options, err := redis.ParseURL(b.server.URL())
	if err != nil {
		t.Error(err)
		return
	}
	rdb := redis.NewClient(options)
	defer rdb.Close()
	client, err := dq.NewClient(rdb)
	if err != nil {
		t.Error(err)
		return
	}
	defer client.Close()
	q := dq.NewReliableQueue(dq.NewBlockingQueue(client, "orders", codec.String{}), dq.ReliableOptions{Visibility: 100 * time.Millisecond})
	defer q.Close()
	life, end := context.WithTimeout(ctx, time.Duration(50+random.IntN(300))*time.Millisecond)
	defer end()
	for life.Err() == nil {
		d, err := q.Reserve(life)
		if err != nil {
			return
		}
		if random.IntN(10) == 0 {
			continue // it forgets this one
		}
		if d.Ack(ctx) == nil {
			acknowledged(d.Value)
		}
	}
}

func TestReliableOptionsThatCannotBe(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for expected, q := range map[string]*dq.ReliableQueue[string]{
		"expected a Visibility of 10ms or more, got 1ms": dq.NewReliableQueue(b.queue, dq.ReliableOptions{Visibility: time.Millisecond}),
		"expected 0 or more MaxAttempts, got -1":         dq.NewReliableQueue(b.queue, dq.ReliableOptions{MaxAttempts: -1}),
		"expected a BlockingQueue, got nil":              dq.NewReliableQueue[string](nil, dq.ReliableOptions{}),
	} {
		require.ErrorContains(t, q.Err(), expected)
		_, err := q.Reserve(t.Context())
		require.ErrorContains(t, err, expected)
		require.ErrorContains(t, q.Consume(t.Context(), nil, dq.ReliableConsumeOptions{}), expected)
		require.NoError(t, q.Close())
	}
}

func TestReliableOnACluster(t *testing.T) {
	t.Parallel()
	set := redistest.Cluster(t, 3, 0)
	rdb := set.NewClient()
	t.Cleanup(func() { rdb.Close() })
	client, err := dq.NewClient(rdb)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	for _, name := range []string{"orders", "refunds", "{tagged}:mails"} {
		dest := dq.NewBlockingQueue(client, name, codec.String{})
		q := dq.NewReliableQueue(dest, dq.ReliableOptions{MaxAttempts: 2})
		require.NoError(t, dest.Offer(t.Context(), "x"))
		require.NoError(t, reserve(t, q).Nack(t.Context(), 0, "no"))
		require.NoError(t, reserve(t, q).Bury(t.Context(), "no"))
		letters, err := q.DeadLetters(t.Context(), 0, 1)
		require.NoError(t, err)
		n, err := q.Replay(t.Context(), letters...)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.NoError(t, reserve(t, q).Ack(t.Context()))
		require.NoError(t, q.Close())
	}
}

// A Backoff that panics costs nothing but its own answer.
func TestReliableBackoffThatPanics(t *testing.T) {
	t.Parallel()
	b := setup(t)
	delayed := dq.NewDelayedQueue(dq.NewBlockingQueue(b.client, "orders", codec.String{}))
	t.Cleanup(func() { require.NoError(t, delayed.Close()) })
	require.NoError(t, delayed.Ready(t.Context()))
	q := b.reliably(t, dq.ReliableOptions{})
	b.push(t, "a")
	ctx, cancel := context.WithTimeout(t.Context(), testDeadline)
	defer cancel()
	panicked := make(chan error, 10)
	attempts := 0
	err := q.Consume(ctx, func(context.Context, *dq.Delivery[string]) error {
		if attempts++; attempts == 1 {
			return errors.New("busy")
		}
		cancel()
		return nil
	}, dq.ReliableConsumeOptions{
		Backoff: func(int) time.Duration { panic("no idea") },
		Failed: func(_ any, err error) {
			if errors.As(err, new(*dq.PanicError)) {
				panicked <- err
			}
		},
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 2, attempts)
	require.ErrorContains(t, <-panicked, "no idea")
	b.nothingLeft(t)
}

func TestReliableErrorsNameTheCall(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, dq.NewReliableQueue[string](nil, dq.ReliableOptions{}).Err(), "NewReliableQueue: expected a BlockingQueue, got nil")
	b := setup(t)
	q := b.reliably(t, dq.ReliableOptions{})
	b.push(t, "a")
	d := reserve(t, q)
	dead := scripts.ReliableNamesOf("orders").Dead
	require.NoError(t, b.redis.Set(t.Context(), dead, "not a set", 0).Err())
	err := d.Bury(t.Context(), "no")
	require.ErrorContains(t, err, "dq: bury of")
	require.NotContains(t, err.Error(), "nack")
	require.NoError(t, b.redis.Del(t.Context(), dead).Err())
	require.NoError(t, d.Ack(t.Context()))
}
