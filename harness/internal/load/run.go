// Package load runs a plan and counts.
//
// The coordinator, an engine, knows the plan and counts. Agents are next to an implementation: in a child process, on
// another host, in a test. The engine hands them items two seconds ahead of their instants; they offer and take, and report a
// sample for each step; a phase counts the samples, and the run document has the counts.
//
// The load is open. Nothing that is measured waits for anything else that is: a slow offer delays neither other producers nor
// the intended instants that follow, and its delay shows as schedule lag and response time, never as lateness.
package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Deadlines of what should not take long, and could hang.
const (
	openTimeout = time.Minute
	askTimeout  = 5 * time.Second
	readTimeout = time.Minute
	mendTimeout = 20 * time.Second // bounds the end of a fault
	// programTimeout bounds the start of a program, the first build included.
	programTimeout = 10 * time.Minute
	// silenceLimit is for how long an agent, or the server, may say nothing.
	silenceLimit = 15 * time.Second
	noHurry      = 1<<63 - 1
	// rush is how long a call of a program, and its end, may take after an interrupt, and at most a call of the server.
	rush = 2 * time.Second
)

// Options are the load and its target. Functions and Live may be nil.
type Options struct {
	Plan   plan.Plan
	Driver spec.Driver
	// Redis is a --redis value: a server that runs, or one that is started for the run. Without one the implementation has no server.
	Redis string
	// RunID marks the messages of this run.
	RunID uint32
	// Force runs on a queue that holds messages already, which are then taken and counted as foreign.
	Force bool
	// Serve is the beginning of a command line that, with the name of an implementation such as "dq:4.7.0" at its end, serves
	// the implementation as a program. Without it an implementation of this process is loaded in it, which is for tests.
	Serve []string
	// Agents, if above 0, are waited for at the Door. They are on other hosts, and each is a member that does an equal share.
	Agents int
	Door   *Door
	// Gather is called once the run is warm, and says when the measured phase begins: how several runs begin at one instant.
	// nil is at once. When ctx ends first nothing is measured.
	Gather func(ctx context.Context) time.Time
	// Break does faults after the start of the measured phase, and returns them; nil is the plan's faults.
	Break func(ctx context.Context, start time.Time) []run.FaultEvent
	// Live shows the run while it lasts, which About names.
	Live  *Live
	About About
	// Clock makes the timer that finds hiccups; nil is the clock of the machine.
	Clock clock.Clock
	// Silence is for how long an agent, or the server, may say nothing; 0 means 15 s.
	Silence time.Duration
	// Progress is called each second from one goroutine at a time, with a line that has the second's p99; the last one has the phase's.
	Progress func(text string, last bool)
	// Notice gets lines on what takes long before the run, such as the build of a driver program.
	Notice func(string)
}

// driverOf returns the implementation of a member of the fleet, which may name one.
func (o Options) driverOf(m plan.Member) spec.Driver {
	if d, err := spec.Parse(m.Driver); err == nil {
		return d
	}
	return o.Driver
}

// interruption is why a run ended: the server is gone, in the words of the document, or nothing was measured yet. It is a
// cancellation, so that a series keeps its earlier runs.
type interruption string

func (i interruption) Error() string { return string(i) }

func (interruption) Is(target error) bool { return target == context.Canceled }

// Run carries out the plan, on a queue of its own unless the plan names one, and returns when every message was delivered or given up.
// When ctx ends the offers stop, messages due soon are drained, and the result says that it was interrupted. It fails if the plan is wrong,
// the queue holds messages, cannot be opened, or lacks an ability that the plan needs (*driver.CapabilityError), and with context.Canceled
// if nothing was measured. From the first measured message on whatever happens is counted: the messages that an agent which dies, falls
// silent or reports what cannot be has left open are unknown.
func Run(ctx context.Context, o Options) (_ *run.Document, err error) {
	if err := o.Plan.Validate(); err != nil {
		return nil, err
	}
	e := newEngine(o)
	e.interrupted = ctx
	defer context.AfterFunc(ctx, func() { e.patience.CompareAndSwap(noHurry, int64(rush)) })()
	if o.Redis != "" {
		srv, err := startServer(ctx, o.Redis, o.Plan.Faults, e.Notice)
		if err != nil {
			return nil, err
		}
		defer srv.Close()
		e.conn, e.url, e.several = srv.Conn(), srv.URL(), srv.Several()
		defer e.conn.Close()
		e.on = &run.Server{Product: srv.Product, Version: srv.Version, How: srv.How, Embedded: srv.Embedded()}
		if redis.IsExternal(o.Redis) {
			e.on.Address = srv.Addr
		}
		if len(o.Plan.Faults) > 0 {
			proxy, err := redis.NewProxy(redis.DialTo(srv.Addr))
			if err != nil {
				return nil, err
			}
			defer proxy.Close()
			in := &injector{faults: o.Plan.Faults, server: srv, proxy: proxy, admin: srv.Conn()}
			defer in.admin.Close()
			e.url, e.Break = srv.URLBy(proxy.Addr), in.run
		}
	}
	if o.Agents > 0 {
		if e.agents, err = o.Door.Wait(ctx, o.Agents, o.Driver.Identity().String(), e.Notice); err != nil {
			return nil, err
		}
	}
	if !o.Force {
		if err := e.refuseBusy(ctx); err != nil {
			return nil, err
		}
	}
	if e.Live != nil {
		e.Live.runs.Store(e.About.Side, e)
	}
	return e.run(ctx)
}

// engine is a run under way.
type engine struct {
	Options
	on          *run.Server
	conn        redis.Conn // past the implementation; nil without a server
	url         string     // for the implementation
	several     bool       // conn leads to a Cluster, or by sentinels to a master
	agents      []*program.Link
	epoch       program.Epoch
	members     []*member
	owners      []*member // the ones that close their links, which other members may share
	warmup      *run.Warmup
	interrupted context.Context
	patience    atomic.Int64 // with the server, ns: noHurry before an interrupt, then rush, and 0 once the server hangs, or is gone

	mu     sync.Mutex // guards what follows, the phases, and the states of the members
	phases map[plan.Phase]*phase
	meter  *meter // of the measured phase, and there before it
	notes  []string
	faults []run.AgentFault
	errs   map[string]string // the first ones of the agents, by program.Failing
	served usages            // what the server answered last
	heard  time.Time         // when it did
	final  *run.Document     // nil before the end
}

func newEngine(o Options) *engine {
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	if o.Gather == nil {
		o.Gather = func(context.Context) time.Time { return time.Now().Add(readyBefore) }
	}
	o.Clock, o.Silence = cmp.Or(o.Clock, clock.System()), cmp.Or(o.Silence, silenceLimit)
	if o.Agents > 0 {
		o.Plan.Fleet = []plan.Member{{Count: o.Agents}}
	}
	o.Plan.Queue = cmp.Or(o.Plan.Queue, o.ownQueue())
	e := &engine{Options: o, epoch: program.NewEpoch(), phases: map[plan.Phase]*phase{}, errs: map[string]string{}}
	e.patience.Store(noHurry)
	for i, m := range o.Plan.Members() {
		e.members = append(e.members, &member{Member: m, number: i, engine: e, driver: o.driverOf(m), begun: map[int]bool{}})
	}
	return e
}

// ownQueue is the queue of a plan that names none; its keys are deleted at the end unless messages are pending.
func (o Options) ownQueue() string { return fmt.Sprintf("dq-bench:%08x", o.RunID) }

// accounts reports whether each message is accounted for.
func (o Options) accounts() bool { return o.Redis != "" && (o.Plan.Breaks() || o.Break != nil) }

// note may be called from any goroutine.
func (e *engine) note(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.notes = append(e.notes, fmt.Sprintf(format, args...))
}

func (e *engine) run(ctx context.Context) (_ *run.Document, err error) {
	defer e.closeAll(ctx)
	preparing, cancel := context.WithTimeout(ctx, programTimeout)
	defer cancel()
	if err := e.prepare(preparing); err != nil {
		return nil, err
	}
	for _, m := range e.members {
		if m.From == 0 {
			if err := m.open(ctx); err != nil {
				return nil, err
			}
		}
	}
	ctx, stop := e.watchServer(ctx)
	defer stop()
	e.warmUp(ctx)
	start := e.Gather(ctx)
	if ctx.Err() != nil {
		e.cleanUp(ctx, run.Counts{}, nil)
		return nil, cmp.Or(e.gone(ctx), interruption("interrupted in the warm-up: nothing was measured"))
	}
	return e.measure(ctx, start), nil
}

// closeAll ends all members, and then their links. Their figures count; a program's end is judged. It may be called again.
func (e *engine) closeAll(ctx context.Context) {
	for _, m := range e.members {
		m.close(ctx)
	}
	for _, m := range e.owners {
		end := time.AfterFunc(max(rush, time.Duration(e.patience.Load())), func() { // no fault: a program has ten seconds
			e.note("%s did not end within %s of its stdin closing and was killed", m.identity(), rush)
			m.link.Kill(nil)
		})
		err := m.link.Close()
		end.Stop()
		e.mu.Lock()
		if err != nil && !m.broken {
			e.fault(m, time.Now(), err.Error())
		}
		e.mu.Unlock()
	}
	e.owners = nil
}

// measure runs the measured phase and makes the run document.
func (e *engine) measure(ctx context.Context, start time.Time) *run.Document {
	e.meter = startMeter(e.Clock, e.epoch)
	l := looks{before: e.look(ctx)}
	p, end := e.begin(plan.Measured, start)
	changing, endChanges := context.WithCancel(ctx)
	var events []run.FaultEvent
	var changes, breaks sync.WaitGroup
	changes.Go(func() { e.openAndCloseMembers(changing, p) })
	breaks.Go(func() {
		if e.Break != nil {
			events = e.Break(changing, p.start)
			e.mu.Lock()
			p.lastChange = time.Now() // messages are waited for anew
			e.mu.Unlock()
		}
	})
	p.offerAll(ctx)
	l.offered = e.look(ctx)
	breaks.Wait() // missing messages are waited for from here on
	p.drain(ctx)
	endChanges()
	changes.Wait()
	p.settle(ctx)
	elapsed := max(time.Since(start), 0)
	e.meter.end()
	l.after = e.look(ctx)
	for _, m := range e.members {
		m.end(ctx)
	}
	end()
	unread := e.keepHeld(ctx)
	e.closeAll(ctx)
	out := e.head()
	e.mu.Lock()
	if w := e.phases[plan.Warmup]; w != nil && w.outstanding > 0 {
		c := w.balance(unread)
		e.warmup.Lost, e.warmup.Pending = c.Lost, c.Pending
	}
	out.Started, out.ElapsedSeconds, out.Interrupted = p.start.UTC(), elapsed.Seconds(), ctx.Err() != nil && e.gone(ctx) == ""
	out.Counts = p.balance(unread)
	out.Histograms, out.Intervals, out.Warmup, out.Order, out.Offers = p.histograms, p.intervals, e.warmup, &p.order.Order, &p.offers
	e.tellMachine(out, p, l)
	if n := len(p.copies); n > 0 && !e.accounts() && !slices.ContainsFunc(e.members, func(m *member) bool { return m.Kill || m.broken }) {
		e.faults = append(e.faults, run.AgentFault{
			Agent: out.Driver.String(), Second: out.ElapsedSeconds, Text: text.Plural(int64(n), "delivered message") + " still queued: to be delivered twice",
		})
	}
	e.mu.Unlock()
	e.tellServer(out, l)
	e.explain(out, p)
	if out.ServerGone = string(e.gone(ctx)); unread && out.ServerGone == "" && e.conn != nil && e.Break == nil {
		if _, err := e.usages(ctx, lookEvery); err != nil && !errors.As(err, new(redis.Error)) {
			out.ServerGone = fmt.Sprintf("the server did not answer when the run ended: %v", err)
		}
	}
	if out.ServerGone == "" {
		e.cleanUp(ctx, out.Counts, p.copies)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	out.AgentFaults, out.Notes, out.Log = e.faults, e.notes, p.log
	if e.accounts() {
		out.Faults = p.account(events)
	}
	e.final = out
	return out
}

// head is the part of the document that is known before the run: the plan, with the drivers by their own names, and the machine.
func (e *engine) head() *run.Document {
	p := e.Plan
	if len(p.Fleet) > 0 {
		p.Fleet = p.Members()
	}
	for i, m := range p.Fleet {
		if m.Driver != "" {
			p.Fleet[i].Driver = e.members[i].identity().String()
		}
	}
	out := &run.Document{
		Schema: run.Schema, Tool: e.About.Tool, Server: e.on, Labels: e.About.Labels, RunID: fmt.Sprintf("%08x", e.RunID),
		Scenario: p.Scenario(), Format: run.RedissonFormat, Agents: e.Agents,
		Environment: run.Environment{
			OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), GoVersion: runtime.Version(), GOMAXPROCS: runtime.GOMAXPROCS(0),
		},
	}
	var names []string
	for _, m := range e.members {
		identity := m.identity()
		if out.Driver = identity; !slices.Contains(names, identity.String()) {
			names = append(names, identity.String())
		}
		if name, _, _ := strings.Cut(identity.Name, ":"); name != "dq" && name != "redisson" {
			out.Format = ""
		}
	}
	if len(names) > 1 {
		out.Driver = driver.Identity{Name: strings.Join(names, "+")}
	}
	return out
}

// explain adds notes that the counts do not show.
func (e *engine) explain(out *run.Document, p *phase) {
	if left := p.offers.Unsent; left > 0 && !out.Interrupted {
		gone := slices.ContainsFunc(e.members, func(m *member) bool { return m.Kill || m.broken })
		before := map[bool]string{true: "an agent was gone before, or "}[gone]
		e.note("%d of the %d planned messages were not offered: %sthe rate of %s was not reached", left, p.n, before, p.schedule.MeanRate())
	}
	first := func(failing string) string { return ", the first: " + e.errs[failing] }
	for _, told := range []struct {
		n         int64
		one, more string
	}{
		{p.failed(), "failed offer", first("offer")}, {p.unanswered, "unanswered offer", ""},
		{p.told[program.TakeFail], "failed take", first("take")}, {p.told[program.Unmoved], "failed removal", first("remove")},
		{p.told[program.TooLate], "late removal", ": the message was due, or on its way"},
		{out.Counts.Foreign, "foreign value", ": the queue held it before, or others offered it"}, {p.told[program.Dropped], "dropped sample", ": an agent could not send it"},
	} {
		if told.n > 0 {
			e.note("%s", strings.TrimSuffix(text.Plural(told.n, told.one)+told.more, ", the first: "))
		}
	}
}
