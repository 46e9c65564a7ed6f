package dq_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// share counts how many of the first n names lie on each of so many masters, as a new Cluster shares slots out.
func share(n, masters int, name func(i int) string) []int {
	count := make([]int, masters)
	for i := range n {
		count[wire.Slot(name(i))*masters/wire.Slots]++
	}
	return count
}

func TestPartitionName(t *testing.T) {
	t.Parallel()
	for i, want := range []string{"orders-0-107", "orders-1-118", "orders-2-56", "orders-3-137", "orders-4-336", "orders-5-1"} {
		require.Equal(t, want, dq.PartitionName("orders", i), "which Java services have in their settings")
	}
	require.Equal(t, "{orders}-3-0", dq.PartitionName("{orders}", 3), "one slot, whatever the number")
	require.Equal(t, []int{0, 1, 1, 0, 2, 2}, share(6, 6, func(i int) string { return fmt.Sprintf("orders-%d", i) }), "numbers alone")
}

// Each master of a new Cluster has as many partitions as any other.
func TestPartitionsAreSpread(t *testing.T) {
	t.Parallel()
	for range 4 {
		name := fmt.Sprintf("queue:%x", rand.Uint64())
		for _, n := range []int{1, 2, 3, 4, 5, 6, 8, 12, 24} {
			for masters := 1; masters <= min(n, 12); masters++ {
				if n%masters == 0 && (n != 24 || masters != 8) {
					want := slices.Repeat([]int{n / masters}, masters)
					require.Equal(t, want, share(n, masters, func(i int) string { return dq.PartitionName(name, i) }), "%s: %d on %d", name, n, masters)
				}
			}
		}
	}
}

// Every partition of every name lies where it should, and says which it is.
func FuzzPartitionName(f *testing.F) {
	f.Add("orders", uint16(0))
	f.Add("app:Zürich ✓", uint16(1023))
	f.Add("}", uint16(7))
	f.Fuzz(func(t *testing.T, name string, number uint16) {
		i := int(number) % 1024
		got := dq.PartitionName(name, i)
		var k int
		_, err := fmt.Sscanf(strings.TrimPrefix(got, fmt.Sprintf("%s-%d-", name, i)), "%d", &k)
		if err != nil || got != fmt.Sprintf("%s-%d-%d", name, i, k) {
			t.Fatalf("partition %d of %q is called %q", i, name, got)
		}
		if strings.Contains(name, "{") {
			return
		}
		off := (wire.Slot(got) - 14736 - 6258*i + 1024*wire.Slots) % wire.Slots
		if off > 32 && off < wire.Slots-32 {
			t.Fatalf("partition %d of %q, %q, is %d off its place", i, name, got, off)
		}
		for earlier := range k {
			off := (wire.Slot(fmt.Sprintf("%s-%d-%d", name, i, earlier)) - 14736 - 6258*i + 1024*wire.Slots) % wire.Slots
			if off <= 32 || off >= wire.Slots-32 {
				t.Fatalf("partition %d of %q is %q, but %d would do", i, name, got, earlier)
			}
		}
	})
}
