package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

// holding reads the keys of a queue on the server, or the queues of an agent: it calls each with every message of the run that is
// held, or with nil counts the messages, due or not.
type holding func(ctx context.Context, each func(index uint32, due int64)) (held int64, err error)

// Stored reports whether an implementation of the plan keeps its messages on a server.
func (o Options) Stored() bool {
	return slices.ContainsFunc(o.Plan.Members(), func(m plan.Member) bool {
		_, stored := spec.KeysOf(o.driverOf(m), nil, "")
		return stored
	})
}

func (o Options) stores() (all []spec.Keys) {
	if o.Redis == nil {
		return nil
	}
	for _, name := range o.Plan.QueueNames() {
		for _, m := range o.Plan.Members() {
			kept, ok := spec.KeysOf(o.driverOf(m), o.Redis.Conn, name)
			if ok && !slices.ContainsFunc(all, func(other spec.Keys) bool { return reflect.DeepEqual(other, kept) }) {
				all = append(all, kept)
			}
		}
	}
	return all
}

// holdings are the open members that can list their messages, if their keys are not known, and the stores on the server.
func (e *engine) holdings() (all []holding) {
	for _, m := range e.members {
		if kept, known := spec.KeysOf(m.driver, nil, ""); (!known || kept.Guessed) && m.there() && m.link.Introduction().Can("load(held)") {
			all = append(all, m.holding())
		}
	}
	asked := len(all) > 0
	for _, kept := range e.stores() {
		if kept.Guessed && asked {
			continue
		}
		all = append(all, func(ctx context.Context, each func(index uint32, due int64)) (int64, error) {
			if each == nil {
				return kept.Held(ctx)
			}
			return 0, kept.Values(ctx, func(value []byte) {
				if index, due, ok := program.FindPayload(value, e.RunID); ok {
					each(index, due)
				}
			})
		})
	}
	return all
}

// holding has the member list its messages.
func (m *member) holding() holding {
	return func(ctx context.Context, each func(index uint32, due int64)) (int64, error) {
		var h program.HeldBy
		result, err := m.call(ctx, askTimeout, "load.held", nil)
		if err == nil {
			err = json.Unmarshal(result, &h)
		}
		if err != nil || each == nil {
			return h.Held, err
		}
		return h.Held, program.Decode(h.Samples, func(s program.Sample) error {
			each(s.Index, s.A)
			return nil
		})
	}
}

func (o Options) refuseBusy(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for _, kept := range o.stores() {
		held, err := kept.Held(asking)
		if err != nil {
			return err
		}
		if held > 0 {
			return fmt.Errorf("queue %q holds %d messages already, which a run would take away; "+
				"choose another with --queue, or take them with --force", kept.Queue, held)
		}
	}
	return nil
}

// keepHeld reads the held messages, if any message is missing. Unread says that it could not be read.
func (e *engine) keepHeld() (unread bool) {
	const cannotTell = "driver cannot list the messages that it holds: missing messages count as lost"
	e.mu.Lock()
	missing := e.broke() || e.Plan.Horizon > 0 || e.phases[plan.Measured].unsure() > 0
	for _, p := range e.phases {
		missing = missing || p.outstanding > 0
	}
	e.mu.Unlock()
	if !missing {
		return false
	}
	all := e.holdings()
	if len(all) == 0 {
		e.note(cannotTell)
	}
	reading, cancel := context.WithTimeout(e.server, readTimeout)
	defer cancel()
	now := e.epoch.Wall(time.Now())
	for _, messages := range all {
		_, err := messages(reading, func(index uint32, due int64) {
			e.mu.Lock()
			defer e.mu.Unlock()
			if p, i := e.phaseOf(index); p != nil {
				p.keepHeld(i, due, now)
			}
		})
		if err != nil && e.server.Err() != nil {
			err = context.Cause(e.server)
		}
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			e.note(cannotTell)
			return false
		case err != nil:
			e.note("the queue could not be read at the end, so that the fate of missing messages is unknown: %v", err)
			return true
		}
	}
	return false
}

// cleanUp removes the queues of this run from the server, unless messages are pending in them.
func (e *engine) cleanUp(ctx context.Context, pending int64) {
	switch {
	case e.Redis == nil || !e.ownQueue:
		return
	case e.server.Err() != nil:
		e.note("queue %q was not removed from the server, which is gone", e.Plan.Queue)
		return
	case pending > 0 && ctx.Err() == nil: // to be looked at; an interrupt leaves some
		e.note("queue %q keeps its %d pending messages", e.Plan.Queue, pending)
		return
	}
	clearing, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	for _, kept := range e.stores() {
		if err := kept.Clear(clearing); err != nil {
			e.note("clean up: %v", err)
			return
		}
	}
}
