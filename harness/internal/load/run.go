package load

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/agent"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/faketime"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Deadlines of what should not take long, and could hang.
const (
	openTimeout = time.Minute
	askTimeout  = 5 * time.Second
	readTimeout = time.Minute
	// programTimeout bounds the start of a program, the first build included.
	programTimeout = 10 * time.Minute
	// silenceLimit is for how long an agent may say nothing.
	silenceLimit = 15 * time.Second
)

// Options say what is loaded, and how.
type Options struct {
	Plan   plan.Plan
	Driver driver.Driver
	// Drivers are those that the members of the plan's fleet name.
	Drivers map[string]driver.Driver
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
	// Serve is the beginning of a command line that, with the name of an implementation
	// such as "dq:4.7.0" at its end, serves that as a program of the driver protocol. Without it
	// an implementation of this process is loaded in it, which is for tests.
	Serve []string
	// Agents are links to agents on other hosts, each of which is a member that does an equal
	// share; nil for none.
	Agents []*program.Link
	// Clocks are the files that move the clock of a member, by its place in the fleet,
	// counted from 1. Such a member is a process of its own.
	Clocks map[int]faketime.File
	// Gather, which may be nil, is called once the run is warm, and says when the measured
	// phase begins: how several runs begin at one instant. When ctx ends first it is as soon
	// as possible.
	Gather func(ctx context.Context) (time.Time, error)
	// Account keeps account of each message: Result.Messages.
	Account bool
	// Meanwhile, which may be nil, runs beside the measured phase, from its start on. The run
	// does not end before it has returned; ctx ends with the run.
	Meanwhile func(ctx context.Context, start time.Time)
	// Live, which may be nil, shows the run while it lasts.
	Live *Live
	// Clock makes the timer of the schedule; nil is the clock of the machine.
	Clock clock.Clock
	// Silence is for how long an agent may say nothing; 0 stands for 15 s.
	Silence time.Duration
	// Progress, which may be nil, is called once a second from one goroutine at a time.
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
	// Messages are those of the plan in their order, of a run that keeps account.
	Messages []Message
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

// ErrNothingMeasured says that a run was interrupted before its measured phase.
var ErrNothingMeasured error = nothingMeasured{}

type nothingMeasured struct{}

func (nothingMeasured) Error() string { return "interrupted in the warm-up: nothing was measured" }

// Is makes it a cancellation, so that a series stands with the runs before.
func (nothingMeasured) Is(target error) bool { return target == context.Canceled }

// Run does what the plan says, and returns when every message came or was given
// up. When ctx ends the offers stop, what is due soon is drained, and the result
// says that it was interrupted. It fails if the plan is wrong, the queue is busy
// (*BusyQueueError), cannot be opened, or lacks what the plan needs
// (*driver.CapabilityError), and if nothing was measured (ErrNothingMeasured). From the first
// measured message on whatever happens is counted: what an agent that dies, falls silent or
// reports what cannot be has left open is unknown.
func Run(ctx context.Context, o Options) (*Result, error) {
	if err := o.Plan.Validate(); err != nil {
		return nil, err
	}
	if err := o.refuseBusy(ctx); err != nil {
		return nil, err
	}
	e := newEngine(o)
	o.Live.begin(e)
	result, err := e.run(ctx)
	if err == nil {
		o.Live.end(result.Report)
	}
	return result, err
}

// driverOf returns the implementation of a member.
func (o Options) driverOf(m plan.Member) driver.Driver {
	if d := o.Drivers[m.Driver]; m.Driver != "" && d != nil {
		return d
	}
	return o.Driver
}

// drivers are those of all members, each once.
func (o Options) drivers() []driver.Driver {
	var all []driver.Driver
	seen := map[string]bool{}
	for _, m := range o.Plan.Members() {
		if !seen[m.Driver] {
			seen[m.Driver] = true
			all = append(all, o.driverOf(m))
		}
	}
	return all
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
		if held > 0 {
			return &BusyQueueError{name, held}
		}
	}
	return nil
}

// engine is a run under way.
type engine struct {
	Options
	epoch   agent.Epoch
	members []*member
	links   map[string]link // by what they are, those that members share
	offset  *ClockOffset    // of the server's clock; nil if not measured
	warmup  *run.Warmup
	gone    <-chan struct{} // closed when the server is; nil if nobody looks

	mu     sync.Mutex // guards what follows
	phases map[plan.Phase]*phase
	notes  []string
	faults []run.AgentFault
	left   departure
	errs   agent.Errors // the first ones of the agents
}

func newEngine(o Options) *engine {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	if o.Silence == 0 {
		o.Silence = silenceLimit
	}
	if len(o.Agents) > 0 {
		o.Plan.Fleet = plan.Instances(len(o.Agents))
	}
	e := &engine{Options: o, epoch: agent.NewEpoch(), links: map[string]link{}, phases: map[plan.Phase]*phase{}}
	for i, m := range o.Plan.Members() {
		joins := &member{Member: m, number: i, engine: e, driver: o.driverOf(m), begun: map[int]bool{}, some: make(chan struct{}, 1)}
		if file, ok := o.Clocks[i+1]; ok {
			joins.clock = &file
		}
		e.members = append(e.members, joins)
	}
	return e
}

// note may be called from any goroutine.
func (e *engine) note(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.notes = append(e.notes, fmt.Sprintf(format, args...))
}

func (e *engine) run(ctx context.Context) (_ *Result, err error) {
	defer func() {
		for _, m := range e.members {
			m.end(ctx)
			m.close(ctx)
		}
		for _, m := range e.members {
			m.closeLink()
		}
	}()
	preparing, cancel := context.WithTimeout(ctx, programTimeout)
	defer cancel()
	if err := e.prepare(preparing); err != nil {
		return nil, err
	}
	for _, m := range e.members {
		if m.From > 0 {
			continue
		}
		if err := m.open(ctx); err != nil {
			return nil, err
		}
	}
	watching, end := context.WithCancel(context.WithoutCancel(ctx)) // a run that is interrupted drains yet
	defer end()
	e.gone = e.watchServer(watching)
	if err := e.warmUp(ctx); err != nil {
		return nil, err
	}
	start, err := e.start(ctx)
	if err != nil {
		return nil, err
	}
	return e.measure(ctx, start)
}

// readyBefore is how long before the start the items of its first second are handed over.
const readyBefore = 50 * time.Millisecond

// start is when the measured phase begins.
func (e *engine) start(ctx context.Context) (start time.Time, err error) {
	if e.Gather != nil {
		start, err = e.Gather(ctx)
	}
	if ctx.Err() != nil {
		return start, ErrNothingMeasured
	}
	if start.IsZero() {
		start = time.Now().Add(readyBefore)
	}
	return start, err
}

// identity names the implementations, joined by + if there are several.
func (e *engine) identity() driver.Identity {
	var names []string
	for _, m := range e.members {
		if name := m.identity().String(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 1 {
		return e.members[0].identity()
	}
	return driver.Identity{Name: strings.Join(names, "+")}
}
