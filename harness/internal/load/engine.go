package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/faketime"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// engine has the parts of a run do their share, and joins what they did.
type engine struct {
	Options
	epoch    epoch
	members  []*member
	programs programs
	// startAt is the agreed start by this machine's clock, zero if there is none.
	startAt     time.Time
	clockOffset *ClockOffset // nil if not measured
	warmup      *run.Warmup
	gone        <-chan struct{} // closed when the server is; nil if nobody looks

	mu    sync.Mutex // guards what follows
	open  []*member
	notes []string
	left  departure
}

// member is a process of the fleet. Its part is nil until it is opened.
type member struct {
	plan.Member
	role   plan.Role
	driver driver.Driver
	part   part
	// ledger is the file of one that is to be killed, or that keeps account.
	ledger string
	// clock is what moves its clock, nil for one whose clock is right.
	clock *faketime.File
}

// String says what the member does.
func (m *member) String() string { return m.Member.String() }

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
	e := &engine{Options: o, epoch: newEpoch(), programs: programs{}}
	for i, m := range o.Plan.Members() {
		joins := &member{Member: m, role: plan.Role{Member: i, Worker: o.Worker}, driver: o.driverOf(m)}
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
		for _, problem := range e.programs.close() {
			e.note("%v", problem)
		}
		err = errors.Join(err, e.removeLedgers())
	}()
	if err := e.prepare(ctx); err != nil {
		return nil, err
	}
	if err := e.agree(ctx); err != nil {
		return nil, err
	}
	for _, m := range e.members {
		if m.From > 0 {
			continue
		}
		if err := e.openMember(ctx, m); err != nil {
			return nil, errors.Join(err, e.closeAll())
		}
	}
	result, err := e.load(ctx)
	if err != nil {
		return nil, errors.Join(err, e.closeAll())
	}
	return result, nil
}

// load runs the phases.
func (e *engine) load(ctx context.Context) (*Result, error) {
	watching, end := context.WithCancel(context.WithoutCancel(ctx)) // a run that is interrupted drains yet
	defer end()
	e.gone = e.watchServer(watching)
	if err := e.warmUp(ctx); err != nil {
		return nil, err
	}
	if err := e.awaitStart(ctx); err != nil {
		return nil, err
	}
	return e.measure(ctx)
}

// tellStandIns says of each Redisson that the catalogue does not know which one stands for it.
func (e *engine) tellStandIns() {
	told := map[string]bool{"": true}
	for _, m := range e.members {
		spec, _ := m.driver.(program.Spec)
		if text := spec.Notice(); !told[text] {
			told[text] = true
			e.Notice(text)
			e.note("%s", text)
		}
	}
}

// prepare has the implementations of all members made ready, those that join later
// too: no build, and no start of a program, may fall into the measurement.
func (e *engine) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, programTimeout)
	defer cancel()
	e.tellStandIns()
	for _, m := range e.members {
		if m.Kill {
			if err := e.prepareKilled(ctx, m); err != nil {
				return err
			}
			continue
		}
		spec, ok := m.driver.(program.Spec)
		var p *program.Process
		var err error
		switch {
		case m.clock != nil:
			p, err = e.programs.startAlone(ctx, m, e.Serve, e.Notice)
		case !ok:
			continue
		default:
			p, err = e.programs.start(ctx, spec, e.Notice)
		}
		if err != nil {
			return fmt.Errorf("open driver %s: %w", m.driver.Identity(), err)
		}
		m.driver = p
		if lacks := missing(p, e.Plan); lacks != "" && !e.OverProtocol {
			return fmt.Errorf("%w, or have each call made of it, and timed with its way there and back, by --set over_protocol=true",
				&driver.CapabilityError{Driver: p.Identity(), Need: lacks})
		}
		if e.Account && missing(p, e.Plan) == "" && !p.Hello.Can(ledgerFeature) {
			return &driver.CapabilityError{Driver: p.Identity(), Need: "keep account of each message (" + ledgerFeature + ")"}
		}
	}
	if e.Account {
		return e.keepLedgers()
	}
	return nil
}

// openMember opens the part of a member and lets it take part.
func (e *engine) openMember(ctx context.Context, m *member) error {
	what := plan.Part{RunID: e.RunID, Plan: e.Plan, Role: m.role}
	if p, ok := m.driver.(*program.Process); ok && missing(p, e.Plan) == "" {
		r, err := openRemote(ctx, p, e.RedisURL, e.Redis, what, m.ledger)
		if err != nil {
			return err
		}
		m.part = r
	} else {
		l, err := openLocal(ctx, m.driver, e.RedisURL, what, e.Clock, e.epoch)
		if err != nil {
			return err
		}
		m.part = l
		if m.ledger != "" {
			if err := l.keepIn(m.ledger); err != nil {
				return errors.Join(err, l.close())
			}
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open = append(e.open, m)
	return nil
}

// closeMember ends the part of a member.
func (e *engine) closeMember(m *member) error {
	e.leave(m)
	if m.part == nil {
		return nil
	}
	return m.part.close()
}

// leave has a member take part no more.
func (e *engine) leave(m *member) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open = slices.DeleteFunc(e.open, func(other *member) bool { return other == m })
}

// closeAll closes what is open.
func (e *engine) closeAll() error {
	var errs []error
	for _, m := range e.openMembers() {
		errs = append(errs, e.closeMember(m))
	}
	return errors.Join(errs...)
}

func (e *engine) openMembers() []*member {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.open)
}

// identity names the implementations, joined by + if there are several.
func (e *engine) identity() driver.Identity {
	var names []string
	for _, m := range e.members {
		if name := m.driver.Identity().String(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 1 {
		return e.members[0].driver.Identity()
	}
	return driver.Identity{Name: strings.Join(names, "+")}
}

// measured says where the calls of the members are timed.
func (e *engine) measured() run.Measured {
	where := map[run.Measured]bool{}
	for _, m := range e.members {
		p, ok := m.driver.(*program.Process)
		switch {
		case !ok:
			where[run.InProcess] = true
		case missing(p, e.Plan) == "":
			where[run.InProgram] = true
		default:
			return run.OverProtocol
		}
	}
	if where[run.InProgram] {
		return run.InProgram
	}
	return run.InProcess
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

// evolve opens, closes and kills members at their instants, until it is done or ctx ends.
func (e *engine) evolve(ctx context.Context, w *work) error {
	timer := e.Clock.NewTimer()
	defer timer.Close()
	defer func() {
		for _, m := range e.members {
			w.came(m) // or not any more
		}
	}()
	for _, c := range e.changes() {
		if clock.SleepUntil(ctx, e.Clock, timer, w.start.Add(c.at)) != nil {
			return nil
		}
		if err := e.change(ctx, w, c); err != nil {
			return fmt.Errorf("%s: %w", c.m, err)
		}
	}
	return nil
}

// change has a member begin or end. It fails if what a killed one has done is not known.
func (e *engine) change(ctx context.Context, w *work, c change) error {
	var err error
	switch {
	case !c.close:
		if err = e.openMember(ctx, c.m); err == nil {
			err = w.beginPart(ctx, c.m)
		}
		w.came(c.m)
	case c.m.part == nil: // it could not be opened, which has been noted
	case c.m.Kill:
		return e.killMember(ctx, w, c.m)
	default:
		w.awaitOffers(ctx, c.m)
		err = errors.Join(w.endPart(ctx, c.m, c.m.part.end), e.closeMember(c.m))
	}
	if err != nil && ctx.Err() == nil {
		e.note("%s: %v", c.m, err)
	}
	return nil
}
