package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// evenings have the runs of three versions each, in turn.
func evenings(versions, each int) (points []point) {
	for v := range versions {
		var starts []time.Duration
		for i := range each {
			starts = append(starts, time.Duration(v/3)*7*24*time.Hour+time.Duration(3*i+v%3)*time.Minute)
		}
		points = append(points, madeAt(v, starts...))
	}
	return points
}

// chained have the runs of two versions in each sitting, in turn: each version is measured once more beside the next.
func chained(versions, each int) (points []point) {
	for v := range versions {
		var starts []time.Duration
		for sitting := max(v-1, 0); sitting <= min(v, versions-2); sitting++ {
			for i := range each {
				starts = append(starts, time.Duration(sitting)*3*24*time.Hour+time.Duration(2*i+v-sitting)*time.Minute)
			}
		}
		points = append(points, madeAt(v, starts...))
	}
	return points
}

// star has a sitting for each version but the first, in which that takes turns with it.
func star(versions, each int) (points []point) {
	starts := make([][]time.Duration, versions)
	for sitting := range versions - 1 {
		for i := range 2 * each {
			v := (i % 2) * (sitting + 1)
			starts[v] = append(starts[v], time.Duration(sitting)*24*time.Hour+time.Duration(i)*time.Minute)
		}
	}
	for v, all := range starts {
		points = append(points, madeAt(v, all...))
	}
	return points
}

// thereAndBack are evenings in which three versions take turns forwards and then backwards, so that the last has two runs in a row.
func thereAndBack(versions int) (points []point) {
	for v := range versions {
		evening, place := time.Duration(v/3)*24*time.Hour, v%3
		points = append(points, madeAt(v, evening+time.Duration(place)*time.Minute, evening+time.Duration(5-place)*time.Minute))
	}
	return points
}

// withOneInARow are points before which one more was measured, with its runs in a row.
func withOneInARow(points []point) []point {
	return append([]point{madeAt(99, -24*time.Hour, -24*time.Hour+time.Minute, -24*time.Hour+2*time.Minute)}, points...)
}

// nights have each run for a point.
func nights(nights, each int) (points []point) {
	for i := range nights * each {
		points = append(points, madeAt(i, time.Duration(i/each)*24*time.Hour+time.Duration(i%each)*time.Minute))
	}
	return points
}

func madeAt(n int, starts ...time.Duration) point {
	p := point{name: fmt.Sprintf("1.%d", n)}
	for _, start := range starts {
		p.runs = append(p.runs, &run.Document{Started: time.Date(2026, 1, 1, 20, 0, 0, 0, time.UTC).Add(start)})
	}
	return p
}

// inSittings are values of the runs of points: every sitting is off by apart, and every run of it by .05, both standard
// deviations of the logarithm. From a point on they are as many times as great.
func inSittings(random *rand.Rand, sittings [][]int, apart float64, at int, times float64) *Figure {
	f := &Figure{Histogram: "lateness", Stat: "p50", Unit: "ns", isTime: true}
	var hours []float64
	for range 1 + slices.Max(slices.Concat(sittings...)) {
		hours = append(hours, apart*random.NormFloat64())
	}
	for i, of := range sittings {
		var values []*float64
		for _, sitting := range of {
			v := 1e6 * math.Exp(hours[sitting]+.05*random.NormFloat64())
			if i >= at {
				v *= times
			}
			values = append(values, &v)
		}
		f.Values, f.Medians = append(f.Values, values), append(f.Medians, medianOf(values))
	}
	return f
}

// Sittings whose hours differ are no change, whether versions took turns in them or each run is a point; what is twice
// as much is seen beside what it took turns with, and a fifth more by most.
func TestSittingsThatDifferAreNoChange(t *testing.T) {
	simulates(t)
	const all, ofTen = .05, .005 // levels: of one figure, and of each of ten
	for i, row := range []struct {
		name         string
		points       []point
		apart, times float64
		from         int // the first point that is as many times as much
		level        float64
		series       int
		least, most  int // per cent of the series in which the newest level is worse
	}{
		{"evenings", evenings(12, 6), .05, 1, 0, all, 40, 0, 5},
		{"evenings", evenings(12, 6), .1, 1, 0, all, 40, 0, 5},
		{"a chain", chained(10, 6), .05, 1, 0, all, 40, 0, 5},
		{"a chain", chained(10, 6), .1, 1, 0, all, 40, 0, 5},
		{"nights", nights(10, 6), .05, 1, 0, all, 40, 0, 5},
		{"nights", nights(10, 6), .1, 1, 0, all, 40, 0, 5},
		{"evenings", evenings(12, 6), .05, 2, 11, ofTen, 20, 90, 100},
		{"evenings", evenings(12, 6), .1, 2, 10, ofTen, 20, 90, 100},
		{"evenings", evenings(12, 6), .05, 2, 9, ofTen, 20, 20, 60}, // alone in its sitting: as with four sessions
		{"a chain", chained(10, 6), .05, 2, 9, ofTen, 20, 90, 100},
		{"a chain", chained(10, 6), .1, 2, 9, ofTen, 20, 90, 100},
		{"a chain", chained(10, 6), .1, 1.2, 9, ofTen, 20, 50, 100},
		{"nights", nights(10, 6), .05, 2, 54, ofTen, 20, 90, 100},
		{"nights", nights(10, 6), .05, 2, 56, ofTen, 20, 90, 100},
		{"one in a row, and evenings", withOneInARow(evenings(12, 4)), .1, 1, 0, all, 120, 0, 5},
		{"there and back", thereAndBack(24), .1, 1, 0, all, 40, 0, 5},
		{"one beside each", star(9, 6), .2, 1, 0, all, 40, 0, 5},
		{"one beside each", star(9, 6), .2, 2, 8, ofTen, 20, 90, 100},
		{"one beside each", star(9, 6), .2, 1.2, 8, ofTen, 20, 90, 100},
	} {
		t.Run(fmt.Sprintf("%s, %g times as much from %d on, %g apart", row.name, row.times, row.from, row.apart), func(t *testing.T) {
			t.Parallel()
			of := strataOf(row.points)
			random := rand.New(rand.NewPCG(uint64(i), 12))
			worse := 0
			for range row.series {
				f := inSittings(random, of.sitting, row.apart, row.from, row.times)
				f.divide(t.Context(), make([]Point, len(row.points)), of, row.level, DefaultOptions())
				if c := f.newest(); c != nil && c.Outcome == Worse {
					worse++
				}
			}
			t.Logf("worse in %d of %d series", worse, row.series)
			require.GreaterOrEqual(t, 100*worse, row.series*row.least)
			require.LessOrEqual(t, 100*worse, row.series*row.most)
		})
	}
}

// What the runs of one sitting show has the last word, with its size, however bad its hour was for all of them.
func TestTheHourOfAllMakesNoVersionWorse(t *testing.T) {
	points := star(9, 6)
	of := strataOf(points)
	for _, row := range []struct {
		hour, times float64
		want        Outcome
	}{{1.6, .8, Better}, {.6, 1.25, Worse}, {1.6, 1.25, Worse}, {.6, .8, Better}} {
		f := inSittings(rand.New(rand.NewPCG(3, 4)), of.sitting, .02, 8, row.times)
		for i, sittings := range of.sitting {
			for k, sitting := range sittings {
				if sitting == of.sittings-1 {
					*f.Values[i][k] *= row.hour
				}
			}
			f.Medians[i] = medianOf(f.Values[i])
		}
		f.divide(t.Context(), make([]Point, len(points)), of, .05, DefaultOptions())
		c := f.newest()
		require.NotNil(t, c)
		require.Equal(t, 8, c.At)
		require.Equal(t, row.want, c.Outcome, "%+v", row)
		require.InEpsilon(t, row.times, *c.Ratio, .06)
	}
}

// inOrder are evenings in each of which versions have runs in one order, such as 0 0 0 1 1 1.
func inOrder(evenings int, versions ...int) (points []point) {
	starts := make([][]time.Duration, slices.Max(versions)+1)
	for evening := range evenings {
		for i, v := range versions {
			starts[v] = append(starts[v], time.Duration(evening)*24*time.Hour+time.Duration(i)*time.Minute)
		}
	}
	for v, all := range starts {
		points = append(points, madeAt(v, all...))
	}
	return points
}

// What each sitting does to its later runs, or to the first one, is no change, and neither is a run by itself; that there
// may be one is said. What the order does not explain is seen.
func TestTheOrderInSittingsIsNoChange(t *testing.T) {
	slower := func(_ *rand.Rand, order int) float64 { return math.Exp(.03 * float64(order)) }
	cold := func(_ *rand.Rand, order int) float64 { return map[bool]float64{true: 1.35, false: 1}[order == 0] }
	late := func(_ *rand.Rand, order int) float64 { return map[bool]float64{true: 1.15, false: 1}[order == 4] }
	settles := func(_ *rand.Rand, order int) float64 { return 1 + .4*math.Exp(-float64(order)/1.5) }
	rarely := func(random *rand.Rand, _ int) float64 {
		return map[bool]float64{true: 3, false: 1}[random.IntN(15) == 0]
	}
	for i, row := range []struct {
		name        string
		points      []point
		apart       float64
		off         func(random *rand.Rand, order int) float64
		at          int
		times       float64
		least, most int // per cent of the series with a change
		said        int // per cent of which it is said, at the least, that there may be one
	}{
		{"one after the other", inOrder(6, 0, 0, 0, 1, 1, 1), .1, slower, 1, 1, 0, 5, 30},
		{"once each, and slower", inOrder(8, 0, 1), .1, slower, 1, 1, 0, 0, 0},
		{"once each, the first cold", inOrder(8, 0, 1), .1, cold, 1, 1, 0, 0, 90},
		{"five, once each", inOrder(6, 0, 1, 2, 3, 4), .1, slower, 1, 1, 0, 0, 0},
		{"five, once each, the first cold", inOrder(6, 0, 1, 2, 3, 4), .1, cold, 1, 1, 0, 0, 90},
		{"five, once each, the last late", inOrder(6, 0, 1, 2, 3, 4), .1, late, 1, 1, 0, 0, 50},
		{"three in rows that settle", inOrder(5, 0, 0, 0, 1, 1, 1, 2, 2, 2), .1, settles, 1, 1, 0, 5, 0},
		{"there and back, and slower", inOrder(6, 0, 1, 1, 0), .1, slower, 1, 1, 0, 5, 0},
		{"a run off now and then", chained(13, 1), .05, rarely, 1, 1, 0, 5, 50},
		{"three each, one off now and then", chained(9, 3), .05, rarely, 1, 1, 0, 10, 0},
		{"one after the other, twice as much", inOrder(6, 0, 0, 0, 1, 1, 1), .1, slower, 1, 2, 95, 100, 0},
		{"once each, twice as much", inOrder(8, 0, 1), .1, cold, 1, 2, 0, 0, 90},
		{"there and back, a fifth more", inOrder(6, 0, 1, 1, 0), .1, slower, 1, 1.2, 85, 100, 0},
		{"in turn, a fifth more", inOrder(6, 0, 1, 0, 1, 0, 1), .1, slower, 1, 1.2, 90, 100, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			const series = 40
			of, random := strataOf(row.points), rand.New(rand.NewPCG(uint64(i), 14))
			changes, said := 0, 0
			for range series {
				f := inSittings(random, of.sitting, row.apart, row.at, row.times)
				for point, values := range f.Values {
					for k, v := range values {
						*v *= row.off(random, of.order[point][k])
					}
					f.Medians[point] = medianOf(values)
				}
				f.divide(t.Context(), make([]Point, len(row.points)), of, .005, DefaultOptions())
				if len(f.Changes) > 0 {
					changes++
				}
				if f.unborne != nil {
					said++
				}
			}
			t.Logf("a change in %d of %d series, said to be doubtful in %d", changes, series, said)
			require.GreaterOrEqual(t, 100*changes, series*row.least)
			require.LessOrEqual(t, 100*changes, series*row.most)
			require.GreaterOrEqual(t, 100*said, series*row.said)
		})
	}
}

// Evenings in which all lose messages make no version worse.
func TestEveningsThatLoseAreNoChange(t *testing.T) {
	const series = 60
	for _, bad := range []float64{.2, .5} {
		random, worse := rand.New(rand.NewPCG(5, 6)), 0
		for range series {
			s := &sorted{points: evenings(24, 4)}
			s.strata = strataOf(s.points)
			var isBad []bool
			for range s.strata.sittings {
				isBad = append(isBad, random.Float64() < bad)
			}
			for i, p := range s.points {
				for k, r := range p.runs {
					r.Counts.Offered = 3000
					if isBad[s.strata.sitting[i][k]] && random.Float64() < .7 {
						r.Counts.Lost = 1 + random.Int64N(5)
					}
				}
				s.runs = append(s.runs, p.runs...)
			}
			if changes, alarm := changesOf(t, s); alarm && changes["lost"].Outcome == Worse {
				worse++
			}
		}
		t.Logf("evenings that lose with chance %g: worse in %d of %d series", bad, worse, series)
		require.LessOrEqual(t, worse, series*5/100)
	}
}

// A sitting ends where a gap is far longer than is usual, and not shorter than what a run may take.
func TestSittingsEndWithALongGap(t *testing.T) {
	for name, row := range map[string]struct {
		points []point
		want   string
	}{
		"one evening":            {evenings(3, 2), ""},
		"two":                    {evenings(4, 2), "[[0 0] [0 0] [0 0] [1 1]]"},
		"every hour":             {[]point{madeAt(0, 0, time.Hour, 2*time.Hour), madeAt(1, 3*time.Hour, 4*time.Hour)}, ""},
		"two of an hour":         {[]point{madeAt(0, 0, time.Minute, time.Hour), madeAt(1, time.Hour+time.Minute)}, "[[0 0 1] [1]]"},
		"a chain":                {chained(3, 2), "[[0 0] [0 0 1 1] [1 1]]"},
		"a release now and then": {[]point{madeAt(0, 0), madeAt(1, 200*time.Hour), madeAt(2, 900*time.Hour)}, ""},
		"seconds, and a pause":   {[]point{madeAt(0, 0, time.Second), madeAt(1, 2*time.Second, 5*time.Minute)}, ""},
		"all at once":            {[]point{madeAt(0, 0, 0), madeAt(1, 0)}, ""},
		"one run":                {[]point{madeAt(0, 0)}, ""},
		"out of order":           {[]point{madeAt(0, 24*time.Hour, 24*time.Hour+time.Minute), madeAt(1, 0, time.Minute)}, "[[1 1] [0 0]]"},
	} {
		s := strataOf(row.points)
		if row.want == "" {
			require.True(t, s == nil || s.sittings == 1, name)
			continue
		}
		require.Equal(t, row.want, fmt.Sprint(s.sitting), name)
	}
}

// Runs that take longer than a sitting may pause are of one where the next begins at once.
func TestLongRunsShareASitting(t *testing.T) {
	p := madeAt(0, 0, 31*time.Minute, 62*time.Minute, 24*time.Hour)
	for _, r := range p.runs {
		r.ElapsedSeconds = 30 * 60
	}
	require.Equal(t, "[[0 0 0 1]]", fmt.Sprint(strataOf([]point{p}).sitting))
}

// What the sittings do not bear is said, with the reason.
func TestWhatSittingsDoNotBearIsSaid(t *testing.T) {
	at := func(h, m int) time.Time { return time.Date(2026, 1, 1+h, 20, m, 0, 0, time.UTC) }
	const note = "the runs were made in %d sittings, with long gaps between: "
	for name, row := range map[string]struct {
		sittings, versions int
		level              func(sitting, version int) float64
		outcome            Outcome
		text               string
	}{
		"one of four hours is later":   {4, 3, func(s, _ int) float64 { return []float64{1, 1.2, .9, 1.5}[s] }, Unchanged, "; but they were made in 4 sittings, and that is no more than 4 sittings differ by: to be sure"},
		"two evenings cannot tell":     {2, 3, func(s, _ int) float64 { return []float64{1, 3}[s] }, Inconclusive, "Inconclusive: 36 runs were made in 2 sittings; at least 4 are needed to see a change. By the runs "},
		"later than what was beside":   {2, 3, func(_, v int) float64 { return []float64{1, 1, 1, 1, 1, 3}[v] }, Worse, "Worse since 1.5: "},
		"later than all evenings were": {5, 3, func(s, _ int) float64 { return []float64{1, 1.1, .9, 1, 3}[s] }, Worse, "Worse since 1.12: "},
	} {
		var runs []*run.Document
		for sitting := range row.sittings {
			var scale []float64
			var versions []string
			for i := range 6 * row.versions {
				v := sitting*row.versions + i%row.versions
				scale, versions = append(scale, row.level(sitting, v)), append(versions, fmt.Sprintf("1.%d", v))
			}
			for i, r := range samples(func(i int) float64 { return scale[i] }, versions...) {
				r.RunID, r.Started = fmt.Sprintf("%d-%d", sitting, i), at(7*sitting, i)
				runs = append(runs, r)
			}
		}
		h, err := Of(t.Context(), runs, DefaultOptions())
		require.NoError(t, err)
		require.Equal(t, row.outcome, h.Outcome, "%s: %s", name, h.Text)
		require.Contains(t, h.Text, row.text, name)
		require.Contains(t, h.Notes[0], fmt.Sprintf(note, row.sittings), name)
	}
}
