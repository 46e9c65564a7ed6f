package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
)

func TestDestinationOf(t *testing.T) {
	for _, dest := range []string{"orders", "q{a}b", "{a}b", "a{b", "a}b", "{a}{b}", "app:orders", "{", "{}"} {
		n := wire.NamesOf(dest)
		for _, key := range []string{n.TimeoutSet, n.Pending} {
			got, ok := wire.DestinationOf(key)
			require.True(t, ok, key)
			require.Equal(t, dest, got, key)
		}
	}
	shared, ok := wire.DestinationOf(wire.NamesOf("{orders}").Pending)
	require.True(t, ok)
	require.Equal(t, "orders", shared, "both names have the same keys")

	for _, key := range []string{
		"orders", "redisson_delay_queue", "redisson_delay_queue:orders", "redisson_delay_queues:{orders}",
		wire.NamesOf("orders").Channel, "redisson_delay_queue_quarantine:{orders}",
	} {
		_, ok := wire.DestinationOf(key)
		require.False(t, ok, key)
	}
}

// A key that belongs to a queue is one of those that the queue's name gives.
func FuzzDestinationOf(f *testing.F) {
	f.Add("redisson_delay_queue:{orders}")
	f.Add("redisson_delay_queue_timeout:q{a}b")
	f.Add("redisson_delay_queue:{a}{b}")
	f.Fuzz(func(t *testing.T, key string) {
		dest, ok := wire.DestinationOf(key)
		if n := wire.NamesOf(dest); ok && key != n.Pending && key != n.TimeoutSet {
			t.Fatalf("%q is taken for a key of %q, whose keys are %q and %q", key, dest, n.Pending, n.TimeoutSet)
		}
	})
}
