package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/driver/program"
	"github.com/dq-bench/dq-bench/harness/run"
)

const (
	// programTimeout bounds the start of a program, the first build included.
	programTimeout = 10 * time.Minute
	// silenceLimit is how long a program may say nothing while it runs a plan: it
	// sends a line every second, and at the end reads what is still held.
	silenceLimit = 2 * time.Minute
	// stopPatience is what a program gets, beside the drain timeout, to answer with
	// its result once it is interrupted.
	stopPatience = 30 * time.Second
)

// runExternal has the driver's program run the plan, or runs it here over the
// ops of the protocol where the program has no op load.
func runExternal(ctx context.Context, o Options, d program.Spec) (*Result, error) {
	starting, cancel := context.WithTimeout(ctx, programTimeout)
	defer cancel()
	notice := o.Notice
	if notice == nil {
		notice = func(string) {}
	}
	p, err := d.StartProcess(starting, notice, nil)
	if err != nil {
		return nil, fmt.Errorf("open driver %s: %w", o.Driver.Identity(), err)
	}
	if !p.Hello.Can(program.LoadOp) {
		o.Driver = p
		result, err := runHere(ctx, o)
		closeProgram(p, result)
		return result, err
	}
	result, err := newExternalRun(o, p).run(ctx)
	closeProgram(p, result)
	return result, err
}

// closeProgram ends the program. What it measured stands, however it ends.
func closeProgram(p *program.Process, result *Result) {
	if err := p.Close(); err != nil && result != nil {
		result.Report.Notes = append(result.Report.Notes, fmt.Sprintf("the program did not end well, after it had given its result: %v", err))
	}
}

// externalRun is a plan under way in a program.
type externalRun struct {
	o       Options
	program *program.Process
	notes   []string

	mu       sync.Mutex
	phase    Phase
	offered  int64
	came     int64
	shown    Progress
	heard    chan struct{} // gets a value with each event
	warmedUp chan struct{} // gets a value with each event of the warm-up
	// seconds are the intervals of the measured phase.
	seconds []loggedSecond
}

// loggedSecond is an interval with its histogram of lateness as it came, nil if
// there was none.
type loggedSecond struct {
	end      float64 // seconds after the start
	lateness json.RawMessage
}

func newExternalRun(o Options, p *program.Process) *externalRun {
	// The protocol's times are whole ms; the run file says what was run.
	o.Plan.Duration = max(o.Plan.Duration.Round(time.Millisecond), time.Millisecond)
	o.Plan.Warmup = o.Plan.Warmup.Round(time.Millisecond)
	o.Plan.DrainTimeout = o.Plan.DrainTimeout.Round(time.Millisecond)
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	return &externalRun{o: o, program: p, heard: make(chan struct{}, 1), warmedUp: make(chan struct{}, 1)}
}

func (r *externalRun) run(ctx context.Context) (*Result, error) {
	loading, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	var watchers sync.WaitGroup
	watchers.Go(func() { r.watchSilence(loading, cancel) })
	watchers.Go(func() { r.watchInterrupt(ctx, loading, cancel) })
	var before usage
	var usageErr error
	if r.o.Redis != nil {
		before, usageErr = r.usage(ctx)
		watchers.Go(func() { before, usageErr = r.usageAfterWarmup(loading, before, usageErr) })
	}
	encoded, err := r.program.CallStoppable(loading, ctx.Done(), program.LoadOp, r.request(), r.event)
	cause := context.Cause(loading)
	cancel(nil)
	watchers.Wait()
	var remote *program.RemoteError
	switch {
	case err == nil:
	case ctx.Err() != nil && errors.As(err, &remote) && remote.Class == "cancelled":
		err = ctx.Err()
	case cause != nil:
		err = cause
	}
	if err != nil {
		return nil, fmt.Errorf("driver %s, which runs the plan by itself: %w", r.program.Identity(), err)
	}
	r.showLast()
	result, err := r.result(encoded, ctx.Err() != nil)
	if err != nil {
		return nil, fmt.Errorf("driver %s: answer to %s: %w", r.program.Identity(), program.LoadOp, err)
	}
	if r.o.Redis != nil {
		after, err := r.usage(ctx)
		if usageErr = errors.Join(usageErr, err); usageErr == nil {
			result.Report.ServerStats = serverStats(after.minus(before), result.Report.Counts.Delivered)
		} else {
			r.note("no server statistics: %v", usageErr)
		}
	}
	r.cleanUp(ctx, result.Report.Counts)
	result.Report.Notes = append(result.Report.Notes, r.notes...)
	return result, nil
}

func (r *externalRun) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

func (r *externalRun) request() loadRequest {
	p := r.o.Plan
	return loadRequest{
		Redis: r.o.RedisURL, Queue: p.Queue, RunID: fmt.Sprintf("%08x", r.o.RunID),
		Producers: whole(p.Producers), Consumers: whole(p.Consumers), Rate: float64(p.Rate),
		Duration: millis(p.Duration), Warmup: millis(p.Warmup), DelayMin: millis(p.Delay.Min), DelayMax: millis(p.Delay.Max),
		PayloadBytes: whole(p.PayloadSize), Seed: json.Number(strconv.FormatUint(p.Seed, 10)), Drain: millis(p.DrainTimeout),
		StartAt: r.warmUpAt(),
	}
}

// warmUpAt is when the program begins its warm-up, Unix time in ns, so that the
// measured phase begins about the agreed start; 0 is at once.
func (r *externalRun) warmUpAt() whole {
	p := r.o.Plan
	if r.o.StartAt.IsZero() {
		return 0
	}
	lead := time.Duration(0)
	if p.Warmup > 0 {
		lead = p.Warmup + min(p.Delay.Max, MaxWarmupDelay)
	}
	return whole(r.o.StartAt.Add(-lead).UnixNano())
}

// watchSilence cancels a load whose program says nothing any more.
func (r *externalRun) watchSilence(ctx context.Context, cancel context.CancelCauseFunc) {
	limit := max(silenceLimit, 2*r.o.Plan.DrainTimeout)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case <-r.heard:
			timer.Reset(limit)
		case <-timer.C:
			cancel(fmt.Errorf("no progress event for %s, expected one a second", limit))
			return
		case <-ctx.Done():
			return
		}
	}
}

// watchInterrupt bounds how long an interrupted program may drain; one that cannot
// be asked to stop ends at once.
func (r *externalRun) watchInterrupt(ctx, loading context.Context, cancel context.CancelCauseFunc) {
	select {
	case <-loading.Done():
		return
	case <-ctx.Done():
	}
	if !r.program.Hello.Can("cancel") {
		cancel(ctx.Err())
		return
	}
	limit := r.o.Plan.DrainTimeout + stopPatience
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-loading.Done():
	case <-timer.C:
		cancel(fmt.Errorf("interrupted, and no result within %s", limit))
	}
}

func (r *externalRun) usage(ctx context.Context) (usage, error) {
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	return r.o.Redis.usage(asking)
}

// usageAfterWarmup asks the server with each event of the warm-up, so that what
// it returns is from the warm-up's end, and else what it was given.
func (r *externalRun) usageAfterWarmup(ctx context.Context, u usage, err error) (usage, error) {
	for {
		select {
		case <-r.warmedUp:
			u, err = r.usage(ctx)
		case <-ctx.Done():
			return u, err
		}
	}
}

// event turns a line a second into progress. It runs on one goroutine.
func (r *externalRun) event(e program.Event) {
	var line loadEvent
	if e.Name != "progress" || json.Unmarshal(e.Line, &line) != nil || len(line.Phase) != 1 {
		return
	}
	wake(r.heard)
	if string(line.Lateness) == "null" {
		line.Lateness = nil
	}
	phase := Phase(line.Phase[0])
	if phase == Warmup {
		wake(r.warmedUp)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if phase != r.phase {
		r.endPhase()
		r.phase, r.offered, r.came = phase, 0, 0
	}
	if phase == Measured {
		r.seconds = append(r.seconds, loggedSecond{line.Second, line.Lateness})
	}
	r.offered += line.Offered
	r.came += line.Delivered
	r.show(line)
}

func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (r *externalRun) show(line loadEvent) {
	length, delay := r.o.Plan.Duration, r.o.Plan.Delay.Max
	if r.phase == Warmup {
		length, delay = r.o.Plan.Warmup, min(delay, MaxWarmupDelay)
	}
	left := length + delay - time.Duration(line.Second*float64(time.Second))
	r.shown = Progress{
		Phase: r.phase, Planned: line.Planned, Offered: r.offered, Delivered: r.came, Pending: line.Pending,
		OfferErrors: line.OfferErrors, P99: time.Duration(line.P99), HasP99: line.Delivered > 0,
		Left: max(left, 0), Interval: line.Interval,
	}
	if line.Lateness != nil {
		r.shown.Lateness = new(run.Histogram)
		if json.Unmarshal(line.Lateness, r.shown.Lateness) != nil {
			r.shown.Lateness = nil // the log of the run will refuse it
		}
	}
	r.o.Progress(r.shown)
}

// endPhase repeats the last report: that it was the last is seen only by what
// comes after it.
func (r *externalRun) endPhase() {
	if r.shown.Phase != 0 {
		r.shown.Last, r.shown.Lateness = true, nil // which has been reported
		r.o.Progress(r.shown)
	}
	r.shown = Progress{}
}

func (r *externalRun) showLast() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endPhase()
}

// cleanUp removes the keys of Redisson's format. What else a program keeps is its
// own to remove.
func (r *externalRun) cleanUp(ctx context.Context, c run.Counts) {
	if r.o.Redis == nil || !r.o.OwnQueue {
		return
	}
	if c.Pending > 0 {
		r.note("queue %q keeps its %d pending messages", r.o.Plan.Queue, c.Pending)
		return
	}
	clearing, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	if err := r.o.Redis.keys().Clear(clearing); err != nil {
		r.note("%v", err)
	}
}
