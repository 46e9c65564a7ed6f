package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

// ledgerFeature is what a program needs to be killed, in the words of PROTOCOL.md.
const ledgerFeature = program.LoadOp + "(ledger)"

// prepareKilled starts a process of its own for a member that is to be killed, and makes
// the file of its ledger.
func (e *engine) prepareKilled(ctx context.Context, m *member) error {
	p, err := e.programs.startAlone(ctx, m, e.Serve, e.Notice)
	if err != nil {
		return fmt.Errorf("open driver %s: %w", m.driver.Identity(), err)
	}
	m.driver = p
	lacks := missing(p, e.Plan)
	if lacks == "" && !p.Hello.Can(ledgerFeature) {
		lacks = ledgerFeature
	}
	if lacks != "" {
		return &driver.CapabilityError{Driver: p.Identity(), Need: "be killed (" + lacks + ")"}
	}
	m.ledger, err = makeLedgerFile(e.Plan.Messages())
	return err
}

// killMember kills the process of a member, in the middle of whatever it does, and keeps
// what its ledger holds.
func (e *engine) killMember(ctx context.Context, w *work, m *member) error {
	e.leave(m)
	r, ok := m.part.(*remote)
	if !ok {
		return errors.New("expected a part in a program, which alone can be killed")
	}
	return w.endPart(ctx, m, r.kill)
}

// removeLedgers removes the files of those that were to be killed.
func (e *engine) removeLedgers() error {
	var errs []error
	for _, m := range e.members {
		if m.ledger != "" {
			errs = append(errs, os.Remove(m.ledger))
		}
	}
	return errors.Join(errs...)
}

// startAlone starts the program that is a member by itself: an implementation of this
// process by the command serve and its name.
func (all programs) startAlone(ctx context.Context, m *member, serve []string, notice func(string)) (p *program.Process, err error) {
	name := m.driver.Identity().String()
	spec, outside := m.driver.(program.Spec)
	switch {
	case outside:
		var environment []string
		if m.clock != nil {
			if environment, err = m.clock.Environment(); err != nil {
				return nil, err
			}
			notice(name + ", whose clock will be wrong, runs under libfaketime, by which timed waits may be longer: compare its lateness with none that does not")
		}
		p, err = spec.StartProcess(ctx, notice, nil, environment...)
	case len(serve) == 0:
		err = errors.New("expected a command that serves it in a process of its own")
	default:
		var environment []string
		if m.clock != nil {
			if _, can := m.driver.(driver.Clocked); !can {
				return nil, &driver.CapabilityError{Driver: m.driver.Identity(), Need: "be given another clock"}
			}
			environment = m.clock.Ours()
		}
		p, err = program.Start(ctx, append(slices.Clone(serve), name), nil, environment...)
	}
	if err == nil {
		all[fmt.Sprintf("%s, member %d", name, m.role.Member)] = p
	}
	return p, err
}

// kill ends the program of the part by SIGKILL, in the middle of whatever it does. What
// came of the part is what its ledger holds.
func (r *remote) kill(_ context.Context, phase plan.Phase) (*outcome, error) {
	r.killed.Store(true)
	r.process.Kill()
	after := time.Since(r.start)
	limit := time.NewTimer(silenceLimit)
	defer limit.Stop()
	var a answered
	select {
	case a = <-r.answers[phase]:
	case <-limit.C:
		return nil, fmt.Errorf("driver %s: load.run did not end within %s of the end of its program", r.process.Identity(), silenceLimit)
	}
	if a.err == nil {
		return nil, fmt.Errorf("driver %s: load.run was answered before load.end", r.process.Identity())
	}
	records, err := readLedgerFile(r.ledger, r.part.Plan.Messages())
	if err != nil {
		return nil, err
	}
	o, err := killedOutcome(r.part, records, r.start, a.told, after.Seconds())
	if err != nil {
		return nil, fmt.Errorf("driver %s: %w", r.process.Identity(), err)
	}
	o.notes = []string{fmt.Sprintf("the process of %s was killed %s after the start; values that were not of this run and takes that failed, which its ledger does not hold, "+
		"are counted up to when it was last asked, and its processor time is not known", r.process.Identity(), after.Round(time.Millisecond))}
	last := r.lastCounts()
	o.counts.Foreign, o.counts.Corrupt, o.counts.TakeErrors = last.Foreign, last.Corrupt, last.TakeErrors
	return o, nil
}
