package scripts_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
)

// What was held before is held by itself, in the order of the queue, and what was not, several at a time.
func TestHoldNextHoldsAloneWhatWasHeldBefore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	names := scripts.ReliableNamesOf(b.names.Destination)
	hold := func(count int) (values []string) {
		members, err := b.run(scripts.HoldNext(), []string{b.names.Destination, names.Held, names.Attempts}, count, "twelve bytes", 60_000)
		require.NoError(t, err)
		for _, m := range members.([]any) {
			values = append(values, m.(string)[20:])
		}
		return values
	}
	b.do("RPUSH", b.names.Destination, "back 1", "back 2", "back 3")
	require.Equal(t, []string{"back 1", "back 2", "back 3"}, hold(10))
	b.do("RPUSH", b.names.Destination, "new 1", "new 2", "back 1", "back 2", "new 3", "new 4", "new 4")
	for _, want := range [][]string{{"new 1", "new 2"}, {"back 1"}, {"back 2"}, {"new 3", "new 4"}, {"new 4"}, nil} {
		require.Equal(t, want, hold(10))
	}
}
