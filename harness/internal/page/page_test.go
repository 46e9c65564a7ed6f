package page

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/run/runtest"
)

func pageText(t *testing.T, p Page) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, p.Write(&out))
	return out.String()
}

// judgedRun is a run with objectives, seconds and a verdict.
func judgedRun(t *testing.T, seed uint64, scale float64) *run.Document {
	t.Helper()
	r := runtest.Sample(seed, 5000, scale)
	r.Intervals = []run.Interval{
		{Second: 1, Offered: 1000, Pending: 1000},
		{Second: 2, Offered: 4000, Delivered: 1500, Pending: 3500, P50: -200_000, P99: 1_000_000, Max: 2_000_000},
		{Second: 3, Delivered: 3400, Pending: 100, P50: -250_000, P99: 2_500_000, Max: 4_000_000},
		{Second: 3.2, Delivered: 100, P50: -100_000, P99: 900_000, Max: 1_000_000},
	}
	r.Judge([]run.SLO{mustSLO(t, "lateness.p99<=20ms"), mustSLO(t, "lost<=0")})
	return r
}

func comparedPage(t *testing.T) Page {
	t.Helper()
	var old, new []*run.Document
	for i := range uint64(6) {
		old, new = append(old, judgedRun(t, i, 1)), append(new, judgedRun(t, 10+i, 4))
	}
	c, err := compare.Runs(old, new, compare.Options{MinEffect: .05})
	require.NoError(t, err)
	require.Equal(t, compare.Worse, c.Outcome)
	return OfComparison(old, new, c)
}

func TestPageSaysTheVerdictAtTheTop(t *testing.T) {
	r := judgedRun(t, 1, 1)
	page := pageText(t, OfRun(r))
	require.Contains(t, page, `<h1 id="verdict">All 5000 messages delivered, none lost, duplicate or early; lateness p50`)
	require.Contains(t, page, `<header class="ok">`)

	p := comparedPage(t)
	page = pageText(t, p)
	require.Contains(t, page, `<h1 id="verdict">NEW is worse in lateness at p50`)
	require.Contains(t, page, `<header class="bad">`)

	p.Sides = append(p.Sides, Side{"third", sideOf(300, 6, 1)})
	c, err := compare.Runs(p.Sides[0].Runs, p.Sides[2].Runs, compare.Options{MinEffect: .5, MinDelta: time.Millisecond})
	require.NoError(t, err)
	p.Comparisons = append(p.Comparisons, c)
	page = pageText(t, p)
	require.Contains(t, page, `Against OLD dq:4.7.0 – NEW dq:4.7.0: worse; third: no difference.`)
	require.Equal(t, 2, strings.Count(page, `class="compared"`))

	p.Sides, p.Comparisons = p.Sides[:2], nil
	require.Contains(t, pageText(t, p), `<h1 id="verdict">All 12 runs passed; lateness: OLD dq:4.7.0 p99`)
	p.Sides[1].Runs[2].Counts.Lost = 1
	p.Sides[1].Runs[2].Judge(nil)
	require.Contains(t, pageText(t, p), `1 of 12 runs failed; the first one: Failed: 1 lost.`)
}

// What weakens a comparison stands beside its verdict, and is called what it is.
func TestPageShowsTheWarningsOfAComparison(t *testing.T) {
	old, new := sideOf(1, 3, 1), sideOf(100, 3, 1)
	for _, r := range new {
		r.Started, r.Scenario.Rate = r.Started.Add(time.Hour), 77
	}
	new[2].Validity = &run.Validity{Reasons: []string{"late offers"}}
	c, err := compare.Runs(old, new, compare.Options{Force: true})
	require.NoError(t, err)
	c.Warnings = append(c.Warnings, "the sides were not measured in turn")
	page := pageText(t, OfComparison(old, new, c))
	header := strings.Index(page, "</header>")
	for _, banner := range []string{
		"<strong>Warning.</strong> the sides were not measured in turn",
		"<strong>Different configurations.</strong> rate",
		"<strong>Not to be judged.</strong> run " + new[2].RunID,
	} {
		require.Greater(t, strings.Index(page, banner), header, banner)
		require.Less(t, strings.Index(page, banner), strings.Index(page, `class="tiles"`), banner)
	}
}

// A run that was stopped early passed only what it came to, so it is not marked as one that passed.
func TestPageMarksInterruptedRuns(t *testing.T) {
	whole, stopped := judgedRun(t, 1, 1), judgedRun(t, 2, 1)
	stopped.Interrupted = true
	stopped.Judge(nil)
	page := pageText(t, OfRun(stopped))
	require.Contains(t, page, `<header class="open">`)
	require.Contains(t, page, `<p class="state">interrupted</p>`)

	page = pageText(t, Page{Sides: []Side{{"whole", []*run.Document{whole}}, {"stopped", []*run.Document{stopped}}}})
	require.Contains(t, page, "1 of 2 runs were interrupted; the first one: Interrupted. All 5000 messages")
	require.Contains(t, page, `<span class="pill">passed</span>`)
	require.Contains(t, page, `<span class="pill">interrupted</span>`)

	var list strings.Builder
	set := ListSet{ID: "r", All: 2, Runs: []ListRun{NewListRun("r/1", whole), NewListRun("r/2", stopped)}}
	require.NoError(t, List{Sets: []ListSet{set}, Runs: 2, AllSets: 1, Page: 1, Pages: 1}.Write(&list))
	require.Equal(t, 1, strings.Count(list.String(), `<span class="pill">passed</span>`))
	require.Equal(t, 1, strings.Count(list.String(), `<span class="pill">interrupted</span>`))
}

// onRedisson is the run with its due times kept as Redisson does.
func onRedisson(r *run.Document) *run.Document {
	r.Format = run.RedissonFormat
	for i := range r.Intervals {
		s := &r.Intervals[i]
		s.PastDueP50, s.PastDueP99, s.PastDueMax = s.P50+300_000, s.P99+300_000, s.Max+300_000
	}
	return r
}

// What is judged is drawn: past due where every run keeps its due times as Redisson
// does, lateness where one does not.
func TestPageDrawsWhatIsJudged(t *testing.T) {
	redisson, other := onRedisson(judgedRun(t, 1, 1)), judgedRun(t, 2, 1)
	side := func(runs ...*run.Document) Side { return Side{"side", runs} }
	for name, c := range map[string]struct {
		sides []Side
		title string
		h     *run.Histogram // of the first run
		p50   string         // of its 2nd second
	}{
		"Redisson's format": {[]Side{side(redisson)}, "Past due", redisson.Histograms.PastDue, "100 µs"},
		"another":           {[]Side{side(other)}, "Lateness", other.Histograms.Lateness, "−200 µs"},
		"the same":          {[]Side{side(redisson), side(redisson)}, "Past due", redisson.Histograms.PastDue, "100 µs"},
		"different":         {[]Side{side(redisson), side(other)}, "Lateness", redisson.Histograms.Lateness, "−200 µs"},
		"in one side":       {[]Side{side(redisson, other)}, "Lateness", redisson.Histograms.Lateness, "−200 µs"},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := newView(Page{Sides: c.sides})
			require.NoError(t, err)
			curve, overTime := v.Charts[0], v.Charts[1]
			word := strings.ToLower(c.title)
			require.Equal(t, c.title+" by percentile", curve.Title)
			require.Equal(t, c.title+" over time", overTime.Title)
			require.Contains(t, curve.Alt, "Percentile curves of "+word)
			require.Contains(t, overTime.Alt, "maximum of "+word)
			require.Equal(t, word+" p50", v.Tiles[0].Label)
			require.Equal(t, c.p50, overTime.Table.Rows[1].Cells[0])
			if len(c.sides[0].Runs) == 1 {
				require.Equal(t, timeText(c.h.Max()), curve.Table.Rows[len(curve.Table.Rows)-1].Cells[0])
				require.Equal(t, timeText(c.h.Quantile(.99)), v.Tiles[1].Rows[0].Figure.Text)
			}
			if len(v.Runs) > 0 {
				require.Equal(t, timeText(c.h.Quantile(.5)), v.Runs[0].P50)
			}
		})
	}
}

// Nothing in a page may come from elsewhere: no address of any kind but those
// of the elements' namespace and the empty icon.
func TestPageNeedsNoNetwork(t *testing.T) {
	page := pageText(t, comparedPage(t))
	require.NotContains(t, page, "http:")
	require.NotContains(t, page, "https:")
	require.NotContains(t, page, "url(")
	require.NotContains(t, page, " src=")
	require.Equal(t, 1, strings.Count(page, "href="))
	require.Contains(t, page, `default-src &#39;none&#39;`)
	require.Less(t, len(page), 400_000)
}

// hostile is a name that tries to leave text, attribute, script and style.
const hostile = `</script></style><img src=x onerror="alert(1)">'"&{{.}}`

func hostileRun(t *testing.T) *run.Document {
	t.Helper()
	r := judgedRun(t, 1, 1)
	r.Scenario.Queue, r.Scenario.Name, r.Driver = hostile, hostile, run.Driver{Name: hostile, Version: hostile}
	r.Labels = map[string]string{hostile: hostile}
	r.Notes = []string{hostile}
	r.Server.Product, r.Server.How, r.Server.Embedded = hostile, hostile, true
	r.SLO[0].Expr = hostile
	r.Verdict.Text = hostile
	r.RunID, r.Tool.Name, r.Environment.OS, r.Scenario.Duration = hostile, hostile, hostile, hostile
	return r
}

func TestPageShowsHostileNamesAsText(t *testing.T) {
	page := pageText(t, OfRun(hostileRun(t)))
	require.NotContains(t, page, "<img")
	require.Equal(t, 1, strings.Count(page, "</script"))
	require.Equal(t, 1, strings.Count(page, "</style"))
	require.NotContains(t, page, `onerror="`)
	require.Greater(t, strings.Count(page, "&lt;img src=x onerror="), 10)
}

func TestPageMarksTheEmbeddedServer(t *testing.T) {
	r := judgedRun(t, 1, 1)
	require.NotContains(t, pageText(t, OfRun(r)), `class="banner"`)
	r.Server.Embedded = true
	page := pageText(t, OfRun(r))
	require.Contains(t, page, `class="banner" role="alert"`)
	require.Contains(t, page, "say nothing about a real server")
}

// A run that delivered nothing, or has no server and no second, still has a page.
func TestPageOfLittle(t *testing.T) {
	empty := runtest.Sample(1, 0, 1)
	empty.Server, empty.ServerStats, empty.Intervals = nil, nil, nil
	empty.Judge(nil)
	one := runtest.Sample(2, 1, 1)
	one.ServerStats.CPUSeconds = math.SmallestNonzeroFloat64
	for _, p := range []Page{OfRun(empty), OfRun(one), {Sides: []Side{{"a", []*run.Document{empty, one}}, {"b", []*run.Document{one}}}}} {
		page := pageText(t, p)
		require.NotContains(t, page, "NaN")
		require.NotContains(t, page, "Inf")
		require.NotContains(t, page, "ZgotmplZ", "the template refused a value")
	}
	require.Error(t, Page{}.Write(&strings.Builder{}))
	require.Error(t, Page{Sides: []Side{{Name: "a"}}}.Write(&strings.Builder{}))
	require.Error(t, Page{Sides: OfRun(one).Sides, Comparisons: []*compare.Comparison{{}}}.Write(&strings.Builder{}))
}

func TestRunFolderHasAPage(t *testing.T) {
	folder := t.TempDir()
	r := judgedRun(t, 1, 1)
	require.NoError(t, WriteFolder(folder, r, nil))
	got, err := os.ReadFile(filepath.Join(folder, File))
	require.NoError(t, err)
	require.Equal(t, pageText(t, OfRun(r)), string(got))
}

// The last piece of a run is joined to its second, and a second without
// deliveries says nothing of lateness, whose quantiles may be negative.
func TestTimelineJoinsSeconds(t *testing.T) {
	r := judgedRun(t, 1, 1)
	line := timeline(r, lateness, 1)
	require.Equal(t, moment{second: 3, delivered: 3500, late: quantiles{-250_000, 2_500_000, 4_000_000}}, line[2])
	r.Intervals[3].Delivered, r.Intervals[3].P50, r.Intervals[3].P99, r.Intervals[3].Max = 0, 0, 0, 0
	require.EqualValues(t, -250_000, timeline(r, lateness, 1)[2].late.p50)

	r = judgedRun(t, 1, 1)
	require.Equal(t, []moment{
		{2, 2500, 750, 3500, quantiles{-200_000, 1_000_000, 2_000_000}},
		{4, 0, 1750, 0, quantiles{-250_000, 2_500_000, 4_000_000}},
	}, timeline(r, lateness, 2))
}

func TestLongRunsAreShownInSteps(t *testing.T) {
	r := runtest.Sample(1, 100, 1)
	r.Intervals = nil
	for s := range 7200 {
		r.Intervals = append(r.Intervals, run.Interval{Second: float64(s + 1), Offered: 10, Delivered: 10, P50: 5, P99: 6, Max: 7})
	}
	step := stepOf(OfRun(r).Sides)
	require.EqualValues(t, 12, step)
	line := timeline(r, lateness, step)
	require.Len(t, line, mostSteps)
	require.Equal(t, moment{7200, 10, 10, 0, quantiles{5, 6, 7}}, line[mostSteps-1])
	require.Contains(t, pageText(t, OfRun(r)), "in each 12 seconds")
}

func TestMedianLineLeavesOutRunsWithoutDeliveries(t *testing.T) {
	line := medianLine([][]moment{
		{{second: 1, offered: 4, delivered: 2, late: quantiles{p50: -8}}, {second: 2, offered: 1}},
		{{second: 1, offered: 6}},
	})
	require.Equal(t, []moment{{second: 1, offered: 5, delivered: 1, late: quantiles{p50: -8}}, {second: 2, offered: 1}}, line)
}

func TestAxisLabelsNeverOverlap(t *testing.T) {
	var axes []*axis
	for _, high := range []float64{0, 1, 900, 2.5e5, 3e6, 4.7e7, 9e8, 6e9, 1.7e14} {
		for _, low := range []float64{0, -3, -9e5, -5e8} {
			axes = append(axes, timeAxis(true, low, high), timeAxis(false, low, high))
		}
		axes = append(axes, countAxis(high), secondsAxis(high/1e6), percentileAxis(int64(high)))
	}
	for _, a := range axes {
		slices.SortFunc(a.Ticks, func(x, y tick) int { return int(math.Copysign(1, x.At-y.At)) })
		require.NotEmpty(t, a.Ticks)
		for i, tick := range a.Ticks {
			require.True(t, tick.At >= 0 && tick.At <= 100, "%+v", a.Ticks)
			if i > 0 {
				require.GreaterOrEqual(t, tick.At-a.Ticks[i-1].At, 7., "%+v", a.Ticks)
				require.NotEqual(t, tick.Label, a.Ticks[i-1].Label)
			}
		}
	}
}

func TestAxisLabels(t *testing.T) {
	labels := func(a *axis) []string {
		slices.SortFunc(a.Ticks, func(x, y tick) int { return int(math.Copysign(1, x.At-y.At)) })
		var out []string
		for _, tick := range a.Ticks {
			out = append(out, tick.Label)
		}
		return out
	}
	require.Equal(t, []string{"0 %", "50 %", "75 %", "90 %", "99 %", "99.9 %"}, labels(percentileAxis(5000)))
	require.Equal(t, []string{"0", "500", "1\u202f000"}, labels(countAxis(1000)))
	require.Equal(t, []string{"0 s", "30 s", "60 s", "90 s", "2 min"}, labels(secondsAxis(125))[:5])
	require.Equal(t, []string{"−2 ms", "0", "2 ms", "4 ms", "6 ms", "8 ms"}, labels(timeAxis(false, -2e6, 8e6)))
	require.Equal(t, []string{"−300 µs", "−100 µs", "0", "100 µs", "300 µs", "1 ms", "3 ms", "10 ms", "30 ms"}, labels(timeAxis(true, -5e5, 2e7)))
}

func TestLabelsWithoutRoomOnATelephone(t *testing.T) {
	crowded := func(a *axis) []string {
		var out []string
		for _, tick := range a.Ticks {
			if tick.Crowded {
				out = append(out, tick.Label)
			}
		}
		return out
	}
	require.Equal(t, []string{"75 %", "0 %"}, crowded(percentileAxis(5000)))
	require.Equal(t, []string{"99 %", "99.99 %"}, crowded(percentileAxis(100_000_000))[:2])
	require.Empty(t, crowded(secondsAxis(20)))
}

func TestGroupDigits(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1 000", -1000: "-1 000", -100: "-100", 1234567: "1 234 567"} {
		require.Equal(t, strings.ReplaceAll(want, " ", "\u202f"), groupDigits(n))
	}
}

// The page of a run calls as many messages wrong as the list of runs does; of one that lasts, what is pending may come.
func TestWhatIsWrongIsCountedAlikeEverywhere(t *testing.T) {
	r := runtest.Sample(1, 1000, 1)
	r.Counts.Lost, r.Counts.OfferErrors, r.Counts.Pending, r.Counts.NotDue = 1, 20, 350, 50
	tile := func() string {
		var out strings.Builder
		require.NoError(t, OfRun(r).Write(&out))
		found := regexp.MustCompile(`(?s)<h2>wrong</h2>.*?<b[^>]*>([^<]*)</b>`).FindStringSubmatch(out.String())
		require.Len(t, found, 2)
		return found[1]
	}
	require.Equal(t, "21", tile())
	r.Judge(nil)
	require.EqualValues(t, 321, r.Wrong())
	require.Equal(t, "321", tile())
	require.Equal(t, "321", NewListRun("x", r).figures[3].Text)
}
