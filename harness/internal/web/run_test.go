package web_test

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/cli"
	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/web"
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
	line := must(lines.ReadString('\n'))
	url := regexp.MustCompile(`^page at (\S+), metrics at `).FindStringSubmatch(line)
	require.Len(t, url, 2, line)
	copied.Go(func() { _, _ = io.Copy(&w.err, lines) }) // until the command has ended
	w.browser = open(t, url[1])
	return w
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
	b.fitsAt(400)
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
	const texts = `[...document.querySelectorAll("h1, h2, section p, td, .scroll th")].map(e => e.textContent)`
	require.Equal(t, eval[[]string](stored, texts), eval[[]string](b.browser, texts))
	r := must(run.ReadFile(t.Context(), filepath.Join(out, "fast", run.File)))
	require.True(t, r.Interrupted)
	require.Equal(t, r.Counts.Offered, r.Counts.Delivered, "it drained")
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
		require.IsNonDecreasing(t, eval[[]string](b, rows))
		b.do(chromedp.Click(chromedp.CSS("th.sortable")))
		require.IsNonIncreasing(t, eval[[]string](b, rows))
	}
}

// store writes eight runs of each version below a folder, as a series does, by turns; the newest version is three times as late.
func store(t *testing.T, versions ...string) (folder string, runs map[string]*run.Document) {
	t.Helper()
	folder, runs = t.TempDir(), map[string]*run.Document{}
	for i := range 8 {
		for k, version := range versions {
			scale := 1 + float64((i+k)%4)/50
			if k == len(versions)-1 {
				scale *= 3
			}
			r := run.Sample(uint64(i*len(versions)+k), 10_000, scale)
			r.Driver.Version = version
			place := k
			if i%2 == 1 { // there and back
				place = len(versions) - 1 - k
			}
			r.Started = time.Date(2026, 1, 2, i, place, 0, 0, time.UTC)
			r.Labels = map[string]string{"host": "<b>here</b>"}
			r.Judge(nil)
			id := fmt.Sprintf("r/dq-%s/%d", version, i+1)
			write(t, folder, id, r)
			runs[id] = r
		}
	}
	return folder, runs
}

// write stores a run, in place of one that is there.
func write(t *testing.T, folder, id string, r *run.Document) {
	t.Helper()
	in := filepath.Join(folder, filepath.FromSlash(id))
	require.NoError(t, os.RemoveAll(in))
	require.NoError(t, os.MkdirAll(in, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(in, run.File), must(r.Encode()), 0o600))
}

func storedSets(t *testing.T, folder string, names ...string) (sets []compare.Set) {
	t.Helper()
	for _, name := range names {
		all := must(compare.Read(t.Context(), filepath.Join(folder, "r", name)))
		sets = append(sets, compare.Set{Name: name, Runs: all})
	}
	return sets
}

func compared(t *testing.T, sets ...compare.Set) *compare.Comparison {
	t.Helper()
	return must(compare.Sets(t.Context(), sets, compare.Options{}))
}

func serveStored(t *testing.T, folder string) *web.Server {
	t.Helper()
	return serve(t, must(web.NewStored(folder)), nil)
}

// By clicks: the list is filtered and sorted, a run is opened, two sets are compared.
func TestBrowserOpensComparesAndFindsStoredRuns(t *testing.T) {
	t.Parallel()
	folder, runs := store(t, "3.9.1", "3.16.6", "4.7.0")
	b := open(t, serveStored(t, folder).URL())
	follow := func(mark string, steps ...chromedp.Action[chromedp.Void]) {
		b.do(steps...)
		b.do(chromedp.WaitVisible(chromedp.CSS(mark)))
	}
	require.Equal(t, "24 runs in "+folder, eval[string](b, verdict))
	require.Zero(t, eval[int](b, `document.querySelectorAll("td b").length`), "labels are text")
	b.fits()
	background := `getComputedStyle(document.body).backgroundColor`
	light := eval[string](b, background)
	b.do(chromedp.Click(chromedp.CSS("#theme")))
	dark := eval[string](b, background)
	require.NotEqual(t, light, dark)
	b.do(chromedp.Reload())
	require.Equal(t, dark, eval[string](b, background), "the theme lasts")

	const visible = `[...document.querySelectorAll("#stored tbody tr")].filter((r) => !r.hidden).length`
	b.do(chromedp.SendKeys(chromedp.CSS("#stored input.filter"), "4.7.0 dq\r"))
	require.Equal(t, 8, eval[int](b, visible))
	const p99 = `[...document.querySelectorAll("#stored tbody tr:not([hidden])")].map((r) => Number(r.cells[9].dataset.raw))`
	b.do(chromedp.Click(chromedp.CSS("#stored th:nth-child(10)")))
	require.IsNonDecreasing(t, eval[[]float64](b, p99))

	const one = "r/dq-4.7.0/3"
	follow("#configuration", chromedp.Click(chromedp.CSS(`a[href$="dq-4.7.0%2F3"]`)))
	require.Equal(t, runs[one].Verdict.Text, eval[string](b, verdict))

	follow("#stored", chromedp.Click(chromedp.CSS(".brand a")))
	b.do(chromedp.Click(chromedp.CSS(`[value="r%2Fdq-4.7.0"]`)), chromedp.Focus(chromedp.CSS(`[value="r%2Fdq-3.16.6"]`)), chromedp.KeyEvent(" "))
	follow("#compared", chromedp.Click(chromedp.CSS(".choose button")))
	c := compared(t, storedSets(t, folder, "dq-3.16.6", "dq-4.7.0")...)
	require.Equal(t, compare.Worse, c.Outcome)
	require.Equal(t, c.Text, eval[string](b, verdict))
	require.Equal(t, "WORSE", eval[string](b, `document.getElementById("tag").innerText`))
}

// A folder can be chosen whatever its name: a browser sends each line end of a form as CR LF.
func TestBrowserChoosesFoldersOfAnyName(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	names := []string{"a\nb", "c\r\nd", "e\rf", `"><b>&é`, "plain\n/1"}
	for i, name := range names {
		r := run.Sample(uint64(i), 10_000, 1)
		r.Judge(nil)
		write(t, folder, name, r)
	}
	b := open(t, serveStored(t, folder).URL())
	for i := range names {
		b.do(chromedp.Click(chromedp.CSS(fmt.Sprintf("#stored tbody tr:nth-of-type(%d) [type=checkbox]", i+1))))
	}
	b.do(chromedp.Click(chromedp.CSS(".choose button")), chromedp.WaitVisible(chromedp.CSS("#compared")))
	require.Equal(t, len(names), eval[int](b, `document.querySelectorAll("#levels tbody tr").length`))
}

func get(t *testing.T, s *web.Server, page string, query url.Values) (int, string) {
	t.Helper()
	return request(t, http.MethodGet, s.URL()+page+"?"+query.Encode(), nil)
}

// What cannot be shown is said. An interrupted run is left out of a comparison, and named.
func TestWhatCannotBeShownIsSaid(t *testing.T) {
	folder, runs := store(t, "1", "2")
	r := runs["r/dq-2/3"]
	r.Interrupted, r.Counts.Lost = true, 5
	r.Counts.Offered += 5
	r.Judge(nil)
	write(t, folder, "r/dq-2/3", r)
	secret := filepath.Join(t.TempDir(), run.File)
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	s := serveStored(t, folder)
	for name, row := range map[string]struct {
		page, query string
		status      int
		want        string
	}{
		"no run":            {"run", "", http.StatusBadRequest, "expected the id of one run"},
		"no such run":       {"run", "id=r/dq-9", http.StatusNotFound, "there is no run below it"},
		"two runs":          {"run", "id=r/dq-1", http.StatusBadRequest, "expected the id of one run"},
		"out of the folder": {"run", "id=../" + filepath.Base(filepath.Dir(secret)), http.StatusNotFound, "there is no run below it"},
		"an absolute path":  {"run", "id=" + filepath.Dir(secret), http.StatusNotFound, "there is no run below it"},
		"one set":           {"compare", "id=r/dq-1", http.StatusBadRequest, "expected two sets of runs or more"},
		"by nothing":        {"compare", "id=r&by=x", http.StatusBadRequest, "expected version, commit, server or label:KEY"},
		"by version":        {"compare", "id=r&by=version", http.StatusOK, "NEW is worse: lateness"},
		"the oldest is BASE, and no run counts twice": {"compare", "id=r/dq-2&id=r/dq-1/2&id=r/dq-1", http.StatusOK, "NEW is worse: "},
		"interrupted":         {"compare", "id=r/dq-2&id=r/dq-1", http.StatusOK, "it was interrupted, with 5 lost."},
		"interrupted, listed": {"", "", http.StatusOK, "interrupted, failed"},
		"nothing":             {"compare", "", http.StatusOK, "Nothing is ticked"},
	} {
		status, body := get(t, s, row.page, must(url.ParseQuery(row.query)))
		require.Equal(t, row.status, status, name)
		require.Contains(t, body, row.want, name)
		require.NotContains(t, body, "secret", name)
	}
	_, err := web.NewStored(filepath.Join(folder, "nowhere"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, body := get(t, serveStored(t, t.TempDir()), "", nil)
	require.Contains(t, body, "0 runs in ")
}

// The list is of the folder as it is: runs that come, change, go or cannot be read.
func TestTheListIsOfNow(t *testing.T) {
	folder, runs := store(t, "1")
	s := serveStored(t, folder)
	get(t, s, "", nil) // which remembers all
	first := runs["r/dq-1/1"]
	first.Counts.Duplicate = 77
	first.Judge(nil)
	write(t, folder, "r/dq-1/1", first)
	write(t, folder, "new/run", runs["r/dq-1/2"])
	damaged, leadsOut := filepath.Join(folder, "damaged"), filepath.Join(folder, "r", "dq-1", "8", run.File)
	require.NoError(t, os.Mkdir(damaged, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(damaged, run.File), []byte("{"), 0o600))
	require.NoError(t, cmp.Or(os.Remove(leadsOut), os.Symlink("/etc/passwd", leadsOut)))
	_, body := get(t, s, "", nil)
	require.Contains(t, body, "8 runs in ")
	require.Contains(t, body, `<td class="fault" data-raw="77">77</td>`)
	require.NotContains(t, body, "root:")
	require.Contains(t, body, "<b>Not readable.</b>")
	status, body := get(t, s, "compare", url.Values{"id": {"r", "damaged"}})
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, body, "no whole JSON object")
}
