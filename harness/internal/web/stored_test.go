package web

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/page/pagetest"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/run/runtest"
)

// store writes eight runs of each version below a folder, as a series does, by turns; the
// newest version is three times as late.
func store(t *testing.T, versions ...string) (folder string, runs map[string]*run.Document) {
	t.Helper()
	folder, runs = t.TempDir(), map[string]*run.Document{}
	for i := range 8 {
		for k, version := range versions {
			scale := 1 + float64((i+k)%4)/50
			if k == len(versions)-1 {
				scale *= 3
			}
			r := runtest.Sample(uint64(i*len(versions)+k), 10_000, scale)
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
	require.NoError(t, run.WriteFolder(in, r, nil))
}

func serveStored(t *testing.T, folder string) *Server {
	t.Helper()
	stored, err := NewStored(folder)
	require.NoError(t, err)
	s, err := Serve(t.Context(), "127.0.0.1:0", stored, nil, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

const (
	verdict = `document.getElementById("verdict").innerText`
	figures = `Object.fromEntries([...document.querySelectorAll("[data-figure]")].map(e => [e.dataset.figure, e.dataset.value]))`
)

// By clicks: a run, and two sets beside each other, with the
// numbers of the run files.
func TestBrowserOpensComparesAndFindsStoredRuns(t *testing.T) {
	t.Parallel()
	folder, runs := store(t, "3.9.1", "3.16.6", "4.7.0")
	s := serveStored(t, folder)
	b := pagetest.Open(t, s.URL())
	read := func(id string) *run.Document {
		r, err := run.ReadFile(filepath.Join(folder, filepath.FromSlash(id), run.File))
		require.NoError(t, err)
		return r
	}
	// follow does the steps and waits for what only the page that they lead to has.
	follow := func(mark string, steps ...chromedp.Action[chromedp.Void]) {
		b.Do(steps...)
		b.Do(chromedp.WaitVisible(chromedp.CSS(mark)))
	}
	home := func() { follow(".stored", chromedp.Click(chromedp.CSS(".brand a"))) }

	require.Equal(t, "24 runs in 3 sets", pagetest.Eval[string](b, `document.querySelector("h1").innerText`))
	listed := pagetest.Eval[map[string]string](b, figures)
	for id := range runs {
		name, late := read(id).Late()
		require.Equal(t, "lateness", name)
		require.Equal(t, strconv.FormatInt(late.Quantile(.99), 10), listed[id+".p99"])
	}
	require.Zero(t, pagetest.Eval[int](b, `document.querySelectorAll("td b").length`), "labels are text")
	for _, width := range []int64{1280, 400} {
		b.Do(chromedp.EmulateViewport(width, 900))
		require.LessOrEqual(t, pagetest.Eval[int64](b, "document.documentElement.scrollWidth"), width)
		require.Empty(t, pagetest.Eval[[]string](b, pagetest.Overlaps), "at %d px", width)
	}
	background := `getComputedStyle(document.body).backgroundColor`
	light := pagetest.Eval[string](b, background)
	b.Do(chromedp.Click(chromedp.CSS("#theme")))
	dark := pagetest.Eval[string](b, background)
	require.NotEqual(t, light, dark)

	const one = "r/dq-4.7.0/3"
	follow("#config", chromedp.Click(chromedp.CSS(`a[href="run?id=r%2fdq-4.7.0%2f3"]`)))
	require.Equal(t, dark, pagetest.Eval[string](b, background), "the theme goes along")
	r := read(one)
	require.Equal(t, r.Verdict.Text, pagetest.Eval[string](b, verdict))
	require.Equal(t, strconv.FormatInt(r.Histograms.Lateness.Quantile(.999), 10), pagetest.Eval[map[string]string](b, figures)["side-0.lateness.p99.9"])

	home()
	b.Do(chromedp.Click(chromedp.CSS(`[value="r/dq-4.7.0"]`)), chromedp.Focus(chromedp.CSS(`[value="r/dq-3.16.6"]`)), chromedp.KeyEvent(" "))
	follow(".compared", chromedp.Click(chromedp.CSS("#compare")))
	old, err := compare.ReadSide(filepath.Join(folder, "r", "dq-3.16.6"))
	require.NoError(t, err)
	newer, err := compare.ReadSide(filepath.Join(folder, "r", "dq-4.7.0"))
	require.NoError(t, err)
	c, err := compare.Runs(old, newer, compare.DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, compare.Worse, c.Outcome)
	require.Equal(t, c.Text, pagetest.Eval[string](b, verdict))
	require.Equal(t, []string{"OLD dq:3.16.6, 8 runs", "NEW dq:4.7.0, 8 runs"},
		pagetest.Eval[[]string](b, `[...document.querySelectorAll(".series")].map(e => e.innerText)`))
	turned, err := compare.Runs(newer, old, compare.DefaultOptions())
	require.NoError(t, err)
	follow(`#swap:not([href*="swap=1"])`, chromedp.Click(chromedp.CSS("#swap")))
	require.Equal(t, turned.Text, pagetest.Eval[string](b, verdict))
	follow(`#swap[href*="swap=1"]`, chromedp.Click(chromedp.CSS("#swap")))
	require.Equal(t, c.Text, pagetest.Eval[string](b, verdict))

}

// Sides that were measured one after the other are judged with a warning by the verdict.
func TestBrowserShowsTheWarningsOfAComparison(t *testing.T) {
	t.Parallel()
	folder, runs := store(t, "1", "2")
	for id, r := range runs {
		if r.Driver.Version == "2" {
			r.Started = r.Started.AddDate(0, 0, 1)
			write(t, folder, id, r)
		}
	}
	b := pagetest.Open(t, serveStored(t, folder).URL()+"compare?id=r/dq-1&id=r/dq-2")
	require.Contains(t, pagetest.Eval[string](b, verdict), "NEW is worse")
	require.Contains(t, pagetest.Eval[string](b, `document.querySelector("header + .banner").innerText`), "Warning. the sides were not measured in turn")
	b.Do(chromedp.EmulateViewport(400, 900))
	require.LessOrEqual(t, pagetest.Eval[int64](b, "document.documentElement.scrollWidth"), int64(400))
}

// A folder can be chosen whatever its name: a browser sends line ends as others than they are.
func TestBrowserChoosesFoldersOfAnyName(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	names := []string{"a\nb", "c\r\nd", "e\rf", `"><b>&é`, "plain\n/1"}
	for i, name := range names {
		r := runtest.Sample(uint64(i), 10_000, 1)
		r.Judge(nil)
		write(t, folder, name, r)
	}
	s := serveStored(t, folder)
	b := pagetest.Open(t, s.URL())
	for i := range names {
		b.Do(chromedp.Click(chromedp.CSS(fmt.Sprintf("section:nth-of-type(%d) [type=checkbox]", i+1))))
	}
	b.Do(chromedp.Click(chromedp.CSS("#compare")), chromedp.WaitVisible(chromedp.CSS(".compared")))
	require.Equal(t, len(names), pagetest.Eval[int](b, `document.querySelectorAll(".series").length`))
}

func get(t *testing.T, s *Server, page string, query url.Values) (int, string) {
	t.Helper()
	return request(t, http.MethodGet, s.URL()+page+"?"+query.Encode(), nil)
}

func TestWhatCannotBeShownIsSaid(t *testing.T) {
	folder, _ := store(t, "1", "2")
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
		"one side":          {"compare", "id=r/dq-1", http.StatusBadRequest, "expected 2 to 8 sides, got 1"},
	} {
		query, err := url.ParseQuery(row.query)
		require.NoError(t, err)
		status, body := get(t, s, row.page, query)
		require.Equal(t, row.status, status, name)
		require.Contains(t, body, row.want, name)
		require.NotContains(t, body, "secret", name)
	}
	_, err := NewStored(filepath.Join(folder, "nowhere"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// The list is that of the folder as it is: runs that come, change, go or cannot be read.
func TestTheListIsOfNow(t *testing.T) {
	folder, runs := store(t, "1")
	s := serveStored(t, folder)
	_, body := get(t, s, "", nil)
	require.Contains(t, body, "8 runs in 1 set<")
	first := runs["r/dq-1/1"]
	first.Counts.Duplicate = 77
	write(t, folder, "r/dq-1/1", first)
	write(t, folder, "new/run", runs["r/dq-1/2"])
	damaged := filepath.Join(folder, "damaged")
	require.NoError(t, os.Mkdir(damaged, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(damaged, run.File), []byte("{"), 0o600))
	require.NoError(t, os.RemoveAll(filepath.Join(folder, "r", "dq-1", "8")))
	_, body = get(t, s, "", nil)
	require.Contains(t, body, "8 runs in 2 sets")
	require.Contains(t, body, `data-figure="r/dq-1/1.wrong" data-value="77"`)
	require.Contains(t, body, "Not readable")
	require.Contains(t, body, "no JSON object")
}

// many writes runs of ten messages, a minute after each other.
func many(t *testing.T, n int) (folder string) {
	t.Helper()
	folder = t.TempDir()
	r := runtest.Sample(1, 10, 1)
	for i := range n {
		r.RunID, r.Driver.Version, r.Started = fmt.Sprintf("%08x", i), fmt.Sprintf("1.%d", i), time.Date(2026, 1, 1, 0, i, 0, 0, time.UTC)
		text, err := r.Encode()
		require.NoError(t, err)
		in := filepath.Join(folder, fmt.Sprintf("run-%03d", i))
		require.NoError(t, os.Mkdir(in, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(in, run.File), text, 0o600))
	}
	return folder
}

// Many runs come page by page, the newest first.
func TestTheListComesPageByPage(t *testing.T) {
	folder := many(t, pageRuns+3)
	require.NoError(t, os.Truncate(filepath.Join(folder, "run-001", run.File), 1000))
	require.NoError(t, os.Symlink("run-002", filepath.Join(folder, "latest")))
	s := serveStored(t, folder)
	_, first := get(t, s, "", nil)
	require.Contains(t, first, "202 runs in 202 sets")
	require.Contains(t, first, "page 1 of 2")
	require.Equal(t, pageRuns, strings.Count(first, `<a href="run?id=`))
	require.Equal(t, pageRuns, strings.Count(first, `name="id"`), "a set that is one run is marked once")
	require.Contains(t, first, `<a rel="next" href="./?page=2">`)
	require.NotContains(t, first, `rel="prev"`)
	require.Contains(t, first, "Not readable")
	_, second := get(t, s, "", url.Values{"page": {"2"}})
	require.Equal(t, 2, strings.Count(second, `<a href="run?id=`))
	require.Contains(t, second, `<a rel="prev" href="./?page=1">`)
	require.Contains(t, second, "run-002")
	status, body := get(t, s, "", url.Values{"page": {"0"}})
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, body, "expected the number of a page")
}

// Of a set with more runs than fit the newest are shown.
func TestALongSetIsCutShort(t *testing.T) {
	folder := many(t, 5)
	require.NoError(t, os.Mkdir(filepath.Join(folder, "set"), 0o755))
	r := runtest.Sample(1, 10, 1)
	text, err := r.Encode()
	require.NoError(t, err)
	for i := range pageRuns + 1 {
		in := filepath.Join(folder, "set", strconv.Itoa(i))
		require.NoError(t, os.Mkdir(in, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(in, run.File), text, 0o600))
	}
	_, body := get(t, serveStored(t, folder), "", nil)
	require.Contains(t, body, "206 runs in 6 sets")
	require.Contains(t, body, "201 runs, of which the newest 200 are shown")
}

// Who marks nothing is told what to mark, on the list.
func TestNothingIsChosen(t *testing.T) {
	s := serveStored(t, many(t, 2))
	status, body := get(t, s, "compare", nil)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "Nothing is chosen: mark two sets or runs or more")
	require.Contains(t, body, "2 runs in 2 sets")
}

// A run that was interrupted stands apart from those that are compared, and why nothing is concluded where
// there are no others is the true reason.
func TestAnInterruptedRunBesideAnother(t *testing.T) {
	folder, runs := store(t, "1", "2")
	r := runs["r/dq-2/3"]
	r.Interrupted, r.Counts.Lost = true, 5
	r.Counts.Offered += 5
	r.Judge(nil)
	write(t, folder, "r/dq-2/3", r)
	s := serveStored(t, folder)
	status, body := get(t, s, "compare", url.Values{"id": {"r/dq-1", "r/dq-2"}})
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "NEW is worse in")
	require.Contains(t, body, "left out 1 of 8 runs of NEW, as interrupted, with 5 lost")
	require.Contains(t, body, `</i>NEW dq:2, 7 runs</button>`)
	require.Contains(t, body, `<span class="pill">interrupted, failed, not compared</span>`)
	require.Contains(t, body, `data-figure="side-1.counts.lost" data-value="0"`)
	status, body = get(t, s, "compare", url.Values{"id": {"r/dq-1", "r/dq-2/3"}})
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "Not judged: not every run can be judged (run "+r.RunID+" of dq:2 of 2026-01-02T02:01:00Z: it was interrupted).")
	require.NotContains(t, body, "different configurations")
	require.Contains(t, body, "interrupted, failed")
	_, body = get(t, s, "", nil)
	require.Contains(t, body, "interrupted, failed")
	_, body = get(t, s, "run", url.Values{"id": {"r/dq-2/3"}})
	require.Contains(t, body, `<p class="state">interrupted, failed</p>`)
}

// Which sides come of what is chosen.
func TestSides(t *testing.T) {
	folder, _ := store(t, "1", "2")
	write(t, folder, "alone", runtest.Sample(99, 1000, 1))
	write(t, folder, "other", runtest.Sample(98, 1000, 1))
	first := runtest.Sample(97, 1000, 1)
	first.Driver.Version = "1"
	write(t, folder, "one/1", first)
	stored, err := NewStored(folder)
	require.NoError(t, err)
	for ids, want := range map[string]string{
		"r/dq-2 r/dq-1":                     "dq:1/8 dq:2/8",
		"r/dq-2 r/dq-2/1 r/dq-2/2 r/dq-1/1": "dq:1/1 dq:2/8",
		"r/dq-1/2 r/dq-1/1":                 "r/dq-1/1/1 r/dq-1/2/1",
		"r/dq-1/1 r/dq-2/2 r/dq-1/3":        "dq:1/2 dq:2/1",
		"r r/dq-1":                          "r/16",
		"alone r/dq-1":                      "dq:1/8 dq:4.7.0/1",
		"alone other r/dq-1":                "r/dq-1/8 other/1 alone/1",
		"alone other":                       "other/1 alone/1",
		"one r/dq-1":                        "r/dq-1/8 one/1",
	} {
		choice, err := stored.choose(t.Context(), strings.Fields(ids))
		require.NoError(t, err)
		var got []string
		for _, side := range sides(choice) {
			got = append(got, fmt.Sprintf("%s/%d", side.Name, len(side.Runs)))
		}
		require.Equal(t, want, strings.Join(got, " "), ids)
	}
}
