package web_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/web"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// saved is the address of a page.
func saved(t *testing.T, p report.Page) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), report.File)
	require.NoError(t, p.Save(path))
	return "file://" + path
}

// faulty is a run in which something was made to break, with names that try to leave text, attribute, script and style.
func faulty(t *testing.T) *run.Document {
	t.Helper()
	const hostile = `</script></style><img src=x onerror="alert(1)">'"&{{.}}|`
	r, again := second(12), int64(2e6)
	r.Faults = &run.Faults{Events: []run.FaultEvent{{Kind: hostile, Text: "partition for 2s", From: 3, To: 5, Times: 2, MayLose: "nothing", ResumedNs: &again}}, Offered: 5000}
	r.Machine = &run.Machine{BusyShare: .5, Hiccups: run.Hiccups{Count: 12, LongestNs: 5e6, Share: .01}, Late: &run.LateMessages{Messages: 50, InHiccups: 12}}
	r.Scenario.Queue, r.Scenario.Name, r.Driver.Name, r.Driver.Version, r.Server.Product, r.Server.Embedded = hostile, hostile, hostile, hostile, hostile, true
	r.Labels, r.Notes = map[string]string{hostile: hostile}, []string{hostile}
	r.Judge([]run.SLO{must(run.ParseSLO("lateness.p99<=20ms"))})
	return r
}

// Each kind of page is drawn without an error, asks for nothing, fits 1280 and 400 px, light and dark, and no text covers another.
func TestBrowserShowsEachKindOfPage(t *testing.T) {
	t.Parallel()
	folder, _ := store(t, "1.0-SNAPSHOT", "1.1-SNAPSHOT", "1.2-SNAPSHOT", "1.3-SNAPSHOT", "1.4-SNAPSHOT", "1.5-SNAPSHOT")
	many := storedSets(t, folder, "dq-1.0-SNAPSHOT", "dq-1.1-SNAPSHOT", "dq-1.2-SNAPSHOT", "dq-1.3-SNAPSHOT", "dq-1.4-SNAPSHOT", "dq-1.5-SNAPSHOT")
	worse := compared(t, many[4:]...)
	plain := second(12)
	plain.Judge(nil)
	var b *browser
	for name, p := range map[string]report.Page{
		"run": report.OfRun(plain), "faults": report.OfRun(faulty(t)), "several": report.OfSets(report.Result{Sets: many[:4]}),
		"compare": report.OfComparison(worse), "many": report.OfComparison(compared(t, many...)),
		"cases": report.OfCases(report.Cases{Kind: "variant", All: []report.Case{
			{Name: "slow", Result: report.Result{Sets: many[4:], Comparisons: []*compare.Comparison{worse}}},
			{Name: "broken", Failure: "no server"}, {Name: "last", Standing: report.NeverRan},
		}}),
		"list": report.OfStored("out", []report.Stored{report.NewStored("r/dq/1", plain), report.NewStored("hostile", faulty(t))}, []string{"out/x/run.json: no JSON object"}, "Nothing is ticked."),
	} {
		if url := saved(t, p); b == nil {
			b = open(t, url)
		} else {
			b.show(url)
		}
		require.Equal(t, p.Verdict, eval[string](b, `document.getElementById("verdict").textContent`), name)
		require.Zero(t, eval[int](b, `document.images.length`))
		require.Equal(t, len(p.Charts), eval[int](b, `[...document.querySelectorAll(".chart canvas")].filter((c) => c.width > 100).length`), name)
		b.fits()
	}
}

// Values are read by keyboard over all charts of time at once, figures are taken away as CSV.
func TestBrowserReadsAndTakesFigures(t *testing.T) {
	t.Parallel()
	b := open(t, saved(t, report.OfRun(faulty(t))))
	legend := func(chart string) string {
		return eval[string](b, fmt.Sprintf(`document.querySelector("#%s .u-legend").textContent.replace(/\s+/g, " ")`, chart))
	}
	b.do(chromedp.Focus(chromedp.CSS("#late .plot")), chromedp.KeyEvent(kb.ArrowRight+kb.ArrowRight))
	require.Contains(t, legend("late"), "2 s")
	require.Contains(t, legend("late"), "p992 ms")
	require.Contains(t, legend("hiccups"), "2 s", "the crosshair is linked")

	b.do(chromedp.Evaluate[chromedp.Void](`window.taken = []; URL.createObjectURL = (blob) => { blob.text().then((text) => taken.push(blob.type + " " + text.slice(0, 40))); return "#"; }; undefined`))
	for _, button := range []string{"CSV", "PNG", "linear / log"} {
		b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`[...document.querySelectorAll("#late .tools button")].find((b) => b.textContent === %q).click()`, button)))
	}
	_, err := chromedp.Run(b.Context, chromedp.Poll[bool](`taken.length === 2`))
	require.NoError(t, err)
	taken := eval[[]string](b, "taken.sort()")
	require.Contains(t, taken[0], "image/png")
	require.Contains(t, taken[1], "text/csv x,p50,p99,max\n1,100000,")
}

// A list of 5,000 runs is sorted and filtered; of 500, unless the test is thorough.
func TestBrowserSearchesFiveThousandRuns(t *testing.T) {
	t.Parallel()
	count := 500
	if redistest.Thorough() {
		count = 5000
	}
	r := run.Sample(1, 10, 1)
	var all []report.Stored
	for i := range count {
		r.Driver.Version, r.Started = fmt.Sprintf("1.%d", i), time.Date(2026, 1, 1, 0, i, 0, 0, time.UTC)
		all = append(all, report.NewStored(fmt.Sprintf("run-%04d", i), r))
	}
	b := open(t, saved(t, report.OfStored("out", all, nil, "")))
	b.do(chromedp.Click(chromedp.CSS("#stored th:nth-child(2)")))
	require.Equal(t, "run-0000", eval[string](b, `document.querySelector("#stored tbody tr").cells[2].innerText`))
	b.do(chromedp.SendKeys(chromedp.CSS("#stored input.filter"), "run-0432"))
	require.Equal(t, 1, eval[int](b, `[...document.querySelectorAll("#stored tbody tr")].filter((r) => !r.hidden).length`))
}

func TestServesUntilClose(t *testing.T) {
	files := must(redistest.WriteCertificate(t.TempDir()))
	trusts := must(redis.Files{CA: files.CA}.Load())
	browser := http.Client{Transport: &http.Transport{TLSClientConfig: trusts, ForceAttemptHTTP2: true}}
	for _, addr := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::]:0?tls_cert=" + files.Cert + "&tls_key=" + files.Key} {
		s := must(web.Serve(t.Context(), addr, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") }), nil, nil))
		require.Regexp(t, `^https?://127\.0\.0\.1:[1-9][0-9]*/$`, s.URL(), "a server at all addresses prints one that a browser opens")
		response := must(browser.Get(s.URL())) //nolint:bodyclose // is closed
		body := must(io.ReadAll(response.Body))
		require.NoError(t, response.Body.Close())
		require.Equal(t, "here", string(body))
		require.NoError(t, s.Close())
		_, err := browser.Get(s.URL()) //nolint:bodyclose // there is no answer
		require.Error(t, err)
	}
}

// An agent that is not let in says what to change.
func TestDoorsThatStayClosed(t *testing.T) {
	files := must(redistest.WriteCertificate(t.TempDir()))
	for want, tc := range map[string]struct {
		token, listens, scheme, joins string
	}{
		"expected the token of --token-file":             {token: "other"},
		"Client sent an HTTP request to an HTTPS server": {token: "token", listens: "?tls_cert=" + files.Cert + "&tls_key=" + files.Key},
		"first record does not look like a TLS":          {token: "token", joins: "?tls_ca=" + files.CA},
		"the authority's certificate: open none.":        {token: "token", joins: "?tls_ca=none.pem"},
		"tls: failed to verify certificate":              {token: "token", listens: "?tls_cert=" + files.Cert + "&tls_key=" + files.Key, scheme: "https://"},
	} {
		s := must(web.Serve(t.Context(), "127.0.0.1:0"+tc.listens, nil, nil, load.NewDoor("token")))
		_, addr, _ := strings.Cut(strings.TrimSuffix(s.URL(), "/"), "://")
		at, err := load.ParseServer(tc.scheme + addr + tc.joins)
		require.NoError(t, err)
		err = load.Join(t.Context(), at, tc.token, 0, func(string, io.ReadWriter) error { return nil })
		require.ErrorContains(t, err, want)
		require.NotErrorIs(t, err, load.ErrNoDoor)
		require.NoError(t, s.Close())
	}
}

// An agent that no run needed is told so when the door closes.
func TestASurplusAgentIsToldWhy(t *testing.T) {
	door := load.NewDoor("token")
	let := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { door.ServeHTTP(w, r); close(let) }))
	defer s.Close()
	at := must(load.ParseServer(s.URL))
	go func() { <-let; door.Close() }()
	err := load.Join(t.Context(), at, "token", 0, func(string, io.ReadWriter) error { return nil })
	require.ErrorIs(t, err, load.ErrNoDoor)
	require.EqualError(t, err, "no load is run there for this agent: the run had all its agents")
}

// A person finds a red queue, looks at a message, delivers it after a confirmation, and undoes that.
func TestBrowserRepairsAQueue(t *testing.T) {
	t.Parallel()
	conn, names := redistest.Redis(t).Conn(), wire.NamesOf("orders")
	t.Cleanup(func() { _ = conn.Close() })
	for due, value := range map[time.Duration]string{-time.Minute: `{"orderId":7}`, time.Hour: `{"orderId":8}`} {
		member := string(wire.LayoutBc0Lc0.Pack([8]byte{value[len(value)-2], 0, 0, 0, 0, 0, 0, 16}, []byte(value)))
		_, err := conn.Multi(t.Context(), []any{"ZADD", names.TimeoutSet, time.Now().Add(due).UnixMilli(), member}, []any{"RPUSH", names.Pending, member})
		require.NoError(t, err)
	}
	count := func(args ...any) int64 { return must(conn.Do(t.Context(), args...).Int64()) }
	desk := ops.NewDesk(ops.DeskOptions{Open: true, Changes: true, Conn: conn, Token: "secret", Site: ops.Site{Folder: t.TempDir()}})
	doctor := ops.NewDoctor(conn, ops.LookOptions{Wait: time.Millisecond})
	desk.Set(doctor.Look(t.Context()))
	s := serve(t, desk, nil)
	b := open(t, s.URL())
	b.fits()
	require.Equal(t, "red", eval[string](b, "document.querySelector('header').className"))
	require.Contains(t, eval[string](b, "document.body.innerText"), "dq-bench guard orders")
	b.do(chromedp.Navigate(s.URL()+"?token=secret"), chromedp.Click("#queues a"), chromedp.WaitVisible("#messages"))
	require.NotContains(t, eval[string](b, "location.href"), "secret")
	require.Equal(t, "waiting", eval[string](b, "document.querySelector('select[name=of]').value"))
	b.do(chromedp.Click("details summary"))
	require.Contains(t, eval[string](b, "document.querySelector('details pre').innerText"), `{\"orderId\":7}`)
	b.fits()

	press := func(button, shows string) {
		t.Helper()
		require.True(t, eval[bool](b, fmt.Sprintf("document.querySelector(%q).click(), true", button))) // a page that still loads loses the nodes of chromedp.Click
		require.Eventually(t, func() bool {                                                             // an error: the page is being left
			met, err := chromedp.Run(b.Context, chromedp.Evaluate[bool](shows))
			return err == nil && met
		}, 20*time.Second, 5*time.Millisecond, shows)
	}
	b.do(chromedp.Click("input[name=id]"))
	press("button[value=deliver]", "!!document.querySelector('#confirm')")
	require.Zero(t, count("LLEN", "orders"), "a plan changes nothing")
	press("#confirm", "document.querySelector('h1').innerText == 'deliver: done' && document.body.innerText.includes('1 of 1 changed')")
	require.EqualValues(t, 1, count("LLEN", "orders"))
	press("#undo button", "!!document.querySelector('#confirm')")
	press("#confirm", "document.querySelector('h1').innerText == 'undo: done'")
	require.Zero(t, count("LLEN", "orders"))
	require.EqualValues(t, 2, count("ZCARD", names.TimeoutSet))

	// What is open follows the looks.
	b.do(chromedp.Navigate(s.URL()), chromedp.WaitVisible("#queues a"))
	count("DEL", names.TimeoutSet, names.Pending)
	desk.Set(doctor.Look(t.Context()))
	press("h1", "!document.querySelector('#queues a') && document.querySelector('h1').innerText.endsWith('0 queues.')")
}
