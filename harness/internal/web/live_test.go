package web_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/cli"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/web"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve-driver" { // as a run starts its own program
		os.Exit(cli.Execute(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	redistest.Main(m)
}

// fake shows the states that a test sets.
type fake struct {
	mu     sync.Mutex
	states []load.Running
}

func (f *fake) Running() []load.Running {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.states
}

func (f *fake) set(states ...load.Running) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.states = states
}

// second is a run after so many seconds.
func second(n int) *run.Document {
	r := run.Sample(1, 1000*n, 1)
	r.Intervals, r.ElapsedSeconds, r.Verdict, r.Scenario.Messages = nil, float64(n), run.Verdict{}, 60_000
	for s := range n {
		r.Intervals = append(r.Intervals, run.Interval{Second: float64(s + 1), Offered: 1000, Delivered: 1000, P50: 1e5, P99: int64(1e6 * (s + 1)), Max: 1e8, HiccupNs: 1e6})
	}
	return r
}

func measuring(n int) load.Running {
	return load.Running{About: load.About{Name: "dq:4.7.0"}, Document: second(n), Phase: plan.Measured}
}

// serve serves pages, and metrics if there are any, until the test ends.
func serve(t *testing.T, pages, metrics http.Handler) *web.Server {
	t.Helper()
	s := must(web.Serve(t.Context(), ":0", pages, metrics, nil))
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func serveLive(t *testing.T, source web.Source, metrics http.Handler, stop func()) (*web.Server, *web.Live) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	live := web.NewLive(ctx, source, func() { stop(); cancel() }, "")
	return serve(t, live, metrics), live
}

const (
	tag     = `document.getElementById("tag").textContent`
	verdict = `document.getElementById("verdict").innerText`
	shows   = `document.querySelector("#counts tbody td:nth-child(2)").innerText`
)

// The page follows the run, keeps the zoom while its y axis follows, stops the run by its button, and says in the end what
// the stored page says.
func TestBrowserWatchesARunAndStopsIt(t *testing.T) {
	t.Parallel()
	source, stopped := &fake{}, make(chan struct{})
	s, live := serveLive(t, source, nil, func() { close(stopped) })
	b := open(t, s.URL())
	b.await(tag + ` === "starting"`)
	source.set(load.Running{Document: &run.Document{Histograms: run.NewHistograms()}, Phase: plan.Warmup})
	b.await(tag + ` === "warming up"`)
	source.set(measuring(10))
	b.await(tag + ` === "running" && ` + shows + ` === "10000"`)
	require.Equal(t, "Running: 10000 of 60000 messages offered, 10000 delivered, 0 pending.", eval[string](b, verdict))

	// Zoom to seconds 3 to 7 by dragging.
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#late .u-over").scrollIntoView({block: "center"})`)) // in one step: a chart may be drawn anew
	box := eval[[]float64](b, `(r => [r.left, r.top, r.width])(document.querySelector("#late .u-over").getBoundingClientRect())`)
	at := func(share float64) (x, y float64) { return box[0] + share*box[2], box[1] + 40 }
	x, y := at(.25)
	left := func(p *input.DispatchMouseEventParams) {
		p.Button, p.Buttons, p.ClickCount = input.MouseButtonLeft, 1, 1
	}
	b.do(chromedp.MouseEvent("mouseMoved", x, y), chromedp.MouseEvent("mousePressed", x, y, left))
	for _, share := range []float64{.4, .6, .7} {
		x, y = at(share)
		b.do(chromedp.MouseEvent("mouseMoved", x, y, left))
	}
	b.do(chromedp.MouseEvent("mouseReleased", x, y, left))
	const ticks = `document.querySelector("#late .plot").dataset.zoom.split(",").map(Number)`
	zoomed := eval[[]float64](b, ticks)
	require.Greater(t, zoomed[0], 2.)
	require.Less(t, zoomed[1], 8.)
	require.InDeltaSlice(t, zoomed, eval[[]float64](b, `document.querySelector("#hiccups .plot").dataset.zoom.split(",").map(Number)`), 1e-9, "charts over time share the zoom")
	source.set(measuring(20))
	b.await(shows + ` === "20000"`)
	require.Equal(t, zoomed, eval[[]float64](b, ticks), "the zoom is kept")
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#late .tools button").click()`))
	require.InDelta(t, 20, eval[[]float64](b, ticks)[1], .1)
	b.fitsAt(400)

	// A second side begins.
	first, other := measuring(21), measuring(5)
	first.Turn, other.Name = "run 2 of 4", "other"
	source.set(first, other)
	b.await(verdict + `.includes("other: Running: 5000 of")`)
	require.Regexp(t, `^Run 2 of 4\. dq:4\.7\.0: Running: .* other: `, eval[string](b, verdict))
	b.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("stop").focus()`))
	source.set(measuring(30)) // which leaves the focus where it is
	b.await(shows + ` === "30000"`)
	b.do(chromedp.KeyEvent(kb.Enter))
	<-stopped
	source.set(measuring(31))
	b.await(tag + ` === "stopping"`)
	require.True(t, eval[bool](b, `document.getElementById("stop").disabled`))
	r := second(31)
	r.Judge(nil)
	final := report.OfRun(r)
	live.End(&final)
	live.End(nil) // only the first call counts
	b.await(verdict + " === `" + r.Verdict.Text + "`")
}

// Once the process is gone the page says so, and does not offer to stop it.
func TestBrowserSaysThatTheConnectionIsLost(t *testing.T) {
	t.Parallel()
	live := web.NewLive(t.Context(), &fake{}, func() {}, "")
	s := must(web.Serve(t.Context(), "127.0.0.1:0", live, nil, nil))
	b := open(t, s.URL())
	b.await(tag + ` === "starting"`)
	require.False(t, eval[bool](b, `document.getElementById("stop").disabled`))
	b.expect("net::ERR_") // the browser's own words
	require.NoError(t, s.Close())
	b.await(tag + ` === "connection lost"`)
	require.True(t, eval[bool](b, `document.getElementById("stop").disabled`))
	require.Contains(t, eval[string](b, verdict), "The connection to dq-bench is lost")
}

func request(t *testing.T, method, url string, change func(*http.Request)) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	q := must(http.NewRequestWithContext(ctx, method, url, nil))
	if change != nil {
		change(q)
	}
	answer := must(http.DefaultClient.Do(q)) //nolint:bodyclose // is closed
	defer answer.Body.Close()
	return answer.StatusCode, string(must(io.ReadAll(answer.Body)))
}

// Only the page stops the run, and pages refuse the names of other servers; metrics answer any.
func TestOnlyThePageStopsTheRun(t *testing.T) {
	stops := 0
	metrics := http.NewServeMux()
	metrics.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "up 1\n") })
	s, _ := serveLive(t, &fake{}, metrics, func() { stops++ })
	require.True(t, strings.HasPrefix(s.URL(), "http://127.0.0.1:"), s.URL())

	_, page := request(t, "GET", s.URL(), nil)
	token := regexp.MustCompile(`name="dq-token" content="([^"]+)"`).FindStringSubmatch(page)[1]
	withToken := func(q *http.Request) { q.Header.Set("X-DQ-Token", token) }
	named := func(q *http.Request) { q.Host = "evil.example:80" }
	for name, row := range map[string]struct {
		method, path string
		change       func(*http.Request)
		want         int
	}{
		"no token":           {"POST", "stop", nil, http.StatusForbidden},
		"other token":        {"POST", "stop", func(q *http.Request) { q.Header.Set("X-DQ-Token", "x") }, http.StatusForbidden},
		"a link":             {"GET", "stop", withToken, http.StatusMethodNotAllowed},
		"another site":       {"POST", "stop", func(q *http.Request) { withToken(q); q.Header.Set("Origin", "http://evil.example") }, http.StatusForbidden},
		"by fetch":           {"POST", "stop", func(q *http.Request) { withToken(q); q.Header.Set("Sec-Fetch-Site", "cross-site") }, http.StatusForbidden},
		"another name":       {"GET", "", named, http.StatusMisdirectedRequest},
		"stop, another name": {"POST", "stop", func(q *http.Request) { withToken(q); named(q) }, http.StatusMisdirectedRequest},
		"metrics, any name":  {"GET", "metrics", named, http.StatusOK},
		"health, any name":   {"GET", "healthz", named, http.StatusOK},
		"no such page":       {"GET", "etc/passwd", nil, http.StatusNotFound},
	} {
		status, body := request(t, row.method, s.URL()+row.path, row.change)
		require.Equal(t, row.want, status, name)
		require.NotContains(t, body, token, name)
		require.True(t, status != http.StatusMisdirectedRequest || strings.Contains(body, "name this host in --listen"), body)
	}
	require.Zero(t, stops)
	status, _ := request(t, "POST", s.URL()+"stop", withToken)
	require.Equal(t, http.StatusNoContent, status)
	require.Equal(t, 1, stops)
	_, body := request(t, "GET", s.URL(), func(q *http.Request) { q.Host = "localhost" })
	require.Contains(t, body, token)
	require.Contains(t, body, "The run is being stopped before its measurement began.")

	s = serve(t, web.NewLive(t.Context(), &fake{}, func() { stops++ }, "s3cret"), nil)
	_, page = request(t, "GET", s.URL(), nil)
	require.Contains(t, page, `<meta name="dq-token" content="">`, "whoever reaches the port may look")
	for _, given := range []string{"", token, "s3cre"} {
		status, _ = request(t, "POST", s.URL()+"stop", func(q *http.Request) { q.Header.Set("X-DQ-Token", given) })
		require.Equal(t, http.StatusForbidden, status)
	}
	_, page = request(t, "GET", s.URL()+"?token=s3cret", nil)
	require.Contains(t, page, `<meta name="dq-token" content="s3cret">`)
	status, _ = request(t, "POST", s.URL()+"stop", func(q *http.Request) { q.Header.Set("X-DQ-Token", "s3cret") })
	require.Equal(t, http.StatusNoContent, status)
	require.Equal(t, 2, stops)
}

// Of many readers only some are let in, and who does not read is dropped.
func TestReadersAreFew(t *testing.T) {
	t.Parallel()
	s, live := serveLive(t, &fake{}, nil, func() {})
	ask := func() (status int) {
		conn := must(net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(s.URL(), "http://"), "/")))
		t.Cleanup(func() { conn.Close() }) // until then nothing more is read
		_ = must(io.WriteString(conn, "GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"))
		return must(http.ReadResponse(bufio.NewReaderSize(conn, 16), nil)).StatusCode //nolint:bodyclose // the connection is
	}
	for range 32 {
		require.Equal(t, http.StatusOK, ask())
	}
	require.Equal(t, http.StatusServiceUnavailable, ask())
	live.Cases(&report.Cases{Kind: "variant", All: []report.Case{{Name: strings.Repeat("long", 1<<21)}}}) // more than a connection holds
	require.Eventually(t, func() bool { return ask() == http.StatusOK }, time.Minute, 500*time.Millisecond)
}

// Browsers that are open at the end get it, also of a run without a result.
func TestEventsEnd(t *testing.T) {
	t.Parallel()
	source := &fake{}
	s, live := serveLive(t, source, nil, func() {})
	q := must(http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"events", nil))
	answer := must(http.DefaultClient.Do(q)) //nolint:bodyclose // is closed
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	// await scans to an event of a kind whose data have a text.
	await := func(kind, text string) {
		for last := ""; lines.Scan(); {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && last == "event: "+kind && strings.Contains(data, text) {
				return
			}
			last = lines.Text()
		}
		t.Fatalf("no event %s with %q", kind, text)
	}
	await("page", "Starting.")
	ended := measuring(3)
	ended.Ended = true
	source.set(ended)
	await("page", "The load is over, and is being judged: ")
	live.Cases(&report.Cases{Kind: "variant", All: []report.Case{{Name: "slow", Standing: report.Running}}})
	live.End(nil)
	await("end", "The run came to no result.")
	require.Contains(t, lines.Text(), "slow")
	for lines.Scan() {
		require.NotContains(t, lines.Text(), "event:")
	}
}

// A request without its whole body ends, also if no handler reads it.
func TestAddressesAndHalfARequest(t *testing.T) {
	t.Parallel()
	addr := strings.Trim(serve(t, http.NotFoundHandler(), nil).URL(), "htp:/")
	_, err := web.Serve(t.Context(), addr, http.NotFoundHandler(), nil, nil)
	require.ErrorContains(t, err, "choose another address")
	_, err = web.Serve(t.Context(), "nowhere", http.NotFoundHandler(), nil, nil)
	require.ErrorContains(t, err, "expected HOST:PORT")
	conn := must(net.DialTimeout("tcp", addr, time.Minute))
	defer conn.Close()
	_, err = fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n12")
	require.NoError(t, errors.Join(err, conn.SetReadDeadline(time.Now().Add(time.Minute))))
	_, err = io.ReadAll(conn)
	require.NoError(t, err, "the server ends it")
}

// scrape reads the metrics of a source by Prometheus' own parser.
func scrape(t *testing.T, source web.Source) map[string]*dto.MetricFamily {
	t.Helper()
	out := httptest.NewRecorder()
	web.MetricsHandler(run.Tool{Name: "dq-bench", Version: "v1.2.3"}, web.LoadMetrics{source}).ServeHTTP(out, nil)
	require.Equal(t, "text/plain; version=0.0.4; charset=utf-8", out.Header().Get("Content-Type"))
	parser := expfmt.NewTextParser(model.LegacyValidation)
	return must(parser.TextToMetricFamilies(out.Body))
}

// Prometheus' own parser reads what is written. Names and units follow its conventions; a label is any text.
func TestMetricsOfARunUnderWay(t *testing.T) {
	late := run.NewHistogram()
	for _, ms := range []float64{-0.5, 0, 0.3, 4, 4, 800} {
		late.Record(int64(ms * 1e6))
	}
	source := &fake{}
	families := scrape(t, source) // before the run
	require.NotContains(t, families, "dq_bench_offered_total")
	require.Contains(t, families, "dq_bench_build_info")
	source.set(load.Running{Phase: plan.Measured, Document: &run.Document{
		RunID: "0000abcd", Driver: driver.Identity{Name: "dq", Version: "4.7.0"}, Scenario: plan.Scenario{Queue: "a\"b\\c\nd\xff", Name: "steady", Messages: 100},
		Counts:     run.Counts{Offered: 10, Delivered: 6, Duplicate: 1, Pending: 4},
		Histograms: run.Histograms{Lateness: late, OfferRTT: run.NewHistogram(), ScheduleLag: run.NewHistogram()},
	}})
	families = scrape(t, source)
	for name, family := range families {
		if !strings.HasPrefix(name, "dq_bench_") {
			continue
		}
		require.True(t, model.LegacyValidation.IsValidMetricName(name), name)
		require.NotEmpty(t, family.GetHelp())
		require.Equal(t, family.GetType() == dto.MetricType_COUNTER, strings.HasSuffix(name, "_total"), name)
		require.Equal(t, family.GetType() == dto.MetricType_HISTOGRAM, strings.HasSuffix(name, "_seconds"), name)
	}
	values := map[string]float64{}
	for _, label := range families["dq_bench_done"].GetMetric()[0].GetLabel() {
		values[label.GetName()+"="+label.GetValue()] = 1
	}
	for _, name := range []string{"offered_total", "delivered_total", "duplicate_total", "lost_total", "pending", "planned_messages"} {
		metric := families["dq_bench_"+name].GetMetric()[0]
		values[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
	}
	require.Equal(t, map[string]float64{
		"driver=dq:4.7.0": 1, "queue=a\"b\\c\nd\uFFFD": 1, "run_id=0000abcd": 1, "scenario=steady": 1,
		"offered_total": 10, "delivered_total": 6, "duplicate_total": 1, "lost_total": 0, "pending": 4, "planned_messages": 100,
	}, values)
	h := families["dq_bench_lateness_seconds"].GetMetric()[0].GetHistogram()
	require.EqualValues(t, 6, h.GetSampleCount())
	require.InDelta(t, .8078, h.GetSampleSum(), 1e-6)
	buckets := map[float64]uint64{}
	for _, b := range h.GetBucket() {
		buckets[b.GetUpperBound()] = b.GetCumulativeCount()
	}
	require.Len(t, buckets, 21)
	require.Equal(t, []uint64{2, 3, 5, 6}, []uint64{buckets[0], buckets[.0005], buckets[.005], buckets[math.Inf(1)]})
}

// Scrapes during a run take nothing away from its result, and the last one is the result.
func TestScrapesOfARun(t *testing.T) {
	t.Parallel()
	live := &load.Live{}
	p := plan.DefaultPlan()
	p.WarmupEnds = false
	p.Producers, p.Rate, p.Duration, p.Warmup, p.Queue, p.Name = 5, 1000, 500*time.Millisecond, 0, "q", "short"
	p.Delay = plan.Fixed(100 * time.Millisecond)
	var scrapes sync.WaitGroup
	var ended atomic.Bool
	last := 0.0
	scrapes.Go(func() {
		for every := time.Tick(20 * time.Millisecond); !ended.Load(); <-every {
			if family := scrape(t, live)["dq_bench_delivered_total"]; family != nil {
				now := family.GetMetric()[0].GetCounter().GetValue()
				require.GreaterOrEqual(t, now, last, "a counter never falls")
				last = now
			}
		}
	})
	result, err := load.Run(t.Context(), load.Options{Plan: p, Driver: spec.Memory{}, Live: live})
	ended.Store(true)
	scrapes.Wait()
	require.NoError(t, err)
	require.Equal(t, run.Counts{Offered: 500, Delivered: 500}, result.Counts)
	families := scrape(t, live)
	require.EqualValues(t, 500, families["dq_bench_delivered_total"].GetMetric()[0].GetCounter().GetValue())
	require.EqualValues(t, 500, families["dq_bench_lateness_seconds"].GetMetric()[0].GetHistogram().GetSampleCount())
	require.EqualValues(t, 1, families["dq_bench_done"].GetMetric()[0].GetGauge().GetValue())
}

// must is for what fails only in a broken tree, such as reading one of its files.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
