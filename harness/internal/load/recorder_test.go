package load

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// What was taken out for a second is in the totals, and each value in one second.
func TestSecondsAddUpToTheTotals(t *testing.T) {
	s := newStripes(4, 2)
	var workers sync.WaitGroup
	for p := range 4 {
		workers.Go(func() {
			for range 1000 {
				s.of(p).record(1000, 10)
			}
		})
	}
	seen := int64(0)
	look := func() {
		second, err := s.second()
		require.NoError(t, err)
		require.Equal(t, second[0].Count(), second[1].Count())
		seen += second[0].Count()
	}
	for range 20 {
		look()
	}
	workers.Wait()
	look()
	require.EqualValues(t, 4000, seen)
	totals, err := s.totals()
	require.NoError(t, err)
	require.EqualValues(t, 4000, totals[0].Count())
	require.EqualValues(t, 1000, totals[0].Max())
	require.EqualValues(t, 10, totals[1].Max())
}

func BenchmarkRecord(b *testing.B) {
	s := newStripes(50, 3)
	p := 0
	for b.Loop() {
		s.of(p).record(100_000, 110_000, 1000)
		p++
	}
}
