package load

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
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

// link is the way to an agent: *program.Process, *program.Link, or one in this process.
type link interface {
	Call(ctx context.Context, op string, params any) (json.RawMessage, error)
	CallEvents(ctx context.Context, op string, params any, onEvent func(program.Event)) (json.RawMessage, error)
	Introduction() program.Hello
	Ended() <-chan struct{}
	Failure() error
	Kill()
	io.Closer
}

// member is an agent of the fleet.
type member struct {
	plan.Member
	engine *engine
	number int
	driver driver.Driver
	clock  *faketime.File // what moves its clock, nil for one whose clock is right
	link   link
	shared bool // another member has the link, and closes it

	linkClosed bool

	handle string
	begun  map[int]bool // consumers

	mu     sync.Mutex // guards what follows
	opened bool
	ended  bool // as the plan says, or for a fault
	broken bool // for a fault
	heard  time.Time
	outbox []byte
	some   chan struct{} // has an element when there is an outbox

	handing sync.Mutex // held while items are on their way
}

// identity is what the program said, once it has.
func (m *member) identity() driver.Identity {
	if m.link == nil {
		return m.driver.Identity()
	}
	hello := m.link.Introduction()
	return driver.Identity{Name: hello.Name, Version: hello.Version}
}

func (m *member) isEnded() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ended
}

// there reports whether the member is open and has not ended.
func (m *member) there() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.opened && !m.ended
}

func (m *member) isBroken() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.broken
}

// brokenSince is when a member that is gone for a fault was heard of last, Unix ns; 0 for others.
func (m *member) brokenSince() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.broken {
		return 0
	}
	return m.engine.epoch.Wall(m.heard)
}

// prepare has the agents of all members made ready, those that join later too: no build, and no
// start of a program, may fall into the measurement.
func (e *engine) prepare(ctx context.Context) error {
	told := map[string]bool{"": true}
	for i, m := range e.members {
		spec, _ := m.driver.(program.Spec)
		if text := spec.Notice(); !told[text] {
			told[text] = true
			e.Notice(text)
			e.note("%s", text)
		}
		var err error
		switch name := m.driver.Identity().String(); {
		case len(e.Agents) > 0:
			m.link = e.Agents[i]
		case m.Kill || m.clock != nil || e.links[name] == nil:
			if m.link, err = e.connect(ctx, m, spec); err == nil && !m.Kill && m.clock == nil {
				e.links[name] = m.link
			}
		default:
			m.link, m.shared = e.links[name], true
		}
		if err != nil {
			return fmt.Errorf("open driver %s: %w", m.driver.Identity(), err)
		}
		if err := m.able(); err != nil {
			return err
		}
	}
	return nil
}

// connect starts the agent of a member.
func (e *engine) connect(ctx context.Context, m *member, spec program.Spec) (link, error) {
	var environment []string
	var err error
	_, isProgram := m.driver.(program.Spec)
	if m.clock != nil {
		environment = m.clock.Ours()
		if _, clocked := m.driver.(driver.ClockSetter); !clocked && !isProgram {
			return nil, &driver.CapabilityError{Driver: m.driver.Identity(), Need: "be given another clock"}
		}
		if isProgram {
			if environment, err = m.clock.Environment(); err != nil {
				return nil, err
			}
		}
	}
	switch {
	case isProgram:
		return started(spec.StartProcess(ctx, e.Notice, nil, environment...))
	case e.Serve != nil:
		return started(program.Start(ctx, append(slices.Clone(e.Serve), m.driver.Identity().String()), nil, environment...))
	case m.Kill || m.clock != nil:
		return nil, errors.New("expected a process of its own, which alone can be killed or have a clock of its own")
	}
	return newHere(m.driver, e.Clock), nil
}

// started keeps a nil *Process from being a link.
func started(p *program.Process, err error) (link, error) {
	if err != nil {
		return nil, err
	}
	return p, nil
}

// able refuses a program that lacks what the plan needs.
func (m *member) able() error {
	hello := m.link.Introduction()
	if !hello.Can(program.LoadOp) {
		return &driver.CapabilityError{Driver: m.identity(), Need: "make load (add the ops load.open, load.offer, load.take, load.halt, load.end and load.close of docs/protocol.md, and load to hello)"}
	}
	for _, feature := range m.engine.Plan.Features() {
		if op := program.LoadOp + "(" + feature + ")"; !hello.Can(op) {
			return &driver.CapabilityError{Driver: m.identity(), Need: op}
		}
	}
	return nil
}

// call calls an op on the member's agent, which must be answered within the limit.
func (m *member) call(ctx context.Context, limit time.Duration, op string, arguments map[string]any) (json.RawMessage, error) {
	if arguments == nil {
		arguments = map[string]any{}
	}
	arguments["handle"] = m.handle
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	result, err := m.link.Call(asking, op, arguments)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%s: %w", op, errSilent)
	}
	return result, err
}

// The most senders of a member, as a multiple of its share of the producers: what waits for answers
// beyond that is the system's lateness.
const growth = 4

// open opens the queues of the member, and has it take.
func (m *member) open(ctx context.Context) error {
	e, p := m.engine, m.engine.Plan
	opening, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	setup := agent.Setup{
		Redis: e.RedisURL, Queues: p.QueueNames(), RunID: fmt.Sprintf("%08x", e.RunID), PayloadSize: p.PayloadSize,
		Poll: p.Poll, Work: p.Work, Cancels: p.Cancel.Share > 0, Each: m.Kill || e.Account,
		ClientName: m.clientName(), Codec: "string", Consumers: p.Consumers,
	}
	if !m.link.Introduction().HasCodec(setup.Codec) {
		setup.Codec = "bytes"
	}
	if m.Offers {
		offerers := 0
		for _, other := range e.members {
			if other.Offers && other.From == m.From {
				offerers++
			}
		}
		setup.Senders = (p.Producers + offerers - 1) / offerers
		setup.MostSenders = growth * setup.Senders
		if m.Kill { // which may leave an offer of each producer open, and no more
			setup.MostSenders = setup.Senders
		}
	}
	sent := time.Now()
	result, err := m.link.CallEvents(opening, "load.open", setup, m.onEvent)
	if errors.Is(err, program.ErrUnsupported) {
		return &driver.CapabilityError{Driver: m.identity(), Need: "make this load (" + err.Error() + ")"}
	}
	var opened agent.Opened
	if err == nil {
		if err = json.Unmarshal(result, &opened); err == nil && opened.Handle == "" {
			err = fmt.Errorf(`expected a "handle" in answer to load.open, got %.120s`, result)
		}
	}
	if err == nil {
		err = m.checkClock(opened, sent)
	}
	if err != nil {
		return fmt.Errorf("open driver %s: %w", m.identity(), err)
	}
	m.mu.Lock()
	m.handle, m.opened, m.heard = opened.Handle, true, time.Now()
	m.mu.Unlock()
	m.wake()
	go m.handOver()
	go m.listen()
	return e.shareConsumers(ctx)
}

// clockTolerance is how far the clock of an agent may be off: its figures are compared with others'.
const clockTolerance = time.Second

// checkClock states the difference of the clocks of an agent on another host.
func (m *member) checkClock(opened agent.Opened, sent time.Time) error {
	if len(m.engine.Agents) == 0 || opened.Now == 0 {
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

// clientName is what the connections of the member are called.
func (m *member) clientName() string {
	return fmt.Sprintf("dq-bench-%08x-%d", m.engine.RunID, m.number)
}

// onEvent gets the samples of the member.
func (m *member) onEvent(event program.Event) {
	var e struct {
		Samples []byte       `json:"samples"`
		Errors  agent.Errors `json:"errors"`
	}
	err := json.Unmarshal(event.Line, &e)
	m.mu.Lock()
	m.heard = time.Now()
	deaf := m.broken
	m.mu.Unlock()
	if deaf {
		return
	}
	if err == nil {
		err = agent.DecodeSamples(e.Samples, func(s agent.Sample) error { return m.engine.add(m, s) })
	}
	if err != nil {
		m.fail(fmt.Errorf("reported what cannot be: %w", err))
		go m.link.Kill()
	}
	m.engine.keepErrors(e.Errors)
}

// keepErrors keeps the first error of each kind.
func (e *engine) keepErrors(told agent.Errors) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.errs = agent.Errors{
		Offer: cmp.Or(e.errs.Offer, told.Offer), Take: cmp.Or(e.errs.Take, told.Take), Remove: cmp.Or(e.errs.Remove, told.Remove),
	}
}

// fail notes that the member's part in the run is over for a fault. What it left open is unknown.
func (m *member) fail(err error) {
	m.mu.Lock()
	if m.ended {
		m.mu.Unlock()
		return
	}
	m.ended, m.broken = true, true
	at := m.heard
	m.mu.Unlock()
	m.engine.fault(m, at, err.Error())
	m.engine.lostMember(m)
}

// fault keeps what an agent did against the protocol, for the verdict.
func (e *engine) fault(m *member, at time.Time, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := run.AgentFault{Agent: m.identity().String(), Text: text}
	if len(e.members) > 1 {
		f.Agent = fmt.Sprintf("agent %d (%s)", m.number+1, f.Agent)
	}
	if p := e.phases[plan.Measured]; p != nil {
		f.Second = max(at.Sub(p.start).Seconds(), 0)
	}
	e.faults = append(e.faults, f)
}

// listen ends the member when its link ends, or it says nothing.
func (m *member) listen() {
	tick := time.NewTicker(m.engine.Silence / 10)
	defer tick.Stop()
	for m.there() {
		select {
		case <-m.link.Ended():
			m.fail(m.link.Failure())
		case <-tick.C:
			m.mu.Lock()
			silent := time.Since(m.heard)
			m.mu.Unlock()
			if silent > m.engine.Silence {
				m.fail(errSilent)
				m.link.Kill()
			}
		}
	}
}

var errSilent = errors.New("stopped answering")

// hand adds an item to what the member is to get.
func (m *member) hand(item agent.Item) {
	m.mu.Lock()
	m.outbox = agent.AppendItem(m.outbox, item)
	m.mu.Unlock()
	m.wake()
}

func (m *member) wake() {
	select {
	case m.some <- struct{}{}:
	default:
	}
}

// mostItems bounds one line of items, in bytes.
const mostItems = 10_000 * 32

// handOver hands items over, a line at a time.
func (m *member) handOver() {
	for m.there() {
		select {
		case <-m.some:
		case <-m.link.Ended():
			return
		}
		for m.handSome() {
		}
	}
}

// handSome hands over a line of items; it reports whether there was one.
func (m *member) handSome() bool {
	m.handing.Lock()
	defer m.handing.Unlock()
	m.mu.Lock()
	n := min(len(m.outbox), mostItems)
	items := m.outbox[:n:n]
	m.outbox = m.outbox[n:]
	m.mu.Unlock()
	if n == 0 {
		return false
	}
	_, err := m.call(context.Background(), m.engine.Silence, "load.offer", map[string]any{"items": items})
	if err != nil {
		m.fail(err)
	}
	return err == nil
}

// takeBack returns the items that have not been handed over, once none is on its way.
func (m *member) takeBack() []agent.Item {
	m.handing.Lock()
	defer m.handing.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	items, _ := agent.DecodeItems(m.outbox) // which hand has encoded
	m.outbox = nil
	return items
}

// shareConsumers has each member that takes begin the consumers which are its share of now.
func (e *engine) shareConsumers(ctx context.Context) error {
	var takers []*member
	for _, m := range e.members {
		if m.Takes && m.there() {
			takers = append(takers, m)
		}
	}
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

// end ends offers and takes of the member, and closes it. A take that is cancelled may lose the value
// that it meets; one that the server unblocks does not.
func (m *member) end(ctx context.Context) {
	if !m.there() {
		return
	}
	ended := make(chan error, 1)
	go func() {
		_, err := m.call(ctx, m.engine.Silence, "load.end", nil)
		ended <- err
	}()
	unblocks := m.engine.Redis != nil && !m.engine.isGone()
	tick := time.NewTicker(drainTick)
	defer tick.Stop()
	for waiting := true; waiting; {
		select {
		case err := <-ended:
			waiting = false
			switch {
			case err == nil:
			case errors.Is(err, errSilent) || m.isOver():
				m.fail(err)
				m.link.Kill()
			default:
				m.engine.note("%s: %v", m.identity(), err)
			}
		case <-tick.C:
			unblocks = unblocks && m.engine.Redis.unblock(context.WithoutCancel(ctx), m.clientName()) == nil
		}
	}
}

// close closes the queues of a member that has ended, and its link unless others share it.
func (m *member) close(ctx context.Context) {
	if !m.there() {
		return
	}
	m.mu.Lock()
	m.ended = true
	m.mu.Unlock()
	if _, err := m.call(ctx, m.engine.Silence, "load.close", nil); err != nil {
		m.engine.fault(m, time.Now(), err.Error())
	}
}

// isOver reports whether the agent says no more.
func (m *member) isOver() bool {
	select {
	case <-m.link.Ended():
		return true
	default:
		return false
	}
}

// closeLink ends the agent. What it measured stands; how it ends is judged.
func (m *member) closeLink() {
	if m.link == nil || m.shared || m.linkClosed {
		return
	}
	m.linkClosed = true
	if err := m.link.Close(); err != nil && !m.isBroken() {
		m.engine.fault(m, time.Now(), err.Error())
	}
}

// kill kills the agent in the middle of whatever it does. What it has reported stands: the kernel
// keeps it.
func (m *member) kill() {
	m.mu.Lock()
	m.ended = true
	m.mu.Unlock()
	m.link.Kill()
	<-m.link.Ended()
	m.engine.lostMember(m)
}

// change is when a member ends or begins.
type change struct {
	at    time.Duration
	close bool
	m     *member
}

// changes are in the order they are to be done.
func (e *engine) changes() []change {
	var changes []change
	for _, m := range e.members {
		if m.To > 0 {
			changes = append(changes, change{m.To, true, m})
		}
		if m.From > 0 {
			changes = append(changes, change{m.From, false, m})
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int {
		if order := cmp.Compare(a.at, b.at); order != 0 || a.close == b.close {
			return order
		}
		if a.close {
			return -1
		}
		return 1
	})
	return changes
}

// openAndCloseMembers does the changes at their instants, until all are done or ctx ends.
func (e *engine) openAndCloseMembers(ctx context.Context, p *phase) {
	timer := e.Clock.NewTimer()
	defer timer.Close()
	for _, c := range e.changes() {
		if clock.SleepUntil(ctx, e.Clock, timer, p.start.Add(c.at)) != nil {
			break
		}
		var err error
		switch {
		case !c.close:
			err = c.m.open(ctx)
			p.changed()
		case !c.m.there(): // it could not be opened, which has been noted
		case c.m.Kill:
			c.m.kill()
			err = e.shareConsumers(ctx)
		default:
			p.awaitOffers(ctx, c.m)
			c.m.end(ctx)
			c.m.close(ctx)
			err = e.shareConsumers(ctx)
		}
		if err != nil && ctx.Err() == nil {
			e.note("%s: %v", c.m.Member, err)
		}
		p.came(c.m)
	}
	for _, m := range e.members {
		p.came(m) // or not any more
	}
}

// here is an agent in this process.
type here struct {
	host  *agent.Host
	hello program.Hello
	ended chan struct{}
	once  sync.Once
}

func newHere(d driver.Driver, c clock.Clock) *here {
	host, identity := agent.NewHost(d, c), d.Identity()
	return &here{host: host, hello: program.Hello{
		Name: identity.Name, Version: identity.Version, Protocol: program.Protocol, Capabilities: host.Capabilities(), Codecs: []string{"bytes"},
	}, ended: make(chan struct{})}
}

func (h *here) Introduction() program.Hello { return h.hello }
func (h *here) Ended() <-chan struct{}      { return h.ended }
func (h *here) Failure() error              { return errors.New("closed") }
func (h *here) Kill()                       { h.once.Do(func() { close(h.ended) }) }
func (h *here) Close() error                { h.Kill(); return nil }

func (h *here) Call(ctx context.Context, op string, params any) (json.RawMessage, error) {
	return h.CallEvents(ctx, op, params, nil)
}

func (h *here) CallEvents(ctx context.Context, op string, params any, onEvent func(program.Event)) (json.RawMessage, error) {
	arguments, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	type answer struct {
		result any
		err    error
	}
	answered := make(chan answer, 1)
	go func() {
		result, err := h.host.Do(ctx, op, arguments, func(fields map[string]any) {
			if line, err := json.Marshal(fields); err == nil {
				onEvent(program.Event{Name: "samples", Line: line})
			}
		})
		answered <- answer{result, err}
	}()
	select {
	case a := <-answered:
		if a.err != nil {
			return nil, a.err
		}
		return json.Marshal(a.result)
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-h.ended:
		return nil, h.Failure()
	}
}
