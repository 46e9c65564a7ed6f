package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/metrics"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/harness/internal/series"
	"github.com/dq-bench/dq-bench/harness/internal/web"
)

// webPage is the page of 'dq-bench run --listen'. A nil page shows nothing.
type webPage struct {
	live   *web.Live
	server *web.Server
	door   *load.Door // nil without --agents
	stop   func()
	last   *report.Page
}

// serveWeb serves the page and the metrics of the runs, and the door for agents, at --listen, and prints where. The context that it returns is
// the one that the page's button ends.
func serveWeb(ctx context.Context, addr string, req *runRequest, stderr io.Writer) (context.Context, *webPage, error) {
	if addr == "" {
		return ctx, nil, nil
	}
	live := req.options.Live
	ctx, stop := context.WithCancel(ctx)
	pages := web.NewLive(source{live}, stop)
	var door http.Handler
	if req.door != nil {
		door = req.door
	}
	server, err := web.Serve(ctx, addr, pages, metrics.Handler(tool(), metrics.Load{Run: live}), door)
	if err != nil {
		stop()
		return ctx, nil, err
	}
	go pages.Follow(ctx)
	fmt.Fprintf(stderr, "page at %[1]s, metrics at %[1]smetrics\n", server.URL())
	return ctx, &webPage{live: pages, server: server, door: req.door, stop: stop}, nil
}

// show shows how the cases stand, and keeps what is to be shown for good.
func (p *webPage) show(s *series.Suite) {
	if p != nil {
		p.live.Cases(s.Cases())
		p.last = s.Page()
	}
}

// close shows that page for good to browsers that are there, and ends the server.
func (p *webPage) close() error {
	if p == nil {
		return nil
	}
	p.live.End(p.last)
	p.stop()
	err := p.server.Close()
	if p.door != nil {
		p.door.Close()
	}
	return err
}

// source shows the runs of a Live on a page.
type source struct{ *load.Live }

// States implements web.Source.
func (s source) States() (states []web.State, err error) {
	var running []load.Running
	for _, live := range s.All() {
		one, err := live.Running()
		if errors.Is(err, load.ErrNotBegun) {
			continue
		}
		if err != nil {
			return nil, err
		}
		running = append(running, one)
	}
	for i, one := range running {
		state := web.State{Name: one.Document.Driver.String(), Document: one.Document, Planned: one.Planned, Turn: one.Turn, Answered: one.Answered}
		alike := one.Alike
		for k, other := range running {
			alike = alike || k != i && other.Document.Driver == one.Document.Driver
		}
		if alike && one.Name != "" {
			state.Name = one.Name
		}
		switch {
		case one.Ended:
			state.Phase = web.Ended
		case one.Phase == plan.Measured:
			state.Phase = web.Measuring
		case one.Phase == plan.Warmup:
			state.Phase = web.WarmingUp
		default:
			state.Phase = web.Starting
		}
		states = append(states, state)
	}
	return states, nil
}
