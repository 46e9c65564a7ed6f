// Package web answers: what is in a browser while a run lasts, and afterwards?
//
// One Server has the page of the run under way, a Live, or the list of stored runs, a Stored. The pages are those of package
// report, and ask nothing but this server.
package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

const (
	readTimeout  = 5 * time.Second // of a request with its body
	writeTimeout = 5 * time.Second // for a browser to read what it is sent
	closeTimeout = 2 * time.Second
)

// Serve listens at addr, as load.ParseListen has it, until Close. It refuses a request for a host name other than addr's: such a
// request comes from a page of another server whose name leads here. Pages may be nil. Metrics, unless nil, are served under any
// name at /metrics; /healthz answers any name. The door, unless nil, lets agents in.
func Serve(ctx context.Context, addr string, pages, metrics http.Handler, door *load.Door) (*Server, error) {
	at, err := load.ParseListen(addr)
	if err != nil {
		return nil, err
	}
	config, err := at.Load()
	if err != nil {
		return nil, err
	}
	all := http.NewServeMux()
	if pages != nil {
		all.Handle("/", guard(at.Host, pages))
	}
	all.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	if metrics != nil {
		all.Handle("GET /metrics", metrics)
	}
	if door != nil {
		all.Handle("/agent", door)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at.String())
	if err != nil {
		return nil, fmt.Errorf("pages cannot be served at %s: %w; choose another address, or port 0 for a free one", at, err)
	}
	s := &Server{http: http.Server{Handler: all, ReadTimeout: readTimeout}, url: "http", done: make(chan error, 1)}
	if config != nil {
		s.url, listener = "https", tls.NewListener(listener, config)
	}
	shown := listener.Addr().String()
	if host, port, err := net.SplitHostPort(shown); err == nil && net.ParseIP(host).IsUnspecified() {
		shown = net.JoinHostPort("127.0.0.1", port)
	}
	s.url += "://" + shown + "/"
	go func() { s.done <- s.http.Serve(listener) }()
	return s, nil
}

// Server answers requests until Close.
type Server struct {
	http http.Server
	url  string
	done chan error
}

// URL returns the address of the first page: of a server that listens at all addresses, an address of this machine.
func (s *Server) URL() string { return s.url }

// Close stops listening. Running answers, such as a profile, have 2 s to end.
func (s *Server) Close() error {
	ending, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = s.http.Shutdown(ending)
	err := s.http.Close()
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// guard lets through what a page of this server asks for, and what somebody types.
func guard(own string, pages http.Handler) http.Handler {
	pages = http.NewCrossOriginProtection().Handler(pages)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isHere(r.Host, own) {
			http.Error(w, "this server has another name: ask by an address, or name this host in --listen", http.StatusMisdirectedRequest)
			return
		}
		if r.ContentLength == 0 { // it is read, and the answer may take longer
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		}
		head := w.Header()
		head.Set("Content-Security-Policy", "frame-ancestors 'none'") // of more, each page has its own
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cache-Control", "no-store")
		pages.ServeHTTP(w, r)
	})
}

// isHere reports whether a request's host is an address, this machine, or the server's own name.
func isHere(asked, own string) bool {
	host := (&url.URL{Host: asked}).Hostname()
	address, err := netip.ParseAddr(host)
	return err == nil && address.Zone() == "" || strings.EqualFold(host, "localhost") || strings.EqualFold(host, own)
}

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

// LoadMetrics are the metrics of a run. Each scrape asks how it stands: *load.Live tells. A run that is not scraped costs nothing.
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
	one("planned_messages", Gauge, "Offers that the measured phase plans.", d.Scenario.Messages)
	one("warming_up", Gauge, "1 during the warm-up, which no other metric counts.", Flag(s.Phase == plan.Warmup && !s.Ended))
	one("done", Gauge, "1 once the run has ended and all counts are final.", Flag(s.Ended))
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
