package dq_test

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/dq-bench/dq-bench/dq/wire"
)

// customer is the key of a value such as "ann 7".
func customer(value string) string {
	name, _, _ := strings.Cut(value, " ")
	return name
}

// partitioned opens n partitions of "orders", and waits until they are ready.
func (b *bundle) partitioned(t *testing.T, n int, key func(string) string) *dq.Partitioned[string] {
	t.Helper()
	p := dq.NewPartitioned(dq.Partitions(b.client, "orders", n, codec.String{}), dq.PartitionedOptions[string]{Key: key})
	require.NoError(t, p.Ready(deadline(t)))
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// states asks each partition.
func states(t *testing.T, p *dq.Partitioned[string]) (all []dq.PartitionState) {
	t.Helper()
	for _, one := range p.Partitions() {
		s, err := one.State(deadline(t))
		require.NoError(t, err)
		all = append(all, s)
	}
	return all
}

// arrived collects what handlers were given, in that order.
type arrived struct {
	mu     sync.Mutex
	values []string
}

func (a *arrived) handle(_ context.Context, v string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.values = append(a.values, v)
	return nil
}

func (a *arrived) all() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.values)
}

// consuming runs Consume until the test ends, or stop is called.
func consuming(t *testing.T, p *dq.Partitioned[string], handler func(context.Context, string) error, options dq.PartitionedConsumeOptions) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Consume(ctx, handler, options) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
	t.Cleanup(stop)
	return stop
}

func TestPartitionedWithoutAKeyTakesTurns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.partitioned(t, 3, nil)
	for i := range 30 {
		require.NoError(t, p.Offer(deadline(t), fmt.Sprint(i), time.Hour))
	}
	require.NoError(t, p.OfferAll(deadline(t), time.Hour, numbers(30, 60)...))
	for _, s := range states(t, p) {
		require.Equal(t, dq.PartitionState{Waiting: 20}, s)
	}
	// Redis has three ordinary queues, and nothing else.
	var keys []string
	for _, one := range p.Partitions() {
		keys = append(keys, wire.NamesOf(one.Name()).Pending, wire.NamesOf(one.Name()).TimeoutSet)
	}
	require.ElementsMatch(t, keys, b.redis.Keys(t.Context(), "*").Val())
}

func TestPartitionedKeepsAKeyTogether(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.partitioned(t, 3, customer)
	keys, values := numbers(0, 60), []string(nil)
	for i := range 4 {
		for _, key := range keys {
			values = append(values, fmt.Sprintf("%s %d", key, i))
		}
	}
	for _, v := range values[:60] {
		require.NoError(t, p.Offer(deadline(t), v, time.Hour))
	}
	require.NoError(t, p.OfferAll(deadline(t), time.Hour, values[60:]...))
	for _, one := range p.Partitions() {
		there, err := one.Delayed().ReadAll(deadline(t))
		require.NoError(t, err)
		require.Greater(t, len(there), 4*5, "a fair share of 60 keys")
		var want []string // those of its keys, in the order of the offers
		for _, v := range values {
			if p.PartitionOf(customer(v)) == one {
				want = append(want, v)
			}
		}
		require.Equal(t, want, there)
	}
}

// A partition that comes takes keys to itself, and moves none between the others; nor does one that goes.
func TestPartitionedMovesFewKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	three, four := b.partitioned(t, 3, customer), b.partitioned(t, 4, customer)
	require.Equal(t, "orders-2-56", three.PartitionOf("bob").Name(), "where Java services look for it")
	moved := 0
	for _, key := range numbers(0, 1000) {
		before, after := three.PartitionOf(key).Name(), four.PartitionOf(key).Name()
		if before != after {
			require.Equal(t, four.Partitions()[3].Name(), after)
			moved++
		}
	}
	require.InDelta(t, 250, moved, 60)
}

// Of each key the values come in order and one at a time, with as many workers as there are.
func TestPartitionedOrdered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.partitioned(t, 3, customer)
	var values []string
	for i := range 100 {
		for key := range 10 {
			v := fmt.Sprintf("%d %d", key, i)
			values = append(values, v)
			require.NoError(t, p.PartitionOf(customer(v)).Queue().Offer(deadline(t), v))
		}
	}
	var got arrived
	var at [3]atomic.Int32
	number := map[string]*atomic.Int32{}
	for i, one := range p.Partitions() {
		number[one.Name()] = &at[i]
	}
	consuming(t, p, func(ctx context.Context, v string) error {
		running := number[p.PartitionOf(customer(v)).Name()]
		if running.Add(1) != 1 {
			_ = got.handle(ctx, "two of a partition at the same time")
		}
		defer running.Add(-1)
		return got.handle(ctx, v)
	}, dq.PartitionedConsumeOptions{ConsumeOptions: dq.ConsumeOptions{Workers: 8}, Ordered: true})
	require.Eventually(t, func() bool { return len(got.all()) >= len(values) }, testDeadline, time.Millisecond)
	for key := range 10 {
		var own, want []string
		for _, v := range got.all() {
			if customer(v) == fmt.Sprint(key) {
				own = append(own, v)
			}
		}
		for _, v := range values {
			if customer(v) == fmt.Sprint(key) {
				want = append(want, v)
			}
		}
		require.Equal(t, want, own)
	}
	require.Len(t, got.all(), len(values))
}

// queuedIn puts values into the destination queues, the same number into each.
func (b *bundle) queuedIn(t *testing.T, p *dq.Partitioned[string], each int) {
	t.Helper()
	for k, one := range p.Partitions() {
		for i := range each {
			require.NoError(t, b.redis.RPush(t.Context(), one.Name(), fmt.Sprintf("%d %d", k, i)).Err())
		}
	}
}

func TestPartitionedConsumesFairly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.partitioned(t, 3, nil)
	const each = 200
	b.queuedIn(t, p, each)
	var got arrived
	consuming(t, p, got.handle, dq.PartitionedConsumeOptions{})
	require.Eventually(t, func() bool { return len(got.all()) == 3*each }, testDeadline, time.Millisecond)
	for from := 0; from < 3*each; from += 150 {
		count := map[string]int{}
		for _, v := range got.all()[from : from+150] {
			count[customer(v)]++
		}
		require.Len(t, count, 3, "none starves: of values %d to %d %v", from, from+150, count)
	}
}

// Workers bounds what is handled at the same time; each of them is used, even where one partition has it all.
func TestPartitionedWorkers(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]func(b *bundle, p *dq.Partitioned[string]){
		"in all partitions": func(b *bundle, p *dq.Partitioned[string]) { b.queuedIn(t, p, 10) },
		"in one": func(b *bundle, p *dq.Partitioned[string]) {
			require.NoError(t, b.redis.RPush(t.Context(), p.Partitions()[1].Name(), numbers(0, 30)).Err())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			p := b.partitioned(t, 3, nil)
			fill(b, p)
			var running, most, done atomic.Int32
			full := make(chan struct{})
			open := sync.OnceFunc(func() { close(full) })
			consuming(t, p, func(ctx context.Context, _ string) error {
				n := running.Add(1)
				defer running.Add(-1)
				for before := most.Load(); n > before && !most.CompareAndSwap(before, n); before = most.Load() {
				}
				if n == 4 {
					open()
				}
				<-full
				done.Add(1)
				return nil
			}, dq.PartitionedConsumeOptions{ConsumeOptions: dq.ConsumeOptions{Workers: 4}})
			require.Eventually(t, func() bool { return done.Load() == 30 }, testDeadline, time.Millisecond)
			require.EqualValues(t, 4, most.Load())
		})
	}
}

// What no worker is free for goes back, and another process has it.
func TestPartitionedGivesBackWhatNoWorkerIsFreeFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.partitioned(t, 2, nil)
	stuck, free := make(chan struct{}), make(chan struct{})
	var got arrived
	var once sync.Once
	stop := consuming(t, p, func(ctx context.Context, v string) error {
		once.Do(func() { close(stuck); <-free })
		return got.handle(ctx, v)
	}, dq.PartitionedConsumeOptions{})
	a, other := p.Partitions()[0].Queue(), p.Partitions()[1].Queue()
	require.NoError(t, a.Offer(deadline(t), "slow"))
	<-stuck
	require.NoError(t, other.Offer(deadline(t), "v"))
	v, err := other.Take(deadline(t))
	require.NoError(t, err)
	require.Equal(t, "v", v)
	close(free)
	stop()
	require.Equal(t, []string{"slow"}, got.all())
}

func TestPartitionedPause(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.partitioned(t, 3, nil)
	paused := p.Partitions()[1]
	paused.Pause()
	paused.Pause()
	var got arrived
	consuming(t, p, got.handle, dq.PartitionedConsumeOptions{})
	require.NoError(t, p.OfferAll(deadline(t), 0, numbers(0, 30)...))
	require.Eventually(t, func() bool {
		return len(got.all()) == 20 && states(t, p)[1] == dq.PartitionState{Ready: 10, Paused: true}
	}, testDeadline, 5*time.Millisecond)
	paused.Resume()
	require.Eventually(t, func() bool { return len(got.all()) == 30 }, testDeadline, time.Millisecond)

	blocked := func(n int) func() bool {
		return func() bool {
			return strings.Contains(b.redis.Info(t.Context(), "clients").Val(), fmt.Sprintf("blocked_clients:%d\r\n", n))
		}
	}
	require.Eventually(t, blocked(3), testDeadline, time.Millisecond)
	paused.Pause() // while its connection waits
	require.Eventually(t, blocked(2), testDeadline, time.Millisecond)
	require.NoError(t, paused.Queue().Offer(deadline(t), "later"))
	v, err := paused.Queue().Take(deadline(t))
	require.NoError(t, err, "nobody else takes it")
	require.Equal(t, "later", v)
	paused.Resume()
	require.NoError(t, paused.Queue().Offer(deadline(t), "again"))
	require.Eventually(t, func() bool { return len(got.all()) == 31 }, testDeadline, time.Millisecond)
}

// What waits in one partition, offered by a service that knows of no other, comes when there are three.
func TestPartitionedGrows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one := b.partitioned(t, 1, customer)
	require.NoError(t, one.OfferAll(deadline(t), 500*time.Millisecond, numbers(0, 50)...))
	require.NoError(t, one.OfferAll(deadline(t), 0, numbers(50, 100)...))
	require.NoError(t, one.Close())

	three := b.partitioned(t, 3, customer)
	require.NoError(t, three.OfferAll(deadline(t), 100*time.Millisecond, numbers(100, 200)...))
	var got arrived
	consuming(t, three, got.handle, dq.PartitionedConsumeOptions{ConsumeOptions: dq.ConsumeOptions{Workers: 4}})
	require.Eventually(t, func() bool { return len(got.all()) == 200 }, testDeadline, time.Millisecond)
	require.ElementsMatch(t, numbers(0, 200), got.all())
	for _, s := range states(t, three) {
		require.True(t, s.Empty())
	}

	// The queue from before all of that is one more partition, which takes no offers.
	queues := append(dq.Partitions(b.client, "orders", 3, codec.String{}), dq.NewBlockingQueue(b.client, "orders", codec.String{}))
	with := dq.NewPartitioned(queues, dq.PartitionedOptions[string]{Key: customer})
	defer with.Close()
	b.queued(t, "200")
	require.NoError(t, dq.NewDelayedQueue(b.queue).Offer(deadline(t), "201", 50*time.Millisecond))
	consuming(t, with, got.handle, dq.PartitionedConsumeOptions{})
	require.NoError(t, with.Partitions()[3].Drain(deadline(t), nil))
	require.Eventually(t, func() bool { return len(got.all()) == 202 }, testDeadline, time.Millisecond)
}

func TestPartitionedCancel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.partitioned(t, 3, nil)
	tickets := map[string]bool{}
	for range 3 {
		ticket, err := p.OfferTicket(deadline(t), "v", time.Hour)
		require.NoError(t, err)
		again, err := dq.ParsePartitionTicket(ticket.String())
		require.NoError(t, err)
		require.Equal(t, ticket, again)
		require.NoError(t, p.Cancel(deadline(t), again))
		require.ErrorIs(t, p.Cancel(deadline(t), again), dq.ErrNotWaiting)
		tickets[ticket.Partition] = true
	}
	require.Len(t, tickets, 3)
	for _, s := range states(t, p) {
		require.True(t, s.Empty())
	}
	require.ErrorContains(t, p.Cancel(deadline(t), dq.PartitionTicket{Partition: "others"}), `"others" is none of the 3 partitions`)
}

func FuzzParsePartitionTicket(f *testing.F) {
	f.Add("1795329218107-08af82252204180b@orders-0-107")
	f.Add("1-08af82252204180b@a@b")
	f.Add("@")
	f.Fuzz(func(t *testing.T, text string) {
		ticket, err := dq.ParsePartitionTicket(text)
		if err == nil && ticket.String() != text {
			t.Fatalf("%q is read as %q", text, ticket)
		}
	})
}

// OfferAll says exactly which values are queued.
func TestPartitionedOfferAllTellsOfEachValue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.partitioned(t, 3, customer)
	bad := p.PartitionOf("bob")
	require.NoError(t, b.redis.Set(t.Context(), wire.NamesOf(bad.Name()).TimeoutSet, "no ZSET", 0).Err())
	var values []string
	for i := range 20 {
		for _, who := range []string{"ann", "bob", "eve", "joe", "kim"} {
			values = append(values, fmt.Sprintf("%s %d", who, i))
		}
	}
	err := p.OfferAll(deadline(t), time.Hour, values...)
	var partial *dq.OfferAllError
	require.ErrorAs(t, err, &partial)
	require.ErrorIs(t, err, dq.ErrUncertain, "a script that failed may have written")
	require.Len(t, partial.Errors, len(values))
	uncertain := 0
	for i, err := range partial.Errors {
		one := p.PartitionOf(customer(values[i]))
		require.Equal(t, one == bad, err != nil, values[i])
		if errors.Is(err, dq.ErrUncertain) {
			uncertain++
		}
		if one != bad {
			waits, err := one.Delayed().Contains(deadline(t), values[i])
			require.NoError(t, err)
			require.True(t, waits, values[i])
		}
	}
	require.Equal(t, 1, uncertain, "the others were not sent")
}

// With as many masters as there are connections for, one that refuses has the next one take the offer.
func TestPartitionedWithoutAKeyGoesOnToTheNext(t *testing.T) {
	t.Parallel()
	b := setup(t)
	nobody := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer nobody.Close()
	away, err := dq.NewClient(nobody)
	require.NoError(t, err)
	defer away.Close()
	p := dq.NewPartitioned([]*dq.BlockingQueue[string]{
		dq.NewBlockingQueue(away, "orders-away", codec.String{}), b.queue, dq.NewBlockingQueue(b.client, "others", codec.String{}),
	}, dq.PartitionedOptions[string]{})
	defer p.Close()
	for i := range 9 {
		ticket, err := p.OfferTicket(deadline(t), fmt.Sprint(i), time.Hour)
		require.NoError(t, err)
		require.NotEqual(t, "orders-away", ticket.Partition)
	}
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, p.Ready(short), `"orders-away" is not ready`)
}

func TestPartitionedConsumesReliably(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.partitioned(t, 3, nil)
	require.NoError(t, p.OfferAll(deadline(t), 0, numbers(0, 30)...))
	ctx, cancel := context.WithCancel(deadline(t))
	defer cancel()
	var got arrived
	var failures atomic.Int32
	err := p.ConsumeReliably(ctx, func(ctx context.Context, d *dq.Delivery[string]) error {
		if d.Attempt == 1 {
			return errors.New("not the first time")
		}
		_ = got.handle(ctx, d.Value)
		if len(got.all()) == 30 {
			cancel()
		}
		return nil
	}, dq.PartitionedReliableOptions{ReliableConsumeOptions: dq.ReliableConsumeOptions{
		Workers: 4, Backoff: func(int) time.Duration { return 10 * time.Millisecond }, Failed: func(any, error) { failures.Add(1) },
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.ElementsMatch(t, numbers(0, 30), got.all())
	require.EqualValues(t, 30, failures.Load())
	for _, s := range states(t, p) {
		require.True(t, s.Empty(), "all are acknowledged: %+v", s)
	}
}

// A message that no worker is free for goes back, and another process has it at its first attempt.
func TestPartitionedReleasesWhatNoWorkerIsFreeFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.partitioned(t, 2, nil)
	ctx, cancel := context.WithCancel(deadline(t))
	defer cancel()
	stuck, free, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var got arrived
	go func() {
		ended <- p.ConsumeReliably(ctx, func(ctx context.Context, d *dq.Delivery[string]) error {
			if d.Value == "slow" {
				close(stuck)
				<-free
			}
			return got.handle(ctx, d.Value)
		}, dq.PartitionedReliableOptions{Ordered: true})
	}()
	a, other := p.Partitions()[0].Queue(), p.Partitions()[1].Queue()
	require.NoError(t, a.Offer(deadline(t), "slow"))
	<-stuck
	require.NoError(t, other.Offer(deadline(t), "v"))
	elsewhere := dq.NewReliableQueue(other, dq.ReliableOptions{})
	defer elsewhere.Close()
	d, err := elsewhere.Reserve(deadline(t))
	require.NoError(t, err)
	require.Equal(t, "v", d.Value)
	require.Equal(t, 1, d.Attempt)
	require.NoError(t, d.Ack(deadline(t)))
	cancel()
	close(free)
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Equal(t, []string{"slow"}, got.all())
	for _, s := range states(t, p) {
		require.True(t, s.Empty(), "%+v", s)
	}
}

// Nothing is held, and no attempt counted, before there is a worker: whoever is killed meanwhile has begun nothing.
func TestPartitionedHoldsNothingAhead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.partitioned(t, 2, nil)
	ctx, cancel := context.WithCancel(deadline(t))
	defer cancel()
	stuck, free, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	attempts := make(chan int, 2)
	go func() {
		ended <- p.ConsumeReliably(ctx, func(_ context.Context, d *dq.Delivery[string]) error {
			if d.Value == "slow" {
				close(stuck)
				<-free
			}
			attempts <- d.Attempt
			return nil
		}, dq.PartitionedReliableOptions{ReliableOptions: dq.ReliableOptions{MaxAttempts: 1}})
	}()
	a, other := p.Partitions()[0], p.Partitions()[1]
	require.NoError(t, a.Queue().Offer(deadline(t), "slow"))
	<-stuck
	watched := connect(t, b.server.URL())
	require.NoError(t, watched.ConfigSet(t.Context(), "notify-keyspace-events", "KEA").Err())
	events := watched.PSubscribe(t.Context(), "__keyspace@0__:*"+other.Name()+"*")
	defer events.Close()
	_, err := events.Receive(deadline(t))
	require.NoError(t, err)
	require.NoError(t, other.Queue().Offer(deadline(t), "v"))
	var seen []string
	for back := false; !back; {
		m, err := events.ReceiveMessage(deadline(t))
		require.NoError(t, err)
		seen = append(seen, m.Channel+" "+m.Payload)
		back = len(seen) > 1 && strings.HasSuffix(m.Channel, ":"+other.Name()) && m.Payload == "lpush"
	}
	require.NotContains(t, strings.Join(seen, "\n"), "dq_held")
	require.NotContains(t, strings.Join(seen, "\n"), "dq_attempts")
	close(free)
	require.Equal(t, []int{1, 1}, []int{<-attempts, <-attempts})
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	for _, s := range states(t, p) {
		require.True(t, s.Empty(), "%+v", s)
	}
}

func TestPartitionedSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for what, queues := range map[string][]*dq.BlockingQueue[string]{
		"expected a queue or more":       nil,
		`got "orders" twice`:             {b.queue, b.queue},
		"expected a BlockingQueue, got ": {nil},
		"expected a name":                {b.queue, dq.NewBlockingQueue(b.client, "", codec.String{})},
	} {
		p := dq.NewPartitioned(queues, dq.PartitionedOptions[string]{})
		require.ErrorContains(t, p.Err(), what)
		require.ErrorIs(t, p.Ready(t.Context()), p.Err())
		require.ErrorIs(t, p.Offer(t.Context(), "v", 0), p.Err())
		require.ErrorIs(t, p.OfferAll(t.Context(), 0, "v"), p.Err())
		require.ErrorIs(t, p.Cancel(t.Context(), dq.PartitionTicket{}), p.Err())
		require.ErrorIs(t, p.Consume(t.Context(), nil, dq.PartitionedConsumeOptions{}), p.Err())
		require.ErrorIs(t, p.ConsumeReliably(t.Context(), nil, dq.PartitionedReliableOptions{}), p.Err())
		require.Empty(t, p.Partitions())
		require.NoError(t, p.Close())
	}
	p := b.partitioned(t, 2, nil)
	require.ErrorContains(t, p.Consume(t.Context(), nil, dq.PartitionedConsumeOptions{}), "expected a handler")
	require.ErrorContains(t, p.ConsumeReliably(t.Context(), nil, dq.PartitionedReliableOptions{}), "expected a handler")
	require.ErrorContains(t, p.ConsumeReliably(t.Context(), func(context.Context, *dq.Delivery[string]) error { return nil },
		dq.PartitionedReliableOptions{ReliableOptions: dq.ReliableOptions{Visibility: 1}}), "expected a Visibility")
	require.ErrorIs(t, p.Offer(t.Context(), "v", -1), dq.ErrNegativeDelay)
	ended := make(chan error, 1)
	p.Partitions()[0].Pause()
	go func() {
		ended <- p.Consume(context.Background(), func(context.Context, string) error { return nil }, dq.PartitionedConsumeOptions{})
	}()
	require.NoError(t, p.Close())
	require.ErrorIs(t, p.Offer(t.Context(), "v", 0), dq.ErrClosed)
	require.NoError(t, b.client.Close())
	require.ErrorIs(t, <-ended, dq.ErrClosed)
}
