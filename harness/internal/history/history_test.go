package history

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/run/runtest"
)

// samples are as many runs of an hour each as there are versions, scaled.
func samples(scale func(i int) float64, versions ...string) []*run.Document {
	var runs []*run.Document
	for i, version := range versions {
		r := runtest.Sample(uint64(i), 10_000, scale(i)*(1+float64(i%5)/50))
		r.Driver.Version = version
		r.Started = time.Date(2026, 1, 1, 0, i, 0, 0, time.UTC)
		runs = append(runs, r)
	}
	return runs
}

func flat(int) float64 { return 1 }

func repeated(n int, versions ...string) []string {
	var all []string
	for range n { // in turn, as a series measures them
		all = append(all, versions...)
	}
	return all
}

func names(h *History) []string {
	var all []string
	for _, p := range h.Points {
		all = append(all, p.Name)
	}
	return all
}

func TestTheFirstVersionThatIsLaterIsNamed(t *testing.T) {
	versions := repeated(4, "3.46.0", "3.9.1", "4.7.0", "3.16.6")
	later := func(i int) float64 {
		if v := versions[i]; v == "3.46.0" || v == "4.7.0" {
			return 2
		}
		return 1
	}
	h, err := Of(t.Context(), samples(later, versions...), DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, []string{"3.9.1", "3.16.6", "3.46.0", "4.7.0"}, names(h))
	require.Equal(t, Worse, h.Outcome, h.Text)
	require.Equal(t, "3.46.0", h.FirstWorse)
	require.Contains(t, h.Text, "Worse since 3.46.0: lateness p")
	require.Contains(t, h.Text, " at 3.9.1 to 3.16.6, ")
	for _, f := range h.Figures {
		if f.Histogram == "lateness" {
			require.Len(t, f.Changes, 1, f.Name())
			require.Equal(t, 2, f.Changes[0].At)
			require.InDelta(t, 2, *f.Changes[0].Ratio, .5)
		} else {
			require.Empty(t, f.Changes, f.Name())
		}
	}
	h, err = Of(t.Context(), samples(func(i int) float64 { return 1 / later(i) }, versions...), DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, Better, h.Outcome)
	require.Empty(t, h.FirstWorse)
	h, err = Of(t.Context(), samples(flat, versions...), DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, Unchanged, h.Outcome)
}

// What became better and is again as it was before is worse: E-divisive means alone missed one
// in four of these.
func TestAGainThatIsLostAgainIsWorse(t *testing.T) {
	var versions []string
	for i := range 36 {
		versions = append(versions, fmt.Sprintf("3.%d.0", i))
	}
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 17))
		h, err := Of(t.Context(), samples(func(i int) float64 {
			level := 1.
			if i/12 == 1 {
				level = .77
			}
			return level * (1 + .04*rng.NormFloat64())
		}, versions...), DefaultOptions())
		require.NoError(t, err)
		require.Equal(t, Worse, h.Outcome, "series %d: %s", seed, h.Text)
		require.Contains(t, []string{"3.23.0", "3.24.0", "3.25.0"}, h.FirstWorse, h.Text)
	}
}

// A change that is real and too small to matter is none.
func TestSmallChangesDoNotMatter(t *testing.T) {
	versions := repeated(12, "1", "2")
	slightly := func(i int) float64 { return 1 + .5*float64(i%2) }
	h, err := Of(t.Context(), samples(slightly, versions...), DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, Worse, h.Outcome)
	for _, o := range []Options{{MinEffect: .9}, {MinDelta: time.Second}} {
		h, err = Of(t.Context(), samples(slightly, versions...), o)
		require.NoError(t, err)
		require.Equal(t, Unchanged, h.Outcome, h.Text)
		require.Len(t, h.Figures[0].Levels, 1)
	}
}

// A version that loses messages is worse however early they come, and one that loses no more
// than those before it is not.
func TestLostMessagesAreWorse(t *testing.T) {
	versions := repeated(6, "1", "2", "3")
	faster := func(i int) float64 { return 1 - .5*float64(i%3/2) }
	runs := samples(faster, versions...)
	runs[2].Counts.Lost = 7
	h, err := Of(t.Context(), runs, DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, Worse, h.Outcome)
	require.Equal(t, "3", h.FirstWorse)
	require.Contains(t, h.Text, "Worse at 3: 0.0117 % of its messages were lost")
	require.EqualValues(t, 7, h.Points[2].Runs[0].Wrong)
	runs[0].Counts.Lost, runs[1].Counts.Lost = 7, 6
	h, err = Of(t.Context(), runs, DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, Better, h.Outcome)
}

// What is lost for the first time, or many times as often as ever, is worse since the first version that has it,
// in however few runs; what is lost now and then in all of them is not. What was mended and comes back, and
// what is no more than the worst day so far, takes the order of more runs to tell.
func TestLossesThatComeBack(t *testing.T) {
	for name, row := range map[string]struct {
		lost      []int64
		few, many string // of one and of four runs each: since when; empty for no worse
	}{
		"comes back":          {[]int64{320, 320, 320, 0, 0, 160}, "", "6"},
		"since two versions":  {[]int64{0, 0, 0, 0, 160, 160}, "5", "5"},
		"less, and still bad": {[]int64{0, 0, 0, 320, 320, 120}, "4", "4"},
		"now and then":        {[]int64{3, 0, 5, 1, 0, 4}, "", ""},
		"in all":              {[]int64{5, 4, 6, 5, 4, 5}, "", ""},
		"more than ever":      {[]int64{5, 4, 6, 5, 4, 500}, "6", "6"},
		"stays":               {[]int64{1, 60, 60, 60, 60, 60}, "2", "2"},
		"rises":               {[]int64{2, 2, 2, 60, 60, 60}, "4", "4"},
		"a slip before":       {[]int64{0, 40, 0, 40, 40, 40}, "", "4"},
		"twice as before":     {[]int64{0, 0, 0, 0, 5, 3}, "5", "5"},
		"once, long ago":      {[]int64{0, 2, 0, 0, 0, 0}, "", ""},
		"once, of late":       {[]int64{0, 0, 0, 0, 2, 0}, "", ""},
		"once, at last":       {[]int64{0, 0, 0, 0, 0, 2}, "6", "6"},
		"mended":              {[]int64{320, 320, 320, 320, 0, 0}, "", ""},
	} {
		for times, since := range map[int]string{1: row.few, 4: row.many} {
			runs := samples(flat, repeated(times, "1", "2", "3", "4", "5", "6")...)
			for i := range runs {
				runs[i].Counts.Lost = row.lost[i%6]
			}
			h, err := Of(t.Context(), runs, DefaultOptions())
			require.NoError(t, err)
			require.Equal(t, since, h.FirstWorse, "%s, %d runs each: %s", name, times, h.Text)
			require.Contains(t, h.Text, "lost", name)
		}
	}
}

// A version that is later and a newer one that loses messages are both told.
func TestLaterAndLosing(t *testing.T) {
	runs := samples(func(i int) float64 { return 1 + .5*float64(i%6/3) }, repeated(8, "1", "2", "3", "4", "5", "6")...)
	for i := range runs {
		if i%6 == 5 {
			runs[i].Counts.Lost = 50
		}
	}
	h, err := Of(t.Context(), runs, DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, "4", h.FirstWorse)
	require.Contains(t, h.Text, "Worse at 6: ")
	require.Contains(t, h.Text, "And worse since 4: ")
}

// What cannot be seen for want of runs, or of files that can be read, is not denied.
func TestNothingIsSaidOfWhatCannotBeTold(t *testing.T) {
	runs := samples(flat, append(repeated(7, "1", "2"), "3")...)
	h, err := Of(t.Context(), runs, DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, Inconclusive, h.Outcome)
	require.Equal(t, "Inconclusive: no change was seen in 15 runs at 3 points. 1 run of 3 tells nothing yet: it takes 2 at the least.", h.Text)

	o := DefaultOptions()
	o.Unread = []string{"3/run.json: it is empty"}
	h, err = Of(t.Context(), runs[:14], o)
	require.NoError(t, err)
	require.Equal(t, Unchanged, h.Outcome)
	require.Equal(t, "No change was seen in 14 runs at 2 points. 1 run file could not be read, and may be of any version.", h.Text)
	require.Equal(t, o.Unread, h.LeftOut)
}

// How many runs of the newest version it takes is what the test can do: with as many, ten times as late is told, and
// with fewer it is said that nothing could be.
func TestHowManyRunsOfTheNewestItTakes(t *testing.T) {
	for _, older := range [][]string{oneEach(13), oneEach(24), repeated(7, "1", "2"), append(repeated(3, "0"), repeated(10, "1", "2")...)} {
		told, takes := 0, ""
		for n := 1; n <= 6; n++ {
			versions := append(slices.Clone(older), repeated(n, "9")...)
			runs := samples(func(i int) float64 {
				if versions[i] == "9" {
					return 10
				}
				return 1
			}, versions...)
			h, err := Of(t.Context(), runs, DefaultOptions())
			require.NoError(t, err)
			if h.Outcome == Worse {
				if told == 0 {
					require.Equal(t, takes, fmt.Sprint(n))
				}
				told++
				require.NotContains(t, h.Text, "tells nothing yet")
				continue
			}
			require.NotEqual(t, Better, h.Outcome)
			require.Zero(t, told)
			said := regexp.MustCompile(`^(?:Inconclusive: no change was seen in \d+ runs at \d+ points|Inconclusive: \d+ runs at \d+ points show a change that may be none)\. ` +
				`(\d) runs? of 9 tells? nothing yet: it takes (\d) at the least\.`).FindStringSubmatch(h.Text)
			require.Len(t, said, 3, h.Text)
			require.Equal(t, fmt.Sprint(n), said[1])
			takes = said[2]
		}
		require.Positive(t, told)
	}
}

// oneEach are so many versions.
func oneEach(n int) (versions []string) {
	for i := range n {
		versions = append(versions, fmt.Sprintf("1.%d", i))
	}
	return versions
}

// What was lost in runs that cannot be judged is not forgotten for others of the same version that can.
func TestWhatIsLostInRunsThatCannotBeJudged(t *testing.T) {
	runs := samples(flat, repeated(8, "1", "2")...)
	for _, r := range runs[12:] {
		if r.Driver.Version == "2" {
			r.Validity = &run.Validity{Reasons: []string{"the load was not made"}}
			r.Counts.Lost = 500
		}
	}
	h, err := Of(t.Context(), runs, DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, Inconclusive, h.Outcome)
	require.Contains(t, h.Text, "Inconclusive: messages were treated wrongly in 2 runs of 2 that could not be judged (1000 lost). Of the others: No change was seen in 14 runs at 2 points.")

	// Of an older version they are said, and take nothing back.
	for _, r := range runs {
		if r.Validity != nil {
			r.Driver.Version = "1"
		}
	}
	runs = append(runs, samples(flat, repeated(18, "2")...)[16:]...)
	h, err = Of(t.Context(), runs, DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, Unchanged, h.Outcome)
	require.Contains(t, h.Text, " Left out: 2 runs of 1 that could not be judged (1000 lost).")
}

// Of the newest runs it is said how many it takes.
func TestHowManyOfTheNewestRunsItTakes(t *testing.T) {
	o := DefaultOptions()
	o.By = ByRun
	told := 0
	for newest := 1; newest <= 6; newest++ {
		h, err := Of(t.Context(), samples(func(i int) float64 {
			if i >= 20-newest {
				return 10
			}
			return 1
		}, repeated(20, "1")...), o)
		require.NoError(t, err)
		if h.Outcome == Worse {
			told++
			continue
		}
		require.Zero(t, told)
		require.Regexp(t, `No change was seen in 20 runs at 20 points\. One that begins with the newest runs can be told once there are [2-6] of them\.$`, h.Text)
	}
	require.Positive(t, told)
}

// The newest version of which nothing can be told is named although an older one is better.
func TestTooFewRunsOfTheNewestAreSaidWithAnyVerdict(t *testing.T) {
	versions := append(repeated(12, "1", "2"), "3")
	h, err := Of(t.Context(), samples(func(i int) float64 {
		if versions[i] == "1" {
			return 2
		}
		return 1
	}, versions...), DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, Better, h.Outcome)
	require.Contains(t, h.Text, " 1 run of 3 tells nothing yet: it takes 2 at the least.")
}

// Where a change was may have been earlier, if what stood there could not be judged; and other things than
// versions that differ are said.
func TestWhatElseMayBeTheReasonIsSaid(t *testing.T) {
	versions := repeated(7, "1", "2", "3")
	runs := samples(func(i int) float64 { return 1 + float64(i%3/2) }, versions...)
	for i, v := range versions {
		runs[i].Interrupted = v == "2"
		if v == "3" {
			server := *runs[i].Server
			server.How = "redis://10.0.0.5:6379"
			runs[i].Server = &server
		}
	}
	runs[0].Counts.Lost = 1
	h, err := Of(t.Context(), runs, DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, "3", h.FirstWorse)
	require.Contains(t, h.Text, "No run of 2, before it, could be judged.")
	require.Contains(t, fmt.Sprint(h.Notes), "the servers differ, which may be what makes a difference: redis 7.0.15 (external) in 7 runs, redis 7.0.15 (redis://10.0.0.5:6379) in 7 runs")

	flatRuns := samples(flat, repeated(7, "1", "2")...)
	flatRuns[2].Counts.Lost = 1
	h, err = Of(t.Context(), flatRuns, DefaultOptions())
	require.NoError(t, err)
	require.Contains(t, h.Text, "No change was seen in 14 runs at 2 points. Without a change that could be told: 1 lost in 1 run (0 of them at 2).")
}

// Where nothing of the newest version can be judged, nothing is said of it.
func TestTheNewestVersionIsLeftOut(t *testing.T) {
	versions := repeated(6, "1", "2", "3")
	runs := samples(flat, versions...)
	for i, v := range versions {
		if v == "3" {
			runs[i].Interrupted = true
		}
	}
	h, err := Of(t.Context(), runs, DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, Inconclusive, h.Outcome)
	require.Equal(t, []string{"3"}, h.Unjudged)
	require.Contains(t, h.Text, "no run of 3, which is newer than 2, could be judged")

	for i, v := range versions { // one that was given up does not have the last word for good
		if v == "3" {
			runs[i].Started = time.Date(2025, 1, 1, i, 0, 0, 0, time.UTC)
		}
	}
	h, err = Of(t.Context(), runs, DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, Unchanged, h.Outcome)
	require.Equal(t, []string{"3"}, h.Unjudged)
	require.Equal(t, "No change was seen in 12 runs at 2 points. No run of 3, newer than 2, could be judged, and none was made since.", h.Text)
	for i, v := range versions { // of another implementation or scenario, it is none of these
		if v == "3" {
			runs[i].Driver.Name = "other"
		}
	}
	h, err = Of(t.Context(), runs, DefaultOptions())
	require.NoError(t, err)
	require.Empty(t, h.Unjudged)
	for i, v := range versions {
		if v == "3" {
			runs[i].Driver.Name, runs[i].Scenario.Name = runs[0].Driver.Name, "other"
		}
	}
	h, err = Of(t.Context(), runs, DefaultOptions())
	require.NoError(t, err)
	require.Empty(t, h.Unjudged)
	for i, v := range versions { // an older one is another matter
		runs[i].Scenario = runs[0].Scenario
		runs[i].Interrupted = v == "1"
	}
	h, err = Of(t.Context(), runs, DefaultOptions())
	require.NoError(t, err)
	require.Empty(t, h.Unjudged)
	require.Equal(t, Unchanged, h.Outcome, h.Text)
}

// A loss is seen in few runs, too: whatever the figures, and whether they can be judged.
func TestLostMessagesAreWorseInFewRuns(t *testing.T) {
	for name, change := range map[string]func(*run.Counts){
		"lost":        func(c *run.Counts) { c.Lost = 3 },
		"never came":  func(c *run.Counts) { c.Pending = 300 },
		"not offered": func(c *run.Counts) { c.OfferErrors = 1 },
	} {
		runs := samples(flat, "1", "2", "3", "4", "5")
		change(&runs[4].Counts)
		h, err := Of(t.Context(), runs, DefaultOptions())
		require.NoError(t, err)
		require.Equal(t, Worse, h.Outcome, name)
		require.Equal(t, "5", h.FirstWorse)
		require.Equal(t, h.Faults[0].Messages[4], h.Points[4].Runs[0].Wrong, name)
	}
}

// Nothing can be said of one version, but of its runs.
func TestOneVersionAloneIsInconclusive(t *testing.T) {
	versions := repeated(24, "4.7.0")
	runs := samples(func(i int) float64 { return 1 + float64(i/12) }, versions...)
	h, err := Of(t.Context(), runs, DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, Inconclusive, h.Outcome)
	require.Equal(t, "Inconclusive: 24 runs of one version, 4.7.0: there is nothing before it; add older runs, or try --by run.", h.Text)
	h, err = Of(t.Context(), runs, Options{By: ByRun})
	require.NoError(t, err)
	require.Equal(t, Worse, h.Outcome, h.Text)
}

func TestRunsOfTooFewMessagesAreInconclusive(t *testing.T) {
	runs := samples(flat, repeated(12, "1", "2")...)
	for _, r := range runs {
		short := runtest.Sample(1, 50, 1)
		r.Histograms, r.Counts, r.ServerStats, r.Intervals = short.Histograms, short.Counts, nil, nil
	}
	h, err := Of(t.Context(), runs, DefaultOptions())
	require.NoError(t, err)
	require.Empty(t, h.Figures)
	require.Equal(t, "Inconclusive: the 24 runs have too few messages for any figure to be judged.", h.Text)
}

// One run that does not tell a figure neither hides it nor counts in it, and is named.
func TestARunThatDoesNotTellAFigureIsLeftOutOfIt(t *testing.T) {
	cpu := func(h *History) *Figure {
		for i := range h.Figures {
			if h.Figures[i].Histogram == "server_cpu" {
				return &h.Figures[i]
			}
		}
		return nil
	}
	runs := samples(flat, repeated(12, "1", "2")...)
	for i, r := range runs {
		r.ServerStats.CPUSeconds *= (1 + float64(i%2)) * (1 + float64(i%5)/50)
	}
	runs[5].ServerStats = nil
	h, err := Of(t.Context(), runs, DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, Worse, h.Outcome, h.Text)
	require.Contains(t, h.Text, "Worse since 2: server CPU per message")
	require.Equal(t, []string{"server CPU per message is that of 23 runs of 24: not told, or of too few messages, in " + runs[5].RunID}, h.Notes)
	require.Nil(t, cpu(h).Values[1][2])
	require.NotNil(t, cpu(h).Medians[1])
	for i := range runs {
		if i%2 == 1 {
			runs[i].ServerStats = nil
		}
	}
	h, err = Of(t.Context(), runs, DefaultOptions())
	require.NoError(t, err)
	require.Nil(t, cpu(h))
	require.Equal(t, []string{"server CPU per message is not judged: 12 runs of 24 tell it, or have enough messages for it"}, h.Notes)
}

// The text tells of the greatest step, and where a gain leaves the figure worse than it was.
func TestTheTextTellsTheWholeStory(t *testing.T) {
	versions := repeated(12, "1", "2", "3")
	by := func(levels ...float64) *History {
		h, err := Of(t.Context(), samples(func(i int) float64 { return levels[i%3] }, versions...), DefaultOptions())
		require.NoError(t, err)
		return h
	}
	h := by(1, 2, 1.5)
	require.Equal(t, Better, h.Outcome)
	require.Regexp(t, `It is still above the [0-9.]+ [µm]s at 1, the best so far: what is judged is the newest level against the one before it\.$`, h.Text)
	h = by(2, 1, 1.5)
	require.Equal(t, Worse, h.Outcome)
	require.Regexp(t, `It is still below the [0-9.]+ [µm]s at 1: what is judged is the newest level against the one before it\.$`, h.Text)
	h = by(2, 1, 3)
	require.Equal(t, Worse, h.Outcome)
	require.NotContains(t, h.Text, "is judged")
	h, err := Of(t.Context(), samples(func(i int) float64 { return []float64{2, 1, 3, 1.5}[i%4] }, repeated(12, "1", "2", "3", "4")...), DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, Better, h.Outcome)
	require.Regexp(t, `It is still above the [0-9.]+ [µm]s at 2, the best so far: `, h.Text)
	h = by(1, 3, 4.5)
	require.Equal(t, "3", h.FirstWorse)
	require.Regexp(t, `The greatest step that way: lateness p[0-9]+ since 2, from [0-9.]+ [µm]s to [0-9.]+ [µm]s\.$`, h.Text)
	require.NotContains(t, by(1, 1, 2).Text, "greatest")
}

// Runs of two versions that stood beside each other are no series of two versions.
func TestRunsBesideEachOtherNeedTheirReference(t *testing.T) {
	var runs []*run.Document
	for i, r := range samples(flat, "3.16.0", "3.17.0", "3.18.0") {
		reference := runtest.Sample(uint64(100+i), 10_000, 1)
		r.Beside = &run.Beside{Block: fmt.Sprint(i), Sides: 2}
		reference.Beside, reference.Driver.Version = r.Beside, "3.0.0"
		runs = append(runs, r, reference)
	}
	_, err := Of(t.Context(), runs, DefaultOptions())
	require.ErrorContains(t, err, "give it as --reference (dq:3.0.0 stands in the most blocks, 3 of 3), or the runs of one side alone")
	_, err = Of(t.Context(), []*run.Document{runs[0], runs[2], runs[4]}, DefaultOptions())
	require.NoError(t, err)
}

func TestWhatDoesNotBelongTogetherIsRefused(t *testing.T) {
	for want, change := range map[string]func(*run.Document){
		"producers: 50 is not 51":               func(r *run.Document) { r.Scenario.Producers++ },
		"scenario:  is not other":               func(r *run.Document) { r.Scenario.Name = "other" },
		"implementation: dq is not memory":      func(r *run.Document) { r.Driver.Name = "memory" },
		"server: redis 7.0.15 is not valkey 9":  func(r *run.Document) { r.Server = &run.Server{Product: "valkey", Version: "9"} },
		"driver's modifier: none is not exact":  func(r *run.Document) { r.Driver.Version += ",exact" },
		"beside: one side at a time is not 2":   func(r *run.Document) { r.Beside = &run.Beside{Block: "b", Sides: 2} },
		"history by version: run 0000abce of 2": func(r *run.Document) { r.Driver.Version = "" },
	} {
		runs := samples(flat, repeated(6, "1", "2")...)
		change(runs[2])
		_, err := Of(t.Context(), runs, DefaultOptions())
		require.ErrorContains(t, err, want)
	}
	_, err := Of(t.Context(), append(samples(flat, "1"), samples(flat, "1")...), DefaultOptions())
	var twice *compare.DuplicateRunError
	require.ErrorAs(t, err, &twice)
	_, err = Of(t.Context(), nil, DefaultOptions())
	require.ErrorIs(t, err, ErrNoRuns)
}

// One run that does not tell its machine lets no others in that differ.
func TestASilentRunDoesNotSwitchTheRefusalOff(t *testing.T) {
	runs := samples(flat, oneEach(14)...)
	for i, r := range runs[1:] {
		r.Environment.OS, r.Environment.CPUs, r.Measured = "linux", 1+i/7, []run.Measured{run.InProcess, run.OverProtocol}[i/7]
	}
	_, err := Of(t.Context(), runs, DefaultOptions())
	require.ErrorContains(t, err, "with 1 CPUs")
	require.ErrorContains(t, err, "measured: beside the implementation is not over the protocol")
}

func TestServersAreToldApartByServer(t *testing.T) {
	runs := samples(flat, repeated(12, "4.7.0")...)
	for i, r := range runs {
		r.Server = &run.Server{Product: "redis", Version: []string{"7.10.1", "7.9.0"}[i%2]}
	}
	_, err := Of(t.Context(), runs, DefaultOptions())
	require.ErrorContains(t, err, "server: redis 7.10.1 is not redis 7.9.0")
	h, err := Of(t.Context(), runs, Options{By: ByServer})
	require.NoError(t, err)
	require.Equal(t, []string{"redis 7.9.0", "redis 7.10.1"}, names(h))
	require.Empty(t, h.Server)
}

// A version that is spelt otherwise since some day is as new as that day.
func TestVersionsThatAreOneAreInTheOrderOfTime(t *testing.T) {
	h, err := Of(t.Context(), samples(flat, "v4.7.0", "4.7.0.Final", "4.7", "4.6"), DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, []string{"4.6", "v4.7.0", "4.7.0.Final", "4.7"}, names(h))
}

func TestCommitsAndLabelsAreInTheOrderOfTime(t *testing.T) {
	runs := samples(flat, "1", "1", "1")
	for i, commit := range []string{"fe", "0a", "fe"} {
		runs[i].Labels = map[string]string{"commit": commit, "host": "h" + commit}
	}
	for by, want := range map[By][]string{
		ByCommit: {"fe", "0a"}, ByLabel("host"): {"hfe", "h0a"},
		ByRun: {"2026-01-01 00:00:00", "2026-01-01 00:01:00", "2026-01-01 00:02:00"},
	} {
		h, err := Of(t.Context(), []*run.Document{runs[2], runs[1], runs[0]}, Options{By: by})
		require.NoError(t, err)
		require.Equal(t, want, names(h))
		require.Equal(t, Inconclusive, h.Outcome)
		again, err := ParseBy(h.By)
		require.NoError(t, err)
		require.Equal(t, by, again)
	}
	runs[0].Labels, runs[0].Tool.Version = nil, "v1.2.0"
	h, err := Of(t.Context(), runs, Options{By: ByCommit})
	require.NoError(t, err)
	require.Equal(t, []string{"v1.2.0", "0a", "fe"}, names(h))
}

// What cannot be judged is left out and named, with whatever stood beside it.
func TestRunsAreLeftOutWithTheReason(t *testing.T) {
	var runs []*run.Document
	for i, r := range samples(flat, repeated(7, "1", "2")...) {
		reference := runtest.Sample(uint64(100+i), 10_000, 1)
		r.Beside = &run.Beside{Block: fmt.Sprint(i), Sides: 2}
		reference.Beside, reference.Driver = r.Beside, run.Driver{Name: "redisson", Version: "4.7.0"}
		reference.Started = r.Started
		runs = append(runs, r, reference)
	}
	runs[0].Interrupted = true
	runs[3].Interrupted = true // a reference
	o := Options{Reference: "redisson:4.7.0"}
	h, err := Of(t.Context(), runs, o)
	require.NoError(t, err)
	require.Len(t, h.LeftOut, 3)
	require.Contains(t, h.LeftOut[0], "it was interrupted")
	require.Contains(t, h.LeftOut[2], "no valid run of redisson:4.7.0 was made beside it")
	require.Equal(t, Unchanged, h.Outcome)
	require.Equal(t, "ratio", h.Figures[0].Unit)
	require.InDelta(t, 1, *h.Figures[0].Medians[0], .2)
	runs[4].Driver = runs[5].Driver
	_, err = Of(t.Context(), runs, o)
	require.ErrorContains(t, err, "stands twice in block 2")
	_, err = Of(t.Context(), runs, Options{Reference: "memory"})
	require.ErrorContains(t, err, "no run was made beside memory")
}

func FuzzParseBy(f *testing.F) {
	for _, text := range []string{"version", "commit", "server", "run", "label:host", "label:", "weekday"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if by, err := ParseBy(text); err == nil {
			require.Equal(t, text, by.String())
		}
	})
}

// Files that cannot be read may be those of a newer version: where they are as many as the runs of the newest, that is
// no clean bill.
func TestAsManyUnreadFilesAsNewestRunsAreInconclusive(t *testing.T) {
	o := DefaultOptions()
	for files, want := range map[int]Outcome{6: Unchanged, 7: Inconclusive, 9: Inconclusive} {
		o.Unread = make([]string, files)
		h, err := Of(t.Context(), samples(flat, repeated(7, "1", "2")...), o)
		require.NoError(t, err)
		require.Equal(t, want, h.Outcome, "%d files", files)
		require.Contains(t, h.Text, "run files could not be read, and may be of any version")
	}
	runs := samples(flat, repeated(7, "1", "2")...)
	for i, r := range runs {
		if i%2 == 1 {
			r.Counts.Lost = 5
		}
	}
	h, err := Of(t.Context(), runs, o)
	require.NoError(t, err)
	require.Equal(t, Worse, h.Outcome)
}

// Runs that differ in the server alone are refused with the way out.
func TestDifferentServersNameTheWayOut(t *testing.T) {
	runs := samples(flat, repeated(2, "1", "2")...)
	for i, r := range runs {
		r.Server = &run.Server{Product: []string{"redis", "valkey"}[i/2], Version: "8.0.0"}
	}
	_, err := Of(t.Context(), runs, DefaultOptions())
	var different *run.DifferenceError
	require.ErrorAs(t, err, &different)
	require.ErrorContains(t, err, "--by server")
}
