package page

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/page/pagetest"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// openPage writes the report and opens it from disk.
func openPage(t *testing.T, p Page) *pagetest.Browser {
	t.Helper()
	return openWritten(t, p.WriteFile)
}

// openWritten opens what write puts into a file.
func openWritten(t *testing.T, write func(path string) error) *pagetest.Browser {
	t.Helper()
	path := filepath.Join(t.TempDir(), File)
	require.NoError(t, write(path))
	return pagetest.Open(t, "file://"+path)
}

func TestBrowserShowsTheNumbersOfTheRunFile(t *testing.T) {
	folder := t.TempDir()
	written := judgedRun(t, 1, 1)
	require.NoError(t, WriteFolder(folder, written, nil))
	r, err := run.ReadFile(filepath.Join(folder, run.File))
	require.NoError(t, err)
	b := openPage(t, OfRun(r))

	require.Equal(t, r.Verdict.Text, pagetest.Eval[string](b, `document.getElementById("verdict").innerText`))
	figures := pagetest.Eval[map[string][]string](b, `Object.fromEntries([...document.querySelectorAll("[data-figure]")]
		.map(e => [e.dataset.figure, [e.dataset.value, e.innerText]]))`)
	want := map[string]int64{
		"counts.offered": r.Counts.Offered, "counts.delivered": r.Counts.Delivered, "counts.lost": r.Counts.Lost,
		"counts.duplicate": r.Counts.Duplicate, "counts.early": r.Counts.Early, "counts.pending": r.Counts.Pending,
	}
	for name, h := range map[string]*run.Histogram{
		"lateness": r.Histograms.Lateness, "offer_rtt": r.Histograms.OfferRTT, "schedule_lag": r.Histograms.ScheduleLag,
	} {
		want[name+".min"], want[name+".max"], want[name+".mean"] = h.Min(), h.Max(), int64(h.Mean())
		want[name+".p50"], want[name+".p90"], want[name+".p99"] = h.Quantile(.5), h.Quantile(.9), h.Quantile(.99)
	}
	for name, value := range want {
		figure := figures["side-0."+name]
		require.Len(t, figure, 2, name)
		require.Equal(t, strconv.FormatInt(value, 10), figure[0], name)
		if !strings.HasPrefix(name, "counts.") {
			require.Equal(t, timeText(value), figure[1], name)
		}
	}
	require.Equal(t, []string{"3 s", "−250 µs", "2.50 ms", "4.00 ms"},
		pagetest.Eval[[]string](b, `[...document.querySelectorAll("#late-time tr[data-x]")].at(-1).textContent.trim().length ?
			[...[...document.querySelectorAll("#late-time tr[data-x]")].at(-1).children].map(c => c.textContent) : []`))
}

func TestBrowserTogglesSeries(t *testing.T) {
	b := openPage(t, comparedPage(t))
	const line, other, single = `[data-scale=log] path.c1.strong`, `[data-scale=log] path.c0.strong`, `[data-scale=log] path.c1.run`
	require.True(t, b.Visible(line) && b.Visible(other) && b.Visible(single))

	b.Do(chromedp.Click(chromedp.CSS(`[data-toggle="side-1"]`)))
	require.False(t, b.Visible(line) || b.Visible(single), "the side is gone")
	require.True(t, b.Visible(other), "the other one stays")
	require.Equal(t, "false", pagetest.Eval[string](b, `document.querySelector('[data-toggle="side-1"]').getAttribute("aria-pressed")`))

	b.Do(chromedp.Focus(chromedp.CSS(`[data-toggle="side-1"]`)), chromedp.KeyEvent(kb.Enter))
	require.True(t, b.Visible(line), "the keyboard brings it back")
	b.Do(chromedp.Click(chromedp.CSS(`[data-toggle="runs"]`)))
	require.True(t, b.Visible(line))
	require.False(t, b.Visible(single))
	b.Do(chromedp.Click(chromedp.CSS(`#late-time [data-toggle="kind-p99"]`)))
	require.False(t, b.Visible(`[data-scale=log] path.p99`))
	require.True(t, b.Visible(`[data-scale=log] path.p50`))
}

func TestBrowserSwitchesThemeAndScale(t *testing.T) {
	b := openPage(t, OfRun(judgedRun(t, 1, 1)))
	background := func() string { return pagetest.Eval[string](b, "getComputedStyle(document.body).backgroundColor") }
	system := func(theme string) {
		_, err := chromedp.Call(b.Context, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}},
		})
		require.NoError(t, err)
	}
	system("light")
	light := background()
	system("dark")
	dark := background()
	require.NotEqual(t, light, dark, "the page follows the system")
	b.Do(chromedp.Click(chromedp.CSS("#theme")))
	require.Equal(t, light, background(), "until the button is used")
	b.Do(chromedp.Reload())
	require.Equal(t, light, background(), "which lasts")
	b.Do(chromedp.Click(chromedp.CSS("#theme")))
	require.Equal(t, dark, background())

	require.True(t, b.Visible(`#percentiles [data-scale=log]`))
	require.False(t, b.Visible(`#percentiles [data-scale=linear]`))
	b.Do(chromedp.Click(chromedp.CSS("#scale")))
	require.False(t, b.Visible(`#percentiles [data-scale=log]`))
	require.True(t, b.Visible(`#percentiles [data-scale=linear]`))
}

func TestBrowserReadsValuesByKeyboardAndPointer(t *testing.T) {
	b := openPage(t, OfRun(judgedRun(t, 1, 1)))
	b.Do(chromedp.Focus(chromedp.CSS("#late-time .frame")), chromedp.KeyEvent(kb.ArrowRight+kb.ArrowRight))
	require.Equal(t, "2 s , p50 −200 µs, p99 1.00 ms, max 2.00 ms", pagetest.Eval[string](b, `document.querySelector("#late-time [aria-live]").textContent`))
	require.True(t, b.Visible("#late-time .readout"))
	b.Do(chromedp.KeyEvent(kb.Escape))
	require.False(t, b.Visible("#late-time .readout"))

	b.Do(chromedp.ScrollIntoView(chromedp.CSS("#pending .plot")))
	box := pagetest.Eval[[]float64](b, `(r => [r.right, r.top])(document.querySelector("#pending .plot").getBoundingClientRect())`)
	b.Do(chromedp.MouseEvent("mouseMoved", box[0]-2, box[1]+20))
	require.Contains(t, pagetest.Eval[string](b, `document.querySelector("#pending .readout").innerText`), "3 s")
}

func TestBrowserShowsHostileNamesAsText(t *testing.T) {
	b := openPage(t, OfRun(hostileRun(t)))
	require.Equal(t, hostile, pagetest.Eval[string](b, `document.getElementById("verdict").textContent`))
	require.Zero(t, pagetest.Eval[int](b, `document.images.length`))
	require.Contains(t, pagetest.Eval[string](b, `document.getElementById("config").textContent`), hostile)
	require.True(t, b.Visible(".banner"))
}

// No text covers another, and the page has no sideways scroll on a telephone; tables
// scroll in themselves.
func TestBrowserFitsNarrowScreens(t *testing.T) {
	for name, p := range map[string]Page{
		"a run": OfRun(onRedisson(judgedRun(t, 1, 1))), "a comparison": comparedPage(t),
	} {
		t.Run(name, func(t *testing.T) {
			b := openPage(t, p)
			for _, scale := range scales {
				for _, width := range []int64{1280, 800, 400, 360} {
					b.Do(chromedp.EmulateViewport(width, 900))
					require.LessOrEqual(t, pagetest.Eval[int64](b, "document.documentElement.scrollWidth"), width)
					require.Empty(t, pagetest.Eval[[]string](b, pagetest.Overlaps), "at %d px, %s", width, scale)
				}
				b.Do(chromedp.Click(chromedp.CSS("#scale")))
			}
		})
	}
}
