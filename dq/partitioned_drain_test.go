package dq_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
)

func TestPartitionedDrain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.partitioned(t, 3, customer)
	gone := p.PartitionOf("bob")
	require.NoError(t, p.Offer(deadline(t), "bob 1", 0))
	require.NoError(t, p.Offer(deadline(t), "bob 2", 100*time.Millisecond))
	require.NoError(t, p.Offer(deadline(t), "bob 3", time.Hour))

	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, gone.Drain(short, nil), context.DeadlineExceeded, "nobody consumes")
	require.NotEqual(t, gone, p.PartitionOf("bob"))
	require.NoError(t, p.Offer(deadline(t), "bob 4", time.Hour), "elsewhere")

	var got arrived
	consuming(t, p, got.handle, dq.PartitionedConsumeOptions{})
	var seen []dq.PartitionState
	drained := make(chan error, 1)
	progress := make(chan dq.PartitionState, 100)
	go func() {
		drained <- gone.Drain(deadline(t), func(s dq.PartitionState) { progress <- s })
		close(progress)
	}()
	require.Eventually(t, func() bool { return len(got.all()) == 2 }, testDeadline, time.Millisecond)
	removed, err := gone.Delayed().Remove(deadline(t), "bob 3")
	require.NoError(t, err)
	require.True(t, removed)
	require.NoError(t, <-drained)
	for s := range progress {
		seen = append(seen, s)
	}
	require.Equal(t, dq.PartitionState{Draining: true}, seen[len(seen)-1])
	require.Equal(t, []string{"bob 1", "bob 2"}, got.all())

	gone.Resume()
	require.Equal(t, gone, p.PartitionOf("bob"))
	for _, one := range p.Partitions() {
		_ = one.Drain(short, nil) // which is over
	}
	require.Nil(t, p.PartitionOf("bob"))
	require.ErrorIs(t, p.Offer(deadline(t), "bob 5", 0), dq.ErrNoPartition)
	require.ErrorIs(t, p.OfferAll(deadline(t), 0, "bob 5"), dq.ErrNoPartition)
}

// slowCodec is asked for a value while its offer is under way, and answers when it may.
type slowCodec struct {
	codec.String
	asked, may chan struct{}
}

func (c slowCodec) Encode(value string) ([]byte, error) {
	c.asked <- struct{}{}
	<-c.may
	return c.String.Encode(value)
}

func TestPartitionedDrainWaitsForOffersUnderWay(t *testing.T) {
	t.Parallel()
	for name, offer := range map[string]func(context.Context, *dq.Partitioned[string]) error{
		"Offer":    func(ctx context.Context, p *dq.Partitioned[string]) error { return p.Offer(ctx, "bob 1", time.Hour) },
		"OfferAll": func(ctx context.Context, p *dq.Partitioned[string]) error { return p.OfferAll(ctx, time.Hour, "bob 1") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			slow := slowCodec{asked: make(chan struct{}), may: make(chan struct{})}
			p := dq.NewPartitioned(dq.Partitions(b.client, "orders", 3, slow), dq.PartitionedOptions[string]{Key: customer})
			defer p.Close()
			gone := p.PartitionOf("bob")
			offered, drained := make(chan error, 1), make(chan error, 1)
			go func() { offered <- offer(deadline(t), p) }()
			<-slow.asked
			looked := make(chan dq.PartitionState, 100)
			go func() { drained <- gone.Drain(deadline(t), func(s dq.PartitionState) { looked <- s }) }()
			require.Equal(t, dq.PartitionState{Draining: true}, <-looked, "it is empty")
			close(slow.may)
			require.NoError(t, <-offered)
			select {
			case s := <-looked:
				require.Equal(t, dq.PartitionState{Waiting: 1, Draining: true}, s)
			case err := <-drained:
				t.Fatalf("it is drained, with %v, and a value waits", err)
			}
			require.NoError(t, b.redis.Del(t.Context(), wire.NamesOf(gone.Name()).TimeoutSet, wire.NamesOf(gone.Name()).Pending).Err())
			require.NoError(t, <-drained)
		})
	}
}

// A value that a consumer has taken ahead and returns is in no key meanwhile, and the partition not drained.
func TestPartitionedDrainWaitsForWhatIsReturned(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.partitioned(t, 3, customer)
	gone := p.PartitionOf("bob")
	drained := make(chan error, 1)
	looked := make(chan dq.PartitionState, 100)
	go func() { drained <- gone.Drain(deadline(t), func(s dq.PartitionState) { looked <- s }) }()
	require.Equal(t, dq.PartitionState{Draining: true}, <-looked, "it is empty")
	require.NoError(t, b.redis.LPush(t.Context(), gone.Name(), "bob 1").Err())
	select {
	case s := <-looked:
		require.Equal(t, dq.PartitionState{Ready: 1, Draining: true}, s)
	case err := <-drained:
		t.Fatalf("it is drained, with %v, and a value is ready", err)
	}
	require.NoError(t, b.redis.LPop(t.Context(), gone.Name()).Err())
	require.NoError(t, <-drained)
}

// Offers go on while partitions come and go: what Drain has found empty stays so, and nothing is refused.
func TestPartitionedDrainBesideOffers(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]func(string) string{"in turn": nil, "by key": strings.Clone} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			p := b.partitioned(t, 3, key)
			ctx, stop := context.WithCancel(t.Context())
			var producers sync.WaitGroup
			for _, offer := range []func(int) error{
				func(n int) error { return p.Offer(t.Context(), fmt.Sprint("ann ", n), 0) },
				func(n int) error { return p.OfferAll(t.Context(), 0, fmt.Sprint("bob ", n), fmt.Sprint("cy ", n)) },
			} {
				producers.Go(func() {
					for n := 0; ctx.Err() == nil; n++ {
						if err := offer(n); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			defer producers.Wait()
			defer stop()
			consuming(t, p, func(context.Context, string) error { return nil }, dq.PartitionedConsumeOptions{ConsumeOptions: dq.ConsumeOptions{Workers: 4}})
			for _, one := range p.Partitions() {
				require.NoError(t, one.Drain(deadline(t), nil))
				for range 20 {
					s, err := one.State(deadline(t))
					require.NoError(t, err)
					require.True(t, s.Empty(), "%+v", s)
				}
				one.Resume()
			}
		})
	}
}

// A value goes from one process to the next while all of them are busy. It is in no key meanwhile, and there.
func TestPartitionedDrainBesideBusyProcesses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const processes = 8
	var busy sync.WaitGroup
	busy.Add(processes)
	free := make(chan struct{})
	var got arrived
	var first *dq.Partitioned[string]
	for range processes {
		client, err := dq.NewClient(connect(t, b.server.URL()))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, client.Close()) })
		own := &bundle{client: client}
		p := own.partitioned(t, 2, customer)
		if first == nil {
			first = p
		}
		consuming(t, p, func(ctx context.Context, v string) error {
			if strings.HasPrefix(v, "long") {
				busy.Done()
				<-free
			}
			return got.handle(ctx, v)
		}, dq.PartitionedConsumeOptions{})
	}
	for i := range processes {
		require.NoError(t, b.redis.RPush(t.Context(), first.Partitions()[0].Name(), fmt.Sprint("long ", i)).Err())
	}
	busy.Wait()
	one := first.Partitions()[1]
	require.NoError(t, one.Delayed().Offer(deadline(t), "short 0", 100*time.Millisecond))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	require.ErrorIs(t, one.Drain(ctx, nil), context.DeadlineExceeded, "nobody has handled it")
	close(free)
	require.NoError(t, one.Drain(deadline(t), nil))
	require.Contains(t, got.all(), "short 0")
}

func TestPartitionedDrainIsEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.partitioned(t, 3, customer)
	one := p.PartitionOf("bob")
	require.NoError(t, p.Offer(deadline(t), "bob 1", time.Hour))
	draining := func() <-chan error {
		drained, begun := make(chan error, 1), make(chan dq.PartitionState, 100)
		go func() { drained <- one.Drain(deadline(t), func(s dq.PartitionState) { begun <- s }) }()
		<-begun
		return drained
	}
	drained, also := draining(), draining()
	one.Resume()
	require.ErrorIs(t, <-drained, dq.ErrResumed)
	require.ErrorIs(t, <-also, dq.ErrResumed)
	require.Equal(t, one, p.PartitionOf("bob"))

	drained = draining()
	require.NoError(t, p.Close())
	require.ErrorIs(t, <-drained, dq.ErrClosed)
}
