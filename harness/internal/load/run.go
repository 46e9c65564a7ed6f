package load

import (
	"context"
	"fmt"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/faketime"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
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
	// OverProtocol has a program that cannot run the plan by itself make each call of
	// it, so that the way there and back is part of every figure.
	OverProtocol bool
	// Serve is the beginning of a command line that, with the name of an implementation
	// such as "dq:4.7.0" at its end, serves that as a program of the driver protocol. It
	// is needed where the plan kills a member whose implementation is in this process, or
	// moves its clock.
	Serve []string
	// Clocks are the files that move the clock of a member, by its place in the fleet,
	// counted from 1. Such a member is a process of its own.
	Clocks map[int]faketime.File
	// Worker is this process's share, if several processes split the plan. They
	// have the plan, RunID and StartAt in common, and Redis must not be nil.
	Worker plan.Worker
	// StartAt is when the measured phase begins, by the clock of the server if
	// there is one; zero is as soon as possible. The warm-up comes before, or is
	// left out where there is no time for it.
	StartAt time.Time
	// Gather, which may be nil, is called once the run is warm, and says when the measured
	// phase begins: how several runs begin at one instant. When ctx ends first it is as soon
	// as possible. It is not for a run with a StartAt.
	Gather func(ctx context.Context) (time.Time, error)
	// Account keeps account of each message: Result.Messages. All members must be able to
	// (load(ledger) of PROTOCOL.md).
	Account bool
	// Meanwhile, which may be nil, runs beside the measured phase, from its start on. The run
	// does not end before it has returned; ctx ends with the run.
	Meanwhile func(ctx context.Context, start time.Time)
	// Live, which may be nil, shows the run while it lasts.
	Live *Live
	// Clock makes the timer of the schedule; nil is the clock of the machine.
	Clock clock.Clock
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

// Run does what the plan says, and returns when every message came or was given
// up. When ctx ends the offers stop, what is due soon is drained, and the result
// says that it was interrupted. It fails if the plan is wrong, the queue is busy
// (*BusyQueueError), cannot be opened, or lacks what the plan needs
// (*driver.CapabilityError), or if a program ends or breaks the protocol; whatever
// else happens is counted.
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
		if held > 0 && !o.heldByWorkers(asking, name) {
			return &BusyQueueError{name, held}
		}
	}
	return nil
}
