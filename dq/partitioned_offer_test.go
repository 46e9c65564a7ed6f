package dq_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// Without a Key a value goes past a server that does not take it, whatever for, alone and with others.
func TestPartitionedOffersGoPastAServerThatRefuses(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(*testing.T, *bundle){
		"full":       func(t *testing.T, b *bundle) { b.config(t, "maxmemory", "1") },
		"no replica": func(t *testing.T, b *bundle) { b.config(t, "min-replicas-to-write", "1") },
		"not permitted": func(t *testing.T, b *bundle) {
			require.NoError(t, b.redis.Do(t.Context(), "ACL", "SETUSER", "default", "-eval", "-evalsha").Err())
		},
		"closed": func(t *testing.T, b *bundle) { require.NoError(t, b.client.Close()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			well, broken := setup(t), setupOn(t, redistest.Process(t), "others")
			p := dq.NewPartitioned([]*dq.BlockingQueue[string]{broken.queue, well.queue}, dq.PartitionedOptions[string]{})
			defer p.Close()
			require.NoError(t, p.Ready(deadline(t)))
			refuse(t, broken)
			values := numbers(0, 1200)
			for _, v := range values[:6] {
				require.NoError(t, p.Offer(deadline(t), v, time.Hour))
			}
			require.NoError(t, p.OfferAll(deadline(t), time.Hour, values[6:]...))
			queued, err := p.Partitions()[1].Delayed().ReadAll(deadline(t))
			require.NoError(t, err)
			require.ElementsMatch(t, values, queued)

			require.NoError(t, well.client.Close())
			err = p.Offer(deadline(t), "nobody", 0)
			require.Error(t, err)
			require.NotErrorIs(t, err, dq.ErrUncertain)
			var partial *dq.OfferAllError
			require.ErrorAs(t, p.OfferAll(deadline(t), 0, "nobody", "at all"), &partial)
			require.Len(t, partial.Unwrap(), 2)
		})
	}
}

func (b *bundle) config(t *testing.T, name, value string) {
	t.Helper()
	require.NoError(t, b.redis.ConfigSet(t.Context(), name, value).Err())
}

// Where all servers are away, a value goes to the first that is back.
func TestPartitionedOffersWaitForAnyServer(t *testing.T) {
	t.Parallel()
	var proxies []*redistest.Proxy
	var queues []*dq.BlockingQueue[string]
	var look *redis.Client // at the second
	for _, name := range []string{"a", "b"} {
		s := redistest.Process(t)
		proxy := redistest.NewProxy(t, s.Addr)
		look = connect(t, s.URL())
		client, err := dq.NewClient(connect(t, "redis://"+proxy.Addr), dq.WithOfferPatience(testDeadline))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, client.Close()) })
		proxies, queues = append(proxies, proxy), append(queues, dq.NewBlockingQueue(client, name, codec.String{}))
	}
	p := dq.NewPartitioned(queues, dq.PartitionedOptions[string]{})
	defer p.Close()
	require.NoError(t, p.Ready(deadline(t)))
	for _, proxy := range proxies {
		proxy.Refuse()
		proxy.Reset()
	}
	offered := make(chan error, 4)
	for range cap(offered) - 1 {
		go func() { offered <- p.Offer(deadline(t), "v", time.Hour) }()
	}
	go func() { offered <- p.OfferAll(deadline(t), time.Hour, numbers(0, 600)...) }()
	time.AfterFunc(100*time.Millisecond, proxies[1].Heal)
	for range cap(offered) {
		require.NoError(t, <-offered)
	}
	require.EqualValues(t, cap(offered)-1+600, look.ZCard(t.Context(), wire.NamesOf("b").TimeoutSet).Val())
}

// Where all partitions begin to be drained while values are shared out, nothing is sent, and nobody is told otherwise.
func TestPartitionedOfferAllWhileAllAreDrained(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var p *dq.Partitioned[string]
	p = b.partitioned(t, 3, func(value string) string {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for _, one := range p.Partitions() {
			_ = one.Drain(ended, nil)
		}
		return value
	})
	require.ErrorIs(t, p.OfferAll(deadline(t), time.Hour, "ann 1", "bob 1"), dq.ErrNoPartition)
	for _, s := range states(t, p) {
		require.True(t, s.Empty(), "%+v", s)
	}
}

// sale has a field that its key is taken from.
type sale struct{ Customer string }

// A Key, or a codec, that panics leaves nothing behind, and its panic comes to who offers.
func TestPartitionedOffersThatPanic(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := dq.NewPartitioned(dq.Partitions(b.client, "orders", 3, panics{}), dq.PartitionedOptions[*sale]{
		Key: func(o *sale) string {
			if o.Customer == "key" {
				panic("the key")
			}
			return o.Customer
		},
	})
	defer p.Close()
	require.NoError(t, p.Ready(deadline(t)))
	values := []*sale{{"a"}, {"b"}, {"c"}, {"d"}}
	for _, what := range []string{"key", "codec"} {
		bad := append(slices.Clone(values), &sale{what})
		require.PanicsWithValue(t, "the "+what, func() { _ = p.OfferAll(t.Context(), 0, bad...) })
		require.PanicsWithValue(t, "the "+what, func() { _ = p.Offer(t.Context(), bad[4], 0) })
	}
	require.ErrorIs(t, p.Offer(t.Context(), nil, 0), dq.ErrNilValue)
	var partial *dq.OfferAllError
	require.ErrorAs(t, p.OfferAll(t.Context(), time.Hour, nil, values[0]), &partial)
	require.ErrorIs(t, partial.Errors[0], dq.ErrNilValue)
	require.NoError(t, partial.Errors[1])
	for _, one := range p.Partitions() {
		_, err := one.Delayed().Clear(deadline(t))
		require.NoError(t, err)
		require.NoError(t, one.Drain(deadline(t), nil), "nothing is under way")
	}
}

// panics encodes JSON.
type panics struct{ codec.JSON[*sale] }

func (c panics) Encode(o *sale) ([]byte, error) {
	if o.Customer == "codec" {
		panic("the codec")
	}
	return c.JSON.Encode(o)
}

func TestPartitionTicketOfNothing(t *testing.T) {
	type order struct {
		ID     string
		Ticket dq.PartitionTicket
	}
	text, err := json.Marshal(order{ID: "1"})
	require.NoError(t, err)
	var read order
	require.NoError(t, json.Unmarshal(text, &read))
	require.Equal(t, order{ID: "1"}, read)
	for _, bad := range []string{"", "@", "0-0000000000000000", "1-0000000000000000@", "00-0000000000000000@"} {
		_, err := dq.ParsePartitionTicket(bad)
		require.Error(t, err, bad)
	}
}
