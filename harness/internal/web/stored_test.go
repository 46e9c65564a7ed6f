package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/run/runtest"
	"github.com/dq-bench/dq-bench/harness/internal/web"
)

// store writes eight runs of each version below a folder, as a series does, by turns; the newest version is three times as
// late.
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
			r.Driver.Version, r.Scenario.Seed = version, 1
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
	text, err := r.Encode()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(in, run.File), text, 0o600))
}

func serveStored(t *testing.T, folder string) *web.Server {
	t.Helper()
	stored, err := web.NewStored(folder)
	require.NoError(t, err)
	s, err := web.Serve(t.Context(), "127.0.0.1:0", stored, nil, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// By clicks: the list is filtered and sorted, a run is opened, two sets are compared.
func TestBrowserOpensComparesAndFindsStoredRuns(t *testing.T) {
	t.Parallel()
	folder, runs := store(t, "3.9.1", "3.16.6", "4.7.0")
	s := serveStored(t, folder)
	b := open(t, s.URL())
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

	const visible = `[...document.querySelectorAll("#stored tbody tr")].filter((r) => !r.hidden).length`
	b.do(chromedp.SendKeys(chromedp.CSS("#stored input.filter"), "4.7.0 dq\r"))
	require.Equal(t, 8, eval[int](b, visible))
	const p99 = `[...document.querySelectorAll("#stored tbody tr:not([hidden])")].map((r) => Number(r.cells[9].dataset.raw))`
	b.do(chromedp.Click(chromedp.CSS("#stored th:nth-child(10)")))
	require.IsNonDecreasing(t, eval[[]float64](b, p99))

	const one = "r/dq-4.7.0/3"
	follow("#configuration", chromedp.Click(chromedp.CSS(`a[href$="dq-4.7.0%2F3"]`)))
	require.Equal(t, dark, eval[string](b, background), "the theme goes along")
	require.Equal(t, runs[one].Verdict.Text, eval[string](b, verdict))

	follow("#stored", chromedp.Click(chromedp.CSS(".brand a")))
	b.do(chromedp.Click(chromedp.CSS(`[value="r%2Fdq-4.7.0"]`)), chromedp.Focus(chromedp.CSS(`[value="r%2Fdq-3.16.6"]`)), chromedp.KeyEvent(" "))
	follow("#compared", chromedp.Click(chromedp.CSS(".choose button")))
	var sets []compare.Set
	for _, name := range []string{"dq-3.16.6", "dq-4.7.0"} {
		all, err := compare.Read(t.Context(), filepath.Join(folder, "r", name))
		require.NoError(t, err)
		sets = append(sets, compare.Set{Name: name, Runs: all})
	}
	c, err := compare.Sets(t.Context(), sets, compare.Options{})
	require.NoError(t, err)
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
		r := runtest.Sample(uint64(i), 10_000, 1)
		r.Scenario.Seed = 1
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
		"one set":           {"compare", "id=r/dq-1", http.StatusBadRequest, "expected two sets of runs or more"},
		"by nothing":        {"compare", "id=r&by=x", http.StatusBadRequest, "expected version, commit, server or label:KEY"},
		"by version":        {"compare", "id=r&by=version", http.StatusOK, "NEW is worse: lateness"},
		"nothing":           {"compare", "", http.StatusOK, "Nothing is ticked"},
	} {
		query, err := url.ParseQuery(row.query)
		require.NoError(t, err)
		status, body := get(t, s, row.page, query)
		require.Equal(t, row.status, status, name)
		require.Contains(t, body, row.want, name)
		require.NotContains(t, body, "secret", name)
	}
	_, err := web.NewStored(filepath.Join(folder, "nowhere"))
	require.ErrorIs(t, err, os.ErrNotExist)
	empty := serveStored(t, t.TempDir())
	_, body := get(t, empty, "", nil)
	require.Contains(t, body, "0 runs in ")
}

// The list is of the folder as it is: runs that come, change, go or cannot be read.
func TestTheListIsOfNow(t *testing.T) {
	folder, runs := store(t, "1")
	s := serveStored(t, folder)
	_, body := get(t, s, "", nil)
	require.Contains(t, body, "8 runs in ")
	first := runs["r/dq-1/1"]
	first.Counts.Duplicate = 77
	first.Judge(nil)
	write(t, folder, "r/dq-1/1", first)
	write(t, folder, "new/run", runs["r/dq-1/2"])
	damaged := filepath.Join(folder, "damaged")
	require.NoError(t, os.Mkdir(damaged, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(damaged, run.File), []byte("{"), 0o600))
	require.NoError(t, os.RemoveAll(filepath.Join(folder, "r", "dq-1", "8")))
	_, body = get(t, s, "", nil)
	require.Contains(t, body, "8 runs in ")
	require.Contains(t, body, `<td class="fault" data-raw="77">77</td>`)
	require.Contains(t, body, "<b>Not readable.</b>")
	status, body := get(t, s, "compare", url.Values{"id": {"r", "damaged"}})
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, body, "no JSON object")
}

// An interrupted run is left out of a comparison, and named.
func TestAnInterruptedRunIsLeftOut(t *testing.T) {
	folder, runs := store(t, "1", "2")
	r := runs["r/dq-2/3"]
	r.Interrupted, r.Counts.Lost = true, 5
	r.Counts.Offered += 5
	r.Judge(nil)
	write(t, folder, "r/dq-2/3", r)
	s := serveStored(t, folder)
	status, body := get(t, s, "compare", url.Values{"id": {"r/dq-1", "r/dq-2"}})
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "NEW is worse: ")
	require.Contains(t, body, "it was interrupted, with 5 lost.")
	_, body = get(t, s, "", nil)
	require.Contains(t, body, "interrupted, failed")
}
