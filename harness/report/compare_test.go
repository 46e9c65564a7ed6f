package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// side is a number of runs whose lateness is scaled, each a little different.
func side(first uint64, runs int, scale float64) []*Run {
	var all []*Run
	for i := range uint64(runs) {
		r := sampleRun(first+i, 10_000, scale*(1+float64(i%3)/100))
		all = append(all, r)
	}
	return all
}

// again is what other runs with the same figures would be.
func again(runs []*Run) []*Run {
	var all []*Run
	for _, r := range runs {
		other := *r
		other.RunID = "again" + r.RunID
		all = append(all, &other)
	}
	return all
}

func compare(t *testing.T, old, new []*Run) *Comparison {
	t.Helper()
	c, err := Compare(old, new, CompareOptions{MinEffect: .05})
	require.NoError(t, err)
	return c
}

func TestOneRunASideIsInconclusive(t *testing.T) {
	c := compare(t, side(1, 1, 1), side(100, 1, 10))
	require.Equal(t, Inconclusive, c.Outcome)
	for _, row := range c.Rows {
		require.Empty(t, row.Outcome)
		require.Nil(t, row.P)
	}
	var out strings.Builder
	require.NoError(t, c.WriteText(&out))
	requireGolden(t, "compare_one.txt", out.String())
}

func TestFiveRunsAreStillTooFew(t *testing.T) {
	require.Equal(t, Inconclusive, compare(t, side(1, 5, 1), side(100, 6, 10)).Outcome)
}

func TestComparisonFindsAPlantedChange(t *testing.T) {
	base, slower := side(1, 8, 1), side(100, 8, 1.2)
	worse := compare(t, base, slower)
	require.Equal(t, Worse, worse.Outcome)
	require.Equal(t, Better, compare(t, slower, base).Outcome)
	require.Equal(t, NoDifference, compare(t, base, side(200, 8, 1)).Outcome)
	var out strings.Builder
	require.NoError(t, worse.WriteText(&out))
	requireGolden(t, "compare_worse.txt", out.String())
	for _, row := range worse.Rows {
		// p99.9 of 10,000 messages has too few beyond it to be judged.
		require.Equal(t, row.Histogram != "schedule_lag" && row.Stat != "max" && row.Stat != "p99.9", row.P != nil, "%s %s", row.Histogram, row.Stat)
	}
}

func TestLossIsWorseHoweverFast(t *testing.T) {
	lossy := side(100, 6, .5)
	lossy[0].Counts.Lost = 1
	require.Equal(t, Worse, compare(t, side(1, 6, 1), lossy).Outcome)
}

func TestSmallChangesDoNotMatter(t *testing.T) {
	c, err := Compare(side(1, 8, 1), side(100, 8, 1.2), CompareOptions{MinEffect: .5})
	require.NoError(t, err)
	require.Equal(t, NoDifference, c.Outcome)
}

func TestDifferentConfigurationsAreRefused(t *testing.T) {
	old, new := side(1, 1, 1), side(2, 1, 1)
	new[0].Scenario.Producers, new[0].Server.Version = 51, "8.0.0"
	_, err := Compare(old, new, CompareOptions{})
	var different *DifferenceError
	require.ErrorAs(t, err, &different)
	require.Equal(t, []string{"producers: 50 is not 51", "server: redis 7.0.15 is not redis 8.0.0"}, different.Differences)
	c, err := Compare(old, new, CompareOptions{Force: true})
	require.NoError(t, err)
	require.Len(t, c.Differences, 2)
}

// Another driver is what a comparison is about; two drivers on one side are a mistake.
func TestDriversMayDifferBetweenSidesOnly(t *testing.T) {
	old, new := side(1, 1, 1), side(2, 2, 1)
	old[0].Driver = Driver{"redisson", "4.7.0"}
	compare(t, old, new)
	new[1].Driver = Driver{"memory", ""}
	_, err := Compare(old, new, CompareOptions{})
	require.ErrorContains(t, err, "driver within a side")
}

func TestReadSide(t *testing.T) {
	root := t.TempDir()
	for i, folder := range []string{"x/1", "x/2/deep", "y"} {
		path := filepath.Join(root, folder)
		require.NoError(t, PrepareFolder(path))
		require.NoError(t, WriteFolder(path, sampleRun(uint64(i), 10, 1), nil))
	}
	for path, want := range map[string]int{
		".": 3, "x": 2, "y/run.json": 1, "*": 3, "x/*": 2, "x/*/run.json": 1, "[xy]": 3,
	} {
		runs, err := ReadSide(filepath.Join(root, path))
		require.NoError(t, err, path)
		require.Len(t, runs, want, path)
	}
	require.NoError(t, os.MkdirAll(filepath.Join(root, "empty"), 0o755))
	for _, path := range []string{"none", "z*", "empty", "[", "y/lateness.hgrm"} {
		_, err := ReadSide(filepath.Join(root, path))
		require.Error(t, err, path)
	}
}

// benchstat sets only runs beside each other that agree in every key but the
// column's.
func TestBenchfmtHasTheKeysThatBothSidesShare(t *testing.T) {
	old, new := side(1, 2, 1), side(100, 2, 1)
	for _, r := range new {
		r.Driver = Driver{"redisson", "4.7.0"}
	}
	var out strings.Builder
	require.NoError(t, WriteBenchfmt(&out, old, new))
	require.NotContains(t, out.String(), "driver:")
	require.Contains(t, out.String(), "# new is redisson:4.7.0 on redis 7.0.15")
	require.Equal(t, 4, strings.Count(out.String(), "server: redis 7.0.15"))
	require.Equal(t, 2, strings.Count(out.String(), "side: new"))

	out.Reset()
	require.NoError(t, WriteBenchfmt(&out, old, side(100, 2, 1)))
	require.Equal(t, 4, strings.Count(out.String(), "driver: dq:4.7.0"))
}

// What examiners tried, and what a comparison must say.
func TestComparisonIsNotTakenIn(t *testing.T) {
	for name, change := range map[string]func(r *Run){
		"half is overdue and pending": func(r *Run) { r.Counts.Delivered, r.Counts.Pending = 5000, 5000 },
		"90 % of the offers refused":  func(r *Run) { r.Counts = Counts{Offered: 1000, Delivered: 1000, OfferErrors: 9000} },
		"offers take 100 times as long": func(r *Run) {
			slow := NewHistogram(TotalDigits)
			for i := range int64(10_000) {
				slow.Record(1e7 + i*1000)
			}
			r.Histograms.OfferRTT = slow
		},
	} {
		new := side(100, 8, .5)
		for _, r := range new {
			change(r)
		}
		require.Equal(t, Worse, compare(t, side(1, 8, 1), new).Outcome, name)
	}
	for name, change := range map[string]func(r *Run){
		"interrupted":      func(r *Run) { r.Interrupted = true },
		"invalid":          func(r *Run) { r.Validity = &Validity{Reasons: []string{"too slow"}} },
		"another machine":  func(r *Run) { r.Environment = Environment{OS: "linux", Arch: "arm64", CPUs: 64, GOMAXPROCS: 64} },
		"through a pipe":   func(r *Run) { r.Measured = OverProtocol },
		"one of 2 workers": func(r *Run) { r.Worker = &Worker{Number: 1, Count: 2} },
		"another rate":     func(r *Run) { r.Scenario.Rate = 7 },
	} {
		old, new := side(1, 6, 1), side(100, 6, 1)
		for _, r := range old {
			r.Environment, r.Measured = Environment{OS: "linux", Arch: "amd64", CPUs: 2, GOMAXPROCS: 2}, InProcess
		}
		for _, r := range new {
			r.Environment, r.Measured = old[0].Environment, InProcess
			change(r)
		}
		_, err := Compare(old, new, CompareOptions{})
		var different *DifferenceError
		require.ErrorAs(t, err, &different, name)
	}
	one := sampleRun(1, 100, 1)
	_, err := Compare([]*Run{one, one, one, one, one, one}, side(100, 6, 1), CompareOptions{Force: true})
	var twice *DuplicateRunError
	require.ErrorAs(t, err, &twice)
}

// "No difference" takes an interval within the bounds; few or noisy runs cannot say so.
func TestNoDifferenceMustBeShown(t *testing.T) {
	noisy := func(first uint64) []*Run {
		var all []*Run
		for i := range uint64(6) {
			all = append(all, sampleRun(first+i, 10_000, 1+.3*float64(i%3)))
		}
		return all
	}
	c, err := Compare(noisy(1), noisy(100), CompareOptions{MinEffect: .05})
	require.NoError(t, err)
	require.Equal(t, Inconclusive, c.Outcome)
	require.Regexp(t, `Inconclusive in lateness at p50.*runs a side would tell`, c.Text)
}

// Runs that become slower one after the other are no noise, and random splits do not
// show it.
func TestCompareWithItselfSeesADrift(t *testing.T) {
	drifting := func(perRun float64) []*Run {
		var all []*Run
		for i := range uint64(12) {
			r := sampleRun(1+i, 10_000, 1+perRun*float64(i))
			r.Started = r.Started.Add(time.Duration(i) * time.Minute)
			all = append(all, r)
		}
		return all
	}
	aa, err := CompareWithItself(drifting(.03), 20, 1, DefaultCompareOptions())
	require.NoError(t, err)
	require.True(t, aa.Drifts(), aa.DriftText)
	require.Equal(t, Worse, aa.Drift)
	aa, err = CompareWithItself(drifting(0), 20, 1, DefaultCompareOptions())
	require.NoError(t, err)
	require.False(t, aa.Drifts(), aa.DriftText)
}
