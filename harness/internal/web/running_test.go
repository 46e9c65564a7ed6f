package web

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/internal/driver/baseline"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/page"
	"github.com/dq-bench/dq-bench/harness/internal/page/pagetest"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// underWay is a run of a minute in this process with a page, which ends when it is stopped.
type underWay struct {
	*Server
	running *Running
	folder  string
	ended   chan *run.Document
}

func start(t *testing.T) *underWay {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	live := &load.Live{}
	u := &underWay{running: NewRunning(live, stop), folder: t.TempDir(), ended: make(chan *run.Document, 1)}
	var err error
	u.Server, err = Serve(t.Context(), "127.0.0.1:0", u.running, nil, nil)
	require.NoError(t, err)
	p := plan.DefaultPlan()
	p.Queue, p.Warmup, p.WarmupEnds = "q", 0, false
	p.Rate, p.Duration, p.Delay = 500, time.Minute, plan.Fixed(20*time.Millisecond)
	go func() {
		defer close(u.ended)
		result, err := load.Run(ctx, load.Options{Plan: p, Driver: baseline.Memory{Clock: clock.System()}, RunID: 7, Live: live})
		if err != nil {
			t.Errorf("run: %v", err)
			return
		}
		result.Report.Judge(nil)
		if err := page.WriteFolder(u.folder, result.Report, result.Log); err != nil {
			t.Errorf("write: %v", err)
		}
		final := page.OfRun(result.Report)
		u.running.End(&final)
		u.ended <- result.Report
	}()
	t.Cleanup(func() {
		stop()
		for range u.ended {
		}
		require.NoError(t, u.Close())
	})
	return u
}

// await waits for a JavaScript expression to come true.
func await(t *testing.T, b *pagetest.Browser, expression string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.Context, 30*time.Second)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Poll[bool](expression))
	require.NoError(t, err, expression)
}

const delivered = `Number(document.querySelector('[data-figure="side-0.counts.delivered"]').dataset.value)`

// The page counts while the run lasts, keeps what somebody looks at, stops the run by its
// button, and says in the end what the stored page says.
func TestBrowserWatchesARunAndStopsIt(t *testing.T) {
	t.Parallel()
	u := start(t)
	b := pagetest.Open(t, u.URL())
	await(t, b, `document.querySelector(".state").textContent === "running" && `+delivered+` > 0`)
	require.Contains(t, pagetest.Eval[string](b, `document.getElementById("verdict").innerText`), "Running: ")

	b.Do(chromedp.EmulateViewport(400, 900))
	b.Do(chromedp.Click(chromedp.CSS("#theme")), chromedp.Click(chromedp.CSS("#late-time [data-toggle=kind-max]")))
	b.Do(chromedp.Click(chromedp.CSS("#pending summary")), chromedp.Focus(chromedp.CSS("#pending .frame")), chromedp.KeyEvent(kb.ArrowRight))
	before := pagetest.Eval[int](b, delivered)
	await(t, b, delivered+" > "+strconv.Itoa(before+1000))
	require.False(t, b.Visible("#late-time [data-scale=log] path.max"), "what is hidden stays so")
	require.True(t, b.Visible("#pending details table"), "what is open stays so")
	require.True(t, b.Visible("#pending .readout"), "and so does what is read")
	require.True(t, pagetest.Eval[bool](b, `document.activeElement.matches("#pending .frame")`))
	require.GreaterOrEqual(t, pagetest.Eval[int](b, `document.querySelectorAll("#late-time tr[data-x]").length`), 2)
	require.LessOrEqual(t, pagetest.Eval[int](b, "document.documentElement.scrollWidth"), 400)
	require.Empty(t, pagetest.Eval[[]string](b, pagetest.Overlaps))

	b.Do(chromedp.Focus(chromedp.CSS("#stop")), chromedp.KeyEvent(kb.Enter))
	r := <-u.ended
	require.True(t, r.Interrupted)
	require.Equal(t, r.Counts.Offered, r.Counts.Delivered, "what was offered was waited for")
	await(t, b, `document.querySelector(".state").textContent !== "stopping" && document.querySelector(".state").textContent !== "ended"`)
	require.True(t, pagetest.Eval[bool](b, `document.getElementById("stop").disabled`))
	texts := `[...document.querySelectorAll("#verdict, .lead, [data-figure], .tile b, #config td, tr[data-x]")].map(e => e.textContent)`
	live := pagetest.Eval[[]string](b, texts)
	require.NotEmpty(t, live)
	stored := pagetest.Open(t, "file://"+u.folder+"/"+page.File)
	require.Equal(t, pagetest.Eval[[]string](stored, texts), live)
	require.Equal(t, strconv.FormatInt(r.Histograms.Lateness.Quantile(.99), 10),
		pagetest.Eval[string](b, `document.querySelector('[data-figure="side-0.lateness.p99"]').dataset.value`))
}

// Once the process is gone the page says so, and does not offer to stop it.
func TestBrowserSaysThatTheConnectionIsLost(t *testing.T) {
	t.Parallel()
	s, err := Serve(t.Context(), "127.0.0.1:0", NewRunning(&load.Live{}, func() {}), nil, nil)
	require.NoError(t, err)
	b := pagetest.Open(t, s.URL())
	await(t, b, `document.querySelector(".state").textContent === "starting"`)
	require.False(t, pagetest.Eval[bool](b, `document.getElementById("stop").disabled`))
	b.Expect("net::ERR_") // the browser's own words
	require.NoError(t, s.Close())
	await(t, b, `document.querySelector(".state").textContent === "connection lost"`)
	require.True(t, pagetest.Eval[bool](b, `document.getElementById("stop").disabled`))
	require.Contains(t, pagetest.Eval[string](b, "document.title"), "connection lost")
	b.Do(chromedp.Evaluate[chromedp.Void](`document.getElementById("verdict").textContent = ""; document.getElementById("stop").disabled = false; document.getElementById("stop").click()`))
	await(t, b, `document.getElementById("verdict").textContent.startsWith("The connection to dq-bench is lost")`)
	require.True(t, pagetest.Eval[bool](b, `document.getElementById("stop").disabled`))
}

// The page says that the server does not answer as long as it does not.
func TestBrowserSaysThatTheServerDoesNotAnswer(t *testing.T) {
	t.Parallel()
	srv := redistest.Redis(t)
	client := redistest.Client(srv)
	defer client.Close()
	d, err := spec.Parse("dq")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	live := &load.Live{}
	s, err := Serve(t.Context(), "127.0.0.1:0", NewRunning(live, stop), nil, nil)
	require.NoError(t, err)
	p := plan.DefaultPlan()
	p.Queue, p.Warmup, p.WarmupEnds = "q", 0, false
	p.Producers, p.Consumers, p.Rate, p.Duration, p.Delay = 2, 1, 100, time.Hour, plan.Fixed(20*time.Millisecond)
	ended := make(chan error, 1)
	go func() {
		_, err := load.Run(ctx, load.Options{Plan: p, Driver: d, RunID: 7, OwnQueue: true, RedisURL: srv.URL(), Redis: &load.Redis{Conn: redis.On(client), Queue: p.Queue}, Live: live})
		ended <- err
	}()
	b := pagetest.Open(t, s.URL())
	const state = `document.querySelector(".state").textContent`
	await(t, b, state+` === "running"`)
	require.NoError(t, client.Do(ctx, "CLIENT", "PAUSE", "5000").Err())
	await(t, b, state+` === "no answer"`)
	require.Regexp(t, `^The server does not answer: it did last at \d\d:\d\d:\d\d UTC\. Running: `, pagetest.Eval[string](b, `document.getElementById("verdict").innerText`))
	await(t, b, state+` === "running"`)
	stop()
	require.NoError(t, <-ended)
	require.NoError(t, s.Close())
}

// Of several runs the page says which one it shows.
func TestThePageSaysWhichRunOfSeveralItIs(t *testing.T) {
	p := plan.DefaultPlan()
	p.Queue, p.Warmup, p.WarmupEnds = "q", 0, false
	p.Rate, p.Duration, p.Delay = 500, 20*time.Millisecond, plan.Fixed(time.Millisecond)
	live := &load.Live{}
	live.Describe(load.About{Turn: "run 2 of 4"})
	_, err := load.Run(t.Context(), load.Options{Plan: p, Driver: baseline.Memory{Clock: clock.System()}, RunID: 7, Live: live})
	require.NoError(t, err)
	now, err := NewRunning(live, func() {}).now()
	require.NoError(t, err)
	require.Contains(t, now.Live.Text, "Run 2 of 4. The load is over, and is being judged: ")
}

// A run is called by its implementation, unless another of its series is called the same.
func TestRunsOfOneImplementationAreToldApart(t *testing.T) {
	state := func(version, name string, alike bool) load.Running {
		return load.Running{Document: &run.Document{Driver: run.Driver{Name: "dq", Version: version}}, Name: name, Alike: alike}
	}
	for _, row := range []struct {
		states []load.Running
		want   []string
	}{
		{[]load.Running{state("4.7.0", "", false)}, []string{"dq:4.7.0"}},
		{[]load.Running{state("4.7.0", "dq", false), state("3.16.6", "dq:3.16.6", false)}, []string{"dq:4.7.0", "dq:3.16.6"}},
		{[]load.Running{state("4.7.0", "dq (a:1)", true)}, []string{"dq (a:1)"}}, // the other one comes in its turn
		{[]load.Running{state("4.7.0", "exec:a", false), state("4.7.0", "exec:b", false)}, []string{"exec:a", "exec:b"}},
	} {
		var names []string
		for i := range row.states {
			names = append(names, sideName(row.states, i))
		}
		require.Equal(t, row.want, names)
	}
}

func request(t *testing.T, method, url string, change func(*http.Request)) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, method, url, nil)
	require.NoError(t, err)
	if change != nil {
		change(q)
	}
	answer, err := http.DefaultClient.Do(q)
	require.NoError(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(body)
}

// Nobody but the page stops a run.
func TestOnlyThePageStopsTheRun(t *testing.T) {
	stops := 0
	running := NewRunning(&load.Live{}, func() { stops++ })
	s, err := Serve(t.Context(), ":0", running, nil, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.True(t, strings.HasPrefix(s.URL(), "http://127.0.0.1:"), s.URL())

	withToken := func(q *http.Request) { q.Header.Set(tokenHeader, running.token) }
	for name, row := range map[string]struct {
		method, path string
		change       func(*http.Request)
		want         int
	}{
		"no token":     {"POST", "stop", nil, http.StatusForbidden},
		"other token":  {"POST", "stop", func(q *http.Request) { q.Header.Set(tokenHeader, "x") }, http.StatusForbidden},
		"a link":       {"GET", "stop", withToken, http.StatusMethodNotAllowed},
		"another site": {"POST", "stop", func(q *http.Request) { withToken(q); q.Header.Set("Origin", "http://evil.example") }, http.StatusForbidden},
		"by fetch":     {"POST", "stop", func(q *http.Request) { withToken(q); q.Header.Set("Sec-Fetch-Site", "cross-site") }, http.StatusForbidden},
		"another name": {"GET", "", func(q *http.Request) { q.Host = "evil.example:80" }, http.StatusMisdirectedRequest},
		"no such page": {"GET", "etc/passwd", nil, http.StatusNotFound},
	} {
		status, body := request(t, row.method, s.URL()+row.path, row.change)
		require.Equal(t, row.want, status, name)
		require.NotContains(t, body, running.token, name)
	}
	require.Zero(t, stops)
	status, _ := request(t, "POST", s.URL()+"stop", withToken)
	require.Equal(t, http.StatusNoContent, status)
	require.Equal(t, 1, stops)
	_, body := request(t, "GET", s.URL(), func(q *http.Request) { q.Host = "localhost" })
	require.Contains(t, body, running.token)
	require.Contains(t, body, "The run is being stopped before its measurement began.")
}

// Who is there at the end is told, also of a run that came to nothing.
func TestEventsEnd(t *testing.T) {
	running := NewRunning(&load.Live{}, func() {})
	s, err := Serve(t.Context(), "127.0.0.1:0", running, nil, nil)
	require.NoError(t, err)
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"events", nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(q)
	require.NoError(t, err)
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	next := func() string {
		for lines.Scan() {
			if kind, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				return kind
			}
		}
		return ""
	}
	require.Equal(t, "page", next())
	running.End(nil)
	require.Equal(t, "end", next())
	require.True(t, lines.Scan())
	require.Contains(t, lines.Text(), "The run came to no result.")
	require.Empty(t, next())
	require.NoError(t, s.Close())
}

func TestAddresses(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", ":8080", "[::1]:0", "0.0.0.0:9090"} {
		require.NoError(t, CheckAddr(addr), addr)
	}
	for _, addr := range []string{"", "8080", "localhost", "a:b", "a:70000", "a:-1"} {
		require.ErrorContains(t, CheckAddr(addr), "expected HOST:PORT", addr)
	}
	taken, err := Serve(t.Context(), "127.0.0.1:0", http.NotFoundHandler(), nil, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()
	_, err = Serve(t.Context(), strings.TrimSuffix(strings.TrimPrefix(taken.URL(), "http://"), "/"), http.NotFoundHandler(), nil, nil)
	require.ErrorContains(t, err, "choose another address")
}

func FuzzIsHere(f *testing.F) {
	for _, host := range []string{"127.0.0.1:80", "[::1]:80", "localhost", "evil.example", "bench.local:80", "", "[", "a:b:c"} {
		f.Add(host)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if isHere(host, "bench.local") {
			require.NotContains(t, host, "evil")
		}
	})
}
