package load

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/text"
)

// member is an agent of the fleet.
type member struct {
	plan.Member
	engine  *engine
	number  int
	driver  spec.Driver
	link    *program.Link // nil before it is connected
	handle  string
	begun   map[int]bool // consumers
	ended   atomic.Bool  // its offers and takes
	sending sync.Mutex   // held while items are on their way

	state  state     // the engine's lock guards this and what follows
	broken bool      // over for a fault
	gone   time.Time // since when it is broken: it offers nothing from then on
	heard  time.Time
	quiet  time.Duration // in which this process ran, and heard nothing
	gap    time.Duration // the longest between two of its reports
	outbox []byte
}

// state is whether a member is in the run: over, as the plan says or for a fault.
type state int

const (
	toCome state = iota
	there
	over
)

// identity is the identity that the program stated.
func (m *member) identity() driver.Identity {
	if m.link == nil {
		return m.driver.Identity()
	}
	return m.link.Introduction().Identity
}

// there reports whether the member is open and has not ended.
func (m *member) there() bool {
	m.engine.mu.Lock()
	defer m.engine.mu.Unlock()
	return m.state == there
}

// leave ends the member, and reports if it was there. An error breaks it: its program is killed, the fate of its open offers unknown.
func (m *member) leave(err error) bool {
	m.engine.mu.Lock()
	defer m.engine.mu.Unlock()
	was := m.state
	if m.state = over; err != nil && was != over {
		m.breaks(m.heard, err)
		go m.link.Kill(err)
	}
	return was == there
}

// breaks keeps that the member is broken. The engine's lock is held.
func (m *member) breaks(at time.Time, err error) {
	m.broken, m.gone = true, m.heard.Add(min(m.gap, time.Since(m.heard), time.Second))
	m.engine.fault(m, at, err.Error())
}

// able refuses a program that lacks an ability that the plan needs.
func (m *member) able() error {
	hello, p := m.link.Introduction(), m.engine.Plan
	for _, ability := range []struct {
		needed     bool
		name, does string
	}{
		{true, program.LoadOp, "make load (add the ops load.open, load.offer, load.take, load.halt, load.end and load.close of docs/protocol.md, and load to hello)"},
		{p.Queues > 1, "load(queues)", ""}, {p.Poll > 0, "load(poll)", ""}, {p.Cancel.Share > 0, "load(cancel)", ""},
	} {
		if ability.needed && !hello.Can(ability.name) {
			return &driver.CapabilityError{Driver: m.identity(), Need: cmp.Or(ability.does, ability.name)}
		}
	}
	return nil
}

// prepare makes the agents of all members ready, also of later ones: no build and no start of a program may fall into the measurement.
func (e *engine) prepare(ctx context.Context) error {
	links := map[string]*program.Link{}
	for i, m := range e.members {
		name := m.driver.Identity().String()
		if m.Kill || e.Agents > 0 { // it has a process to itself
			name += fmt.Sprint(i)
		}
		if m.link = links[name]; m.link == nil {
			made, err := e.connect(ctx, m)
			if err != nil {
				return fmt.Errorf("open driver %s: %w", m.driver.Identity(), err)
			}
			m.link, links[name], e.owners = made, made, append(e.owners, m)
		}
		if err := m.able(); err != nil {
			return err
		}
	}
	return nil
}

// connect starts the agent of a member, unless it has come: in a process of its own, unless it is loaded in this one.
func (e *engine) connect(ctx context.Context, m *member) (*program.Link, error) {
	name := m.driver.Identity().String()
	switch named, isProgram := m.driver.(spec.Program); {
	case e.Agents > 0:
		return e.agents[m.number], nil
	case isProgram && !named.IsLibrary():
		return named.Start(ctx, e.Notice, nil)
	case e.Serve != nil:
		return program.Start(ctx, name, append(slices.Clone(e.Serve), name), nil)
	case m.Kill:
		return nil, errors.New("expected a process of its own: only a process can be killed")
	}
	return program.Local(ctx, name, m.driver.Serve)
}

// fault keeps an agent's breach of the protocol, for the verdict. The engine's lock is held.
func (e *engine) fault(m *member, at time.Time, text string) {
	f := run.AgentFault{Agent: m.identity().String(), Text: text}
	if len(e.members) > 1 {
		f.Agent = fmt.Sprintf("agent %d (%s)", m.number+1, f.Agent)
	}
	p := e.phases[plan.Measured]
	if f.Warmup = e.phases[plan.Warmup] != nil && (p == nil || at.Before(p.start)); p != nil {
		f.Second = max(at.Sub(p.start).Seconds(), 0)
	}
	e.faults = append(e.faults, f)
}

// shareConsumers has each member that takes begin the consumers which are its share of now.
func (e *engine) shareConsumers(ctx context.Context) error {
	takers := slices.DeleteFunc(slices.Clone(e.members), func(m *member) bool { return !m.Takes || !m.there() })
	for k, m := range takers {
		mine := []int{}
		for c := range e.Plan.Consumers {
			if c/max(e.Plan.Queues, 1)%len(takers) == k && !m.begun[c] {
				m.begun[c] = true
				mine = append(mine, c)
			}
		}
		if len(mine) == 0 {
			continue
		}
		if _, err := m.call(ctx, openTimeout, "load.take", map[string]any{"consumers": mine}); err != nil {
			return fmt.Errorf("driver %s: %w", m.identity(), err)
		}
	}
	return nil
}

// call calls an op on the member's agent. A member that does not answer within the limit, or has ended, is broken.
func (m *member) call(ctx context.Context, limit time.Duration, op string, arguments map[string]any) (json.RawMessage, error) {
	arguments["handle"] = m.handle
	asking, cancel := awake(context.WithoutCancel(ctx), limit)
	defer cancel()
	defer context.AfterFunc(m.engine.interrupted, func() {
		if program.Pause(asking, rush) {
			m.link.Kill(errors.New("stopped answering"))
		}
	})()
	result, err := m.link.Call(asking, op, arguments)
	if err != nil && asking.Err() != nil {
		err = fmt.Errorf("%s: stopped answering", op)
	}
	if err != nil && !errors.As(err, new(*program.RemoteError)) {
		m.leave(err)
	}
	return result, err
}

// open opens the queues of the member, and has it take.
func (m *member) open(ctx context.Context) error {
	e, p := m.engine, m.engine.Plan
	opening, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	setup := program.Setup{
		Redis: e.url, Queues: p.QueueNames(), RunID: fmt.Sprintf("%08x", e.RunID), PayloadSize: p.PayloadSize,
		Poll: p.Poll, Work: p.Work, Cancels: p.Cancel.Share > 0, Each: m.Kill || e.accounts(),
		ClientName: m.clientName(), Codec: "string", Consumers: p.Consumers,
	}
	if !m.link.Introduction().HasCodec(setup.Codec) {
		setup.Codec = "bytes"
	}
	if m.Offers {
		offerers := len(slices.DeleteFunc(slices.Clone(e.members), func(other *member) bool { return !other.Offers || other.From != m.From }))
		setup.Senders = (p.Producers + offerers - 1) / offerers
		// A killed one may leave an offer of each producer open, and no more.
		setup.MostSenders = setup.Senders * map[bool]int{false: growth, true: 1}[m.Kill]
	}
	sent := time.Now()
	result, err := m.link.CallEvents(opening, "load.open", setup, m.onEvent)
	var opened program.Opened
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return &driver.CapabilityError{Driver: m.identity(), Need: "make this load (" + err.Error() + ")"}
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		err = fmt.Errorf("expected an answer to load.open within %s, got no answer", openTimeout)
	case err != nil:
	case json.Unmarshal(result, &opened) != nil || opened.Handle == "":
		err = fmt.Errorf(`expected a "handle" and "now" in answer to load.open, got %.120s`, result)
	default:
		err = m.checkClock(opened, sent)
	}
	if err != nil {
		return fmt.Errorf("open driver %s: %w", m.identity(), err)
	}
	e.mu.Lock()
	m.handle, m.state, m.heard = opened.Handle, there, time.Now()
	if p := e.phases[plan.Measured]; p != nil {
		p.lastChange = m.heard
		p.handOut()
	}
	e.mu.Unlock()
	go func() {
		every(tick, m.link.Ended(), m.handOver)
		<-m.link.Ended()
		m.leave(m.link.Failure())
	}()
	return e.shareConsumers(ctx)
}

// checkClock states the difference of the clocks of an agent on another host.
func (m *member) checkClock(opened program.Opened, sent time.Time) error {
	if m.engine.Agents == 0 || opened.Now == 0 {
		return nil
	}
	took := time.Since(sent)
	ahead := time.Duration(opened.Now - m.engine.epoch.Wall(sent.Add(took/2)))
	if ahead.Abs() > clockTolerance+took {
		return fmt.Errorf("its clock is %s ahead of the one here: set both by NTP", ahead.Round(time.Millisecond))
	}
	m.engine.note("the clock of agent %d is %+d µs to the one here, ±%d µs (not corrected for)", m.number+1, ahead.Microseconds(), (took / 2).Microseconds())
	return nil
}

func (m *member) clientName() string {
	return fmt.Sprintf("dq-bench-%08x-%d", m.engine.RunID, m.number)
}

func (m *member) onEvent(line json.RawMessage) {
	var told struct {
		Event   string            `json:"event"`
		Samples []byte            `json:"samples"`
		Errors  map[string]string `json:"errors"`
	}
	err := json.Unmarshal(line, &told)
	if err != nil || told.Event != "samples" || told.Samples == nil {
		err = fmt.Errorf(`expected an event "samples" with "samples" in base64, got %.120s`, line)
	}
	e := m.engine
	e.mu.Lock()
	m.heard, m.quiet, m.gap = time.Now(), 0, max(m.gap, time.Since(m.heard))
	if err == nil && !m.broken {
		err = program.Decode(told.Samples, func(s program.Sample) error { return e.add(m, s) })
	}
	for _, call := range program.Failing {
		first := told.Errors[call]
		e.errs[call] = cmp.Or(e.errs[call], strings.ToValidUTF8(first[:min(len(first), mostError)], ""))
	}
	e.mu.Unlock()
	if err != nil {
		m.leave(fmt.Errorf("reported what cannot be: %w", err))
	}
}

const (
	// mostItems bounds a line of items, in bytes, and mostError the text of an agent's error.
	mostItems = 10_000 * 32
	mostError = 500
	// growth bounds the senders of a member, as a multiple of its share of the producers: what waits for answers beyond them is
	// the system's lateness.
	growth = 4
	// clockTolerance is how far the clock of an agent may be off: its figures are compared with others'.
	clockTolerance = time.Second
)

// handOver hands items over, a line at a time, and ends a member that says nothing. It reports whether the member is over.
func (m *member) handOver() bool {
	e := m.engine
	m.sending.Lock()
	defer m.sending.Unlock()
	e.mu.Lock()
	m.quiet += tick
	e.mu.Unlock()
	for {
		e.mu.Lock()
		n, state, silent := min(len(m.outbox), mostItems), m.state, m.quiet > e.Silence
		items := m.outbox[:n:n]
		m.outbox = m.outbox[n:]
		e.mu.Unlock()
		switch {
		case state == over:
			return true
		case silent:
			m.leave(errors.New("stopped answering"))
			return true
		case n == 0:
			return false
		}
		if _, err := m.call(context.Background(), e.Silence, "load.offer", map[string]any{"items": items}); err != nil {
			m.leave(err)
			return true
		}
	}
}

// end ends offers and takes of the member. A take that is cancelled may lose the value that it meets; one that is unblocked does not.
func (m *member) end(ctx context.Context) {
	if m.ended.Swap(true) || !m.there() {
		return
	}
	unblocked := meanwhile(tick, func() bool { return m.engine.conn == nil || m.engine.unblock(ctx, m.clientName()) != nil })
	_, err := m.call(ctx, m.engine.Silence, "load.end", map[string]any{})
	unblocked()
	m.engine.mu.Lock()
	defer m.engine.mu.Unlock()
	switch {
	case m.state == over:
	case err != nil:
		m.engine.fault(m, time.Now(), err.Error())
	default:
		for _, p := range m.engine.phases {
			if n := p.open[m.number]; n > 0 {
				m.breaks(time.Now(), fmt.Errorf("left %s open: expected a, f, x or s for each before the answer to load.end", text.Plural(n, "item")))
			}
		}
	}
}

// close ends the member, and closes its queues.
func (m *member) close(ctx context.Context) {
	if m.end(ctx); !m.leave(nil) {
		return
	}
	if _, err := m.call(ctx, m.engine.Silence, "load.close", map[string]any{}); err != nil {
		m.engine.mu.Lock()
		defer m.engine.mu.Unlock()
		m.engine.fault(m, time.Now(), err.Error())
	}
}
