package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/agent"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/store"
)

// holding counts the messages that an implementation holds, seen from wherever it can be.
type holding interface {
	// held returns how many messages are held, due or not.
	held(ctx context.Context) (int64, error)
	// messages calls each with every message of the run that is held.
	messages(ctx context.Context, each func(index uint32, due int64)) error
}

// onServer are the keys of the queues.
type onServer struct {
	run    uint32
	queues []stores
}

func (s onServer) held(ctx context.Context) (total int64, err error) {
	for _, q := range s.queues {
		n, err := q.Held(ctx)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

func (s onServer) messages(ctx context.Context, each func(index uint32, due int64)) error {
	for _, q := range s.queues {
		err := q.Values(ctx, func(value []byte) {
			if index, due, ok := agent.Find(value, s.run); ok {
				each(index, due)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// inAgent is reported by the queues of an agent.
type inAgent struct{ *member }

func (a inAgent) ask(ctx context.Context) (h agent.HeldBy, err error) {
	result, err := a.call(ctx, askTimeout, "load.held", nil)
	if err == nil {
		err = json.Unmarshal(result, &h)
	}
	return h, err
}

func (a inAgent) held(ctx context.Context) (int64, error) {
	h, err := a.ask(ctx)
	return h.Held, err
}

func (a inAgent) messages(ctx context.Context, each func(index uint32, due int64)) error {
	h, err := a.ask(ctx)
	if err != nil {
		return err
	}
	return agent.DecodeSamples(h.Samples, func(s agent.Sample) error {
		each(s.Index, s.A)
		return nil
	})
}

// holdings is what tells of what is still held: the keys on the server, or else the open members
// that can.
func (e *engine) holdings() []holding {
	if e.Redis != nil {
		s := onServer{run: e.RunID}
		for _, name := range e.Plan.QueueNames() {
			s.queues = append(s.queues, e.stores(name))
		}
		if len(s.queues[0]) > 0 {
			return []holding{s}
		}
	}
	var all []holding
	for _, m := range e.members {
		if m.there() && m.link.Introduction().Can("load(held)") {
			all = append(all, inAgent{m})
		}
	}
	return all
}

// held is how many messages are held anywhere.
func (e *engine) held(ctx context.Context, all []holding) (int64, error) {
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	total := int64(0)
	for _, h := range all {
		n, err := h.held(asking)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// keepHeld reads what of a phase is still held. Unread says that nobody could tell.
func (e *engine) keepHeld(ctx context.Context, p *phase) (unread bool) {
	const cannotTell = "driver cannot tell what it still holds: missing messages count as lost"
	all := e.holdings()
	if len(all) == 0 {
		e.note(cannotTell)
	}
	reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	now := e.epoch.Wall(time.Now())
	for _, h := range all {
		err := errGone
		if !e.isGone() {
			err = h.messages(reading, func(index uint32, due int64) {
				p.collector.mu.Lock()
				defer p.collector.mu.Unlock()
				p.keepHeld(index, due, now)
			})
		}
		if errors.As(err, new(*driver.CapabilityError)) || errors.Is(err, program.ErrUnsupported) {
			e.note(cannotTell)
			return false
		}
		if err != nil {
			e.note("what the queue still holds could not be read, so nobody can tell what became of missing messages: %v", err)
			return true
		}
	}
	return false
}

// stores are what the implementations of a run keep of one queue.
type stores []store.Store

// stores looks at one queue beside all members. Redis must not be nil.
func (o Options) stores(queue string) stores {
	var all stores
	for _, d := range o.drivers() {
		stored, ok := d.(store.Stored)
		if !ok {
			continue
		}
		kept := stored.Store(o.Redis.Conn, queue)
		if !slices.ContainsFunc(all, func(other store.Store) bool { return reflect.DeepEqual(other, kept) }) {
			all = append(all, kept)
		}
	}
	return all
}

// Held adds up.
func (s stores) Held(ctx context.Context) (int64, error) {
	total := int64(0)
	for _, kept := range s {
		held, err := kept.Held(ctx)
		if err != nil {
			return 0, err
		}
		total += held
	}
	return total, nil
}

// Values reads one after the other.
func (s stores) Values(ctx context.Context, each func(value []byte)) error {
	for _, kept := range s {
		if err := kept.Values(ctx, each); err != nil {
			return err
		}
	}
	return nil
}

// Clear clears all, whatever fails.
func (s stores) Clear(ctx context.Context) error {
	var errs []error
	for _, kept := range s {
		if err := kept.Clear(ctx); err != nil {
			errs = append(errs, fmt.Errorf("clean up: %w", err))
		}
	}
	return errors.Join(errs...)
}
