package web_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/run/runtest"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func openPage(t *testing.T, p report.Page) *browser {
	t.Helper()
	path := filepath.Join(t.TempDir(), report.File)
	require.NoError(t, p.Save(path))
	return open(t, "file://"+path)
}

// faulty is a run in which something was made to break, with names that try to leave text, attribute, script and style.
func faulty(t *testing.T) *run.Document {
	t.Helper()
	const hostile = `</script></style><img src=x onerror="alert(1)">'"&{{.}}|`
	r, again := second(12), int64(2e6)
	r.Faults = &run.Faults{Events: []run.FaultEvent{{Kind: hostile, Text: "partition for 2s", From: 3, To: 5, Times: 2, MayLose: "nothing", ResumedNs: &again}}, Offered: 5000}
	r.Machine = &run.Machine{BusyShare: .5, Hiccups: run.Hiccups{Count: 12, LongestNs: 5e6, Share: .01}, Late: &run.LateMessages{Messages: 50, InHiccups: 12}}
	r.Scenario.Queue, r.Scenario.Name, r.Driver.Name, r.Driver.Version, r.Server.Product, r.Server.Embedded = hostile, hostile, hostile, hostile, hostile, true
	r.Labels, r.Notes = map[string]string{hostile: hostile}, []string{hostile}
	slo, err := run.ParseSLO("lateness.p99<=20ms")
	require.NoError(t, err)
	r.Judge([]run.SLO{slo})
	return r
}

// tracked are forty runs of eight versions, each beside a reference; the last three versions are later.
func tracked() (sets []compare.Set) {
	sets = []compare.Set{{Name: "reference"}}
	for k := range 8 {
		set := compare.Set{Name: fmt.Sprintf("1.%d-SNAPSHOT", k)}
		for i := range 5 {
			r, other := runtest.Sample(uint64(i*8+k), 5000, 1+float64(k/5)), runtest.Sample(uint64(1000+i*8+k), 5000, 1)
			r.Driver.Version, r.Beside = set.Name, &run.Beside{Block: r.RunID, Sides: 2}
			other.Driver.Name, other.Beside = "redisson", r.Beside
			for _, one := range []*run.Document{r, other} {
				one.Started, one.Scenario.Seed = time.Date(2026, 1, 2, i, k, 0, 0, time.UTC), 1
			}
			set.Runs, sets[0].Runs = append(set.Runs, r), append(sets[0].Runs, other)
		}
		sets = append(sets, set)
	}
	return sets
}

// Each kind of page is drawn without an error, asks for nothing, fits 1280 and 400 px, light and dark, and no text covers
// another.
func TestBrowserShowsEachKindOfPage(t *testing.T) {
	t.Parallel()
	many := tracked()
	compared := func(sets ...compare.Set) *compare.Comparison {
		c, err := compare.Sets(t.Context(), sets, compare.Options{})
		require.NoError(t, err)
		return c
	}
	plain := second(12)
	plain.Judge(nil)
	var b *browser
	for name, p := range map[string]report.Page{
		"run": report.OfRun(plain), "faults": report.OfRun(faulty(t)), "several": report.OfSets(report.Result{Sets: many[:4]}),
		"compare": report.OfComparison(compared(many[1], many[8])), "many": report.OfComparison(compared(many...)),
		"cases": report.OfCases(report.Cases{Kind: "variant", All: []report.Case{
			{Name: "slow", Result: report.Result{Sets: many[7:], Comparisons: []*compare.Comparison{compared(many[7], many[8])}}},
			{Name: "broken", Failure: "no server"}, {Name: "last", Standing: report.NeverRan},
		}}),
		"list": report.OfStored("out", []report.Stored{report.NewStored("r/dq/1", plain), report.NewStored("hostile", faulty(t))}, []string{"out/x/run.json: no JSON object"}, "Nothing is ticked."),
	} {
		if b == nil {
			b = openPage(t, p)
		} else {
			path := filepath.Join(t.TempDir(), report.File)
			require.NoError(t, p.Save(path))
			b.show("file://" + path)
		}
		require.Equal(t, p.Verdict, eval[string](b, `document.getElementById("verdict").textContent`), name)
		require.Zero(t, eval[int](b, `document.images.length`))
		require.Equal(t, len(p.Charts), eval[int](b, `[...document.querySelectorAll(".chart canvas")].filter((c) => c.width > 100).length`), name)
		b.fits()
	}
}

// Values are read by keyboard over all charts of time at once, figures are taken away as CSV, and the theme lasts.
func TestBrowserReadsAndTakesFigures(t *testing.T) {
	t.Parallel()
	b := openPage(t, report.OfRun(faulty(t)))
	legend := func(chart string) string {
		return eval[string](b, fmt.Sprintf(`document.querySelector("#%s .u-legend").textContent.replace(/\s+/g, " ")`, chart))
	}
	b.do(chromedp.Focus(chromedp.CSS("#late .plot")), chromedp.KeyEvent(kb.ArrowRight+kb.ArrowRight))
	require.Contains(t, legend("late"), "2 s")
	require.Contains(t, legend("late"), "p992 ms")
	require.Contains(t, legend("hiccups"), "2 s", "the crosshair is linked")

	b.do(chromedp.Evaluate[chromedp.Void](`window.taken = []; URL.createObjectURL = (blob) => { blob.text().then((text) => taken.push(blob.type + " " + text.slice(0, 40))); return "#"; }; undefined`))
	for _, button := range []string{"CSV", "PNG", "linear / log"} {
		b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`[...document.querySelectorAll("#late .tools button")].find((b) => b.textContent === %q).click()`, button)))
	}
	_, err := chromedp.Run(b.Context, chromedp.Poll[bool](`taken.length === 2`))
	require.NoError(t, err)
	taken := eval[[]string](b, "taken.sort()")
	require.Contains(t, taken[0], "image/png")
	require.Contains(t, taken[1], "text/csv x,p50,p99,max\n1,100000,")

	background := `getComputedStyle(document.body).backgroundColor`
	light := eval[string](b, background)
	b.do(chromedp.Click(chromedp.CSS("#theme")))
	dark := eval[string](b, background)
	require.NotEqual(t, light, dark)
	b.do(chromedp.Reload())
	require.Equal(t, dark, eval[string](b, background))
}

// A list of 5,000 runs is sorted and filtered; of 500, unless the test is thorough.
func TestBrowserSearchesFiveThousandRuns(t *testing.T) {
	t.Parallel()
	count := 500
	if redistest.Thorough() {
		count = 5000
	}
	r := runtest.Sample(1, 10, 1)
	var all []report.Stored
	for i := range count {
		r.Driver.Version, r.Started = fmt.Sprintf("1.%d", i), time.Date(2026, 1, 1, 0, i, 0, 0, time.UTC)
		all = append(all, report.NewStored(fmt.Sprintf("run-%04d", i), r))
	}
	b := openPage(t, report.OfStored("out", all, nil, ""))
	b.do(chromedp.Click(chromedp.CSS("#stored th:nth-child(2)")))
	require.Equal(t, "run-0000", eval[string](b, `document.querySelector("#stored tbody tr").cells[2].innerText`))
	b.do(chromedp.SendKeys(chromedp.CSS("#stored input.filter"), "run-0432"))
	require.Equal(t, 1, eval[int](b, `[...document.querySelectorAll("#stored tbody tr")].filter((r) => !r.hidden).length`))
}
