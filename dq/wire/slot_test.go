package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// The slots are those that CLUSTER KEYSLOT of Redis 7.0.15 gives.
func TestSlot(t *testing.T) {
	for key, want := range map[string]int{
		"123456789": 12739, "foo": 12182, "{foo}bar": 12182, "a{foo}b{c}": 12182, "{}": 15257, "foo{}{bar}": 8363, "": 0,
	} {
		require.Equal(t, want, wire.Slot(key), "%q", key)
	}
	for _, name := range []string{"orders", "q{a}b", "Zürich ✓"} {
		n := wire.NamesOf(name)
		for _, key := range []string{n.TimeoutSet, n.Pending, n.Channel} {
			require.Equal(t, wire.Slot(name), wire.Slot(key), "%q", key)
		}
	}
}
