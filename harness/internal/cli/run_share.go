package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/metrics"
	"github.com/dq-bench/dq-bench/harness/internal/series"
	"github.com/dq-bench/dq-bench/harness/internal/web"
)

// shareFlags are the flags of 'dq-bench run' for several machines, and for who
// looks on.
type shareFlags struct {
	worker, startAt, metricsAddr, web string
}

func (f *shareFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.worker, "worker", "1/1", "i/n: be the ith of n processes or hosts that split the load; i from 1, or from 0")
	flags.StringVar(&f.startAt, "start-at", "", "begin the measurement at an RFC 3339 time by the server's clock, or +10s after the first worker asks it")
	flags.StringVar(&f.metricsAddr, "metrics-addr", "", "serve Prometheus metrics and pprof at HOST:PORT while the run lasts; :PORT for this machine only, 0.0.0.0:PORT for others, port 0 takes a free one")
	flags.StringVar(&f.web, "web", "", "serve the report at HOST:PORT while the run lasts, a second behind, with a button that stops it; each browser that looks costs some ms a second; :PORT for this machine only, port 0 takes a free one")
}

// share checks the flags against what else was asked for. Its errors are wrong
// usage.
func (f *shareFlags) share(req *runRequest) (series.Share, error) {
	if f.metricsAddr != "" {
		if err := metrics.CheckAddr(f.metricsAddr); err != nil {
			return series.Share{}, err
		}
	}
	if f.web != "" {
		if err := web.CheckAddr(f.web); err != nil {
			return series.Share{}, fmt.Errorf("web: %w", err)
		}
	}
	s, err := series.ParseShare(f.worker, f.startAt)
	if err != nil {
		return s, err
	}
	return s, s.Check(req.cases, req.repeat, req.options.Redis)
}

// serveMetrics serves what live shows until the returned function is called.
func (f *shareFlags) serveMetrics(ctx context.Context, live *load.Live, stderr io.Writer) (func() error, error) {
	if f.metricsAddr == "" {
		return func() error { return nil }, nil
	}
	server, err := metrics.Serve(ctx, f.metricsAddr, tool(), metrics.OfLoad(live))
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(stderr, "metrics at %s\n", server.URL())
	return server.Close, nil
}
