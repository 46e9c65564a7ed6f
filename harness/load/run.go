package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/driver/program"
	"github.com/dq-bench/dq-bench/harness/run"
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
	// Worker is this process's share, if several processes split the plan. They
	// have the plan, RunID and StartAt in common, and Redis must not be nil.
	Worker Worker
	// StartAt is when the measured phase begins, by the clock of the server if
	// there is one; zero is as soon as possible. The warm-up comes before, or is
	// left out where there is no time for it.
	StartAt time.Time
	// Live, which may be nil, shows the run while it lasts.
	Live *Live
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
	Report *run.Document
	Log    *run.LatenessLog
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

// runner is one run under way.
type runner struct {
	plan  Plan
	id    uint32
	clock clock.Clock
	epoch epoch
	fleet *fleet
	// stages is complete before the first consumer starts.
	stages   map[Phase]*stage
	progress func(Progress)
	worker   Worker
	// startAt is the agreed start by this machine's clock, zero if there is none.
	startAt     time.Time
	clockOffset *ClockOffset // nil if not measured

	foreign     atomic.Int64
	takeErrors  atomic.Int64
	takeFailure firstError
	noting      sync.Mutex
	notes       []string
}

// Run does what the plan says, and returns when every message came or was given
// up. When ctx ends the offers stop, what is due soon is drained, and the result
// says that it was interrupted. It fails if the plan is wrong, the queue is busy
// (*BusyQueueError), cannot be opened, or lacks what the plan needs
// (*driver.CapabilityError); whatever happens later is counted.
//
// An external program that can runs a plain plan by itself. An error of its own
// ends the run, and so does an interrupt that it cannot answer with a result.
func Run(ctx context.Context, o Options) (*Result, error) {
	if err := o.Plan.Validate(); err != nil {
		return nil, err
	}
	if err := o.checkWorker(); err != nil {
		return nil, err
	}
	if err := o.refuseBusy(ctx); err != nil {
		return nil, err
	}
	o.Live.begin(&o)
	result, err := o.run(ctx)
	if err == nil {
		o.Live.end(result.Report)
	}
	return result, err
}

func (o Options) run(ctx context.Context) (*Result, error) {
	if d, ok := o.Driver.(program.Spec); ok && o.Plan.Plain() && !o.Worker.Shared() {
		return runExternal(ctx, o, d)
	}
	return runHere(ctx, o)
}

// runHere runs the plan in this process.
func runHere(ctx context.Context, o Options) (*Result, error) {
	consuming, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	r := newRunner(o, newFleet(consuming, o))
	o.Live.attach(r)
	if err := r.fleet.prepare(ctx, o.Notice); err != nil {
		return nil, err
	}
	if err := r.agree(ctx, o); err != nil {
		return nil, err
	}
	for _, m := range r.fleet.all {
		if m.From > 0 {
			continue
		}
		if err := r.fleet.openMember(ctx, m, r.plan); err != nil {
			r.close()
			return nil, err
		}
	}
	consumed := r.consumeAll(consuming)
	endConsumers := func() {
		stop()
		r.await(consumed, abandonAfter, "consumers did not end when told to")
	}
	r.warmUp(ctx, o)
	if err := r.awaitStart(ctx); err != nil {
		endConsumers()
		r.close()
		return nil, err
	}
	return r.measure(ctx, o, endConsumers)
}

func (o Options) refuseBusy(ctx context.Context) error {
	if o.Redis == nil || o.Force {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for _, name := range o.Plan.QueueNames() {
		held, err := o.stores(name).Held(asking)
		if err != nil {
			return err
		}
		if held > 0 && !o.heldByWorkers(asking, name) {
			return &BusyQueueError{name, held}
		}
	}
	return nil
}

func newRunner(o Options, f *fleet) *runner {
	r := &runner{
		plan: o.Plan, id: o.RunID, clock: o.Clock, epoch: newEpoch(), fleet: f,
		stages: map[Phase]*stage{}, progress: o.Progress, worker: o.Worker,
	}
	if r.clock == nil {
		r.clock = clock.System()
	}
	if r.progress == nil {
		r.progress = func(Progress) {}
	}
	r.stages[Measured] = r.newStage(Measured, r.plan.schedule(), r.plan.Delay)
	if r.plan.Cancel.Share > 0 {
		r.stages[Measured].recorder.removals = &singleRecorder{total: run.NewHistogram(run.TotalDigits)}
	}
	if r.plan.Warmup > 0 {
		r.stages[Warmup] = r.newStage(Warmup, r.plan.warmUpSchedule(), r.plan.Delay.warmUp(MaxWarmupDelay))
	}
	return r
}

func (r *runner) newStage(phase Phase, s schedule, d Delay) *stage {
	p := r.plan
	l := newLedger(p.Producers, s.messages())
	l.worker = r.worker
	return &stage{
		phase: phase, schedule: s, delay: d, seed: p.Seed,
		ledger: l, recorder: newRecorders(p.Producers, p.Consumers),
	}
}

// warmUp runs the warm-up until its last message is consumed, so that nothing of
// it is under way when the measurement begins.
func (r *runner) warmUp(ctx context.Context, o Options) {
	s := r.stages[Warmup]
	if s == nil {
		return
	}
	if !r.timeToWarmUp(s) {
		r.note("no warm-up: --start-at left less than %s for it", r.length(s)+readyBefore)
		return
	}
	collector := r.collect(s)
	r.load(ctx, s)
	r.drainAny(ctx, s, o)
	collector.stop()
	if n := s.ledger.outstanding.Load(); n > 0 && !r.worker.Shared() && ctx.Err() == nil {
		r.note("%d warm-up messages never came", n)
	}
	if n := s.ledger.unknown(); n > 0 {
		r.note("%d offers of the warm-up failed, the first: %v", n, s.failure.get())
	}
}

// measure runs the measured phase and strikes the balance. endConsumers returns
// once no value is on its way through a consumer.
func (r *runner) measure(ctx context.Context, o Options, endConsumers func()) (*Result, error) {
	before, usageErr := r.usage(ctx, o.Redis)
	s := r.stages[Measured]
	collector := r.collect(s)
	evolving, endEvolution := context.WithCancel(ctx)
	var evolution sync.WaitGroup
	evolution.Go(func() { r.fleet.evolve(evolving, r.beginning(s), r.plan, r.clock, r.note) })
	removing, endRemovals := context.WithCancel(context.WithoutCancel(ctx))
	s.cancellers = r.startCancellers(removing, s)
	r.load(ctx, s)
	r.drainAny(ctx, s, o)
	endRemovals()
	s.cancellers.wait()
	endEvolution()
	evolution.Wait()
	held := r.holders(o)
	r.settle(s, held)
	elapsed := time.Since(s.start)
	after, err := r.usage(ctx, o.Redis)
	usageErr = errors.Join(usageErr, err)
	endConsumers()
	collector.stop()
	r.readHeld(ctx, s, held)
	result, err := r.result(s, collector, elapsed)
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
func (r *runner) load(ctx context.Context, s *stage) {
	duration := s.schedule.duration()
	s.begin(r.beginning(s), r.plan, r.epoch)
	offers, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop, halt := context.WithCancel(ctx)
	defer halt()
	done := r.offerAll(stop, offers, s)
	limit := time.NewTimer(time.Until(s.start) + duration + r.plan.DrainTimeout)
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
func (r *runner) await(done <-chan struct{}, limit time.Duration, what string) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		r.note("%s within %s", what, limit)
	}
}

// note may be called from any goroutine.
func (r *runner) note(format string, args ...any) {
	r.noting.Lock()
	defer r.noting.Unlock()
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// holders returns what tells which messages are still held: the open members
// that can, and the keys on the server.
func (r *runner) holders(o Options) []driver.Holder {
	var holders []driver.Holder
	open := r.fleet.openMembers()
	onServer := len(open) == 0
	for _, m := range open {
		for _, q := range m.queues {
			if holder, ok := q.(driver.Holder); ok {
				holders = append(holders, holder)
			} else {
				onServer = true
			}
		}
	}
	if onServer && o.Redis != nil {
		for _, name := range r.fleet.names {
			holders = append(holders, o.stores(name))
		}
	}
	return holders
}

// usage asks the server even after an interrupt.
func (r *runner) usage(ctx context.Context, server *Redis) (usage, error) {
	if server == nil {
		return usage{}, nil
	}
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	return server.usage(asking)
}

func serverStats(u usage, delivered int64) *run.ServerStats {
	stats := &run.ServerStats{TransferCalls: u.transferCalls, Commands: u.commands, CPUSeconds: u.cpuSeconds}
	if delivered > 0 {
		stats.TransferCallsPerMessage = float64(u.transferCalls) / float64(delivered)
	}
	return stats
}

// close closes the members, and gives up on one that hangs.
func (r *runner) close() {
	for _, m := range r.fleet.openMembers() {
		if err := r.fleet.closeMember(m); err != nil {
			r.note("%v", err)
		}
	}
}

// cleanUp removes the queue of this run from the server.
func (r *runner) cleanUp(ctx context.Context, o Options, c run.Counts) {
	// Other workers may still need the queue; one that is empty has no keys.
	if o.Redis == nil || !o.OwnQueue || o.Worker.Shared() {
		return
	}
	if c.Pending > c.NotDue {
		r.note("queue %q keeps its %d pending messages", r.plan.Queue, c.Pending)
		return
	}
	clearing, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	for _, name := range r.fleet.names {
		if err := o.stores(name).Clear(clearing); err != nil {
			r.note("%v", err)
			return
		}
	}
}
