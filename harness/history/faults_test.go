package history

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/run"
)

// losing are points of a run each, of 3,000 messages, of which up to most are lost with the chance at the point.
func losing(random *rand.Rand, points int, most int64, chance func(i int) float64) *sorted {
	s := &sorted{}
	for i := range points {
		r := &run.Document{Counts: run.Counts{Offered: 3000}}
		if random.Float64() < chance(i) {
			r.Counts.Lost = 1 + random.Int64N(most)
		}
		s.points = append(s.points, point{name: fmt.Sprint(i), runs: []*run.Document{r}})
	}
	return s
}

// Versions that all lose a message now and then are no change, wherever chance has put the first loss.
func TestRareLossesAreNoChange(t *testing.T) {
	const series = 200
	random := rand.New(rand.NewPCG(1, 2))
	for _, chance := range []float64{.02, .05, .2, .6} {
		for _, most := range []int64{1, 10, 300} {
			worse := 0
			for range series {
				s := losing(random, 40, most, func(int) float64 { return chance })
				s.points[39].runs[0].Counts.Lost = 0 // what the newest loses and none did before is told
				if _, text := s.moreFaults(); text != "" {
					worse++
				}
			}
			t.Logf("chance %g, up to %d: %d", chance, most, worse)
			require.LessOrEqual(t, worse, series*8/100, "of %d, each version losing up to %d with a chance of %g", series, most, chance)
		}
	}
}

// Versions that begin to lose a message now and then are found, and about since when.
func TestLossesThatBeginAreFound(t *testing.T) {
	const series, began = 100, 20
	random := rand.New(rand.NewPCG(3, 4))
	found, near := 0, 0
	for range series {
		since, text := losing(random, 40, 3, func(i int) float64 { return .5 * float64(i/began) }).moreFaults()
		if text != "" {
			found++
			require.GreaterOrEqual(t, since, began)
			if since <= began+3 {
				near++
			}
		}
	}
	require.GreaterOrEqual(t, found, 90)
	require.GreaterOrEqual(t, near, 85)
}
