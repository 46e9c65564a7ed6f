package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/dq-bench/dq-bench/harness/run"
)

const (
	headerTimeout = 5 * time.Second
	// closeTimeout is how long a scrape under way may take still when the run ends.
	closeTimeout = 2 * time.Second
)

// CheckAddr refuses what can never be an address to listen at. Its error is wrong
// usage.
func CheckAddr(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("metrics-addr: expected HOST:PORT such as 127.0.0.1:9090, or port 0 for a free one, got %q", addr)
	}
	return nil
}

// Server serves /metrics and /debug/pprof/ on a mux of its own.
type Server struct {
	listener net.Listener
	server   *http.Server
	done     chan error
}

// Serve listens at addr, as CheckAddr has it, until Close, and serves what is collected:
// OfLoad or a Queues. An addr without a host is of this machine alone: a profiler is no
// service for a network unless somebody says so. It fails if that cannot
// be listened at, for example because another process does.
func Serve(ctx context.Context, addr string, tool run.Tool, what prometheus.Collector) (*Server, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", bindAddr(addr))
	if err != nil {
		return nil, fmt.Errorf("metrics cannot be served at %s: %w; choose another --metrics-addr, or port 0 for a free one", addr, err)
	}
	s := &Server{
		listener: listener,
		server:   &http.Server{Handler: Handler(tool, what), ReadHeaderTimeout: headerTimeout},
		done:     make(chan error, 1),
	}
	go func() { s.done <- s.server.Serve(listener) }()
	return s, nil
}

// bindAddr is addr, with the loopback interface where it names no host.
func bindAddr(addr string) string {
	if strings.HasPrefix(addr, ":") {
		return "127.0.0.1" + addr
	}
	return addr
}

// URL is where the metrics are.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/metrics" }

// Close stops listening and lets scrapes under way end, for a time.
func (s *Server) Close() error {
	ending, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := s.server.Shutdown(ending)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.server.Close() // a profile that is still being taken ends with the run
	}
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

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
