package fault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/faketime"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redis/proxy"
)

// Injector does the faults of a plan. The implementation under test reaches the server by it:
//
//	implementation ──▶ proxy ──▶ server ◀── commands and signals
type Injector struct {
	plan   plan.Plan
	server *redis.Server
	proxy  *proxy.Proxy
	admin  redis.Conn

	// clocks move those of members of the fleet; folder has their files, if there are any.
	clocks map[int]faketime.File
	folder string

	mu     sync.Mutex // guards what follows
	events []Event
}

// Event is a fault that was done.
type Event struct {
	plan.Fault
	// From and To are when it began and ended.
	From, To time.Time
	// Times is how often it happened, 0 where that is not counted.
	Times int
	// Err is why it was not done as asked for.
	Err error

	takes bool // of a member that was killed: whether it did
}

// New stands before a server that Start gave.
func New(s *redis.Server, p plan.Plan) (*Injector, error) {
	px, err := proxy.New(proxy.To(s.Addr))
	if err != nil {
		return nil, err
	}
	in := &Injector{plan: p, server: s, proxy: px, admin: s.Conn(), clocks: map[int]faketime.File{}}
	if err := in.makeClocks(); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

// URL is the server's address for the implementation under test. It holds the password:
// do not print it.
func (in *Injector) URL() string { return in.server.URLBy(in.proxy.Addr) }

// Close ends all connections through the Injector.
func (in *Injector) Close() error {
	in.proxy.Close()
	err := in.admin.Close()
	if in.folder != "" {
		err = errors.Join(err, os.RemoveAll(in.folder))
	}
	return err
}

// Events are the faults that were done so far, in order. A nil Injector has none.
func (in *Injector) Events() []Event {
	if in == nil {
		return nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Clone(in.events)
}

// timed is a fault and when it begins after the start.
type timed struct {
	plan.Fault
	at time.Duration
}

// Run does the faults, each at its time after start, and returns when the last one has ended.
// When ctx ends, the one under way is ended and the others are not done.
func (in *Injector) Run(ctx context.Context, start time.Time) {
	var all []timed
	for i, f := range in.plan.Faults {
		all = append(all, timed{f, f.Starts(in.plan.Seed, i)})
	}
	slices.SortFunc(all, func(a, b timed) int { return int(a.at - b.at) })
	for _, f := range all {
		if sleep(ctx, time.Until(start.Add(f.at))) != nil {
			return
		}
		e := Event{Fault: f.Fault, From: time.Now()}
		e.Times, e.Err = in.do(ctx, f.Fault)
		e.To = time.Now()
		if ctx.Err() != nil && errors.Is(e.Err, context.Canceled) {
			e.Err = nil // the run was interrupted, which it says by itself
		}
		in.mu.Lock()
		in.events = append(in.events, e)
		in.mu.Unlock()
	}
}

// do does one fault from beginning to end, and says how often it happened where that is counted.
func (in *Injector) do(ctx context.Context, f plan.Fault) (times int, err error) {
	switch f.Info().Reach {
	case plan.Network:
		if f.Kind == plan.WrongClock {
			return 0, in.moveClock(ctx, f)
		}
		return in.network(ctx, f)
	case plan.Settings:
		return 0, in.settings(ctx, f)
	default:
		nodes := in.server.Nodes()
		if len(nodes) != 1 {
			return 0, fmt.Errorf("expected one process to send signals to, the server has %d", len(nodes))
		}
		return 0, in.process(ctx, f, nodes[0])
	}
}

// during begins something, and ends it after d or when ctx ends, whatever came of it.
func during(ctx context.Context, d time.Duration, begin, end func(context.Context) error) error {
	if err := begin(ctx); err != nil {
		return errors.Join(err, bounded(ctx, end))
	}
	cut := sleep(ctx, d)
	return errors.Join(cut, bounded(ctx, end))
}

// mendTimeout bounds what ends a fault.
const mendTimeout = 20 * time.Second

// bounded does what must be done even if ctx has ended.
func bounded(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), mendTimeout)
	defer cancel()
	return f(ctx)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// loss is which messages it may lose: a process that takes none has none on their way to it.
func (e Event) loss() plan.Loss {
	if e.Kind == plan.KillMember && !e.takes {
		return plan.NoLoss
	}
	return e.Info().Loss
}

// document is an event as run.json has it.
func (e Event) document(start time.Time) run.FaultEvent {
	d := run.FaultEvent{
		Kind: string(e.Kind), Text: e.String(), Times: e.Times, MayLose: e.loss().String(),
		From: e.From.Sub(start).Seconds(), To: e.To.Sub(start).Seconds(),
	}
	if e.Err != nil {
		d.Error = e.Err.Error()
	}
	return d
}
