package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Source shows the runs under way: *load.Live does.
type Source interface {
	Running() []load.Running // the runs under way, one for each side; empty before the first
}

// Live serves the page of the run under way:
//
//	GET  /        the page; with the token behind ?token=, or without one asked for, it can stop the run
//	GET  /events  updates of the page, as server-sent events: page, and end with the last
//	POST /stop    stops the run, with the token in X-DQ-Token
type Live struct {
	*http.ServeMux
	ctx     context.Context
	source  Source
	stop    func()
	token   string
	open    bool // every page can stop the run
	readers chan struct{}

	over context.Context
	end  context.CancelFunc

	mu    sync.Mutex
	cases *report.Cases
	final *report.Page

	shared sync.Mutex // guards the event that all readers get
	event  []byte
	made   time.Time
	last   bool
}

// mostReaders is how many pages may be open; each holds one event at most.
const mostReaders = 32

// NewLive serves what source shows. stop ends ctx, as an interrupt does: then the run is being stopped. An empty token lets every reader
// of the page stop it.
func NewLive(ctx context.Context, source Source, stop func(), token string) *Live {
	l := &Live{ServeMux: http.NewServeMux(), ctx: ctx, source: source, stop: stop, token: cmp.Or(token, rand.Text()), open: token == "", readers: make(chan struct{}, mostReaders)}
	l.over, l.end = context.WithCancel(context.Background())
	l.HandleFunc("GET /{$}", func(w http.ResponseWriter, q *http.Request) {
		p := l.now()
		if l.open || l.isToken(q.FormValue("token")) {
			p.Live.Token = l.token
		}
		Answer(w, http.StatusOK, p.Write)
	})
	l.HandleFunc("GET /events", l.events)
	l.HandleFunc("POST /stop", l.stopRun)
	return l
}

// Cases shows how the cases stand; nil for the only one. They must not change afterwards.
func (l *Live) Cases(cases *report.Cases) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cases = cases
}

// End shows a page for good; nil keeps the last state of a run without a result. Only the first call counts.
func (l *Live) End(final *report.Page) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over.Err() == nil {
		l.final = final
		l.end()
	}
}

// events sends the state of the page, again and again, and the last one. A reader that does not read is dropped.
func (l *Live) events(w http.ResponseWriter, q *http.Request) {
	select {
	case l.readers <- struct{}{}:
		defer func() { <-l.readers }()
	default:
		http.Error(w, fmt.Sprintf("%d pages are open already", mostReaders), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	to := http.NewResponseController(w)
	for {
		event, last, err := l.update()
		if err == nil {
			err = to.SetWriteDeadline(time.Now().Add(writeTimeout))
		}
		if err == nil {
			_, err = w.Write(event)
		}
		if errors.Join(err, to.Flush()) != nil || last {
			return
		}
		select {
		case <-time.After(time.Second): // the figures are of each second
		case <-l.over.Done():
		case <-q.Context().Done():
			return
		}
	}
}

// update is an event with the state of the page. It is made twice a second at most, however many read it.
func (l *Live) update() (event []byte, last bool, err error) {
	l.shared.Lock()
	defer l.shared.Unlock()
	if over := l.over.Err() != nil; over != l.last || time.Since(l.made) > time.Second/2 {
		update, err := l.now().Update()
		if err != nil {
			return nil, false, err
		}
		kind := map[bool]string{false: "page", true: "end"}[over]
		l.event, l.made, l.last = fmt.Appendf(nil, "event: %s\ndata: %s\n\n", kind, update), time.Now(), over
	}
	return l.event, l.last, nil
}

func (l *Live) isToken(given string) bool {
	return subtle.ConstantTimeCompare([]byte(given), []byte(l.token)) == 1
}

func (l *Live) stopRun(w http.ResponseWriter, q *http.Request) {
	if !l.isToken(q.Header.Get("X-DQ-Token")) {
		http.Error(w, "expected the token of the page; load it again from the address that the run printed", http.StatusForbidden)
		return
	}
	l.stop()
	w.WriteHeader(http.StatusNoContent)
}

// now is the page as of the last second.
func (l *Live) now() report.Page {
	l.mu.Lock()
	stopped, cases, final := l.ctx.Err() != nil, l.cases, l.final
	l.mu.Unlock()
	over := l.over.Err() != nil
	if over && final != nil {
		p := *final
		p.Live = &report.Live{}
		return p
	}
	states := l.source.Running()
	if len(states) == 0 {
		states = []load.Running{{Document: &run.Document{Histograms: run.NewHistograms()}}}
	}
	var sets []compare.Set
	tag, verdict := "", ""
	if turn := states[0].Turn; turn != "" && !over {
		verdict = strings.ToUpper(turn[:1]) + turn[1:] + "."
	}
	for _, s := range states {
		s.Name = cmp.Or(s.Name, s.Document.Driver.String())
		sets = append(sets, compare.Set{Name: s.Name, Runs: []*run.Document{s.Document}})
		word, text := words(s, stopped, over)
		if len(states) > 1 {
			text = s.Name + ": " + text
		}
		if tag == "" || tag == ended {
			tag = word
		}
		verdict = strings.TrimSpace(verdict + " " + text)
	}
	p := report.OfSets(report.Result{Sets: sets})
	p.State, p.Tag, p.Verdict, p.Title = "open", tag, verdict, tag+" · dq-bench"
	p.Live = &report.Live{CanStop: !stopped && !over}
	if cases != nil {
		p.Headline = append([]report.Table{cases.Table()}, p.Headline...)
	}
	return p
}

const ended = "ended"

// words say how a run stands.
func words(s load.Running, stopped, over bool) (tag, text string) {
	c := s.Document.Counts
	soFar := fmt.Sprintf("%d of %d messages offered, %d delivered, %d pending.", c.Offered, s.Document.Scenario.Messages, c.Delivered, c.Pending)
	tag = map[plan.Phase]string{0: "starting", plan.Warmup: "warming up", plan.Measured: "running"}[s.Phase]
	switch {
	case over:
		return ended, "The run came to no result."
	case s.Ended:
		return ended, "The load is over, and is being judged: " + soFar
	case s.Phase == plan.Measured && stopped:
		text = "No more is offered, and what is due soon is waited for: " + soFar
	case s.Phase == plan.Measured:
		text = "Running: " + soFar
	case stopped:
		text = "The run is being stopped before its measurement began."
	case s.Phase == plan.Warmup:
		text = "Warming up: nothing of this is counted."
	default:
		text = "Starting."
	}
	if stopped {
		tag = "stopping"
	}
	return tag, text
}
