package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
)

// loads are the loads that a program makes, as a coordinator orders by the ops load.*. Only the coordinator knows the plan and
// counts. An agent gets items shortly before their instants and consumers that take, and reports a sample for each event.
type loads struct {
	driver driver.Driver
	clock  clock.Clock // makes the timer of the schedule
	epoch  program.Epoch

	mu     sync.Mutex
	made   int
	agents map[string]*agent
}

// capabilities are the options of a load, for hello.
var capabilities = []string{"load", "load(queues)", "load(poll)", "load(cancel)", "load(held)"}

// left fails if a load was not closed.
func (l *loads) left() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.agents) > 0 {
		return errors.New("the run left in the middle of a load: it gave this agent up, or was killed")
	}
	return nil
}

// do runs one op. event gets the fields of each event "samples".
func (l *loads) do(ctx context.Context, r request, event func(fields map[string]any)) (any, error) {
	switch {
	case r.Op == "load.open":
		return l.open(ctx, r.line, event)
	case r.wrong != nil:
		return nil, fmt.Errorf("%s: %w", r.Op, r.wrong)
	}
	l.mu.Lock()
	a := l.agents[r.Handle]
	l.mu.Unlock()
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
		l.mu.Lock()
		delete(l.agents, r.Handle)
		l.mu.Unlock()
		return nil, a.close()
	}
	return nil, fmt.Errorf("op %q: %w", r.Op, errors.ErrUnsupported)
}

// open opens the queues, and starts the senders. event gets encoded samples, or an empty list.
func (l *loads) open(ctx context.Context, arguments []byte, event func(fields map[string]any)) (any, error) {
	var s program.Setup
	if err := json.Unmarshal(arguments, &s); err != nil {
		return nil, fmt.Errorf("load.open: %w", err)
	}
	var run uint32
	if _, err := fmt.Sscanf(s.RunID, "%08x", &run); err != nil || len(s.Queues) == 0 || s.Senders < 0 || s.MostSenders < s.Senders {
		return nil, fmt.Errorf("load.open: expected a run_id of 8 hex digits, queues and senders, got %+v", s)
	}
	queues, err := l.driver.Open(ctx, s.Redis, s.Queues...)
	if err != nil {
		return nil, err
	}
	a := &agent{loads: l, setup: s, run: run, queues: queues, event: event, items: newFIFO(), ready: newFIFO(), errors: map[string]string{}}
	_, polls := queues[0].(driver.Poller)
	_, removes := queues[0].(driver.Remover)
	switch {
	case s.Poll > 0 && !polls:
		err = a.cannot("look for a message without waiting for one")
	case s.Cancels && !removes:
		err = a.cannot("cancel a message")
	}
	if err != nil {
		return nil, errors.Join(err, a.close())
	}
	a.takes, a.endTakes = context.WithCancel(context.Background())
	a.offers, a.endOffers = context.WithCancel(a.takes)
	a.skip, a.halt = context.WithCancel(a.takes)
	for range s.Senders {
		a.startSender()
	}
	a.work.Go(a.pace)
	go func() {
		for program.Pause(a.takes, flushEvery) {
			a.flush()
		}
	}()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made++
	handle := "load-" + strconv.Itoa(l.made)
	l.agents[handle] = a
	return program.Opened{Handle: handle, Now: l.epoch.Wall(time.Now())}, nil
}
