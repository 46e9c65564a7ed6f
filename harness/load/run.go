package load

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/report"
)

// Deadlines of what should not take long, and could hang.
const (
	openTimeout  = time.Minute
	askTimeout   = 5 * time.Second
	readTimeout  = time.Minute
	abandonAfter = 5 * time.Second
)

// Options say what is loaded, and how.
type Options struct {
	Plan   Plan
	Driver driver.Driver
	// RedisURL is passed to the driver.
	RedisURL string
	// Redis looks at the same server from beside; nil if the driver needs none.
	Redis *Redis
	// RunID tells the messages of this run from all others.
	RunID uint32
	// OwnQueue says that the queue is this run's alone: its keys are deleted at
	// the end unless messages are pending.
	OwnQueue bool
	// Force runs on a queue that holds messages already, which are then taken
	// and counted as foreign.
	Force bool
	// Clock makes the timer of the schedule; nil is the clock of the machine.
	Clock clock.Clock
	// Progress, which may be nil, is called once a second from one goroutine.
	Progress func(Progress)
	// Notice, which may be nil, gets lines on what takes long before the run, such
	// as the build of a driver program.
	Notice func(string)
}

// Result is the outcome of a run. Tool, server, labels and verdict of the
// report are the caller's to fill in.
type Result struct {
	Report *report.Run
	Log    *report.LatenessLog
}

// BusyQueueError says that the queue holds messages already.
type BusyQueueError struct {
	Queue string
	Held  int64
}

func (e *BusyQueueError) Error() string {
	return fmt.Sprintf("queue %q holds %d messages already, which a run would take away; "+
		"choose another with --queue, or take them with --force", e.Queue, e.Held)
}

// run is one run under way.
type run struct {
	plan  Plan
	id    uint32
	clock clock.Clock
	epoch epoch
	queue driver.Queue
	// stages is complete before the first consumer starts.
	stages   map[Phase]*stage
	progress func(Progress)

	foreign     atomic.Int64
	takeErrors  atomic.Int64
	takeFailure firstError
	notes       []string
}

// Run does what the plan says, and returns when every message came or was given
// up. When ctx ends the offers stop, what is due soon is drained, and the result
// says that it was interrupted. It fails if the plan is wrong, the queue is busy
// (*BusyQueueError) or cannot be opened; whatever happens later is counted.
//
// An external program that can runs the plan by itself. It cannot be interrupted
// with a result, and an error of its own ends the run.
func Run(ctx context.Context, o Options) (*Result, error) {
	if err := o.Plan.Validate(); err != nil {
		return nil, err
	}
	if err := o.refuseBusy(ctx); err != nil {
		return nil, err
	}
	if d, ok := o.Driver.(programDriver); ok {
		return runExternal(ctx, o, d)
	}
	return runHere(ctx, o)
}

// runHere runs the plan in this process.
func runHere(ctx context.Context, o Options) (*Result, error) {
	opening, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	queue, err := o.Driver.Open(opening, driver.Target{RedisURL: o.RedisURL, Queue: o.Plan.Queue})
	if err != nil {
		return nil, fmt.Errorf("open driver %s: %w", o.Driver.Identity(), err)
	}
	r := newRun(o, queue)
	consuming, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	consumed := r.consumeAll(consuming)
	r.warmUp(ctx)
	return r.measure(ctx, o, func() {
		stop()
		r.await(consumed, abandonAfter, "consumers did not end when told to")
	})
}

func (o Options) refuseBusy(ctx context.Context) error {
	if o.Redis == nil || o.Force {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	held, err := o.store().Held(asking)
	if err != nil {
		return err
	}
	if held > 0 {
		return &BusyQueueError{o.Plan.Queue, held}
	}
	return nil
}

func newRun(o Options, queue driver.Queue) *run {
	r := &run{
		plan: o.Plan, id: o.RunID, clock: o.Clock, epoch: newEpoch(), queue: queue,
		stages: map[Phase]*stage{}, progress: o.Progress,
	}
	if r.clock == nil {
		r.clock = clock.System()
	}
	if r.progress == nil {
		r.progress = func(Progress) {}
	}
	p := r.plan
	r.stages[Measured] = &stage{
		phase: Measured, rate: p.Rate, delay: p.Delay, seed: p.Seed,
		ledger: newLedger(p.Producers, p.Rate.messages(p.Duration)), recorder: newRecorders(p.Producers, p.Consumers),
	}
	if p.Warmup > 0 {
		r.stages[Warmup] = &stage{
			phase: Warmup, rate: p.Rate, delay: p.Delay.capped(MaxWarmupDelay), seed: p.Seed,
			ledger: newLedger(p.Producers, p.Rate.messages(p.Warmup)), recorder: newRecorders(p.Producers, p.Consumers),
		}
	}
	return r
}

// warmUp runs the warm-up until its last message is consumed, so that nothing of
// it is under way when the measurement begins.
func (r *run) warmUp(ctx context.Context) {
	s := r.stages[Warmup]
	if s == nil {
		return
	}
	collector := r.collect(s, r.plan.Warmup)
	r.load(ctx, s, r.plan.Warmup)
	r.drain(ctx, s)
	collector.stop()
	if n := s.ledger.outstanding.Load(); n > 0 && ctx.Err() == nil {
		r.note("%d warm-up messages never came", n)
	}
	if n := s.ledger.unknown(); n > 0 {
		r.note("%d offers of the warm-up failed, the first: %v", n, s.failure.get())
	}
}

// measure runs the measured phase and strikes the balance. endConsumers returns
// once no value is on its way through a consumer.
func (r *run) measure(ctx context.Context, o Options, endConsumers func()) (*Result, error) {
	holder := r.holder(o)
	before, usageErr := r.usage(ctx, o.Redis)
	s := r.stages[Measured]
	collector := r.collect(s, r.plan.Duration)
	r.load(ctx, s, r.plan.Duration)
	r.drain(ctx, s)
	r.settle(s, holder)
	elapsed := time.Since(s.start)
	after, err := r.usage(ctx, o.Redis)
	usageErr = errors.Join(usageErr, err)
	endConsumers()
	collector.stop()
	r.readHeld(ctx, s, holder)
	result, err := r.result(o, s, collector, elapsed)
	if err != nil {
		return nil, err
	}
	result.Report.Interrupted = ctx.Err() != nil
	if o.Redis != nil {
		if usageErr == nil {
			result.Report.ServerStats = serverStats(after.minus(before), result.Report.Counts.Delivered)
		} else {
			r.note("no server statistics: %v", usageErr)
		}
	}
	r.close()
	r.cleanUp(ctx, o, result.Report.Counts)
	r.explain(s, result.Report)
	return result, nil
}

// load offers the schedule of s. Offers that are not answered in time are
// cancelled, and given up if that does not end them.
func (r *run) load(ctx context.Context, s *stage, duration time.Duration) {
	s.start = time.Now()
	offers, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop, halt := context.WithCancel(ctx)
	defer halt()
	done := r.offerAll(stop, offers, s)
	limit := time.NewTimer(duration + r.plan.DrainTimeout)
	defer limit.Stop()
	select {
	case <-done:
		return
	case <-limit.C:
	case <-ctx.Done():
		patience := time.NewTimer(r.plan.DrainTimeout)
		defer patience.Stop()
		select {
		case <-done:
			return
		case <-patience.C:
		}
	}
	halt()
	cancel()
	r.await(done, abandonAfter, "offers did not end when cancelled")
}

// await waits for done, and notes what if it does not come.
func (r *run) await(done <-chan struct{}, limit time.Duration, what string) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		r.note("%s within %s", what, limit)
	}
}

func (r *run) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

func (r *run) holder(o Options) Holder {
	if holder, ok := r.queue.(Holder); ok {
		return holder
	}
	if o.Redis != nil {
		return o.store()
	}
	return nil
}

// store is where the driver keeps its messages: in the keys of Redisson's
// format, unless it says otherwise. Redis must not be nil.
func (o Options) store() driver.Store {
	if storer, ok := o.Driver.(driver.Storer); ok {
		return storer.Store(o.Redis.Client, o.Plan.Queue)
	}
	return o.Redis
}

// usage asks the server even after an interrupt.
func (r *run) usage(ctx context.Context, server *Redis) (usage, error) {
	if server == nil {
		return usage{}, nil
	}
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	return server.usage(asking)
}

func serverStats(u usage, delivered int64) *report.ServerStats {
	stats := &report.ServerStats{TransferCalls: u.transferCalls, Commands: u.commands, CPUSeconds: u.cpuSeconds}
	if delivered > 0 {
		stats.TransferCallsPerMessage = float64(u.transferCalls) / float64(delivered)
	}
	return stats
}

// close closes the queue, and gives up on one that hangs.
func (r *run) close() {
	done := make(chan struct{})
	var err error
	go func() {
		err = r.queue.Close()
		close(done)
	}()
	before := len(r.notes)
	r.await(done, abandonAfter, "the driver did not close")
	if len(r.notes) == before && err != nil {
		r.note("closing the driver: %v", err)
	}
}

// cleanUp removes the queue of this run from the server.
func (r *run) cleanUp(ctx context.Context, o Options, c report.Counts) {
	if o.Redis == nil || !o.OwnQueue {
		return
	}
	if c.Pending > 0 {
		r.note("queue %q keeps its %d pending messages", r.plan.Queue, c.Pending)
		return
	}
	clearing, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	if err := o.store().Clear(clearing); err != nil {
		r.note("%v", err)
	}
}
