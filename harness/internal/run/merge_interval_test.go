package run

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A second in which one part delivered nothing must not lift a lateness below
// zero to zero.
func TestSecondsWithoutDeliveriesHaveNoLateness(t *testing.T) {
	t.Parallel()
	some := Interval{Second: 1, Offered: 5, Delivered: 5, P50: -300, P99: -200, Max: -100}
	none := Interval{Second: 1, Offered: 3, Pending: 3}
	want := Interval{Second: 1, Offered: 8, Delivered: 5, Pending: 3, P50: -300, P99: -200, Max: -100}
	require.Equal(t, want, some.join(none, 3))
	require.Equal(t, want, none.join(some, 3))

	later := Interval{Second: 1, Delivered: 1, P50: 4, P99: 4, Max: 4}
	require.EqualValues(t, 4, some.join(later, 0).Max)
}
