package compare

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/run/runtest"
)

// side is a number of runs whose lateness is scaled, each a little different.
func side(first uint64, runs int, scale float64) []*run.Document {
	var all []*run.Document
	for i := range uint64(runs) {
		r := runtest.Sample(first+i, 10_000, scale*(1+float64(i%3)/100))
		all = append(all, r)
	}
	return all
}

func compare(t *testing.T, old, new []*run.Document) *Comparison {
	t.Helper()
	c, err := Runs(old, new, Options{MinEffect: .05})
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
	for _, row := range worse.Rows {
		// p99.9 of 10,000 messages has too few beyond it to be judged.
		require.Equal(t, (row.Histogram == "lateness" || row.Histogram == "response_time" || row.Histogram == "server_cpu") && row.Stat != "max" && row.Stat != "p99.9", row.P != nil, "%s %s", row.Histogram, row.Stat)
	}
}

// What OLD never lost is no chance, however few the runs; and more runs than can be looked at are refused.
func TestFewAndManyRuns(t *testing.T) {
	lossy := side(100, 2, 1)
	lossy[0].Counts.Lost = 1000
	require.Equal(t, Worse, compare(t, side(1, 2, 1), lossy).Outcome)
	old := side(1, 2, 1)
	old[1].Counts.Lost = 10
	both := compare(t, old, lossy)
	require.Equal(t, Inconclusive, both.Outcome)
	require.Contains(t, both.Text, "at least 6 runs a side, here are 2 runs against 2 runs. Not more than the runs differ by: 5 % of its messages were lost, of OLD 0.05 %.")

	many := make([]*run.Document, MaxRuns+1)
	for i := range many {
		many[i] = side(uint64(i+1), 1, 1)[0]
	}
	_, err := Runs(many, old, Options{})
	require.ErrorContains(t, err, "expected at most 200 runs a side, got 201")
}

func TestLossIsWorseHoweverFast(t *testing.T) {
	lossy := side(100, 6, .5)
	lossy[0].Counts.Lost = 1
	require.Equal(t, Worse, compare(t, side(1, 6, 1), lossy).Outcome)
}

// What both sides are known to lose differs by chance; a fault that OLD has never shown does not.
func TestLossOfBothSides(t *testing.T) {
	for _, c := range []struct {
		old, new int64
		worse    bool
	}{{3, 4, false}, {4, 3, false}, {10, 40, true}, {0, 1, true}, {5, 5, false}} {
		old, fresh := side(1, 6, 1), side(101, 6, 1)
		for i := range old {
			old[i].Counts.Lost, fresh[i].Counts.Lost = c.old, c.new
		}
		require.Equal(t, c.worse, compare(t, old, fresh).Outcome == Worse, "%+v", c)
	}
}

// A bad run is one event, however many messages it took; what it took is said.
func TestABadRunOfEachSide(t *testing.T) {
	old, fresh := side(1, 6, 1), side(101, 6, 1)
	old[0].Counts.Lost, fresh[3].Counts.Lost = 1, 300
	c := compare(t, old, fresh)
	require.NotEqual(t, Worse, c.Outcome)
	require.Contains(t, c.Text, "Not more than the runs differ by: 0.5 % of its messages were lost, of OLD 0.00167 %.")

	// Flat sides, of which runs lose up to 300 at once, now and then.
	const rounds = 400
	rng := rand.New(rand.NewPCG(1, 2))
	for _, chance := range []float64{.2, .6, 1} {
		worse, first := 0, 0
		drawn := func() []run.Counts {
			all := make([]run.Counts, 6)
			for i := range all {
				all[i].Offered = 10_000
				if rng.Float64() < chance {
					all[i].Lost = 1 + rng.Int64N(300)
				}
			}
			return all
		}
		for range rounds {
			a, b := drawn(), drawn()
			switch text, _ := moreFaults(a, b); {
			case text == "":
			case total(a).Lost == 0:
				first++ // which is told by rule
			default:
				worse++
			}
		}
		t.Logf("chance of %g a run: worse %d, and lost for the first time %d, of %d", chance, worse, first, rounds)
		require.LessOrEqual(t, worse, rounds*5/100)
	}
}

// What is no longer lost does not make up for what comes twice; and what both do wrong in three ways differs by
// chance in 1 of 20 at most, all ways together.
func TestEachKindOfFaultIsJudgedByItself(t *testing.T) {
	old, fresh := side(1, 6, 1), side(101, 6, 1)
	old[0].Counts.Lost, fresh[3].Counts.Duplicate = 30, 30
	c := compare(t, old, fresh)
	require.Equal(t, Worse, c.Outcome)
	require.Equal(t, "NEW is worse: 0.05 % of its messages were delivered more than once, of OLD 0 %.", c.Text)

	const rounds = 2000
	rng, worse := rand.New(rand.NewPCG(1, 1)), 0
	drawn := func() (c run.Counts) {
		c.Offered = 2000
		for range c.Offered {
			for _, in := range []*int64{&c.Lost, &c.Duplicate, &c.Early} {
				if rng.IntN(100) == 0 {
					*in++
				}
			}
		}
		return c
	}
	for range rounds {
		a, b := drawn(), drawn()
		more := false
		for _, f := range FaultsIn(a, b) {
			more = more || f.More(a, b, significance/float64(len(FaultsIn(a, b))))
		}
		if more {
			worse++
		}
	}
	t.Logf("worse: %d of %d", worse, rounds)
	require.LessOrEqual(t, worse, rounds*5/100)
}

func TestSmallChangesDoNotMatter(t *testing.T) {
	c, err := Runs(side(1, 8, 1), side(100, 8, 1.2), Options{MinEffect: .5})
	require.NoError(t, err)
	require.Equal(t, NoDifference, c.Outcome)
}

func TestDifferentConfigurationsAreRefused(t *testing.T) {
	old, new := side(1, 1, 1), side(2, 1, 1)
	new[0].Scenario.Producers, new[0].Server.Version = 51, "8.0.0"
	_, err := Runs(old, new, Options{})
	var different *run.DifferenceError
	require.ErrorAs(t, err, &different)
	require.Equal(t, []string{"producers: 50 is not 51", "server: redis 7.0.15 is not redis 8.0.0"}, different.Differences)
	c, err := Runs(old, new, Options{Force: true})
	require.NoError(t, err)
	require.Len(t, c.Differences, 2)
}

// Another driver is what a comparison is about; two drivers on one side are a mistake.
func TestDriversMayDifferBetweenSidesOnly(t *testing.T) {
	old, new := side(1, 1, 1), side(2, 2, 1)
	old[0].Driver = run.Driver{Name: "redisson", Version: "4.7.0"}
	compare(t, old, new)
	new[1].Driver = run.Driver{Name: "memory"}
	_, err := Runs(old, new, Options{})
	require.ErrorContains(t, err, "driver within a side")
}

func TestReadSide(t *testing.T) {
	root := t.TempDir()
	for i, folder := range []string{"x/1", "x/2/deep", "y"} {
		path := filepath.Join(root, folder)
		require.NoError(t, os.MkdirAll(path, 0o755))
		require.NoError(t, run.WriteFolder(path, runtest.Sample(uint64(i), 10, 1), nil))
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

// Sides that look better than they are, and what a comparison must say.
func TestComparisonIsNotTakenIn(t *testing.T) {
	for name, change := range map[string]func(r *run.Document){
		"half is overdue and pending": func(r *run.Document) { r.Counts.Delivered, r.Counts.Pending = 5000, 5000 },
		"90 % of the offers refused":  func(r *run.Document) { r.Counts = run.Counts{Offered: 1000, Delivered: 1000, OfferErrors: 9000} },
		"offers take 100 times as long": func(r *run.Document) {
			slow := run.NewHistogram(run.TotalDigits)
			for i := range int64(10_000) {
				slow.Record(1e7 + i*1000)
			}
			r.Histograms.OfferRTT, r.Histograms.ResponseTime = slow, slow
		},
	} {
		new := side(100, 8, .5)
		for _, r := range new {
			change(r)
		}
		require.Equal(t, Worse, compare(t, side(1, 8, 1), new).Outcome, name)
	}
	for name, change := range map[string]func(r *run.Document){
		"another machine": func(r *run.Document) {
			r.Environment = run.Environment{OS: "linux", Arch: "arm64", CPUs: 64, GOMAXPROCS: 64}
		},
		"through a pipe": func(r *run.Document) { r.Measured = run.OverProtocol },
		"another rate":   func(r *run.Document) { r.Scenario.Rate = 7 },
	} {
		old, new := side(1, 6, 1), side(100, 6, 1)
		for _, r := range old {
			r.Environment, r.Measured = run.Environment{OS: "linux", Arch: "amd64", CPUs: 2, GOMAXPROCS: 2}, run.InProcess
		}
		for _, r := range new {
			r.Environment, r.Measured = old[0].Environment, run.InProcess
			change(r)
		}
		_, err := Runs(old, new, Options{})
		var different *run.DifferenceError
		require.ErrorAs(t, err, &different, name)
	}
	one := runtest.Sample(1, 100, 1)
	_, err := Runs([]*run.Document{one, one, one, one, one, one}, side(100, 6, 1), Options{Force: true})
	var twice *DuplicateRunError
	require.ErrorAs(t, err, &twice)
}

// What cannot be judged is not called different.
func TestARunThatCannotBeJudgedIsRefusedForThatReason(t *testing.T) {
	for want, change := range map[string]func(r *run.Document){
		"it was interrupted":      func(r *run.Document) { r.Interrupted = true },
		"it is invalid: too slow": func(r *run.Document) { r.Validity = &run.Validity{Reasons: []string{"too slow"}} },
		"it was interrupted; it is invalid: nobody was in": func(r *run.Document) {
			r.Interrupted, r.Validity = true, &run.Validity{Reasons: []string{"nobody was in"}}
		},
	} {
		old, new := side(1, 6, 1), side(100, 1, 1)
		change(new[0])
		_, err := Runs(old, new, Options{})
		require.True(t, IsRefused(err))
		var unfit *UnfitError
		require.ErrorAs(t, err, &unfit)
		require.Len(t, unfit.Reasons, 1)
		require.Contains(t, unfit.Reasons[0], new[0].RunID+" of dq:4.7.0 of ")
		require.Contains(t, unfit.Reasons[0], want)
		require.NotContains(t, err.Error(), "different configurations")
		c, err := Runs(old, new, Options{Force: true})
		require.NoError(t, err)
		require.Equal(t, unfit.Reasons, c.Differences)

		old[2].Scenario.Rate = 7 // both are said
		_, err = Runs(old, new, Options{})
		var different *run.DifferenceError
		require.ErrorAs(t, err, &different)
		require.Len(t, different.Differences, 1)
		require.ErrorContains(t, err, want)
	}
	require.False(t, IsRefused(&DuplicateRunError{}))
}

// Servers are told apart by their addresses where nothing else does.
func TestSidesThatAreCalledTheSameHaveTheirAddresses(t *testing.T) {
	for want, at := range map[[2]string][2]string{
		{"redis 7.0.15 (external) at a:1", "redis 7.0.15 (external) at b:1"}: {"a:1", "b:1"},
		{"redis 7.0.15 (external)", "redis 7.0.15 (external)"}:               {"a:1", "a:1"},
		{"redis 7.0.15 (external)", "redis 7.0.15 (external) at b:1"}:        {"", "b:1"},
	} {
		old, new := side(1, 2, 1), side(100, 2, 1)
		for i := range old {
			old[i].Server.Address, new[i].Server.Address = at[0], at[1]
		}
		c := compare(t, old, new)
		require.Equal(t, want, [2]string{c.Old.Server, c.New.Server})
	}
	old, new := side(1, 2, 1), side(100, 2, 1)
	old[0].Server.Address, new[0].Driver.Version = "a:1", "3.16.6"
	new[1].Driver.Version = "3.16.6"
	require.Equal(t, "redis 7.0.15 (external)", compare(t, old, new).Old.Server)
}

// What is shown beside each other all the same is refused in the words of what is not; servers that are to be compared
// may differ, and nothing else may.
func TestWhatIsShownIsJudgedByTheSameRule(t *testing.T) {
	old, new := side(1, 6, 1), side(100, 6, 1)
	new[3].Validity = &run.Validity{Reasons: []string{"the server was gone"}}
	new[3].Counts.Unknown = 50
	for _, o := range []Options{{}, {Servers: true}} {
		_, err := Runs(old, new, o)
		require.True(t, IsRefused(err))
		c, shown := Shown(old, new, o)
		require.NoError(t, shown)
		require.Equal(t, Inconclusive, c.Outcome)
		require.Equal(t, "Not judged: "+err.Error()+".", c.Text)
	}

	old, new = side(1, 6, 1), side(100, 6, 3)
	for _, r := range new {
		r.Server = &run.Server{Product: "valkey", Version: "9"}
	}
	c, err := Shown(old, new, Options{})
	require.NoError(t, err)
	require.Contains(t, c.Text, "Not judged: the runs have different configurations (server: ")
	c, err = Shown(old, new, Options{Servers: true})
	require.NoError(t, err)
	require.Equal(t, Worse, c.Outcome)
	require.Equal(t, []string{"server: redis 7.0.15 is not valkey 9"}, c.Differences)
	new[0].Environment = run.Environment{OS: "plan9"}
	old[0].Environment = run.Environment{OS: "linux"}
	_, err = Runs(old, new, Options{Servers: true})
	require.True(t, IsRefused(err))
}

// "No difference" takes an interval within the bounds; few or noisy runs cannot say so.
func TestNoDifferenceMustBeShown(t *testing.T) {
	noisy := func(first uint64) []*run.Document {
		var all []*run.Document
		for i := range uint64(6) {
			all = append(all, runtest.Sample(first+i, 10_000, 1+.3*float64(i%3)))
		}
		return all
	}
	c, err := Runs(noisy(1), noisy(100), Options{MinEffect: .05})
	require.NoError(t, err)
	require.Equal(t, Inconclusive, c.Outcome)
	require.Regexp(t, `Inconclusive in lateness at p50.*runs a side would tell`, c.Text)
}

// What was measured beside the implementation, in whichever process, is comparable; what
// was measured over the protocol is not.
func TestOverTheProtocolIsNoMatchForBeside(t *testing.T) {
	measured := func(first uint64, where run.Measured) []*run.Document {
		runs := side(first, 6, 1)
		for _, r := range runs {
			r.Measured = where
		}
		return runs
	}
	_, err := Runs(measured(1, run.InProcess), measured(100, run.InProgram), DefaultOptions())
	require.NoError(t, err)
	_, err = Runs(measured(1, run.InProcess), measured(100, run.OverProtocol), DefaultOptions())
	require.ErrorContains(t, err, "over the protocol")
}

// One run that does not tell its machine lets no others in that differ.
func TestASilentRunDoesNotSwitchTheRefusalOff(t *testing.T) {
	old, new := side(1, 4, 1), side(100, 4, 1)
	for i, r := range append(old[1:len(old):len(old)], new...) {
		r.Environment.OS, r.Environment.CPUs = "linux", 1+63*(i/3)
		r.Measured = []run.Measured{run.InProcess, run.OverProtocol}[min(i/3, 1)]
	}
	_, err := Runs(old, new, DefaultOptions())
	require.ErrorContains(t, err, "with 64 CPUs")
	require.ErrorContains(t, err, "measured: beside the implementation is not over the protocol")
}
