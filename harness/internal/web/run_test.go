package web_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/cli"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// watched is 'dq-bench run' with a page that a browser has open.
type watched struct {
	*browser
	ended chan int // exit code
	err   strings.Builder
}

// watch begins one with a folder for its runs. It must be stopped from its page.
func watch(t *testing.T, out string, args ...string) *watched {
	t.Helper()
	told, stderr := io.Pipe()
	w := &watched{ended: make(chan int, 1)}
	var copied sync.WaitGroup
	go func() {
		code := cli.Execute(append([]string{"run", "--progress", "none", "--listen", ":0", "--out", out}, args...), nil, io.Discard, stderr)
		stderr.Close()
		copied.Wait()
		w.ended <- code
	}()
	lines := bufio.NewReader(told)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	url := regexp.MustCompile(`^page at (\S+), metrics at `).FindStringSubmatch(line)
	require.Len(t, url, 2, line)
	copied.Go(func() { _, _ = io.Copy(&w.err, lines) }) // until the command has ended
	w.browser = open(t, url[1])
	return w
}

// deliveredBy is JavaScript for what a side has delivered.
func deliveredBy(side int) string {
	return fmt.Sprintf(`document.querySelectorAll("#counts tbody tr")[%d]?.cells[[...document.querySelectorAll("#counts th")].findIndex((h) => h.innerText === "delivered")].innerText`, side)
}

// A run that is watched and stopped in the browser drains, is stored, and says there what
// the stored page and the run file say.
func TestRunIsStoppedFromThePage(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	b := watch(t, out, "--driver", "memory", "--rate", "500/s", "--duration", "10m", "--delay", "20ms", "--warmup", "0s",
		"--slo", "delivered==offered", "--label", "host=here")
	b.await(`document.getElementById("tag").textContent === "running" && Number(` + deliveredBy(0) + `) > 0`)
	b.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("stop").click()`))
	b.await(`document.getElementById("objectives") !== null && document.getElementById("verdict").innerText.startsWith("Interrupted")`)
	<-b.ended // its verdict is the machine's

	r, err := run.ReadFile(filepath.Join(out, run.File))
	require.NoError(t, err)
	require.True(t, r.Interrupted)
	require.Equal(t, r.Counts.Offered, r.Counts.Delivered)
	require.Equal(t, r.Verdict.Text, eval[string](b.browser, verdict))
	require.Equal(t, strconv.FormatInt(r.Counts.Delivered, 10), eval[string](b.browser, deliveredBy(0)))
	const texts = `[...document.querySelectorAll("h1, h2, section p, td, .scroll th")].map(e => e.textContent)`
	stored := open(t, "file://"+filepath.Join(out, report.File))
	require.Equal(t, eval[[]string](stored, texts), eval[[]string](b.browser, texts))
}

// Of several variants the page says which one runs and how the others stand, and in the end what stderr and the stored
// page of all say; those that never ran are named.
func TestVariantsAreWatched(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	out, file := filepath.Join(folder, "out"), filepath.Join(folder, "three.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`about: Three.
driver: memory
rate: 200/s
delay: 20ms
warmup: 0s
variants:
  - {name: slow, about: misses, duration: 200ms, slo: ["lateness.p50<=1ns"]}
  - {name: fast, about: lasts, duration: 10m}
  - {name: last, about: waits, duration: 10m}
`), 0o600))
	b := watch(t, out, "-f", file)
	const rows = `[...document.querySelectorAll("#cases tbody tr")].map(e => e.cells[0].innerText + " " + e.cells[1].innerText)`
	b.await(verdict + `.startsWith("Variant 2 of 3: fast. Running: ")`)
	require.Equal(t, []string{"slow failed", "fast running", "last to come"}, eval[[]string](b.browser, rows))
	b.do(chromedp.EmulateViewport(400, 900))
	require.LessOrEqual(t, eval[int](b.browser, "document.documentElement.scrollWidth"), 400)
	require.Empty(t, eval[[]string](b.browser, overlaps))
	b.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("stop").click()`))
	require.Equal(t, 99, <-b.ended)
	b.await(verdict + `.startsWith("1 of 3 variants failed: slow. 1 of 3 variants interrupted: fast. 1 of 3 variants never ran: last. slow: Failed: ")`)
	stored := open(t, "file://"+filepath.Join(out, report.File))
	for _, seen := range []*browser{b.browser, stored} {
		require.Contains(t, b.err.String(), eval[string](seen, verdict))
		require.Equal(t, "INTERRUPTED, FAILED", eval[string](seen, `document.getElementById("tag").innerText`))
		require.Equal(t, []string{"slow failed", "fast interrupted", "last never ran"}, eval[[]string](seen, rows))
		require.Equal(t, []string{"slow", "fast"}, eval[[]string](seen, `[...document.querySelectorAll("#counts tbody td:first-child")].map(e => e.innerText)`))
	}
}

// Of runs at the same time the page shows each, and stops all.
func TestSidesAreWatchedBesideEachOther(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	b := watch(t, out, "--beside", "--redis", "embedded", "--driver", "dq", "--driver", "dq:3.16.6",
		"--rate", "100/s", "--duration", "10m", "--delay", "20ms", "--warmup", "0s", "--producers", "2", "--consumers", "1")
	b.await(`document.getElementById("tag").textContent === "running" && Number(` + deliveredBy(0) + `) > 0 && Number(` + deliveredBy(1) + `) > 0`)
	require.Regexp(t, `^Run 1 of 1\. dq:4\.7\.0: Running: \d+ of 60000 messages offered, .* dq:3\.16\.6: Running: \d+ of 60000 messages offered`,
		eval[string](b.browser, verdict))
	require.Equal(t, []string{"dq:4.7.0", "dq:3.16.6"}, eval[[]string](b.browser, `[...document.querySelectorAll("#counts tbody td:first-child")].map(e => e.innerText)`))
	b.do(chromedp.EmulateViewport(400, 900))
	require.LessOrEqual(t, eval[int](b.browser, "document.documentElement.scrollWidth"), 400)
	require.Empty(t, eval[[]string](b.browser, overlaps))
	b.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("stop").click()`))
	<-b.ended // its verdict is the machine's
	for side, folder := range []string{"dq", "dq-3.16.6"} {
		r, err := run.ReadFile(filepath.Join(out, folder, "1", run.File))
		require.NoError(t, err)
		require.True(t, r.Interrupted)
		b.await(fmt.Sprintf("%s === %q", deliveredBy(side), strconv.FormatInt(r.Counts.Delivered, 10)))
	}
}

// The pages of verify and analyze are drawn and sorted, and fit, as pages of runs do.
func TestBrowserShowsVerifyAndAnalyze(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), report.File)
	var b *browser
	for _, args := range [][]string{
		{"verify", "--driver", "dq", "--redis", "process", "--run", "^DQ.(names|copy)/"},
		{"analyze", "recorded:4.7.0"},
	} {
		if _, err := exec.LookPath("redis-server"); err != nil && args[0] == "verify" {
			redistest.Missing(t, "redis", err)
		}
		var stderr strings.Builder
		require.Contains(t, []int{0, 99}, cli.Execute(append(args, "--report", file), nil, io.Discard, &stderr), stderr.String())
		if b == nil {
			b = open(t, "file://"+file)
		} else {
			b.show("file://" + file)
		}
		require.NotEmpty(t, eval[string](b, verdict))
		b.fits()
		const rows = `[...document.querySelector("th.sortable").closest("table").tBodies[0].rows].map((row) => row.cells[0].innerText)`
		b.do(chromedp.Click(chromedp.CSS("th.sortable")))
		up := eval[[]string](b, rows)
		require.IsNonDecreasing(t, up)
		b.do(chromedp.Click(chromedp.CSS("th.sortable")))
		require.IsNonIncreasing(t, eval[[]string](b, rows))
	}
}
