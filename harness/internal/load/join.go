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

// clockTolerance is how far the wall clock may move against the monotonic one
// before it is worth a note: half the resolution of due times.
const clockTolerance = 500 * time.Microsecond

// joined adds up what the ended parts counted, and their first errors.
func (w *work) joined() (counts, failures) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var c counts
	var f failures
	for _, o := range w.ended {
		c, f = c.add(o.counts), f.or(o.errs)
	}
	return c, f
}

// measure runs the measured phase and strikes the balance.
func (e *engine) measure(ctx context.Context) (*Result, error) {
	beside := e.lookBeside(ctx)
	defer beside.meter.end()
	start := e.startAt
	if start.IsZero() {
		start = time.Now()
	}
	w, err := e.begin(ctx, plan.Measured, start, e.Progress)
	if err != nil {
		return nil, err
	}
	evolving, endEvolution := context.WithCancel(ctx)
	defer endEvolution()
	var evolution sync.WaitGroup
	var evolved error
	evolution.Go(func() { evolved = e.evolve(evolving, w) })
	meanwhile := e.beginMeanwhile(evolving, w)
	defer func() {
		endEvolution()
		<-meanwhile
	}()
	if err := w.offerAll(ctx, nil); err != nil {
		return nil, err
	}
	beside.offered(ctx)
	<-meanwhile
	if e.Worker.Shared() {
		w.drainShared(ctx, time.Time{})
	} else if err := w.drain(ctx); err != nil {
		return nil, err
	}
	endEvolution()
	evolution.Wait()
	if evolved != nil {
		return nil, evolved
	}
	c, err := w.counts(ctx)
	if err != nil {
		return nil, err
	}
	w.settle(ctx, c)
	elapsed := time.Since(start)
	beside.ended(ctx)
	if err := w.end(ctx); err != nil {
		return nil, err
	}
	sets, err := w.sets(ctx)
	if err != nil {
		return nil, err
	}
	result, err := w.result(sets, elapsed)
	if err != nil {
		return nil, err
	}
	if e.Account {
		if result.Messages, err = w.messages(sets.Held); err != nil {
			return nil, err
		}
	}
	out := result.Report
	beside.tell(out, w)
	out.Interrupted = ctx.Err() != nil
	out.ServerGone = w.goneText(ctx)
	for _, m := range e.openMembers() {
		if err := e.closeMember(m); err != nil {
			e.note("%v", err)
		}
	}
	e.cleanUp(ctx, out.Counts)
	w.explain(out)
	for _, problem := range e.programs.close() {
		e.note("%v", problem)
	}
	clear(e.programs)
	out.Notes = append(out.Notes, e.notes...)
	return result, nil
}

// beginMeanwhile has what is to run beside the measured phase begin. The channel is closed at
// its end: only from then on is waited for what is missing.
func (e *engine) beginMeanwhile(ctx context.Context, w *work) <-chan struct{} {
	ended := make(chan struct{})
	if e.Meanwhile == nil {
		close(ended)
		return ended
	}
	go func() {
		defer close(ended)
		e.Meanwhile(ctx, w.start)
		w.lastChange.raise(e.epoch.wall(time.Now()))
	}()
	return ended
}

// sets joins what the parts know of each message, and reads what is still held.
func (w *work) sets(ctx context.Context) (*run.Sets, error) {
	all := &run.Sets{}
	for _, o := range w.ended {
		if twice := all.Add(o.sets); twice > 0 {
			return nil, fmt.Errorf("two parts offered %d messages both", twice)
		}
	}
	c, _ := w.joined()
	e := w.engine
	if !e.Worker.Shared() && c.unknown() == 0 && w.plan.Horizon == 0 && all.Counts().Lost == 0 {
		return all, nil // nothing is missing
	}
	holdings := e.holdings()
	if len(holdings) == 0 {
		e.note("driver cannot tell what it still holds: missing messages count as lost")
		return all, nil
	}
	w.asked = time.Since(w.start)
	reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	for _, h := range holdings {
		held, notDue, err := []byte(nil), []byte(nil), errGone
		if !e.isGone() {
			held, notDue, err = h.sets(reading, w.phase)
		}
		if err != nil {
			e.note("what the queue still holds could not be read, so nobody can tell what became of missing messages: %v", err)
			w.unread = true
			return all, nil
		}
		all.Add(run.Sets{Held: held, NotDue: notDue})
	}
	return all, nil
}

// result makes the run document.
func (w *work) result(sets *run.Sets, elapsed time.Duration) (*Result, error) {
	e := w.engine
	histograms := run.NewHistograms()
	for _, o := range w.ended {
		if err := histograms.Add(o.histograms); err != nil {
			return nil, err
		}
	}
	c, _ := w.joined()
	balance := sets.Counts()
	var share *run.Worker
	if e.Worker.Shared() {
		// A worker sees its own offers and whatever it took; what others have offered and
		// is held is theirs.
		mine := *sets
		mine.Held = make([]byte, len(sets.Held))
		for i := range min(len(sets.Held), len(sets.Confirmed)) {
			mine.Held[i] = sets.Held[i] & sets.Confirmed[i]
		}
		balance = mine.Counts()
		own, err := run.NewWorker(e.Worker.Number, e.Worker.Count, sets)
		if err != nil {
			return nil, err
		}
		own.Unread, own.AskedSeconds = w.unread, w.asked.Seconds()
		share = own
		balance.Offered, balance.Lost = c.Confirmed, 0
	}
	if w.unread {
		balance.Unknown, balance.Lost = balance.Lost, 0
	}
	balance.Duplicate += c.Duplicate
	balance.Early, balance.OfferErrors, balance.Foreign, balance.Corrupt = c.Early, c.unknown(), c.Foreign, c.Corrupt
	identity := e.identity()
	return &Result{Log: w.timeline.log, Report: &run.Document{
		Schema:      run.Schema,
		RunID:       fmt.Sprintf("%08x", e.RunID),
		Driver:      run.Driver{Name: identity.Name, Version: identity.Version},
		Scenario:    e.scenario(),
		Environment: e.environment(),
		Started:     w.start.UTC(), ElapsedSeconds: elapsed.Seconds(),
		Counts: balance, Histograms: histograms, Intervals: w.timeline.intervals, Worker: share,
		Warmup: e.warmup, ProgramUsage: programUsage(w.ended, w.plan.Schedule.Duration()), Measured: e.measured(), Format: e.format(),
	}}, nil
}

// format is Redisson's where all members are known to keep it.
func (e *engine) format() run.Format {
	for _, m := range e.members {
		switch name, _, _ := strings.Cut(m.driver.Identity().Name, ":"); name {
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
	if e.clockOffset != nil {
		ahead := int64(e.clockOffset.Ahead)
		environment.ClockOffsetNs, environment.ClockErrorNs = &ahead, int64(e.clockOffset.Error)
	}
	return environment
}

// scenario is the plan as the run document holds it, with the drivers of the fleet by the
// names that they give themselves.
func (o Options) scenario() run.Scenario {
	p := o.Plan
	p.Fleet = slices.Clone(p.Fleet)
	for i, m := range p.Fleet {
		if m.Driver != "" {
			p.Fleet[i].Driver = o.driverOf(m).Identity().String()
		}
	}
	return p.Scenario()
}

// cleanUp removes the queues of this run from the server.
func (e *engine) cleanUp(ctx context.Context, c run.Counts) {
	// Other workers may still need the queue; one that is empty has no keys.
	if e.Redis == nil || !e.OwnQueue || e.Worker.Shared() {
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
func (w *work) explain(out *run.Document) {
	e := w.engine
	c, failed := w.joined()
	for _, o := range w.ended {
		for _, note := range o.notes {
			e.note("%s", note)
		}
	}
	if planned := e.own(e.Plan.Messages()); planned > c.Attempted && !out.Interrupted {
		killed := ""
		if slices.ContainsFunc(e.members, func(m *member) bool { return m.Kill }) {
			killed = ", or a process was killed before"
		}
		e.note("%d of the %d planned messages were not offered: the rate of %s was not reached%s", planned-c.Attempted, planned, w.plan.Schedule.MeanRate(), killed)
	}
	if n := c.unknown(); n > 0 {
		if failed.Offer != "" {
			e.note("%d offers failed, the first: %s", n, failed.Offer)
		} else {
			e.note("%d offers were never answered", n)
		}
	}
	if c.TakeErrors > 0 {
		e.note("%d takes failed, the first: %s", c.TakeErrors, failed.Take)
	}
	if c.TooLate > 0 {
		e.note("%d removals came too late: the message was due, or on its way", c.TooLate)
	}
	if c.RemoveErrors > 0 {
		e.note("%d removals failed, the first: %s", c.RemoveErrors, failed.Remove)
	}
	if c.Foreign > 0 {
		e.note("%d values on the queue were not of this run", c.Foreign)
	}
	if drift := newEpoch().drift(e.epoch.zero); drift.Abs() > clockTolerance {
		e.note("the wall clock was set by %s during the run; due times follow it, and lateness shows that", -drift)
	}
}

// own is how many of all messages of a schedule this process offers.
func (e *engine) own(all int64) int64 {
	if !e.Worker.Shared() {
		return all
	}
	n := int64(0)
	for p := range e.Plan.Producers {
		if e.Worker.Owns(p) {
			n += (all - int64(p) + int64(e.Plan.Producers) - 1) / int64(e.Plan.Producers)
		}
	}
	return n
}
