package report

import (
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// sample is a run in Redisson's format with objectives, seconds, a machine and a verdict.
func sample(t *testing.T, seed uint64, scale float64) *run.Document {
	t.Helper()
	r := run.Sample(seed, 5000, scale)
	r.Format, r.Intervals = run.RedissonFormat, nil
	for s := range 12 {
		late := int64(scale * 1e5 * float64(s+1))
		r.Intervals = append(r.Intervals, run.Interval{
			Second: float64(s + 1), Offered: 500, Delivered: 500, Pending: 100, P50: late, P99: 5 * late, Max: 9 * late,
			PastDueP50: late, PastDueP99: 5 * late, PastDueMax: 9 * late, HiccupNs: 2e6, Transfers: 500, ServerCPUSeconds: .004,
		})
	}
	r.Machine = &run.Machine{BusyShare: .5, Hiccups: run.Hiccups{Count: 12, LongestNs: 5e6, Share: .01}, Late: &run.LateMessages{Messages: 50, InHiccups: 12}, StealSeconds: new(.5)}
	r.ToolUsage = &run.ToolUsage{CPUSeconds: 1.5, CPUShare: .1, GCPauseSeconds: .001}
	late, err := run.ParseSLO("past_due.p99<=20ms")
	require.NoError(t, err)
	lost, err := run.ParseSLO("lost<=0")
	require.NoError(t, err)
	r.Judge([]run.SLO{late, lost})
	return r
}

func faulty(t *testing.T) *run.Document {
	t.Helper()
	r := sample(t, 3, 1)
	r.Faults = &run.Faults{Events: []run.FaultEvent{{Kind: "partition", Text: "partition for 2s", From: 3, To: 5, Times: 2, MayLose: "nothing", ResumedNs: new(int64(2e6))}}, Offered: 5000}
	r.Scenario.Ramp, r.Scenario.Name = "100/s..1000/s", "faults"
	r.Warmup = &run.Warmup{Seconds: 3}
	r.Notes = []string{"a note"}
	return r
}

// sets are as many sets of runs by turns; the last is later. Version names have a number for each set.
func sets(t *testing.T, n, runs int, scale float64) []compare.Set {
	t.Helper()
	all := make([]compare.Set, n)
	for k := range all {
		all[k].Name = fmt.Sprintf("1.%d", k)
		by := 1.
		if k == n-1 {
			by = scale
		}
		for i := range runs {
			r := sample(t, uint64(i*n+k), by)
			r.Driver.Version, r.Started = all[k].Name, time.Date(2026, 1, 2, i, k, 0, 0, time.UTC)
			all[k].Runs = append(all[k].Runs, r)
		}
	}
	return all
}

func compared(t *testing.T, all []compare.Set) *compare.Comparison {
	t.Helper()
	c, err := compare.Sets(t.Context(), all, compare.Options{})
	require.NoError(t, err)
	return c
}

// tracked is forty runs over eight versions beside a reference, a fifth later since the sixth.
func tracked(t *testing.T) *compare.Comparison {
	t.Helper()
	all := append([]compare.Set{{Name: "reference"}}, sets(t, 8, 5, 1)...)
	for k := range all[1:] {
		for i, r := range all[k+1].Runs {
			if k >= 5 {
				r.Histograms, r.Intervals = sample(t, uint64(i*8+k), 1.4).Histograms, sample(t, 0, 1.4).Intervals
			}
			other := sample(t, uint64(1000+i*8+k), 1)
			r.Beside = &run.Beside{Block: r.RunID, Sides: 2}
			other.Driver.Name, other.Beside, other.Started = "redisson", r.Beside, r.Started
			all[0].Runs = append(all[0].Runs, other)
		}
	}
	return compared(t, all)
}

func html(t *testing.T, p Page) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, p.Write(&out))
	return out.String()
}

func inText(t *testing.T, p Page) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, p.Text(&out))
	for line := range strings.Lines(out.String()) {
		if !strings.HasPrefix(line, "next: ") {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), width, line)
		}
	}
	return out.String()
}

func pages(t *testing.T) map[string]Page {
	t.Helper()
	two := sets(t, 2, 6, 3)
	worse := compared(t, two)
	cut := sample(t, 9, 1)
	cut.Interrupted = true
	cut.Judge(nil)
	var stored []Stored
	for i, r := range two[0].Runs {
		stored = append(stored, NewStored(fmt.Sprintf("r/dq/%d", i+1), r))
	}
	return map[string]Page{
		"run": OfRun(sample(t, 1, 1)), "faults": OfRun(faulty(t)), "interrupted": OfRun(cut), "compare": OfComparison(worse),
		"many":    OfComparison(tracked(t)),
		"several": OfSets(Result{Sets: sets(t, 3, 2, 1), Interrupted: "2 of 3 runs were made in full"}),
		"cases": OfCases(Cases{"variant", []Case{
			{Name: "slow", Result: Result{Sets: two, Comparisons: []*compare.Comparison{worse}}}, {Name: "cut", Result: Result{Sets: []compare.Set{{Name: "dq", Runs: []*run.Document{cut}}}, Interrupted: "0 of 1 runs were made in full"}},
			{Name: "broken", Failure: "no server"}, {Name: "last", Standing: NeverRan},
		}}),
		"list": OfStored("out", stored, []string{"out/x/run.json: no JSON object"}, "Nothing is ticked."), "problem": {Title: "dq-bench", State: "open", Tag: "not shown", Verdict: "there is no run below it"},
	}
}

func TestTextSaysWhatWasJudgedFirstAndTheVerdictLast(t *testing.T) {
	all := pages(t)
	one := inText(t, all["run"])
	require.True(t, strings.HasPrefix(one, "dq:4.7.0 on redis 7.0.15 (external)\n50 producers, 8 consumers, 1000 msg/s for 10s"), one)
	for _, line := range []string{
		`(?m)^offered +delivered +lost +duplicate +early +pending$`, `(?m)^ +5000 +5000 +0 +0 +0 +0$`, `(?m)^past due +\S+ .s +`, `(?m)^past_due.p99<=20ms +met +`,
		`(?m)^server +1 transfer calls per message, 50000 commands, 0.5 s CPU$`, `latest messages during a hiccup: 12 of 50`,
		`All 5000 messages delivered, none lost, duplicate or early; past due p50 [^\n]+\n$`,
	} {
		require.Regexp(t, line, one)
	}
	require.Regexp(t, `(?s)scenario faults; rate 100/s..1000/s.*not warm after 3 s.*partition for 2s +3.000 s +5.000 s +2 +after 2.00 ms +nothing.*note: a note`, inText(t, all["faults"]))

	two := inText(t, all["compare"])
	require.True(t, strings.HasPrefix(two, "BASE dq:1.0 on redis 7.0.15 (external), 6 runs\nNEW dq:1.1 on redis"), two)
	require.Regexp(t, `(?m)^past due p50 +\+\d+\.\d % +\+\d+\.\d … \+\d+\.\d % +worse +`, two)
	require.Regexp(t, `\nNEW is worse: past due p\d+[a-z ]* \+\d+\.\d % \(95 % interval `, two)
	set := compare.Set{}
	for _, ns := range []float64{5e6, 9e6, 427e3, 1e6} {
		set.Runs = append(set.Runs, &run.Document{SLO: []run.Objective{{Metric: "past_due.p99", Actual: &ns}}})
	}
	require.Equal(t, "427 µs … 9.00 ms (4 values)", objectives([]compare.Set{set}).Rows[0].Cells[2].Text)
	many := inText(t, all["many"])
	require.Regexp(t, `(?m)^1\.5 +past due p50 +worse +\S+× +\S+× +\S+× +0\.001`, many)
	require.Contains(t, many, "Worse since 1.5: ")
	require.Regexp(t, `(?s)slow +worse.*cut +interrupted.*broken +failed +no server.*last +never ran.*1 of 4 variants failed: broken\.`, inText(t, all["cases"]))
	require.Contains(t, inText(t, all["several"]), "All 6 runs passed; past due: 1.0 p")
	one = inText(t, OfComparison(compared(t, sets(t, 2, 1, 3))))
	require.Regexp(t, `Inconclusive: a judgement needs 6 runs a side, here are 1 and 1\.\nnext: dq-bench run --driver dq:1\.0 --driver dq:1\.1 .*--duration 20s .*--repeat 6\n$`, one)
	require.Regexp(t, `Note\. past due p99 not judged: 50 of 100 messages beyond it in the shortest run;\s+make\s+runs\s+longer:\s+--duration\s+20s`, one)
}

func TestReportsInEachForm(t *testing.T) {
	for name, p := range pages(t) {
		folder := t.TempDir()
		for _, ending := range Endings {
			require.NoError(t, p.Save(filepath.Join(folder, name+ending)), "%s%s", name, ending)
		}
		read := func(ending string) string {
			data, err := os.ReadFile(filepath.Join(folder, name+ending))
			require.NoError(t, err)
			return string(data)
		}
		rows, err := csv.NewReader(strings.NewReader(read(".csv"))).ReadAll()
		if name != "problem" {
			require.NoError(t, err)
			require.NotEmpty(t, rows)
		}
		switch name {
		case "run":
			require.Equal(t, []string{"time", "set", "run", "driver", "server", "verdict", "offered"}, rows[0][:7])
			require.Equal(t, "5000", rows[1][6])
		case "compare":
			require.Equal(t, []string{"2026-01-02T00:00:00Z", "BASE"}, rows[1][:2], "a row for each run")
			require.Contains(t, read(".md"), "| past due p50 | +")
			require.True(t, strings.HasPrefix(read(".md"), "**NEW is worse: "))
		case "many":
			require.Len(t, rows, 41, "a row for each run")
		}
		var suite struct {
			Failures int `xml:"failures,attr"`
			Cases    []struct {
				Failure *struct{} `xml:"failure"`
			} `xml:"testcase"`
		}
		require.NoError(t, xml.Unmarshal([]byte(read(".xml")), &suite))
		require.NotEmpty(t, suite.Cases)
		require.Equal(t, p.State == "bad", suite.Cases[0].Failure != nil, name)
	}
}

// hostile is a name that tries to leave text, attribute, script and style.
const hostile = `</script></style><img src=x onerror="alert(1)">'"&{{.}}|`

// A page needs no network and one file of at most 120 kB for a run, shows all names as text, and is whole without JavaScript.
func TestPagesAreOneInertFile(t *testing.T) {
	all := pages(t)
	r := faulty(t)
	r.Scenario.Queue, r.Scenario.Name, r.Driver.Name, r.Driver.Version = hostile, hostile, hostile, hostile
	r.Labels = map[string]string{hostile: hostile}
	r.Notes = []string{hostile}
	r.Server.Product, r.Server.How, r.Server.Embedded = hostile, hostile, true
	r.SLO[0].Expr, r.Faults.Events[0].Kind = hostile, hostile
	r.Verdict.Text = hostile
	r.RunID, r.Tool.Name, r.Environment.OS, r.Scenario.Duration = hostile, hostile, hostile, hostile
	all["hostile"] = OfRun(r)
	long := sample(t, 1, 1)
	long.Intervals = nil
	for s := range 7200 {
		long.Intervals = append(long.Intervals, run.Interval{Second: float64(s + 1), Offered: 10, Delivered: 10, PastDueP50: int64(1e5 + s), PastDueP99: int64(1e6 + 7*s), PastDueMax: int64(1e7 + 11*s), HiccupNs: int64(s)})
	}
	all["two hours"] = OfRun(long)
	for name, p := range all {
		page := html(t, p)
		require.Less(t, strings.Count(page, "</script"), 3, name)
		whole := len(page)
		page = strings.Replace(strings.Replace(page, script, "", 1), style, "", 1)
		for _, foreign := range []string{"http:", "https:", "url(", ` src="`, "<img", "NaN", "ZgotmplZ", `onerror="`} {
			require.NotContains(t, page, foreign, name)
		}
		require.Equal(t, 2, strings.Count(page, "</script"), name)
		require.Contains(t, page, `default-src &#39;none&#39;`)
		if name == "run" || name == "faults" || name == "two hours" {
			require.LessOrEqual(t, whole, 120_000, name)
			require.Contains(t, page, `<noscript><div class="scroll"><table>`)
		}
	}
	require.Greater(t, strings.Count(html(t, all["hostile"]), "&lt;img src=x onerror="), 10)
	require.Contains(t, html(t, all["hostile"]), `class="banner loud"><b>EMBEDDED server.</b>`)
	require.Contains(t, html(t, all["two hours"]), "Drawn in steps of 48 s.")
	require.NotContains(t, html(t, all["run"]), "connect-src")
	live := all["run"]
	live.Live = &Live{Token: "t", CanStop: true}
	require.Contains(t, html(t, live), "connect-src")
	update, err := live.Update()
	require.NoError(t, err)
	require.Contains(t, string(update), `"charts":[{"id":"percentiles"`)
}

// A second without deliveries is a gap in each line, and a last part of a second is drawn where it ends, by its rate.
func TestChartsOfPartsAndGaps(t *testing.T) {
	r := sample(t, 1, 1)
	r.ElapsedSeconds, r.Intervals = 2.75, []run.Interval{{Second: 1, Delivered: 9, PastDueP50: 1, PastDueP99: 2}, {Second: 2}, {Second: 2.75, Delivered: 75, PastDueP50: 1, PastDueP99: 2}}
	charts := OfRun(r).Charts
	late, flow := charts[1], charts[slices.IndexFunc(charts, func(c Chart) bool { return c.ID == "flow" })]
	require.Equal(t, []figure{1, 2, 2.75}, late.X)
	require.True(t, late.Series[0].Y[1].none() && late.Series[1].Y[1].none())
	require.Equal(t, []figure{9, 0, 100}, flow.Series[1].Y)
	require.NotContains(t, asset("page.js"), "spanGaps")
}

// A climb is drawn by its rates: how late, and where offers were dropped first.
func TestPageOfAClimb(t *testing.T) {
	r := sample(t, 1, 1)
	r.Scenario.Ramp, r.Scenario.Climb, r.Scenario.Delay = "100/s for 4s, 1000/s for 4s", true, "1s"
	r.Intervals[6].Unsent = 7
	p := OfRun(r)
	require.Contains(t, p.Lead, "rate 100/s..1000/s in 2 steps")
	c := p.Charts[0]
	require.Equal(t, []string{"100/s", "1000/s"}, c.Names)
	require.Equal(t, []Mark{{X: 1, Label: "offers dropped"}}, c.Marks)
	require.Less(t, float64(c.Series[1].Y[0]), float64(c.Series[1].Y[1]))
	require.Regexp(t, `(?m)^ *1000/s +500/s +7 +\S+ .s +\S+ ms +0 %$`, inText(t, p))
	require.Equal(t, "12 of 50", p.Tiles[5].Values[0].Text)
	r.Machine = nil
	require.Equal(t, "–", OfRun(r).Tiles[5].Values[0].Text)
}

// A run that delivered nothing, or has no server and no second, still has a page.
func TestPageOfLittle(t *testing.T) {
	empty := run.Sample(1, 0, 1)
	empty.Server, empty.ServerStats = nil, nil
	empty.Judge(nil)
	one := run.Sample(2, 1, 1)
	one.ServerStats.CPUSeconds = math.SmallestNonzeroFloat64
	one.Judge(nil)
	one.Validity = &run.Validity{Reasons: []string{"late"}}
	for _, p := range []Page{
		OfRun(empty), OfRun(one), OfSets(Result{Sets: []compare.Set{{Name: "a", Runs: []*run.Document{empty, one}}, {Name: "b", Runs: []*run.Document{one}}}}),
		OfCases(Cases{"variant", []Case{{Name: "a", Standing: Running}}}), OfStored("out", nil, nil, ""),
	} {
		page := html(t, p)
		require.NotContains(t, page, "NaN")
		require.NotContains(t, page, "Inf")
		inText(t, p)
	}
	require.Equal(t, "invalid", stateOf(one).tag)
}

func TestCasesAreNoMilderThanAnyCase(t *testing.T) {
	passed := Case{Name: "a", Result: Result{Sets: sets(t, 1, 1, 1)}}
	for _, row := range []struct {
		other      Case
		tag, state string
		text       string
	}{
		{passed, "passed", "ok", "All 2 variants passed."},
		{Case{Name: "b", Failure: "no server"}, "failed", "bad", "1 of 2 variants failed: b. b: no server"},
		{Case{Name: "b", Standing: NeverRan}, "interrupted", "open", "1 of 2 variants never ran: b."},
		{Case{Name: "b", Standing: ToCome}, "inconclusive", "open", "All 2 variants passed."},
		{Case{Name: "b", Result: Result{Sets: sets(t, 2, 6, 3), Comparisons: []*compare.Comparison{compared(t, sets(t, 2, 6, 3))}}}, "worse", "bad", "All 2 variants passed. Compared: b worse."},
	} {
		c := Cases{"variant", []Case{passed, row.other}}
		p := OfCases(c)
		require.Equal(t, []string{row.tag, row.state, row.text}, []string{p.Tag, p.State, p.Verdict})
		require.Equal(t, row.other.Failure != "", c.Failed())
	}
	failed := sets(t, 3, 2, 1)
	failed[1].Runs[1].Counts.Lost = 1
	failed[1].Runs[1].Judge(nil)
	failed[2].Runs[0].Interrupted = true
	require.Contains(t, OfSets(Result{Sets: failed}).Verdict, "1 of 6 runs were interrupted, and 1 of 6 runs failed; the first one: Failed: 1 lost.")
	failed[1].Runs = failed[1].Runs[:1]
	require.Equal(t, "interrupted", OfSets(Result{Sets: failed}).Tag)
	two := failed[:2]
	two[0].Runs[0].Verdict.Passed = false
	c := compared(t, sets(t, 2, 1, 1))
	p := OfSets(Result{Sets: two, Comparisons: []*compare.Comparison{c}, Verdicts: true})
	require.Equal(t, "failed, inconclusive", p.Tag)
	three := Result{Sets: sets(t, 3, 1, 1), Comparisons: []*compare.Comparison{c, c}}
	require.Contains(t, OfSets(three).Verdict, "Against 1.0 – 1.1: inconclusive; 1.2: inconclusive.")
}

func TestTableForms(t *testing.T) {
	v := 1.5
	table := Table{Title: "T", Head: []string{"name", "", "n", "long"}, Words: 4, Wraps: true, Rows: []Row{
		{"ok", []Cell{{Text: "a|b\n<i>"}, {Interval: &Interval{}}, {Text: "1.50", Raw: &v}, {Text: strings.Repeat("word ", 40)}}},
	}}
	var out strings.Builder
	table.Text(&out)
	require.Regexp(t, `^name +n +long\na\|b <i> +1\.50 +word word.*\n +word`, out.String())
	out.Reset()
	table.Markdown(&out)
	require.True(t, strings.HasPrefix(out.String(), "### T\n\n| name | n | long |\n|---|---|---|\n| a\\|b &lt;i> | 1.50 | word"), out.String())
	out.Reset()
	require.NoError(t, table.CSV(&out))
	require.True(t, strings.HasPrefix(out.String(), "name,,n,long\n\"a|b\n<i>\",,1.5,word"), out.String())
	require.True(t, slices.IsSorted(Endings))
}
