package dq

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rounds returns what is taken at a time while so many are there each time, 0 for one by one.
func (p *prefetch) rounds(n, there int) (taken []int) {
	for range n {
		want := p.next()
		taken = append(taken, want)
		if want > 0 {
			p.came(want, min(want, there))
		}
		if want == 0 || there == 0 {
			p.one()
		}
	}
	return taken
}

func TestPrefetchBeginsSmall(t *testing.T) {
	p := newPrefetch(20)
	require.Zero(t, p.next(), "nothing is known of the handler")
	p.handled(time.Microsecond)
	require.Equal(t, []int{2, 4, 8, 16, 20, 20}, p.rounds(6, 100))
	require.Equal(t, []int{20, 10, 5, 2}, p.rounds(4, 1), "fewer where fewer are there")
	require.Equal(t, []int{2, 4}, p.rounds(2, 100))
}

func TestPrefetchLooksSeldomWhereNothingIs(t *testing.T) {
	p := newPrefetch(20)
	p.handled(time.Microsecond)
	looks := 0
	for _, n := range p.rounds(1000, 0) {
		if n > 0 {
			looks++
		}
	}
	require.Equal(t, 36, looks, "after 1, 2, 4, 8, 16 and each 32 values")
}

func TestPrefetchTakesWhatIsHandledSoon(t *testing.T) {
	for each, want := range map[time.Duration]int{
		0: 100, time.Microsecond: 100, 100 * time.Microsecond: 50, time.Millisecond: 5, 2500 * time.Microsecond: 2,
		3 * time.Millisecond: 0, time.Minute: 0,
	} {
		p := newPrefetch(100)
		p.count = 100
		p.handled(each)
		require.Equal(t, want, p.next(), each)
	}
	p := newPrefetch(1)
	p.handled(time.Microsecond)
	require.Zero(t, p.next(), "one at a time")
}
