package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/page"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// tokenHeader carries the token of a request to stop.
const tokenHeader = "X-DQ-Token"

// Running serves the report of the run under way, as of the last second that ended:
//
//	GET  /        the page
//	GET  /events  what brings it up to date, as server-sent events: page, and end with the last
//	POST /stop    stops the run, with the page's token in X-DQ-Token
//
// It is an http.Handler.
type Running struct {
	mux   *http.ServeMux
	live  *load.Live
	stop  func()
	token string

	ended   chan struct{}
	mu      sync.Mutex
	stopped bool
	cases   *page.Cases
	final   *page.Page
}

// NewRunning serves what live shows. stop has the run end as an interrupt does.
func NewRunning(live *load.Live, stop func()) *Running {
	r := &Running{mux: http.NewServeMux(), live: live, stop: stop, token: rand.Text(), ended: make(chan struct{})}
	r.mux.HandleFunc("GET /{$}", r.page)
	r.mux.HandleFunc("GET /events", r.events)
	r.mux.HandleFunc("POST /stop", r.stopRun)
	return r
}

// ServeHTTP implements http.Handler.
func (r *Running) ServeHTTP(w http.ResponseWriter, q *http.Request) { r.mux.ServeHTTP(w, q) }

// Stopped says that the run is being stopped, by whomever.
func (r *Running) Stopped() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
}

// Cases shows how those stand of which the run under way is one. They are not to be changed after that.
func (r *Running) Cases(cases *page.Cases) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cases = cases
}

// End shows a page for good: what was stored. Nil is for a run that came to nothing, of
// which the last state stays. Only the first call counts.
func (r *Running) End(final *page.Page) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.ended:
	default:
		r.final = final
		close(r.ended)
	}
}

func (r *Running) page(w http.ResponseWriter, _ *http.Request) {
	p, err := r.now()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = p.Write(w) // a browser that is gone has no answer
}

// events sends each state of the page, the newest where several came to be meanwhile.
func (r *Running) events(w http.ResponseWriter, q *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	to := http.NewResponseController(w)
	for {
		changed := r.live.Changed()
		kind := "page"
		select {
		case <-r.ended:
			kind = "end"
		default:
		}
		if err := r.send(w, to, kind); err != nil || kind == "end" {
			return
		}
		select {
		case <-changed:
		case <-r.ended:
		case <-q.Context().Done():
			return
		}
	}
}

func (r *Running) send(w http.ResponseWriter, to *http.ResponseController, kind string) error {
	p, err := r.now()
	if err != nil {
		return err
	}
	update, err := p.Update()
	if err != nil {
		return err
	}
	err = to.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err == nil {
		_, err = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, update)
	}
	return errors.Join(err, to.Flush())
}

func (r *Running) stopRun(w http.ResponseWriter, q *http.Request) {
	if !equal(q.Header.Get(tokenHeader), r.token) {
		http.Error(w, "expected the token of the page; load it again", http.StatusForbidden)
		return
	}
	r.Stopped()
	r.stop()
	w.WriteHeader(http.StatusNoContent)
}

// now is the page as of the last second.
func (r *Running) now() (page.Page, error) {
	r.mu.Lock()
	stopped, cases, final := r.stopped, r.cases, r.final
	r.mu.Unlock()
	over := false
	select {
	case <-r.ended:
		over = true
	default:
	}
	if over && final != nil {
		p := *final
		p.Live = &page.Live{Token: r.token}
		return p, nil
	}
	states, err := r.states()
	if err != nil {
		return page.Page{}, err
	}
	p := page.Page{Cases: cases, Live: &page.Live{Token: r.token, CanStop: !stopped && !over}}
	var texts []string
	for i, state := range states {
		p.Sides = append(p.Sides, page.Side{Name: sideName(states, i), Runs: []*run.Document{state.Document}})
		tag, text := inWords(state, stopped, over)
		if !state.Answered.IsZero() && !state.Ended && !over {
			tag, text = "no answer", fmt.Sprintf("The server does not answer: it did last at %s UTC. %s", state.Answered.UTC().Format(time.TimeOnly), text)
		}
		if len(states) > 1 {
			text = p.Sides[i].Name + ": " + text
		}
		if i == 0 || p.Live.Tag == "ended" || tag == "no answer" {
			p.Live.Tag = tag
		}
		texts = append(texts, text)
	}
	p.Live.Text = strings.Join(texts, " ")
	if turn := states[0].Turn; turn != "" && !over {
		p.Live.Text = strings.ToUpper(turn[:1]) + turn[1:] + ". " + p.Live.Text
	}
	return p, nil
}

// states are those of the run, or of each that runs at the same time and has begun.
func (r *Running) states() ([]load.Running, error) {
	var states []load.Running
	for _, live := range r.live.All() {
		state, err := live.Running()
		if errors.Is(err, load.ErrNotBegun) {
			continue
		}
		if err != nil {
			return nil, err
		}
		states = append(states, state)
	}
	if states == nil {
		states = []load.Running{{Document: &run.Document{Histograms: run.NewHistograms()}}}
	}
	return states, nil
}

// sideName is the implementation, and what the series calls it where another has the same.
func sideName(states []load.Running, i int) string {
	s := states[i]
	for k, other := range states {
		s.Alike = s.Alike || k != i && other.Document.Driver == s.Document.Driver
	}
	if s.Alike && s.Name != "" {
		return s.Name
	}
	return s.Document.Driver.String()
}

// inWords says how a run stands.
func inWords(s load.Running, stopped, over bool) (tag, text string) {
	c := s.Document.Counts
	soFar := fmt.Sprintf("%d of %d messages offered, %d delivered, %d pending.", c.Offered, s.Planned, c.Delivered, c.Pending)
	switch {
	case over:
		return "ended", "The run came to no result."
	case s.Ended:
		return "ended", "The load is over, and is being judged: " + soFar
	case s.Phase == plan.Measured && stopped:
		return "stopping", "No more is offered, and what is due soon is waited for: " + soFar
	case s.Phase == plan.Measured:
		return "running", "Running: " + soFar
	case stopped:
		return "stopping", "The run is being stopped before its measurement began."
	case s.Phase == plan.Warmup:
		return "warming up", "Warming up: nothing of this is counted."
	default:
		return "starting", "Starting."
	}
}

// Follow says that the run is being stopped once ctx ends, until the run has ended.
func (r *Running) Follow(ctx context.Context) {
	select {
	case <-ctx.Done():
		r.Stopped()
	case <-r.ended:
	}
}
