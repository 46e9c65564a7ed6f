package load

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A second counts the deliveries whose latency it has, also where its end falls between
// the count of one and its latency.
func TestASecondCountsWhatItMeasured(t *testing.T) {
	s := &stage{
		ledger: newLedger(1, 10, func(int, int64) bool { return true }),
		offers: newStripes(1, 3), takes: newStripes(1, 2),
	}
	var told second
	w := &seconds{stage: s, told: func(one second) { told = one }}
	for second := range 2 {
		s.ledger.delivered.Add(1)
		if second > 0 {
			s.takes.of(0).record(7, 8)
			s.takes.of(0).record(7, 8)
		}
		w.close(float64(second + 1))
		require.EqualValues(t, 2*second, told.Delivered)
		require.Equal(t, told.Delivered, told.Lateness.Count())
	}
}
