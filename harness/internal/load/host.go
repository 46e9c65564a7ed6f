package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Host carries out the ops load.* of PROTOCOL.md on an implementation of this process:
// the program's side of a part. Its methods may be called from many goroutines at once.
type Host struct {
	driver driver.Driver
	epoch  epoch

	mu    sync.Mutex
	made  int
	parts map[string]*hosted
}

// hosted is a part of a caller.
type hosted struct {
	*local
	mu     sync.Mutex
	phases map[plan.Phase]*hostedPhase
}

// hostedPhase is a phase of it. It may be ended before it is run.
type hostedPhase struct {
	ended chan struct{}
	once  sync.Once
	// begun and stopped are guarded by the part's mu.
	begun, stopped bool
}

// NewHost returns a host without any part.
func NewHost(d driver.Driver) *Host {
	return &Host{driver: d, epoch: newEpoch(), parts: map[string]*hosted{}}
}

// Capabilities are those that hello lists for the ops of a Host. Where the caller can see
// on the server what is held, the queues need not tell.
func (h *Host) Capabilities() []string {
	all := []string{"load", "load(queues)", "load(poll)", "load(cancel)", "load(ledger)"}
	if h.driver.Store(nil, "") == nil {
		all = append(all, "load(held)")
	}
	return all
}

// Do runs one op, such as "load.open". arguments is the request, event gets the fields
// of each event. Its error is a *driver.CapabilityError where the implementation lacks
// what the plan needs.
func (h *Host) Do(ctx context.Context, op string, arguments []byte, event func(fields any)) (any, error) {
	if op == "load.open" {
		return h.open(ctx, arguments)
	}
	var request struct {
		Handle string     `json:"handle"`
		Phase  string     `json:"phase"`
		At     plan.Whole `json:"at"`
	}
	if err := json.Unmarshal(arguments, &request); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	h.mu.Lock()
	p := h.parts[request.Handle]
	h.mu.Unlock()
	if p == nil {
		return nil, fmt.Errorf("%s: handle %q is not open", op, request.Handle)
	}
	if op == "load.close" {
		return nil, h.close(request.Handle, p)
	}
	phase := plan.Phase(0)
	if len(request.Phase) == 1 {
		phase = plan.Phase(request.Phase[0])
	}
	if p.stages[phase] == nil {
		return nil, fmt.Errorf("%s: expected a phase of the plan, got %q", op, request.Phase)
	}
	switch op {
	case "load.run":
		return p.run(ctx, phase, time.Unix(0, int64(request.At)), event)
	case "load.counts":
		if !p.has(phase, false) {
			return counts{Offering: true}, nil
		}
		return p.counts(ctx, phase)
	case "load.stop":
		if p.has(phase, true) {
			return nil, p.stop(ctx, phase, false)
		}
		return nil, nil
	case "load.end":
		s := p.phase(phase)
		s.once.Do(func() { close(s.ended) })
		return nil, nil
	case "load.held":
		return p.held(ctx, phase)
	}
	return nil, errors.New("no such op")
}

func (h *Host) open(ctx context.Context, arguments []byte) (any, error) {
	var what plan.Part
	var target struct {
		Redis  string `json:"redis"`
		Ledger string `json:"ledger"`
	}
	if err := errors.Join(json.Unmarshal(arguments, &what), json.Unmarshal(arguments, &target)); err != nil {
		return nil, fmt.Errorf("load.open: %w", err)
	}
	l, err := openLocal(ctx, h.driver, target.Redis, what, clock.System(), h.epoch)
	if err != nil {
		return nil, err
	}
	if target.Ledger != "" {
		if err := l.keepIn(target.Ledger); err != nil {
			return nil, errors.Join(err, l.close())
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.made++
	handle := "load-" + strconv.Itoa(h.made)
	h.parts[handle] = &hosted{local: l, phases: map[plan.Phase]*hostedPhase{}}
	return map[string]string{"handle": handle}, nil
}

func (h *Host) close(handle string, p *hosted) error {
	h.mu.Lock()
	delete(h.parts, handle)
	h.mu.Unlock()
	return p.close()
}

func (p *hosted) phase(phase plan.Phase) *hostedPhase {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.phases[phase]
	if s == nil {
		s = &hostedPhase{ended: make(chan struct{})}
		p.phases[phase] = s
	}
	return s
}

// has reports whether a phase has begun; stop has one that has not offer nothing.
func (p *hosted) has(phase plan.Phase, stop bool) bool {
	s := p.phase(phase)
	p.mu.Lock()
	defer p.mu.Unlock()
	s.stopped = s.stopped || stop
	return s.begun
}

// event is a second as it is told.
type event struct {
	second
	Phase string `json:"phase"`
}

// run runs a phase until it is ended, or ctx ends.
func (p *hosted) run(ctx context.Context, phase plan.Phase, at time.Time, tell func(fields any)) (any, error) {
	s := p.phase(phase)
	var mu sync.Mutex
	var seconds []second
	err := p.begin(ctx, phase, p.epoch.instant(at.UnixNano()), func(one second) {
		mu.Lock()
		seconds = append(seconds, one)
		mu.Unlock()
		tell(event{one, string(phase)})
	})
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	s.begun = true
	if s.stopped {
		p.stages[phase].halt()
	}
	p.mu.Unlock()
	tool := watchTool()
	offered := p.stages[phase].offered
	for waiting := true; waiting; {
		select {
		case <-offered:
			offered = nil
			tool.offered()
		case <-s.ended:
			waiting = false
		case <-ctx.Done():
			waiting = false
		}
	}
	used := tool.used()
	o, err := p.end(ctx, phase)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a := answer{
		StartedUnixNs: json.Number(strconv.FormatInt(at.UnixNano(), 10)), Counts: o.counts, Histograms: o.histograms,
		Errors: o.errs, Notes: o.notes, Seconds: seconds,
		Latest: encode(o.latest), Tool: used,
	}
	for _, set := range []struct {
		from []byte
		into *run.MessageSet
	}{
		{o.sets.Confirmed, &a.Messages.Confirmed}, {o.sets.Delivered, &a.Messages.Delivered}, {o.sets.Removed, &a.Messages.Removed},
	} {
		if *set.into, err = run.NewMessageSet(set.from); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (p *hosted) held(ctx context.Context, phase plan.Phase) (any, error) {
	h := p.holding()
	if h == nil {
		return nil, &driver.CapabilityError{Driver: p.identity, Need: "tell what it holds"}
	}
	n, err := h.held(ctx)
	if err != nil {
		return nil, err
	}
	held, notDue, err := h.sets(ctx, phase)
	if err != nil {
		return nil, err
	}
	a := heldAnswer{Held: n}
	if a.Messages, err = run.NewMessageSet(held); err == nil {
		a.NotDue, err = run.NewMessageSet(notDue)
	}
	return a, err
}

// IsLoadOp reports whether an op is one of a Host's.
func IsLoadOp(op string) bool { return strings.HasPrefix(op, "load.") }
