package web_test

import (
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/web"
)

// fixed is a source that does not change.
type fixed []load.Running

func (f fixed) Running() []load.Running { return f }

// serve starts a server on a free port and ends it with the test.
func serve(t *testing.T, source fixed) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(web.MetricsHandler(run.Tool{Name: "dq-bench", Version: "v1.2.3"}, web.LoadMetrics{source}))
	t.Cleanup(s.Close)
	return s
}

func fetch(t *testing.T, url string) (string, http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, string(body))
	return string(body), response.Header
}

// scrape reads the text format by Prometheus' own parser.
func scrape(t *testing.T, s *httptest.Server) map[string]*dto.MetricFamily {
	t.Helper()
	body, header := fetch(t, s.URL+"/metrics")
	require.Equal(t, "text/plain; version=0.0.4; charset=utf-8", header.Get("Content-Type"))
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	require.NoError(t, err)
	return families
}

func scraped() load.Running {
	h := run.NewHistogram()
	for _, ms := range []float64{-0.5, 0, 0.3, 4, 4, 800} {
		h.Record(int64(ms * 1e6))
	}
	return load.Running{Phase: plan.Measured, Planned: 100, Document: &run.Document{
		RunID: "0000abcd", Driver: driver.Identity{Name: "dq", Version: "4.7.0"}, Scenario: run.Scenario{Queue: "q", Name: "steady"},
		Counts:     run.Counts{Offered: 10, Delivered: 6, Duplicate: 1, Pending: 4},
		Histograms: run.Histograms{Lateness: h, OfferRTT: run.NewHistogram(), ScheduleLag: run.NewHistogram()},
	}}
}

// Prometheus' own parser reads what is written. Names and units follow its conventions; a label is any text.
func TestMetricsOfARunUnderWay(t *testing.T) {
	state := scraped()
	state.Document.Scenario.Queue = "a\"b\\c\nd\xff"
	s := serve(t, fixed{state})
	families := scrape(t, s)
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
	require.Contains(t, families, "dq_bench_build_info")
}

func TestNothingToTellBeforeTheRun(t *testing.T) {
	families := scrape(t, serve(t, nil))
	require.NotContains(t, families, "dq_bench_offered_total")
	require.Contains(t, families, "dq_bench_build_info")
}

// Scrapes during a run take nothing away from its result, and the last one is the
// result.
func TestScrapesOfARun(t *testing.T) {
	live := &load.Live{}
	s := httptest.NewServer(web.MetricsHandler(run.Tool{}, web.LoadMetrics{live}))
	defer s.Close()
	p := plan.DefaultPlan()
	p.WarmupEnds = false
	p.Producers, p.Rate, p.Duration, p.Warmup, p.Queue, p.Name = 5, 1000, 1500*time.Millisecond, 0, "q", "short"
	p.Delay = plan.Fixed(100 * time.Millisecond)
	var scrapes sync.WaitGroup
	ended := make(chan struct{})
	last := 0.0
	scrapes.Go(func() {
		for {
			select {
			case <-ended:
				return
			default:
			}
			if family := scrape(t, s)["dq_bench_delivered_total"]; family != nil {
				now := family.GetMetric()[0].GetCounter().GetValue()
				require.GreaterOrEqual(t, now, last, "a counter never falls")
				last = now
			}
		}
	})
	result, err := load.Run(t.Context(), load.Options{Plan: p, Driver: spec.Memory{}, Live: live})
	close(ended)
	scrapes.Wait()
	require.NoError(t, err)
	require.Equal(t, run.Counts{Offered: 1500, Delivered: 1500}, result.Report.Counts)
	require.EqualValues(t, 1500, result.Report.Histograms.OfferRTT.Count())
	require.EqualValues(t, 1500, result.Report.Histograms.ScheduleLag.Count())
	families := scrape(t, s)
	require.EqualValues(t, 1500, families["dq_bench_delivered_total"].GetMetric()[0].GetCounter().GetValue())
	require.EqualValues(t, 1500, families["dq_bench_lateness_seconds"].GetMetric()[0].GetHistogram().GetSampleCount())
	require.EqualValues(t, 1, families["dq_bench_done"].GetMetric()[0].GetGauge().GetValue())
}
