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
	"github.com/dq-bench/dq-bench/harness/driver/program"
	"github.com/dq-bench/dq-bench/harness/run"
)

// fleet is the processes that share the queues of a run, of which some are open
// at any time.
type fleet struct {
	target driver.Target
	names  []string // of the queues
	// taking is the context of all takes.
	taking context.Context
	all    []*member

	mu       sync.RWMutex
	offerers []*member
	takers   []*member
	changed  chan struct{} // closed when offerers or takers change
}

// member is one process. Its queues are in the order of the fleet's names.
type member struct {
	Member
	queues []driver.Queue
	taking context.Context
	end    context.CancelFunc // ends takes under way
	calls  sync.WaitGroup     // under way; added to under the fleet's mutex only
	open   bool
}

func newFleet(taking context.Context, o Options) *fleet {
	f := &fleet{
		target: driver.Target{RedisURL: o.RedisURL}, names: o.Plan.QueueNames(), taking: taking, changed: make(chan struct{}),
	}
	for _, m := range o.Plan.fleet() {
		if m.Driver == nil {
			m.Driver = o.Driver
		}
		f.all = append(f.all, &member{Member: m})
	}
	return f
}

// measured says where the calls of the members are timed.
func (f *fleet) measured() run.Measured {
	for _, m := range f.all {
		switch m.Driver.(type) {
		case program.Spec, *program.Process:
			return run.OverProtocol
		}
	}
	return run.InProcess
}

// prepare has the drivers of all members made ready, those that join later too: no
// build may fall into the measurement.
func (f *fleet) prepare(ctx context.Context, notice func(string)) error {
	ctx, cancel := context.WithTimeout(ctx, programTimeout)
	defer cancel()
	if notice == nil {
		notice = func(string) {}
	}
	for _, m := range f.all {
		if p, ok := m.Driver.(program.Spec); ok {
			if err := p.Prepare(ctx, notice); err != nil {
				return fmt.Errorf("open driver %s: %w", m.Driver.Identity(), err)
			}
		}
	}
	return nil
}

// openMember opens the member's queues and lets it take part.
func (f *fleet) openMember(ctx context.Context, m *member, p Plan) error {
	opening, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	queues, err := m.Driver.Open(opening, f.target, f.names...)
	if err != nil {
		return fmt.Errorf("open driver %s: %w", m.Driver.Identity(), err)
	}
	m.queues = queues
	if err := m.can(p); err != nil {
		return errors.Join(err, m.closeQueues())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	m.open = true
	m.taking, m.end = context.WithCancel(f.taking)
	if m.Offers {
		f.offerers = append(f.offerers, m)
	}
	if m.Takes {
		f.takers = append(f.takers, m)
	}
	f.tellChange()
	return nil
}

// can refuses an implementation that lacks what the plan needs.
func (m *member) can(p Plan) error {
	_, polls := m.queues[0].(driver.Poller)
	_, removes := m.queues[0].(driver.Remover)
	switch {
	case p.Poll > 0 && m.Takes && !polls:
		return &driver.CapabilityError{Driver: m.Driver.Identity(), Need: "look for a message without waiting for one"}
	case p.Cancel.Share > 0 && m.Offers && !removes:
		return &driver.CapabilityError{Driver: m.Driver.Identity(), Need: "call a message off"}
	}
	return nil
}

func (f *fleet) tellChange() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// closeMember ends the member's part, waits for its calls, and closes it. What
// does not end within abandonAfter is given up.
func (f *fleet) closeMember(m *member) error {
	f.mu.Lock()
	if !m.open {
		f.mu.Unlock()
		return nil
	}
	m.open = false
	isIt := func(other *member) bool { return other == m }
	f.offerers, f.takers = slices.DeleteFunc(f.offerers, isIt), slices.DeleteFunc(f.takers, isIt)
	f.tellChange()
	f.mu.Unlock()
	m.end()
	calls := finished(m.calls.Wait, abandonAfter)
	var err error
	closed := finished(func() { err = m.closeQueues() }, abandonAfter)
	switch {
	case !calls:
		return fmt.Errorf("calls of %s did not end within %s", m, abandonAfter)
	case !closed:
		return fmt.Errorf("the driver did not close within %s", abandonAfter)
	case err != nil:
		return fmt.Errorf("closing the driver: %w", err)
	}
	return nil
}

func (m *member) closeQueues() error {
	errs := make([]error, 0, len(m.queues))
	for _, q := range m.queues {
		errs = append(errs, q.Close())
	}
	return errors.Join(errs...)
}

// finished reports whether f returned within limit.
func finished(f func(), limit time.Duration) bool {
	done := make(chan struct{})
	go func() {
		f()
		close(done)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// offerer returns the member that offers the nth of a kind, and waits while there
// is none. The caller tells it when its call has ended by calls.Done.
func (f *fleet) offerer(ctx context.Context, n int) (*member, error) {
	return f.acquire(ctx, &f.offerers, n)
}

// taker is offerer for takes.
func (f *fleet) taker(ctx context.Context, n int) (*member, error) {
	return f.acquire(ctx, &f.takers, n)
}

func (f *fleet) acquire(ctx context.Context, from *[]*member, n int) (*member, error) {
	for {
		f.mu.RLock()
		if members := *from; len(members) > 0 {
			m := members[n%len(members)]
			m.calls.Add(1)
			f.mu.RUnlock()
			return m, nil
		}
		changed := f.changed
		f.mu.RUnlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// identity names the implementations, joined by + if there are several.
func (f *fleet) identity() driver.Identity {
	var names []string
	for _, m := range f.all {
		if name := m.Driver.Identity().String(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 1 {
		return f.all[0].Driver.Identity()
	}
	return driver.Identity{Name: strings.Join(names, "+")}
}

// openMembers returns the members that are open.
func (f *fleet) openMembers() []*member {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return slices.DeleteFunc(slices.Clone(f.all), func(m *member) bool { return !m.open })
}

// change is when members end and begin, in the order it is to be done.
type change struct {
	at    time.Duration
	close bool
	m     *member
}

func (f *fleet) changes() []change {
	var changes []change
	for _, m := range f.all {
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

// evolve opens and closes members at their instants after start, until it is
// done or ctx ends. What fails is told to note.
func (f *fleet) evolve(ctx context.Context, start time.Time, p Plan, k clock.Clock, note func(string, ...any)) {
	timer := k.NewTimer()
	defer timer.Close()
	for _, c := range f.changes() {
		if clock.SleepUntil(ctx, k, timer, start.Add(c.at)) != nil {
			return
		}
		var err error
		if c.close {
			err = f.closeMember(c.m)
		} else {
			err = f.openMember(ctx, c.m, p)
		}
		if err != nil && ctx.Err() == nil {
			note("%s: %v", c.m, err)
		}
	}
}
