package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
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

// A machine that is slower for nine hours of each day makes changes of its own, which is said.
func TestWhatComesAndGoesIsSaid(t *testing.T) {
	var versions []string
	for i := range 60 {
		versions = append(versions, fmt.Sprintf("1.%d", i))
	}
	busy := func(i int) float64 { return map[bool]float64{true: 1.5, false: 1}[i%24 >= 9 && i%24 < 18] }
	h, err := Of(t.Context(), samples(busy, versions...), DefaultOptions())
	require.NoError(t, err)
	require.Contains(t, strings.Join(h.Notes, "\n"), "what rose fell again, or the other way round, in lateness p50 (")
}
