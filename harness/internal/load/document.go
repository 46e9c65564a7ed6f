package load

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// setBy is by how much the wall clock may be set during a run before it is worth a note: half the
// resolution of due times.
const setBy = 500 * time.Microsecond

// measure runs the measured phase and makes the run document.
func (e *engine) measure(ctx context.Context, start time.Time) (*Result, error) {
	watch := e.watchMachine(ctx)
	defer watch.meter.end()
	outlives, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	p := e.begin(outlives, plan.Measured, start, e.Progress)
	changing, endChanges := context.WithCancel(ctx)
	var changes sync.WaitGroup
	changes.Go(func() { e.openAndCloseMembers(changing, p) })
	meanwhile := e.beginMeanwhile(changing, p)
	p.offerAll(ctx, nil)
	watch.offered(ctx)
	<-meanwhile
	p.drain(ctx)
	endChanges()
	changes.Wait()
	p.settle(ctx)
	elapsed := time.Since(start)
	watch.ended(ctx)
	for _, m := range e.members {
		m.end(ctx)
	}
	p.end()
	unread := false
	if s := p.stands(); s.outstanding > 0 || s.unsure > 0 || e.broke() || p.plan.Horizon > 0 {
		unread = e.keepHeld(ctx, p)
	}
	e.tellWarmup(ctx)
	for _, m := range e.members {
		m.close(ctx)
	}
	out := e.document(p, elapsed, unread)
	watch.tell(out, p)
	out.Interrupted = ctx.Err() != nil
	out.ServerGone = e.goneText(ctx, start, unread)
	e.cleanUp(ctx, out.Counts)
	e.explain(out, p)
	for _, m := range e.members {
		m.closeLink()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	out.AgentFaults, out.Notes = e.faults, e.notes
	return &Result{Report: out, Log: p.log, Messages: p.messages}, nil
}

// broke reports whether what some member has done is not known.
func (e *engine) broke() bool {
	return slices.ContainsFunc(e.members, func(m *member) bool { return m.brokenSince() != 0 })
}

// beginMeanwhile has what is to run beside the measured phase begin. The channel is closed at
// its end: only from then on is waited for what is missing.
func (e *engine) beginMeanwhile(ctx context.Context, p *phase) <-chan struct{} {
	ended := make(chan struct{})
	if e.Meanwhile == nil {
		close(ended)
		return ended
	}
	go func() {
		defer close(ended)
		e.Meanwhile(ctx, p.start)
		p.changed()
	}()
	return ended
}

// document is the run as far as the collector knows it.
func (e *engine) document(p *phase, elapsed time.Duration, unread bool) *run.Document {
	out := e.head()
	out.Started, out.ElapsedSeconds = p.start.UTC(), elapsed.Seconds()
	out.Counts = p.balance(unread, func(owner uint16) int64 { return e.members[owner].brokenSince() },
		slices.ContainsFunc(e.members, func(m *member) bool { return m.brokenSince() != 0 && m.Takes }))
	p.collector.mu.Lock()
	defer p.collector.mu.Unlock()
	out.Histograms, out.Intervals, out.Warmup, out.Order = p.histograms, p.intervals, e.warmup, &p.order.Order
	p.offers.Unsent = p.n - p.attempted - p.unanswered
	out.Offers = &p.offers
	return &out
}

// head is the part of the document that is known before the run.
func (e *engine) head() run.Document {
	identity := e.identity()
	return run.Document{
		Schema: run.Schema, RunID: fmt.Sprintf("%08x", e.RunID), Driver: run.Driver{Name: identity.Name, Version: identity.Version},
		Scenario: e.scenario(), Environment: e.environment(), Format: e.format(), Measured: e.measured(), Agents: len(e.Agents),
	}
}

// measured says where the calls of the members are timed.
func (e *engine) measured() run.Measured {
	if _, isHere := e.members[0].link.(*here); isHere {
		return run.InProcess
	}
	return run.InProgram
}

// format is Redisson's where all members are known to keep it.
func (e *engine) format() run.Format {
	for _, m := range e.members {
		switch name, _, _ := strings.Cut(m.identity().Name, ":"); name {
		case "dq", "redisson":
		default:
			return ""
		}
	}
	return run.RedissonFormat
}

// environment is the machine, and its clock against the server's.
func (e *engine) environment() run.Environment {
	environment := run.Environment{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(),
		GoVersion: runtime.Version(), GOMAXPROCS: runtime.GOMAXPROCS(0),
	}
	if e.offset != nil {
		ahead := int64(e.offset.Ahead)
		environment.ClockOffsetNs, environment.ClockErrorNs = &ahead, int64(e.offset.Error)
	}
	return environment
}

// scenario is the plan as the run document holds it, with the drivers of the fleet by the
// names that they give themselves.
func (e *engine) scenario() run.Scenario {
	p := e.Plan
	p.Fleet = slices.Clone(p.Fleet)
	for i, m := range p.Fleet {
		if m.Driver != "" {
			p.Fleet[i].Driver = e.members[i].identity().String()
		}
	}
	return p.Scenario()
}

// cleanUp removes the queues of this run from the server.
func (e *engine) cleanUp(ctx context.Context, c run.Counts) {
	if e.Redis == nil || !e.OwnQueue {
		return
	}
	if e.isGone() {
		e.note("queue %q was not removed from the server, which is gone", e.Plan.Queue)
		return
	}
	if c.Pending > c.NotDue && ctx.Err() == nil { // to be looked at; an interrupt leaves some
		e.note("queue %q keeps its %d pending messages", e.Plan.Queue, c.Pending)
		return
	}
	clearing, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	for _, name := range e.Plan.QueueNames() {
		if err := e.stores(name).Clear(clearing); err != nil {
			e.note("%v", err)
			return
		}
	}
}

// explain adds the notes on what the counts do not say.
func (e *engine) explain(out *run.Document, p *phase) {
	e.mu.Lock()
	first := e.errs
	e.mu.Unlock()
	c := p.collector
	c.mu.Lock()
	attempted, unsure, takes, tooLate, moves, dropped := c.attempted+c.unanswered, c.failed+c.unanswered, c.takeErrors, c.tooLate, c.moveErrors, c.dropped
	c.mu.Unlock()
	if c.n > attempted && !out.Interrupted {
		killed := ""
		if slices.ContainsFunc(e.members, func(m *member) bool { return m.Kill }) {
			killed = ", or a process was killed before"
		}
		e.note("%d of the %d planned messages were not offered: the rate of %s was not reached%s", c.n-attempted, c.n, p.plan.Schedule.MeanRate(), killed)
	}
	for _, told := range []struct {
		n     int64
		what  string
		first string
	}{
		{unsure, "offers failed", first.Offer}, {takes, "takes failed", first.Take},
		{tooLate, "removals came too late: the message was due, or on its way", ""}, {moves, "removals failed", first.Remove},
		{out.Counts.Foreign, "values on the queue were not of this run", ""},
		{dropped, "samples were dropped by an agent that could not send them", ""},
	} {
		switch {
		case told.n == 0:
		case told.first != "":
			e.note("%d %s, the first: %s", told.n, told.what, told.first)
		case told.what == "offers failed":
			e.note("%d offers were never answered", told.n)
		default:
			e.note("%d %s", told.n, told.what)
		}
	}
	if by := e.epoch.Since(); by.Abs() > setBy {
		e.note("the wall clock was set by %s during the run; due times follow it, and lateness shows that", by)
	}
}
