package page

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/run"
	"github.com/dq-bench/dq-bench/harness/server/servertest"
)

// browserTimeout bounds one test in a browser, its start included.
const browserTimeout = 2 * time.Minute

// browserPage is a report open in a real browser. It fails the test at its end
// if the page logged a problem, threw, or asked for anything but itself.
type browserPage struct {
	t        *testing.T
	ctx      context.Context
	mu       sync.Mutex
	problems []string
}

func findChromium() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("neither chromium nor google-chrome is on PATH")
}

// openPage writes the report and opens it from disk.
func openPage(t *testing.T, p Page) *browserPage {
	t.Helper()
	return openWritten(t, p.WriteFile)
}

// openWritten opens what write puts into a file.
func openWritten(t *testing.T, write func(path string) error) *browserPage {
	t.Helper()
	binary, err := findChromium()
	if err != nil {
		servertest.Missing(t, "chromium", err)
	}
	path := filepath.Join(t.TempDir(), File)
	require.NoError(t, write(path))

	// The browser's own profile is a fresh one, removed when it ends.
	ctx, cancel := context.WithTimeout(t.Context(), browserTimeout)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx,
		chromedp.ExecPath(binary), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.WindowSize(1280, 900))
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browserPage{t: t, ctx: ctx}
	require.NoError(t, chromedp.Listen(ctx, func(event any) { b.listen(event, "file://"+path) }))
	b.do(chromedp.Navigate("file://" + path))
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		require.Empty(t, b.problems)
	})
	return b
}

// listen notes what a report must never cause.
func (b *browserPage) listen(event any, self string) {
	problem := ""
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		problem = fmt.Sprintf("console.%s: %v", e.Type, e.Args)
	case *runtime.EventExceptionThrown:
		problem = "exception: " + e.ExceptionDetails.Text
	case *log.EventEntryAdded:
		problem = fmt.Sprintf("log %s: %s", e.Entry.Level, e.Entry.Text)
	case *network.EventRequestWillBeSent:
		if e.Request.URL != self && !strings.HasPrefix(e.Request.URL, "data:") {
			problem = "request: " + e.Request.URL
		}
	}
	if problem != "" {
		b.mu.Lock()
		b.problems = append(b.problems, problem)
		b.mu.Unlock()
	}
}

func (b *browserPage) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, steps...))
}

// eval returns the value of a JavaScript expression.
func eval[T any](b *browserPage, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	require.NoError(b.t, err)
	return value
}

// visible reports whether a selector's first element takes part in the layout.
func (b *browserPage) visible(selector string) bool {
	b.t.Helper()
	return eval[bool](b, fmt.Sprintf("document.querySelector(%q).getClientRects().length > 0", selector))
}

func TestBrowserShowsTheNumbersOfTheRunFile(t *testing.T) {
	folder := t.TempDir()
	written := judgedRun(t, 1, 1)
	require.NoError(t, WriteFolder(folder, written, nil))
	r, err := run.ReadFile(filepath.Join(folder, run.File))
	require.NoError(t, err)
	b := openPage(t, OfRun(r))

	require.Equal(t, r.Verdict.Text, eval[string](b, `document.getElementById("verdict").innerText`))
	figures := eval[map[string][]string](b, `Object.fromEntries([...document.querySelectorAll("[data-figure]")]
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
		eval[[]string](b, `[...document.querySelectorAll("#late-time tr[data-x]")].at(-1).textContent.trim().length ?
			[...[...document.querySelectorAll("#late-time tr[data-x]")].at(-1).children].map(c => c.textContent) : []`))
}

func TestBrowserTogglesSeries(t *testing.T) {
	b := openPage(t, comparedPage(t))
	const line, other, single = `[data-scale=log] path.c1.strong`, `[data-scale=log] path.c0.strong`, `[data-scale=log] path.c1.run`
	require.True(t, b.visible(line) && b.visible(other) && b.visible(single))

	b.do(chromedp.Click(chromedp.CSS(`[data-toggle="side-1"]`)))
	require.False(t, b.visible(line) || b.visible(single), "the side is gone")
	require.True(t, b.visible(other), "the other one stays")
	require.Equal(t, "false", eval[string](b, `document.querySelector('[data-toggle="side-1"]').getAttribute("aria-pressed")`))

	b.do(chromedp.Focus(chromedp.CSS(`[data-toggle="side-1"]`)), chromedp.KeyEvent(kb.Enter))
	require.True(t, b.visible(line), "the keyboard brings it back")
	b.do(chromedp.Click(chromedp.CSS(`[data-toggle="runs"]`)))
	require.True(t, b.visible(line))
	require.False(t, b.visible(single))
	b.do(chromedp.Click(chromedp.CSS(`#late-time [data-toggle="kind-p99"]`)))
	require.False(t, b.visible(`[data-scale=log] path.p99`))
	require.True(t, b.visible(`[data-scale=log] path.p50`))
}

func TestBrowserSwitchesThemeAndScale(t *testing.T) {
	b := openPage(t, OfRun(judgedRun(t, 1, 1)))
	background := func() string { return eval[string](b, "getComputedStyle(document.body).backgroundColor") }
	system := func(theme string) {
		_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}},
		})
		require.NoError(t, err)
	}
	system("light")
	light := background()
	system("dark")
	dark := background()
	require.NotEqual(t, light, dark, "the page follows the system")
	b.do(chromedp.Click(chromedp.CSS("#theme")))
	require.Equal(t, light, background(), "until the button is used")
	b.do(chromedp.Reload())
	require.Equal(t, light, background(), "which lasts")
	b.do(chromedp.Click(chromedp.CSS("#theme")))
	require.Equal(t, dark, background())

	require.True(t, b.visible(`#percentiles [data-scale=log]`))
	require.False(t, b.visible(`#percentiles [data-scale=linear]`))
	b.do(chromedp.Click(chromedp.CSS("#scale")))
	require.False(t, b.visible(`#percentiles [data-scale=log]`))
	require.True(t, b.visible(`#percentiles [data-scale=linear]`))
}

func TestBrowserReadsValuesByKeyboardAndPointer(t *testing.T) {
	b := openPage(t, OfRun(judgedRun(t, 1, 1)))
	b.do(chromedp.Focus(chromedp.CSS("#late-time .frame")), chromedp.KeyEvent(kb.ArrowRight+kb.ArrowRight))
	require.Equal(t, "2 s , p50 −200 µs, p99 1.00 ms, max 2.00 ms", eval[string](b, `document.querySelector("#late-time [aria-live]").textContent`))
	require.True(t, b.visible("#late-time .readout"))
	b.do(chromedp.KeyEvent(kb.Escape))
	require.False(t, b.visible("#late-time .readout"))

	b.do(chromedp.ScrollIntoView(chromedp.CSS("#pending .plot")))
	box := eval[[]float64](b, `(r => [r.right, r.top])(document.querySelector("#pending .plot").getBoundingClientRect())`)
	b.do(chromedp.MouseEvent("mouseMoved", box[0]-2, box[1]+20))
	require.Contains(t, eval[string](b, `document.querySelector("#pending .readout").innerText`), "3 s")
}

func TestBrowserShowsHostileNamesAsText(t *testing.T) {
	b := openPage(t, OfRun(hostileRun(t)))
	require.Equal(t, hostile, eval[string](b, `document.getElementById("verdict").textContent`))
	require.Zero(t, eval[int](b, `document.images.length`))
	require.Contains(t, eval[string](b, `document.getElementById("config").textContent`), hostile)
	require.True(t, b.visible(".banner"))
}

// overlaps is JavaScript for the texts that cover each other. What is scrolled out of
// sight covers nothing.
const overlaps = `(() => {
	const texts = [];
	const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
	for (let node; node = walker.nextNode();) {
		const parent = node.parentElement;
		if (!node.data.trim() || !parent.checkVisibility() || parent.closest(".sr, .reader, script")) continue;
		const window = parent.closest(".scroll")?.getBoundingClientRect();
		const range = document.createRange();
		range.selectNodeContents(node);
		for (const r of range.getClientRects()) {
			const box = { text: node.data.trim(), left: r.left, right: r.right, top: r.top, bottom: r.bottom };
			if (window) {
				box.left = Math.max(box.left, window.left); box.right = Math.min(box.right, window.right);
				box.top = Math.max(box.top, window.top); box.bottom = Math.min(box.bottom, window.bottom);
			}
			if (box.right - box.left > 1 && box.bottom - box.top > 1) texts.push(box);
		}
	}
	// Letters leave some of their line free: lines may touch.
	const free = 2;
	return texts.flatMap((a, i) => texts.slice(i + 1)
		.filter((b) => a.left < b.right - free && b.left < a.right - free && a.top < b.bottom - 2 * free && b.top < a.bottom - 2 * free)
		.map((b) => a.text + " covers " + b.text));
})()`

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
					b.do(chromedp.EmulateViewport(width, 900))
					require.LessOrEqual(t, eval[int64](b, "document.documentElement.scrollWidth"), width)
					require.Empty(t, eval[[]string](b, overlaps), "at %d px, %s", width, scale)
				}
				b.do(chromedp.Click(chromedp.CSS("#scale")))
			}
		})
	}
}
