package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/agent"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/faketime"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

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

// identity is the identity that the program stated.
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

// brokenSince is when a member that is gone for a fault was heard of last, Unix ns; 0 for others.
func (m *member) brokenSince() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.broken {
		return 0
	}
	return m.engine.epoch.Wall(m.heard)
}

// isHere reports whether the agent is in this process.
func (m *member) isHere() bool {
	_, is := m.link.(*here)
	return is
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

// clientName is the name of the member's connections.
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
	n := min(len(m.outbox), 10_000*32) // bytes: a line of at most 10,000 items
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
	if err := m.link.Close(); err != nil && m.brokenSince() == 0 {
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
