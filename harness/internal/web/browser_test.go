package web_test

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redistest"
)

// browserTimeout bounds one test in a browser, its start included.
const browserTimeout = 2 * time.Minute

// A browser is a page open in a real browser. It fails the test at its end
// if the page logged a problem, threw, or asked for anything but itself.
type browser struct {
	context.Context // of chromedp

	t        *testing.T
	mu       sync.Mutex
	self     string
	problems []string
	expected []string
}

func findChromium() (string, error) {
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("neither chromium nor google-chrome is on PATH")
}

// chromium is one browser that the tests of a package share while any of them has a page open.
var chromium shared

type shared struct {
	mu    sync.Mutex
	users int
	ctx   context.Context
	end   func()
}

// use starts the browser, with a fresh profile, for the first of its users. It ends with the last of them.
func (s *shared) use(t *testing.T, binary string) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		profile := must(os.MkdirTemp("", "chromium-"))
		allocator, release := chromedp.NewExecAllocator(context.Background(),
			chromedp.ExecPath(binary), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
			chromedp.Flag("in-process-gpu", true), chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-sync", true),
			chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
			chromedp.Flag("disable-dev-shm-usage", true), chromedp.WindowSize(1280, 900), chromedp.Env("TMPDIR="+profile))
		ctx, quit := chromedp.NewContext(allocator)
		s.ctx, s.end = ctx, func() { quit(); release(); os.RemoveAll(profile) }
		require.NoError(t, chromedp.Do(ctx))
	}
	s.users++
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.users--; s.users == 0 {
			s.end()
		}
	})
	return s.ctx
}

// open opens the page at url, and whatever is below that.
func open(t *testing.T, url string) *browser {
	t.Helper()
	binary, err := findChromium()
	if err != nil {
		redistest.Missing(t, "chromium", err)
	}

	ctx, cancel := context.WithTimeout(chromium.use(t, binary), browserTimeout)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	b := &browser{t: t, Context: ctx}
	require.NoError(t, chromedp.Listen(ctx, b.listen))
	b.show(url)
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		require.Empty(t, b.problems)
	})
	return b
}

// show opens another page in the same browser.
func (b *browser) show(url string) {
	b.t.Helper()
	b.mu.Lock()
	b.self = url
	b.mu.Unlock()
	b.do(chromedp.Navigate(url))
}

// listen notes what a report must never cause.
func (b *browser) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	problem := ""
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		problem = fmt.Sprintf("console.%s: %v", e.Type, e.Args)
	case *runtime.EventExceptionThrown:
		problem = fmt.Sprintf("exception: %s %v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception)
	case *log.EventEntryAdded:
		problem = fmt.Sprintf("log %s: %s", e.Entry.Level, e.Entry.Text)
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, b.self) && !strings.HasPrefix(e.Request.URL, "data:") {
			problem = "request: " + e.Request.URL
		}
	}
	if problem != "" && !slices.ContainsFunc(b.expected, func(text string) bool { return strings.Contains(problem, text) }) {
		b.problems = append(b.problems, problem)
	}
}

// expect lets pass from now on what contains text, such as what the browser itself logs of a server that is gone.
func (b *browser) expect(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = append(b.expected, text)
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.Context, steps...))
}

func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.Context, chromedp.Evaluate[T](expression))
	require.NoError(b.t, err)
	return value
}

// fits requires that the page fits windows of 400 px in light and of 1280 px in dark, that no text covers another, and that the
// backgrounds differ.
func (b *browser) fits() {
	b.t.Helper()
	backgrounds := map[string]bool{}
	for theme, width := range map[string]int64{"light": 400, "dark": 1280} {
		_, err := chromedp.Call(b.Context, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}},
		})
		require.NoError(b.t, err)
		b.fitsAt(width)
		backgrounds[eval[string](b, "getComputedStyle(document.body).backgroundColor")] = true
	}
	require.Len(b.t, backgrounds, 2)
}

// fitsAt requires that the page fits a window of this width, and that no text covers another.
func (b *browser) fitsAt(width int64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, 900))
	require.LessOrEqual(b.t, eval[int64](b, "document.documentElement.scrollWidth"), width)
	require.Empty(b.t, eval[[]string](b, overlaps), "at %d px", width)
}

func (b *browser) await(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.Context, time.Minute)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Poll[bool](expression, chromedp.WithPollingInterval(20*time.Millisecond)))
	require.NoError(b.t, err, expression)
}

// overlaps is JavaScript for the texts that cover each other. What is scrolled out of sight covers nothing.
//
//go:embed testdata/overlaps.js
var overlaps string
