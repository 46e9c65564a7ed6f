package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
)

// capabilities are the options of a load, for hello.
var capabilities = []string{"load", "load(queues)", "load(poll)", "load(cancel)", "load(held)"}

// load runs an op load.*, by which a coordinator orders load. Only the coordinator knows the plan and counts. An agent gets items
// shortly before their instants and consumers that take, and reports a sample for each event. event gets the fields of each event
// "samples".
func (s *server) load(ctx context.Context, r request, event func(fields map[string]any)) (any, error) {
	switch {
	case r.Op == "load.open":
		return s.openLoad(ctx, r.line, event)
	case r.wrong != nil:
		return nil, fmt.Errorf("%s: %w", r.Op, r.wrong)
	}
	s.mu.Lock()
	a := s.agents[r.Handle]
	s.mu.Unlock()
	if a == nil {
		return nil, fmt.Errorf("%s: handle %q is not open", r.Op, r.Handle)
	}
	switch r.Op {
	case "load.offer":
		a.mu.Lock()
		defer a.mu.Unlock()
		return nil, program.Decode(r.Items, func(i program.Item) error {
			a.items.push(due{Item: i, skip: a.skip})
			return nil
		})
	case "load.take":
		if least := slices.Min(append(r.Consumers, 0)); least < 0 {
			return nil, fmt.Errorf("load.take: expected consumers from 0 on, got %d", least)
		}
		for _, c := range r.Consumers {
			a.work.Go(func() { a.consume(a.queues[c%len(a.queues)]) })
		}
		return nil, nil
	case "load.halt":
		a.forget(r.Abandon)
		return nil, nil
	case "load.usage":
		return program.ReadUsage(), nil
	case "load.held":
		return a.held(ctx)
	case "load.end":
		return nil, a.end()
	case "load.close":
		s.mu.Lock()
		delete(s.agents, r.Handle)
		s.mu.Unlock()
		return nil, a.close()
	}
	return nil, fmt.Errorf("op %q: %w", r.Op, errors.ErrUnsupported)
}

// openLoad opens the queues, and starts the senders. event gets encoded samples, or an empty list.
func (s *server) openLoad(ctx context.Context, arguments []byte, event func(fields map[string]any)) (any, error) {
	var setup program.Setup
	if err := json.Unmarshal(arguments, &setup); err != nil {
		return nil, fmt.Errorf("load.open: %w", err)
	}
	var run uint32
	if _, err := fmt.Sscanf(setup.RunID, "%08x", &run); err != nil || len(setup.Queues) == 0 || setup.Senders < 0 || setup.MostSenders < setup.Senders {
		return nil, fmt.Errorf("load.open: expected a run_id of 8 hex digits, queues and senders, got %+v", setup)
	}
	queues, err := s.driver.Open(ctx, setup.Redis, setup.Queues...)
	if err != nil {
		return nil, err
	}
	a := &agent{server: s, setup: setup, run: run, queues: queues, event: event, items: newFIFO(), ready: newFIFO(), errors: map[string]string{}}
	_, polls := queues[0].(driver.Poller)
	_, removes := queues[0].(driver.Remover)
	switch {
	case setup.Poll > 0 && !polls:
		err = a.cannot("look for a message without waiting for one")
	case setup.Cancels && !removes:
		err = a.cannot("cancel a message")
	}
	if err != nil {
		return nil, errors.Join(err, a.close())
	}
	a.takes, a.endTakes = context.WithCancel(context.Background())
	a.offers, a.endOffers = context.WithCancel(a.takes)
	a.skip, a.halt = context.WithCancel(a.takes)
	for range setup.Senders {
		a.startSender()
	}
	a.work.Go(a.pace)
	go func() {
		for program.Pause(a.takes, flushEvery) {
			a.flush()
		}
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	handle := "load-" + strconv.Itoa(s.made)
	s.agents[handle] = a
	return program.Opened{Handle: handle, Now: s.epoch.Wall(time.Now())}, nil
}
