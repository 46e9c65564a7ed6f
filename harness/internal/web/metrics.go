package web

import (
	"bytes"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// contentType names the version of the text format, https://prometheus.io/docs/instrumenting/exposition_formats/
const contentType = "text/plain; version=0.0.4; charset=utf-8"

// The types of a family.
const (
	Counter   = "counter"
	Gauge     = "gauge"
	histogram = "histogram"
)

// Metrics writes families when somebody asks.
type Metrics interface{ WriteMetrics(*Families) }

// Families collects families in Prometheus' text format.
type Families struct {
	out    bytes.Buffer
	name   string // of the family that was begun last
	header string // its first lines, until a sample follows
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// Family begins a family. All its samples follow; a family without samples is left out.
func (w *Families) Family(name, kind, help string) {
	w.name = name
	w.header = "# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n"
}

// Sample writes a value of the family, with labels as name, value, name, value.
func (w *Families) Sample(value float64, labels ...string) { w.line("", value, labels) }

func (w *Families) line(suffix string, value float64, labels []string, more ...string) {
	w.out.WriteString(w.header + w.name + suffix)
	w.header = ""
	labels = slices.Concat(labels, more)
	for i := 0; i+1 < len(labels); i += 2 {
		w.out.WriteByte("{,"[min(i, 1)])
		w.out.WriteString(labels[i] + `="` + labelEscapes.Replace(strings.ToValidUTF8(labels[i+1], "\uFFFD")) + `"`)
	}
	if len(labels) > 0 {
		w.out.WriteByte('}')
	}
	w.out.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
}

// Bytes is the text so far.
func (w *Families) Bytes() []byte { return w.out.Bytes() }

// bounds of the buckets in seconds. 0 sets early deliveries apart, and 1 ms is the resolution of the format.
var bounds = []float64{
	-.001, 0, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60,
}

// buckets writes a histogram. Each value counts where the middle of its bucket in h lies: off by 0.5 % at most.
func (w *Families) buckets(h *run.Histogram, labels []string) {
	seconds := func(ns float64) float64 { return ns / float64(time.Second) }
	counts := make([]int64, len(bounds)+1)
	h.Buckets(func(from, to, count int64) {
		middle := 0.
		if from > 0 || to < 0 {
			middle = seconds(float64(from)/2 + float64(to)/2)
		}
		i, _ := slices.BinarySearch(bounds, middle)
		counts[i] += count
	})
	below := int64(0)
	for i, bound := range bounds {
		below += counts[i]
		w.line("_bucket", float64(below), labels, "le", strconv.FormatFloat(bound, 'g', -1, 64))
	}
	w.line("_bucket", float64(h.Count()), labels, "le", "+Inf")
	w.line("_sum", seconds(h.Sum()), labels)
	w.line("_count", float64(h.Count()), labels)
}

// LoadMetrics are the metrics of a run. Each scrape asks how it stands: *load.Live tells. A run that is not scraped costs
// nothing.
type LoadMetrics struct{ Run Source }

// WriteMetrics writes nothing before the first run, and distributions once they have values.
func (l LoadMetrics) WriteMetrics(w *Families) {
	all := l.Run.Running()
	if len(all) == 0 {
		return
	}
	s, d := all[0], all[0].Document
	labels := []string{"driver", d.Driver.String(), "queue", d.Scenario.Queue, "run_id", d.RunID, "scenario", d.Scenario.Name}
	one := func(name, kind, help string, value int64) {
		w.Family("dq_bench_"+name, kind, help)
		w.Sample(float64(value), labels...)
	}
	one("planned_messages", Gauge, "Offers that the measured phase plans.", s.Planned)
	one("warming_up", Gauge, "1 during the warm-up, which no other metric counts.", Flag(s.Phase == plan.Warmup && !s.Ended))
	one("done", Gauge, "1 once the run has ended and all counts are final.", Flag(s.Ended))
	one("take_errors_total", Counter, "Takes that failed.", s.TakeErrors)
	for _, c := range run.AllCounts {
		switch c.Name {
		case "pending": // rises and falls
			one(c.Name, Gauge, c.Help, c.Of(d.Counts))
		case "not_due": // is known at the end
		default:
			one(c.Name+"_total", Counter, c.Help, c.Of(d.Counts))
		}
	}
	for _, each := range run.Distributions {
		if h := each.Of(d.Histograms); h != nil {
			w.Family("dq_bench_"+each.Metric+"_seconds", histogram, each.Help)
			w.buckets(h, labels)
		}
	}
}

// Flag is 1 for true.
func Flag(on bool) int64 { return map[bool]int64{true: 1}[on] }

// MetricsHandler writes all families, and the one of the build.
func MetricsHandler(tool run.Tool, what Metrics) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		w := new(Families)
		what.WriteMetrics(w)
		w.Family("dq_bench_build_info", Gauge, "1, labelled with the build.")
		w.Sample(1, "goversion", runtime.Version(), "version", tool.Version)
		out.Header().Set("Content-Type", contentType)
		_, _ = out.Write(w.Bytes()) // a client that is gone has no answer
	})
}
