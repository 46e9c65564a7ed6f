package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/harness/internal/report/pagetest"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// watched is 'dq-bench run' with a page that a browser has open.
type watched struct {
	*pagetest.Browser
	ended chan error
}

// watch begins one with a folder for its runs.
func watch(t *testing.T, out string, args ...string) *watched {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	told, stderr := io.Pipe()
	cmd := newRootCmd()
	cmd.SetArgs(append([]string{"run", "--progress", "none", "--listen", ":0", "--out", out}, args...))
	cmd.SetOut(io.Discard)
	cmd.SetErr(stderr)
	w := &watched{ended: make(chan error, 1)}
	go func() {
		w.ended <- cmd.ExecuteContext(ctx)
		stderr.Close()
	}()
	lines := bufio.NewReader(told)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	url := regexp.MustCompile(`^page at (\S+), metrics at `).FindStringSubmatch(line)
	require.Len(t, url, 2, line)
	go func() { _, _ = io.Copy(io.Discard, lines) }() // until the command has ended
	w.Browser = pagetest.Open(t, url[1])
	return w
}

// await waits for a JavaScript expression to come true.
func (w *watched) await(t *testing.T, expression string) {
	t.Helper()
	waiting, cancel := context.WithTimeout(w.Context, time.Minute)
	defer cancel()
	_, err := chromedp.Run(waiting, chromedp.Poll[bool](expression))
	require.NoError(t, err, expression)
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
	b.await(t, `document.getElementById("tag").textContent === "running" && Number(`+deliveredBy(0)+`) > 0`)
	b.Do(chromedp.Evaluate[chromedp.Void](`document.getElementById("stop").click()`))
	b.await(t, `document.getElementById("objectives") !== null && document.getElementById("verdict").innerText.startsWith("Interrupted")`)
	<-b.ended // its verdict is the machine's

	r, err := run.ReadFile(filepath.Join(out, run.File))
	require.NoError(t, err)
	require.True(t, r.Interrupted)
	require.Equal(t, r.Counts.Offered, r.Counts.Delivered)
	require.Equal(t, r.Verdict.Text, pagetest.Eval[string](b.Browser, `document.getElementById("verdict").innerText`))
	require.Equal(t, strconv.FormatInt(r.Counts.Delivered, 10), pagetest.Eval[string](b.Browser, deliveredBy(0)))
	const texts = `[...document.querySelectorAll("h1, h2, section p, td, .scroll th")].map(e => e.textContent)`
	stored := pagetest.Open(t, "file://"+filepath.Join(out, report.File))
	require.Equal(t, pagetest.Eval[[]string](stored, texts), pagetest.Eval[[]string](b.Browser, texts))
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
	const verdict = `document.getElementById("verdict").innerText`
	b.await(t, verdict+`.startsWith("Variant 2 of 3: fast. Running: ")`)
	require.Equal(t, []string{"slow failed", "fast running", "last to come"}, pagetest.Eval[[]string](b.Browser, rows))
	b.Do(chromedp.EmulateViewport(400, 900))
	require.LessOrEqual(t, pagetest.Eval[int](b.Browser, "document.documentElement.scrollWidth"), 400)
	require.Empty(t, pagetest.Eval[[]string](b.Browser, pagetest.Overlaps))
	b.Do(chromedp.Evaluate[chromedp.Void](`document.getElementById("stop").click()`))
	err := <-b.ended
	var failed *exitError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, exitFailed, failed.code)
	b.await(t, verdict+`.startsWith("1 of 3 variants failed: slow. 1 of 3 variants interrupted: fast. 1 of 3 variants never ran: last. slow: Failed: ")`)
	stored := pagetest.Open(t, "file://"+filepath.Join(out, report.File))
	for _, seen := range []*pagetest.Browser{b.Browser, stored} {
		require.Equal(t, err.Error(), pagetest.Eval[string](seen, verdict))
		require.Equal(t, "INTERRUPTED, FAILED", pagetest.Eval[string](seen, `document.getElementById("tag").innerText`))
		require.Equal(t, []string{"slow failed", "fast interrupted", "last never ran"}, pagetest.Eval[[]string](seen, rows))
		require.Equal(t, []string{"slow", "fast"}, pagetest.Eval[[]string](seen, `[...document.querySelectorAll("#counts tbody td:first-child")].map(e => e.innerText)`))
	}
}

// Of runs at the same time the page shows each, and stops all.
func TestSidesAreWatchedBesideEachOther(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	b := watch(t, out, "--beside", "--redis", "embedded", "--driver", "dq", "--driver", "dq:3.16.6",
		"--rate", "100/s", "--duration", "10m", "--delay", "20ms", "--warmup", "0s", "--producers", "2", "--consumers", "1")
	b.await(t, `document.getElementById("tag").textContent === "running" && Number(`+deliveredBy(0)+`) > 0 && Number(`+deliveredBy(1)+`) > 0`)
	require.Regexp(t, `^Run 1 of 1\. dq:4\.7\.0: Running: \d+ of 60000 messages offered, .* dq:3\.16\.6: Running: \d+ of 60000 messages offered`,
		pagetest.Eval[string](b.Browser, `document.getElementById("verdict").innerText`))
	require.Equal(t, []string{"dq:4.7.0", "dq:3.16.6"}, pagetest.Eval[[]string](b.Browser, `[...document.querySelectorAll("#counts tbody td:first-child")].map(e => e.innerText)`))
	b.Do(chromedp.EmulateViewport(400, 900))
	require.LessOrEqual(t, pagetest.Eval[int](b.Browser, "document.documentElement.scrollWidth"), 400)
	require.Empty(t, pagetest.Eval[[]string](b.Browser, pagetest.Overlaps))
	b.Do(chromedp.Evaluate[chromedp.Void](`document.getElementById("stop").click()`))
	<-b.ended // its verdict is the machine's
	for side, folder := range []string{"dq", "dq-3.16.6"} {
		r, err := run.ReadFile(filepath.Join(out, folder, "1", run.File))
		require.NoError(t, err)
		require.True(t, r.Interrupted)
		b.await(t, fmt.Sprintf("%s === %q", deliveredBy(side), strconv.FormatInt(r.Counts.Delivered, 10)))
	}
}

// The pages of verify and analyze are drawn and sorted, and fit, as pages of runs do.
func TestBrowserShowsVerifyAndAnalyze(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), report.File)
	var b *pagetest.Browser
	for _, args := range [][]string{
		{"verify", "--driver", "dq", "--redis", "process", "--run", "^DQ.(names|copy)/"},
		{"analyze", "recorded:4.7.0"},
	} {
		if _, err := exec.LookPath("redis-server"); err != nil && args[0] == "verify" {
			redistest.Missing(t, "redis", err)
		}
		var stderr strings.Builder
		require.Contains(t, []int{exitOK, exitFailed}, Execute(append(args, "--report", file), nil, io.Discard, &stderr), stderr.String())
		if b == nil {
			b = pagetest.Open(t, "file://"+file)
		} else {
			b.Show("file://" + file)
		}
		require.NotEmpty(t, pagetest.Eval[string](b, `document.getElementById("verdict").innerText`))
		b.Fits()
		const rows = `[...document.querySelector("th.sortable").closest("table").tBodies[0].rows].map((row) => row.cells[0].innerText)`
		b.Do(chromedp.Click(chromedp.CSS("th.sortable")))
		up := pagetest.Eval[[]string](b, rows)
		require.IsNonDecreasing(t, up)
		b.Do(chromedp.Click(chromedp.CSS("th.sortable")))
		require.IsNonIncreasing(t, pagetest.Eval[[]string](b, rows))
	}
}
