package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/driver"
)

// Host carries out the ops load.* of docs/protocol.md on an implementation of this process. Its methods
// may be called from many goroutines at once.
type Host struct {
	driver driver.Driver
	clock  clock.Clock
	epoch  Epoch

	mu     sync.Mutex
	made   int
	agents map[string]*agent
}

// NewHost returns a host without any agent. The clock makes the timer of the schedule.
func NewHost(d driver.Driver, c clock.Clock) *Host {
	return &Host{driver: d, clock: c, epoch: NewEpoch(), agents: map[string]*agent{}}
}

// Capabilities are the options of a Host, for hello. Its ops begin with "load.".
var Capabilities = []string{"load", "load(queues)", "load(poll)", "load(cancel)", "load(held)"}

// Opened is the answer to load.open. Now is the clock of the agent, Unix ns.
type Opened struct {
	Handle string `json:"handle"`
	Now    int64  `json:"now,string"`
}

// HeldBy is the answer to load.held.
type HeldBy struct {
	Held    int64  `json:"held"`
	Samples []byte `json:"samples"`
}

// request are the arguments of all ops but load.open.
type request struct {
	Handle    string `json:"handle"`
	Items     []byte `json:"items"`
	Consumers []int  `json:"consumers"`
	Abandon   bool   `json:"abandon"`
}

// Do runs one op, such as "load.open". arguments is the request; event gets the fields of each event "samples". Its error is a
// *driver.CapabilityError if the implementation lacks an ability.
func (h *Host) Do(ctx context.Context, op string, arguments []byte, event func(fields map[string]any)) (any, error) {
	if op == "load.open" {
		return h.open(ctx, arguments, event)
	}
	var r request
	if err := json.Unmarshal(arguments, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	h.mu.Lock()
	a := h.agents[r.Handle]
	h.mu.Unlock()
	if a == nil {
		return nil, fmt.Errorf("%s: handle %q is not open", op, r.Handle)
	}
	switch op {
	case "load.offer":
		a.mu.Lock()
		defer a.mu.Unlock()
		return nil, Decode(r.Items, func(i Item) error {
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
		return ReadUsage(), nil
	case "load.held":
		return a.held(ctx)
	case "load.end":
		return nil, a.end()
	case "load.close":
		h.mu.Lock()
		delete(h.agents, r.Handle)
		h.mu.Unlock()
		return nil, a.close()
	}
	return nil, fmt.Errorf("op %q: %w", op, errors.ErrUnsupported)
}

// open opens the queues, and starts the senders. event gets encoded samples, or an empty list.
func (h *Host) open(ctx context.Context, arguments []byte, event func(fields map[string]any)) (any, error) {
	var s Setup
	if err := json.Unmarshal(arguments, &s); err != nil {
		return nil, fmt.Errorf("load.open: %w", err)
	}
	var run uint32
	if _, err := fmt.Sscanf(s.RunID, "%08x", &run); err != nil || len(s.Queues) == 0 || s.Senders < 0 || s.MostSenders < s.Senders {
		return nil, fmt.Errorf("load.open: expected a run_id of 8 hex digits, queues and senders, got %+v", s)
	}
	queues, err := h.driver.Open(ctx, s.Redis, s.Queues...)
	if err != nil {
		return nil, err
	}
	a := &agent{Host: h, setup: s, run: run, queues: queues, event: event, items: newFIFO(), ready: newFIFO(), errors: map[string]string{}}
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
		for Pause(a.takes, flushEvery) {
			a.flush()
		}
	}()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.made++
	handle := "load-" + strconv.Itoa(h.made)
	h.agents[handle] = a
	return Opened{handle, h.epoch.Wall(time.Now())}, nil
}

// Usage is the resources that a process has used since its start.
type Usage struct {
	CPUSeconds     float64 `json:"cpu_seconds"`
	GCPauseSeconds float64 `json:"gc_pause_seconds"`
	// Processors is how many it may use at a time.
	Processors int `json:"processors"`
}

// ReadUsage asks the kernel and the runtime about this process.
func ReadUsage() Usage {
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	return Usage{CPUSeconds: cpuSeconds(), GCPauseSeconds: gc.PauseTotal.Seconds(), Processors: min(runtime.GOMAXPROCS(0), runtime.NumCPU())}
}
