package dq_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/internal/redistest"
	"github.com/dq-bench/dq-bench/internal/server"
)

// One of three masters is gone, and has no replica: its partition waits for it, and the others do not.
func TestFaultAPartitionWhoseMasterIsGone(t *testing.T) {
	t.Parallel()
	c := redistest.ClusterOf(t, server.ClusterOptions{
		Masters: 3,
		Args:    []string{"--cluster-require-full-coverage", "no", "--appendonly", "yes", "--appendfsync", "always"},
	})
	client, err := dq.NewClient(clusterClient(t, c), dq.WithOfferPatience(100*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	p := dq.NewPartitioned(dq.Partitions(client, "orders", 3, codec.String{}), dq.PartitionedOptions[string]{Key: customer})
	require.NoError(t, p.Ready(deadline(t)))
	keys := map[*dq.Partition[string]]string{} // one of each
	for i := 0; len(keys) < 3; i++ {
		keys[p.PartitionOf(fmt.Sprint(i))] = fmt.Sprint(i)
	}
	masters := map[*server.Node]bool{}
	for one := range keys {
		masters[ownerOf(t, c, one.Name())] = true
	}
	require.Len(t, masters, 3, "each partition has a master of its own")

	var got arrived
	var failures atomic.Int32
	consuming(t, p, got.handle, dq.PartitionedConsumeOptions{
		ConsumeOptions: dq.ConsumeOptions{Workers: 2, Failed: func(any, error) { failures.Add(1) }},
	})
	gone := p.Partitions()[1]
	require.NoError(t, p.Offer(deadline(t), keys[gone]+" before", 300*time.Millisecond))
	node := ownerOf(t, c, gone.Name())
	require.NoError(t, node.Kill())

	values := make([]string, 0, 30)
	for i := range 10 {
		for _, key := range keys {
			values = append(values, fmt.Sprint(key, " ", i))
		}
	}
	err = p.OfferAll(deadline(t), 200*time.Millisecond, values...)
	var partial *dq.OfferAllError
	require.ErrorAs(t, err, &partial)
	// What was sent before the connection was seen to be dead is uncertain; none of it comes.
	var queued, refused []string
	for i, err := range partial.Errors {
		require.Equal(t, p.PartitionOf(customer(values[i])) == gone, err != nil, "%s: %v", values[i], err)
		if err == nil {
			queued = append(queued, values[i])
		} else {
			refused = append(refused, values[i])
		}
	}
	require.Len(t, refused, 10)
	require.Eventually(t, func() bool { return len(got.all()) == len(queued) }, testDeadline, time.Millisecond)
	require.ElementsMatch(t, queued, got.all())
	require.Positive(t, failures.Load(), "Failed is told of the other")
	for one, key := range keys {
		err := p.Offer(deadline(t), key+" later", 0)
		require.Equal(t, one == gone, err != nil, "%v", err)
	}

	require.NoError(t, node.Restart(deadline(t)))
	require.NoError(t, gone.Delayed().Ready(deadline(t)))
	require.Eventually(t, func() bool { return p.Offer(deadline(t), keys[gone]+" again", 0) == nil }, testDeadline, 10*time.Millisecond)
	want := append([]string{keys[gone] + " before", keys[gone] + " again"}, queued...)
	for one, key := range keys {
		if one != gone {
			want = append(want, key+" later")
		}
	}
	require.Eventually(t, func() bool { return len(got.all()) == len(want) }, testDeadline, time.Millisecond)
	require.ElementsMatch(t, want, got.all())
	require.NoError(t, p.Close())
}

// One of two servers stands still while it is asked: the only worker goes on with the other's values.
func TestFaultAPartitionWhoseServerStandsStill(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := redistest.Process(t)
	proxy := redistest.NewProxy(t, s.Addr)
	still, err := dq.NewClient(connect(t, "redis://"+proxy.Addr+"?read_timeout=60s&max_retries=-1"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, still.Close()) })
	p := dq.NewPartitioned([]*dq.BlockingQueue[string]{b.queue, dq.NewBlockingQueue(still, "others", codec.String{})}, dq.PartitionedOptions[string]{})
	require.NoError(t, p.Ready(deadline(t)))
	const each = 200
	other := connect(t, s.URL())
	for i := range each {
		b.queued(t, fmt.Sprint("well ", i))
		require.NoError(t, other.RPush(t.Context(), "others", fmt.Sprint("still ", i)).Err())
	}
	var well, behind atomic.Int32
	stop := consuming(t, p, func(_ context.Context, v string) error {
		switch {
		case customer(v) == "well":
			well.Add(1)
		case behind.Add(1) == 10:
			proxy.Stall()
		}
		return nil
	}, dq.PartitionedConsumeOptions{})
	require.Eventually(t, func() bool { return well.Load() == each }, testDeadline, time.Millisecond)
	require.Less(t, behind.Load(), int32(each))
	proxy.Heal()
	require.Eventually(t, func() bool { return behind.Load() == each }, testDeadline, time.Millisecond)
	stop()
	require.NoError(t, p.Close())
}
