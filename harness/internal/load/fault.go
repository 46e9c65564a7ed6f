package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// mendTimeout bounds what undoes a fault.
const mendTimeout = 20 * time.Second

// CheckFaults refuses a --redis value on which one of the faults can never be done. Its error is wrong usage.
func CheckFaults(spec string, faults []plan.Fault) error {
	wanted, err := redis.Parse(spec)
	if err != nil {
		return err
	}
	for _, f := range faults {
		reach := f.Info().Reach
		switch {
		case wanted.Kind == redis.External && !wanted.Address.Plain():
			return fmt.Errorf("faults: %s: expected one server by TCP without TLS, whose connections can go through a proxy, got --redis %s", f.Kind, redis.Redact(spec))
		case wanted.Kind == redis.External && reach != plan.Network:
			return fmt.Errorf("faults: %s would do harm to others on %s: expected a server of our own, such as --redis process", f.Kind, redis.Redact(spec))
		case wanted.Kind == redis.Embedded && reach != plan.Network:
			return fmt.Errorf("faults: %s: the embedded server cannot do that, use --redis process", f.Kind)
		case wanted.Kind == redis.Container && reach == plan.ServerProcess:
			return fmt.Errorf("faults: %s: expected a process that can be sent signals, got --redis %s: use --redis process", f.Kind, spec)
		}
	}
	return nil
}

// StartServer starts the server that --redis and the faults ask for: for auto, a process if a fault breaks more than the network.
func StartServer(ctx context.Context, spec string, faults []plan.Fault, notice func(string)) (*redis.Server, error) {
	wanted, err := redis.Parse(spec)
	if err != nil {
		return nil, err
	}
	beyond, aof, args := false, "", []string(nil)
	for _, f := range faults {
		beyond, aof = beyond || f.Info().Reach != plan.Network, cmp.Or(f.AOF, aof)
		if f.Kind == plan.Loading {
			args = []string{"--key-load-delay", fmt.Sprint(keyLoadDelay)}
		}
	}
	if !beyond || wanted.Kind != redis.Auto && wanted.Kind != redis.Process {
		return redis.Start(ctx, spec, notice)
	}
	if args != nil {
		aof = cmp.Or(aof, "always")
	}
	if aof != "" && aof != "off" {
		args = append(args, "--appendonly", "yes", "--appendfsync", aof)
	}
	return redis.StartProcess(ctx, wanted.Arg, args...)
}

// Injector does and undoes the faults of a plan, and notes when each began and ended. The implementation under test reaches the
// server by it:
//
//	implementation ──▶ proxy ──▶ server ◀── commands and signals
//
// deeds.go has a row for each kind of faults.
type Injector struct {
	plan   plan.Plan
	server *redis.Server
	proxy  *redis.Proxy
	admin  redis.Conn

	// clocks move the members of the fleet, by their places in it, counted from 1; folder has their files.
	clocks map[int]*program.ClockFile
	folder string
}

// Event is a fault that was done.
type Event struct {
	plan.Fault
	// From and To are when it began and ended.
	From, To time.Time
	// Times is how often it happened, 0 if that is not counted.
	Times int
	// Err is why it was not done as asked for.
	Err error

	takes bool // of a killed member: whether it took
}

// NewInjector makes an Injector for a server of StartServer.
func NewInjector(s *redis.Server, p plan.Plan) (*Injector, error) {
	px, err := redis.NewProxy(redis.DialTo(s.Addr))
	if err != nil {
		return nil, err
	}
	in := &Injector{plan: p, server: s, proxy: px, admin: s.Conn(), clocks: map[int]*program.ClockFile{}}
	in.folder, err = os.MkdirTemp("", "dq-bench-clocks-")
	for _, f := range p.Faults {
		if f.Kind == plan.WrongClock && err == nil {
			in.clocks[f.Member], err = program.NewClockFile(in.folder, fmt.Sprintf("member-%d", f.Member))
		}
	}
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

// URL is the server's address for the implementation under test. It holds the password: do not print it.
func (in *Injector) URL() string { return in.server.URLBy(in.proxy.Addr) }

// Close ends all connections through the Injector.
func (in *Injector) Close() error {
	in.proxy.Close()
	return errors.Join(in.admin.Close(), os.RemoveAll(in.folder))
}

// run does the faults, each at its time after start, and returns the ones that it did when the last has ended. When ctx ends, the
// one under way is undone and the others are not done.
func (in *Injector) run(ctx context.Context, start time.Time) []Event {
	events := make([]Event, len(in.plan.Faults))
	for i, f := range in.plan.Faults {
		events[i] = Event{Fault: f, From: start.Add(f.At)}
	}
	slices.SortFunc(events, func(a, b Event) int { return a.From.Compare(b.From) })
	for i := range events {
		e := &events[i]
		if !program.Pause(ctx, time.Until(e.From)) {
			return events[:i]
		}
		e.From = time.Now()
		e.Err = in.carryOut(ctx, e)
		e.To = time.Now()
		if ctx.Err() != nil && errors.Is(e.Err, context.Canceled) {
			e.Err = nil // the run was interrupted, which it says by itself
		}
	}
	return events
}

// carryOut does a fault, and undoes it once its time is over or ctx has ended, or if it could not be done.
func (in *Injector) carryOut(ctx context.Context, e *Event) (err error) {
	d := in.deeds(e)[e.Kind]
	if d.undo != nil {
		defer func() {
			mending, cancel := context.WithTimeout(context.WithoutCancel(ctx), mendTimeout)
			defer cancel()
			err = errors.Join(err, d.undo(mending))
		}()
	}
	if err := d.do(ctx); err != nil {
		return err
	}
	select {
	case <-d.enough:
	case <-time.After(e.For):
	case <-ctx.Done():
	}
	return ctx.Err()
}

// loss says which messages it may lose: no message is on its way to a process that does not take.
func (e Event) loss() plan.Loss {
	if e.Kind == plan.KillMember && !e.takes {
		return plan.NoLoss
	}
	return e.Info().Loss
}
