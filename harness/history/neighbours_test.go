package history

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Neighbours that have a correlation of 0.5 make changes of their own, which is said of most; of a change that there
// is, among neighbours that have none, it is said of few.
func TestNeighboursThatAreAlike(t *testing.T) {
	const series = 100
	changed := func(correlation, step float64) (changes, said int) {
		random := rand.New(rand.NewPCG(21, 12))
		for range series {
			f, v := &Figure{Histogram: "lateness", Stat: "p50", Unit: "ns", isTime: true}, 0.
			for i := range 40 {
				v = correlation*v + random.NormFloat64()
				value := 1e6 * math.Exp(.1*(v+step*float64(i/20)))
				f.Values, f.Medians = append(f.Values, []*float64{&value}), append(f.Medians, &value)
			}
			f.divide(t.Context(), make([]Point, 40), nil, .005, DefaultOptions())
			h := &History{Figures: []Figure{*f}}
			h.tellNeighbours(&sorted{})
			if len(f.Changes) > 0 {
				changes, said = changes+1, said+len(h.Notes)
			}
		}
		t.Logf("correlation %g, step %g: a change in %d of %d series, said to be alike in %d", correlation, step, changes, series, said)
		return changes, said
	}
	changes, said := changed(.5, 0)
	require.GreaterOrEqual(t, said, changes*6/10)
	changes, said = changed(0, 3)
	require.Equal(t, series, changes)
	require.LessOrEqual(t, said, series*5/100)
}
