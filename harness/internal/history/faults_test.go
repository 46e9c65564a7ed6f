package history

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// kindsOfFaults are those that the simulated runs have.
var kindsOfFaults = []func(*run.Counts) *int64{
	func(c *run.Counts) *int64 { return &c.Lost },
	func(c *run.Counts) *int64 { return &c.Duplicate },
	func(c *run.Counts) *int64 { return &c.Early },
}

// faulty are points of a run each, of 3,000 messages, of which up to most are treated wrongly in each of so many
// ways with the chance at the point.
func faulty(random *rand.Rand, points, kinds int, most int64, chance func(i, kind int) float64) *sorted {
	s := &sorted{}
	for i := range points {
		r := &run.Document{Counts: run.Counts{Offered: 3000}}
		for k, in := range kindsOfFaults[:kinds] {
			if random.Float64() < chance(i, k) {
				*in(&r.Counts) = 1 + random.Int64N(most)
			}
		}
		s.points = append(s.points, point{name: fmt.Sprint(i), runs: []*run.Document{r}})
		s.runs = append(s.runs, r)
	}
	return s
}

// changesOf are the changes of the kinds of fault, and whether any is more than that the newest point has one
// that none before it had, which is told whatever the chance.
func changesOf(t *testing.T, s *sorted) (changes map[string]*FaultChange, alarm bool) {
	changes = map[string]*FaultChange{}
	for _, f := range s.faults(t.Context()) {
		if f.Change == nil {
			continue
		}
		changes[f.Kind] = f.Change
		before := int64(0)
		for _, n := range f.Messages[:len(f.Messages)-1] {
			before += n
		}
		alarm = alarm || before > 0
	}
	return changes, alarm
}

// Of runs in a row, what each run of the newest session does and hardly one of those before has done is worse, however
// few sessions there are.
func TestWhatEachRunOfTheNewestSessionLoses(t *testing.T) {
	for _, versions := range []int{6, 10, 20} {
		s := &sorted{}
		for i := range versions {
			p := point{name: fmt.Sprint(i)}
			for k := range 6 {
				r := &run.Document{Counts: run.Counts{Offered: 10_000}, Started: time.Unix(int64(6*i+k), 0)}
				if i == 0 && k == 0 || i == versions-1 {
					r.Counts.Lost = 20
				}
				p.runs = append(p.runs, r)
			}
			s.points, s.runs = append(s.points, p), append(s.runs, p.runs...)
		}
		s.strata = strataOf(s.points)
		require.NotNil(t, s.strata)
		changes, _ := changesOf(t, s)
		require.NotNil(t, changes["lost"])
		require.Equal(t, Worse, changes["lost"].Outcome)
		require.Equal(t, versions-1, changes["lost"].At)
	}
}

// Versions that all treat a message wrongly now and then, in one way or in three, are no change for better or
// worse in 95 of 100 series, wherever chance has put it and however many messages it strikes at once.
func TestRareFaultsAreNoChange(t *testing.T) {
	simulates(t)
	const series = 400
	random := rand.New(rand.NewPCG(1, 2))
	for _, kinds := range []int{1, 3} {
		for _, chance := range []float64{.05, .2, .6} {
			for _, most := range []int64{1, 300} {
				alarms := 0
				for range series {
					if _, alarm := changesOf(t, faulty(random, 40, kinds, most, func(int, int) float64 { return chance })); alarm {
						alarms++
					}
				}
				t.Logf("%d kinds, chance %g, up to %d: %d", kinds, chance, most, alarms)
				require.LessOrEqual(t, alarms, series*5/100)
			}
		}
	}
}

// What the first bad version is told for is told as long as every version has it, whatever else was wrong once, long ago.
func TestAFaultIsToldAsLongAsItIsThere(t *testing.T) {
	for runs := 4; runs <= 24; runs++ {
		for bad := 1; bad < runs-2; bad++ {
			s := faulty(rand.New(rand.NewPCG(5, 6)), runs, 0, 1, nil)
			s.runs[0].Counts.OfferErrors, s.runs[1].Counts.Duplicate = 1, 1
			for _, r := range s.runs[runs-bad:] {
				r.Counts.Lost = 1500
			}
			changes, _ := changesOf(t, s)
			require.NotNil(t, changes["lost"], "%d of %d runs", bad, runs)
			require.Equal(t, Worse, changes["lost"].Outcome)
			require.Equal(t, runs-bad, changes["lost"].At, "%d of %d runs", bad, runs)
		}
	}
}

// One old fault of another kind does not hide what an order tells: of 13 runs the two newest, with one more between.
func TestOldFaultsDoNotHideOthers(t *testing.T) {
	lost := []int64{0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 9, 9, 9}
	s := faulty(rand.New(rand.NewPCG(5, 6)), len(lost), 0, 1, nil)
	for i, r := range s.runs {
		r.Counts.Lost = lost[i]
	}
	alone, _ := changesOf(t, s)
	require.NotNil(t, alone["lost"])
	s.runs[0].Counts.OfferErrors, s.runs[1].Counts.Duplicate, s.runs[2].Counts.Early = 1, 1, 1
	changes, _ := changesOf(t, s)
	require.Equal(t, alone["lost"], changes["lost"])
}

// Versions that begin, or cease, to treat a message wrongly now and then are found, and about since when; in
// three ways at most a little more often.
func TestFaultsThatBeginAreFound(t *testing.T) {
	const series, began = 100, 20
	random := rand.New(rand.NewPCG(3, 4))
	for _, row := range []struct {
		outcome Outcome
		kinds   int
		chance  float64
	}{{Worse, 1, .5}, {Worse, 3, .6}, {Better, 1, .6}, {Better, 3, .7}} {
		found, near := 0, 0
		for range series {
			changes, _ := changesOf(t, faulty(random, 40, row.kinds, 3, func(i, kind int) float64 {
				switch {
				case kind > 0:
					return .1
				case (i >= began) == (row.outcome == Worse):
					return row.chance
				}
				return 0
			}))
			if c := changes["lost"]; c != nil && c.Outcome == row.outcome {
				found++
				if c.At >= began-3 && c.At <= began+3 {
					near++
				}
			}
		}
		t.Logf("%s, %d kinds, chance %g: found %d, near %d of %d", row.outcome, row.kinds, row.chance, found, near, series)
		require.GreaterOrEqual(t, found, 90, "%+v", row)
		require.GreaterOrEqual(t, near, 65, "%+v", row)
	}
}

// A version that stops losing and begins to deliver twice, as often, is both told.
func TestASwapOfFaultsIsSeen(t *testing.T) {
	runs := samples(flat, repeated(8, "1", "2", "3")...)
	for i, r := range runs {
		if i%3 < 2 {
			r.Counts.Lost = 5
		} else {
			r.Counts.Duplicate = 5
		}
	}
	h, err := Of(t.Context(), runs, DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, Worse, h.Outcome)
	require.Equal(t, "3", h.FirstWorse)
	require.Equal(t, "Worse at 3: 0.05 % of its messages were delivered more than once, of those of 1 to 2 0 %. "+
		"Better at 3: 0 % of its messages were lost, of those of 1 to 2 0.05 %.", h.Text)
	require.Len(t, h.Faults, 2)
	require.Equal(t, []int64{40, 40, 0}, h.Faults[0].Messages)
	require.Equal(t, []int{8, 8, 0}, h.Faults[0].Runs)
	require.Equal(t, &FaultChange{At: 2, Name: "3", Before: .0005, Outcome: Better}, h.Faults[0].Change)
	require.Equal(t, "duplicate", h.Faults[1].Kind)
}

// Each kind of fault has the version since which it is there, and so has what came earlier.
func TestEachFaultHasItsVersion(t *testing.T) {
	runs := samples(flat, repeated(6, "1", "2", "3", "4")...)
	for i, r := range runs {
		if i%4 >= 1 {
			r.Counts.Lost = 5
		}
		if i%4 == 3 {
			r.Counts.Early, r.Counts.Duplicate = 7, 9
		}
	}
	h, err := Of(t.Context(), runs, DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, "2", h.FirstWorse)
	require.Equal(t, "Worse since 2: 0.05 % of its messages were lost, of those of 1 0 %. "+
		"Worse at 4: 0.09 % of its messages were delivered more than once, of those of 1 to 3 0 %; 0.07 % of its messages were delivered early, of those of 1 to 3 0 %.", h.Text)
}

// A version that no longer loses messages is better, and that is no failure.
func TestLossesThatVanishAreBetter(t *testing.T) {
	runs := samples(flat, repeated(8, "1", "2", "3", "4")...)
	for i, r := range runs {
		if i%4 < 2 {
			r.Counts.Lost = int64(i % 5)
		}
	}
	h, err := Of(t.Context(), runs, DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, Better, h.Outcome)
	require.Empty(t, h.FirstWorse)
	require.Regexp(t, `^Better since 3: 0 % of its messages were lost, of those of 1 to 2 0\.0[0-9]+ %\.$`, h.Text)
}

// Whatever the verdict, what was lost is said.
func TestLossesAreSaidWhateverTheVerdict(t *testing.T) {
	runs := samples(flat, "1", "2", "2", "3")
	runs[0].Counts.Lost, runs[1].Counts.Lost, runs[3].Counts.Lost = 3, 1, 2
	h, err := Of(t.Context(), runs, DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, "Inconclusive: 4 runs; at least 12 are needed to see a change. Without a change that could be told: 6 lost in 3 runs (2 of them at 3).", h.Text)

	h, err = Of(t.Context(), runs[:1], DefaultOptions())
	require.NoError(t, err)
	require.Contains(t, h.Text, "add older runs, or try --by run. Without a change that could be told: 3 lost in 1 run.")

	runs = samples(flat, repeated(7, "1", "2", "3")...)
	for i, r := range runs {
		r.Interrupted = i%3 == 2
	}
	runs[2].Counts.Duplicate, runs[2].Counts.Pending = 4, 100 // which an interrupted run may have
	h, err = Of(t.Context(), runs, DefaultOptions())
	require.NoError(t, err)
	require.Contains(t, h.Text, "Inconclusive: no run of 3 (4 delivered more than once), which is newer than 2, could be judged.")
}

// What began and is over is told with the version at which it began, and the versions before that are not blamed: of
// versions whose runs were made in the order of the versions, and of those that took turns in each sitting.
func TestFaultsThatCameAndWentHaveBothVersions(t *testing.T) {
	for _, row := range []struct {
		versions, runs, first, gone int
		inTurn                      bool
	}{{10, 4, 8, 9, false}, {10, 4, 3, 7, false}, {6, 6, 2, 5, true}, {6, 6, 3, 4, true}} {
		s := &sorted{}
		for i := range row.versions {
			p := point{name: fmt.Sprintf("4.%d.0", i)}
			for k := range row.runs {
				made := time.Unix(0, 0).AddDate(0, 0, i*row.runs+k)
				if row.inTurn {
					made = time.Unix(int64(60*i), 0).AddDate(0, 0, k)
				}
				r := &run.Document{Counts: run.Counts{Offered: 600}, Started: made}
				if row.first <= i && i < row.gone {
					r.Counts.Lost = 5
				}
				p.runs = append(p.runs, r)
			}
			s.points, s.runs = append(s.points, p), append(s.runs, p.runs...)
		}
		s.strata = strataOf(s.points)
		require.Equal(t, row.inTurn, s.strata != nil)
		all := s.faults(t.Context())
		require.Len(t, all, 1)
		f := all[0]
		share := 5. / 600
		require.Equal(t, []FaultChange{
			{row.first, s.points[row.first].name, 0, share, Worse},
			{row.gone, s.points[row.gone].name, share, 0, Better},
		}, f.Changes, "%+v", row)
		require.Equal(t, Better, f.Change.Outcome)
		require.Contains(t, f.text, "before, it was worse since "+s.points[row.first].name)
	}
}

// Losses of the same rate throughout, of any run or of whole versions, hardly ever come and go.
func TestLossesOfOneRateDoNotComeAndGo(t *testing.T) {
	const series = 400
	random := rand.New(rand.NewPCG(11, 12))
	for _, clustered := range []bool{false, true} {
		changed := 0
		for range series {
			s := &sorted{}
			for i := range 10 {
				p := point{name: fmt.Sprint(i)}
				bad := random.Float64() < .3
				for k := range 4 {
					r := &run.Document{Counts: run.Counts{Offered: 3000}, Started: time.Unix(int64(600*i+60*k), 0)}
					if !clustered {
						bad = random.Float64() < .3
					}
					if bad {
						r.Counts.Lost = 1 + random.Int64N(5)
					}
					p.runs = append(p.runs, r)
				}
				s.points, s.runs = append(s.points, p), append(s.runs, p.runs...)
			}
			if clustered {
				s.strata = strataOf(s.points)
			}
			if _, alarm := changesOf(t, s); alarm {
				changed++
			}
		}
		t.Logf("clustered %t: changes in %d of %d", clustered, changed, series)
		require.LessOrEqual(t, changed, series*7/100)
	}
}
