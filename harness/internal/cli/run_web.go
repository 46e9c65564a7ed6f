package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/dq-bench/dq-bench/harness/internal/metrics"
	"github.com/dq-bench/dq-bench/harness/internal/page"
	"github.com/dq-bench/dq-bench/harness/internal/series"
	"github.com/dq-bench/dq-bench/harness/internal/web"
)

// webPage is the page of 'dq-bench run --listen'. A nil page shows nothing.
type webPage struct {
	running *web.Running
	server  *web.Server
	stop    func()
	last    *page.Page
}

// serveWeb serves the page and the metrics of the runs, and the door for agents, at --listen, and prints where. The context that it returns is
// the one that the page's button ends.
func serveWeb(ctx context.Context, addr string, req *runRequest, stderr io.Writer) (context.Context, *webPage, error) {
	if addr == "" {
		return ctx, nil, nil
	}
	live := req.options.Live
	ctx, stop := context.WithCancel(ctx)
	running := web.NewRunning(live, stop)
	var door http.Handler
	if req.door != nil {
		door = req.door
	}
	server, err := web.Serve(ctx, addr, running, metrics.Handler(tool(), metrics.Load{Run: live}), door)
	if err != nil {
		stop()
		return ctx, nil, err
	}
	go running.Follow(ctx)
	fmt.Fprintf(stderr, "page at %[1]s, metrics at %[1]smetrics\n", server.URL())
	return ctx, &webPage{running: running, server: server, stop: stop}, nil
}

// show shows how the cases stand, and keeps what is to be shown for good.
func (p *webPage) show(s *series.Suite) {
	if p != nil {
		p.running.Cases(s.Cases())
		p.last = s.Page()
	}
}

// close shows that page for good to browsers that are there, and ends the server.
func (p *webPage) close() error {
	if p == nil {
		return nil
	}
	p.running.End(p.last)
	p.stop()
	return p.server.Close()
}
