package main

import (
	"bufio"
	"context"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/page"
	"github.com/dq-bench/dq-bench/harness/page/pagetest"
	"github.com/dq-bench/dq-bench/harness/run"
)

// A run that is watched and stopped in the browser drains, is stored, and says there what
// the stored page and the run file say.
func TestRunIsStoppedFromThePage(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	told, stderr := io.Pipe()
	cmd := newRootCmd()
	cmd.SetArgs([]string{"run", "--driver", "memory", "--rate", "500/s", "--duration", "10m", "--delay", "20ms", "--warmup", "0s",
		"--slo", "delivered==offered", "--label", "host=here", "--progress", "none", "--web", ":0", "--out", out})
	cmd.SetOut(io.Discard)
	cmd.SetErr(stderr)
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.ExecuteContext(ctx)
		stderr.Close()
	}()
	lines := bufio.NewReader(told)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	url := regexp.MustCompile(`^page at (\S+)\n$`).FindStringSubmatch(line)
	require.Len(t, url, 2, line)
	go func() { _, _ = io.Copy(io.Discard, lines) }() // until the command has ended

	b := pagetest.Open(t, url[1])
	await := func(expression string) {
		t.Helper()
		waiting, cancel := context.WithTimeout(b.Context, time.Minute)
		defer cancel()
		_, err := chromedp.Run(waiting, chromedp.Poll[bool](expression))
		require.NoError(t, err, expression)
	}
	const delivered = `document.querySelector('[data-figure="side-0.counts.delivered"]').dataset.value`
	await(`document.querySelector(".state").textContent === "running" && Number(` + delivered + `) > 0`)
	b.Do(chromedp.Click(chromedp.CSS("#stop")))
	await(`document.getElementById("objectives") !== null`)
	<-ended // its verdict is the machine's

	r, err := run.ReadFile(filepath.Join(out, run.File))
	require.NoError(t, err)
	require.True(t, r.Interrupted)
	require.Equal(t, r.Counts.Offered, r.Counts.Delivered)
	require.Equal(t, r.Verdict.Text, pagetest.Eval[string](b, `document.getElementById("verdict").innerText`))
	require.Equal(t, strconv.FormatInt(r.Counts.Delivered, 10), pagetest.Eval[string](b, delivered))
	const texts = `[...document.querySelectorAll("h1, h2, p:not(.sr, .readout p), td, th")].map(e => e.textContent)`
	stored := pagetest.Open(t, "file://"+filepath.Join(out, page.File))
	require.Equal(t, pagetest.Eval[[]string](stored, texts), pagetest.Eval[[]string](b, texts))
}
