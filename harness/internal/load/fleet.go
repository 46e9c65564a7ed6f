package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// prepare has the agents of all members made ready, also of members that join later: no build, and no start of a program, may
// fall into the measurement.
func (e *engine) prepare(ctx context.Context) error {
	links := map[string]*program.Link{}
	for i, m := range e.members {
		name := m.driver.Identity().String()
		if m.Kill { // it has a process to itself
			name += fmt.Sprint(i)
		}
		if m.link, m.shared = links[name], links[name] != nil; e.Agents > 0 {
			m.link = e.agents[i]
		} else if !m.shared {
			made, err := e.connect(ctx, m)
			if err != nil {
				return fmt.Errorf("open driver %s: %w", m.driver.Identity(), err)
			}
			m.link, links[name] = made, made
		}
		if err := m.able(); err != nil {
			return err
		}
	}
	return nil
}

// connect starts the agent of a member: in a process of its own, unless it is loaded in this one.
func (e *engine) connect(ctx context.Context, m *member) (*program.Link, error) {
	name := m.driver.Identity().String()
	switch named, isProgram := m.driver.(spec.Program); {
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
	if p := e.phases[plan.Measured]; p != nil {
		f.Second = max(at.Sub(p.start).Seconds(), 0)
	}
	e.faults = append(e.faults, f)
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

// openAndCloseMembers opens and closes members at their instants, until all are done or ctx ends. At one
// instant, members end before others begin.
func (e *engine) openAndCloseMembers(ctx context.Context, p *phase) {
	var instants []time.Duration
	for _, m := range e.members {
		instants = append(instants, m.From, m.To)
	}
	slices.Sort(instants)
	timer := e.Clock.NewTimer()
	defer timer.Close()
	note := func(m *member, err error) {
		if err != nil && ctx.Err() == nil {
			e.note("%s: %v", m.Member, err)
		}
	}
	for _, at := range slices.Compact(instants) {
		if at == 0 {
			continue // it is there, or stays to the end
		}
		if clock.SleepUntil(ctx, e.Clock, timer, p.start.Add(at)) != nil {
			break
		}
		for _, m := range e.members {
			if m.To != at || !m.there() { // one that could not be opened has been noted
				continue
			}
			if m.Kill { // in the middle of its work; its reports count, for the kernel keeps them
				m.leave(nil)
				m.link.Kill(nil)
			} else {
				p.awaitAnswers(func() int64 { return p.open[m.number] })
				m.end(ctx)
				m.close(ctx)
			}
			note(m, e.shareConsumers(ctx))
		}
		for _, m := range e.members {
			if m.From == at {
				note(m, m.open(ctx))
				if !m.there() {
					m.leave(nil)
				}
			}
		}
	}
	for _, m := range e.members {
		if !m.there() {
			m.leave(nil) // or will not begin any more
		}
	}
}

// closed reports whether a channel is closed; nil is not.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
