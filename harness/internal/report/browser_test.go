package report

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/report/pagetest"
	"github.com/dq-bench/dq-bench/harness/internal/run/runtest"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func open(t *testing.T, p Page) *pagetest.Browser {
	t.Helper()
	path := filepath.Join(t.TempDir(), File)
	require.NoError(t, p.Save(path))
	return pagetest.Open(t, "file://"+path)
}

// Each kind of page is drawn without an error, asks for nothing, fits 1280 and 400 px, light and dark, and no text covers
// another.
func TestBrowserShowsEachKindOfPage(t *testing.T) {
	t.Parallel()
	all := pages(t)
	all["hostile"] = OfRun(hostileRun(t))
	b := open(t, all["run"])
	for name, p := range all {
		path := filepath.Join(t.TempDir(), File)
		require.NoError(t, p.Save(path))
		b.Show("file://" + path)
		require.Equal(t, p.Verdict, pagetest.Eval[string](b, `document.getElementById("verdict").textContent`), name)
		require.Zero(t, pagetest.Eval[int](b, `document.images.length`))
		require.Equal(t, len(p.Charts), pagetest.Eval[int](b, `[...document.querySelectorAll(".chart canvas")].filter((c) => c.width > 100).length`), name)
		b.Fits()
	}
}

// Values are read by keyboard over all charts of time at once, figures are taken away as CSV, and the theme lasts.
func TestBrowserReadsAndTakesFigures(t *testing.T) {
	t.Parallel()
	b := open(t, OfRun(faulty(t)))
	legend := func(chart string) string {
		return pagetest.Eval[string](b, fmt.Sprintf(`document.querySelector("#%s .u-legend").textContent.replace(/\s+/g, " ")`, chart))
	}
	b.Do(chromedp.Focus(chromedp.CSS("#late .plot")), chromedp.KeyEvent(kb.ArrowRight+kb.ArrowRight))
	require.Contains(t, legend("late"), "2 s")
	require.Contains(t, legend("late"), "1 ms")
	require.Contains(t, legend("hiccups"), "2 s", "the crosshair is linked")

	b.Do(chromedp.Evaluate[chromedp.Void](`window.taken = []; URL.createObjectURL = (blob) => { blob.text().then((text) => taken.push(blob.type + " " + text.slice(0, 40))); return "#"; }; undefined`))
	for _, button := range []string{"CSV", "PNG", "linear / log"} {
		b.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`[...document.querySelectorAll("#late .tools button")].find((b) => b.textContent === %q).click()`, button)))
	}
	_, err := chromedp.Run(b.Context, chromedp.Poll[bool](`taken.length === 2`))
	require.NoError(t, err)
	taken := pagetest.Eval[[]string](b, "taken.sort()")
	require.Contains(t, taken[0], "image/png")
	require.Contains(t, taken[1], "text/csv x,p50,p99,max\n1,100000,")

	background := `getComputedStyle(document.body).backgroundColor`
	light := pagetest.Eval[string](b, background)
	b.Do(chromedp.Click(chromedp.CSS("#theme")))
	dark := pagetest.Eval[string](b, background)
	require.NotEqual(t, light, dark)
	b.Do(chromedp.Reload())
	require.Equal(t, dark, pagetest.Eval[string](b, background))
}

// A list of 5,000 runs is sorted and filtered; of 500, unless the test is thorough.
func TestBrowserSearchesFiveThousandRuns(t *testing.T) {
	t.Parallel()
	count := 500
	if redistest.Thorough() {
		count = 5000
	}
	r := runtest.Sample(1, 10, 1)
	var all []Stored
	for i := range count {
		r.Driver.Version, r.Started = fmt.Sprintf("1.%d", i), time.Date(2026, 1, 1, 0, i, 0, 0, time.UTC)
		all = append(all, NewStored(fmt.Sprintf("run-%04d", i), r))
	}
	b := open(t, OfStored("out", all, nil, ""))
	b.Do(chromedp.Click(chromedp.CSS("#stored th:nth-child(2)")))
	require.Equal(t, "run-0000", pagetest.Eval[string](b, `document.querySelector("#stored tbody tr").cells[2].innerText`))
	b.Do(chromedp.SendKeys(chromedp.CSS("#stored input.filter"), "run-0432"))
	require.Equal(t, 1, pagetest.Eval[int](b, `[...document.querySelectorAll("#stored tbody tr")].filter((r) => !r.hidden).length`))
}
