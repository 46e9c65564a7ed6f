package metrics

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/pprof"
	"os"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/listen"
)

// CheckAddr refuses what can never be an address to listen at. Its error is wrong
// usage.
func CheckAddr(addr string) error {
	if err := listen.Check(addr, 9090); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	return nil
}

// Server serves /metrics and /debug/pprof/ on a mux of its own, until Close.
type Server struct{ *listen.Server }

// Serve listens at addr, as CheckAddr has it, until Close, and serves what is collected:
// OfLoad or a Queues. An addr without a host is of this machine alone: a profiler is no
// service for a network unless somebody says so. It fails if that cannot
// be listened at, for example because another process does.
func Serve(ctx context.Context, addr string, tool run.Tool, what prometheus.Collector) (*Server, error) {
	s, err := listen.Serve(ctx, addr, Handler(tool, what))
	if err != nil {
		return nil, fmt.Errorf("metrics cannot be served at %s: %w; choose another --listen, or port 0 for a free one", addr, err)
	}
	return &Server{s}, nil
}

// URL is where the metrics are.
func (s *Server) URL() string { return s.Server.URL() + "/metrics" }

// Handler answers /metrics, as text or, if asked for it, in the protobuf form that
// carries native histograms, and /debug/pprof/.
func Handler(tool run.Tool, what prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "dq_bench_build_info", Help: "1, labelled with the build.",
		ConstLabels: prometheus.Labels{"version": tool.Version, "goversion": runtime.Version()},
	})
	build.Set(1)
	registry.MustRegister(what, build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", programName)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// programName stands for pprof.Cmdline: the arguments may hold passwords.
func programName(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, os.Args[0]) // a client that is gone has no answer
}
