package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/history"
	"github.com/dq-bench/dq-bench/harness/internal/page/pagetest"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/run/runtest"
)

// releases is a history of eight versions, of which the last three are three times as late.
func releases(t *testing.T) *history.History {
	t.Helper()
	var runs []*run.Document
	for i := range uint64(24) {
		scale := 1 + float64(i%5)/50
		if i/3 >= 5 {
			scale *= 3
		}
		r := runtest.Sample(i, 10_000, scale)
		r.Driver.Version = fmt.Sprintf("3.%d.0", 9+i/3)
		r.Started = r.Started.Add(time.Duration(i) * time.Hour)
		runs = append(runs, r)
	}
	runs[4].Counts.Lost = 2
	h, err := history.Of(t.Context(), runs, history.DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, "3.14.0", h.FirstWorse)
	return h
}

// What ceases to be lost, and what begins to come early, are rows of their own beside the figures.
func TestHistoryShowsFaults(t *testing.T) {
	var runs []*run.Document
	for i := range uint64(24) {
		r := runtest.Sample(i, 10_000, 1+float64(i%5)/50)
		r.Driver.Version = fmt.Sprintf("3.%d.0", 9+i/8)
		r.Started = r.Started.Add(time.Duration(i%8*3+i/8) * time.Hour) // in turn
		if i/8 == 0 {
			r.Counts.Lost = 2
		}
		if i/8 == 2 {
			r.Counts.Early = 4
		}
		runs = append(runs, r)
	}
	h, err := history.Of(t.Context(), runs, history.DefaultOptions())
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, WriteHistory(&out, h))
	require.Regexp(t, `(?m)^better +messages lost +since 3.10.0 +0.02 % → 0 %$`, out.String())
	require.Regexp(t, `(?m)^worse +messages delivered early +since 3.11.0 +0 % → 0.04 %$`, out.String())
	require.Regexp(t, `(?m)^ +3.10.0 .* 0 wrong▼$`, out.String())
	require.Regexp(t, `(?m)^ +3.11.0 .* 32 wrong▲$`, out.String())
	var html strings.Builder
	require.NoError(t, WriteHistoryPage(&html, h, ""))
	require.Contains(t, html.String(), `<th scope="row">3.10.0</th><td class="text">messages lost</td><td>0.02 %</td><td>0 %</td><td>–</td><td>–</td><td class="text ok"><span class="pill">better</span>`)
	require.Contains(t, html.String(), `<td class="text">messages delivered early</td>`)
}

func TestHistoryText(t *testing.T) {
	var out strings.Builder
	require.NoError(t, WriteHistory(&out, releases(t)))
	require.Regexp(t, `(?m)^dq by version, on redis 7.0.15 \(external\)$`, out.String())
	require.Regexp(t, `(?m)^ +3.10.0 +3 runs +[^▲]+ 2 wrong$`, out.String())
	require.Regexp(t, `(?m)^ +3.14.0 +3 runs .*▲`, out.String())
	require.Regexp(t, `(?m)^worse +lateness p99 +since 3.14.0 .* → .* p 0.001$`, out.String())
	require.Contains(t, out.String(), "\nWorse since 3.14.0: lateness p")
}

// The page has the numbers of the history, by hand and eye, on small screens too.
func TestBrowserShowsTheHistory(t *testing.T) {
	h := releases(t)
	b := openWritten(t, func(path string) error { return WriteHistoryFile(path, h) })
	require.Equal(t, h.Text, pagetest.Eval[string](b, `document.getElementById("verdict").innerText`))
	figures := pagetest.Eval[map[string]string](b, `Object.fromEntries([...document.querySelectorAll("[data-figure]")].map(e => [e.dataset.figure, e.dataset.value]))`)
	for k, f := range h.Figures {
		for i, median := range f.Medians {
			require.Equal(t, strconv.FormatFloat(*median, 'g', -1, 64), figures[fmt.Sprintf("point-%d.figure-%d", i, k)])
			for n, r := range h.Points[i].Runs {
				require.Equal(t, strconv.FormatFloat(*f.Values[i][n], 'g', -1, 64), figures[fmt.Sprintf("run-%s.figure-%d", r.RunID, k)])
			}
		}
	}
	changed := slices.IndexFunc(h.Figures, func(f history.Figure) bool { return f.Name() == "lateness p99" })
	chart := fmt.Sprintf("#figure-%d", changed)
	require.Equal(t, 1, pagetest.Eval[int](b, fmt.Sprintf(`document.querySelectorAll("%s [data-scale=log] .mark").length`, chart)))
	b.Do(chromedp.Focus(chromedp.CSS(chart+" .frame")), chromedp.KeyEvent(kb.ArrowRight))
	require.Contains(t, pagetest.Eval[string](b, fmt.Sprintf(`document.querySelector("%s [aria-live]").textContent`, chart)), "3.9.0 , median")
	b.Do(chromedp.Click(chromedp.CSS(chart + " [data-toggle=kind-max]")))
	require.False(t, b.Visible(chart+" [data-scale=log] path.max"))
	background := `getComputedStyle(document.body).backgroundColor`
	before := pagetest.Eval[string](b, background)
	b.Do(chromedp.Click(chromedp.CSS("#theme")))
	require.NotEqual(t, before, pagetest.Eval[string](b, background))
	for _, width := range []int64{1280, 400} {
		b.Do(chromedp.EmulateViewport(width, 900))
		require.LessOrEqual(t, pagetest.Eval[int64](b, "document.documentElement.scrollWidth"), width)
		require.Empty(t, pagetest.Eval[[]string](b, pagetest.Overlaps), "at %d px", width)
	}
}
