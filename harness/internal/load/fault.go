package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// mendTimeout bounds what undoes a fault.
const mendTimeout = 20 * time.Second

// CheckFaults refuses a server on which one of the faults can never be done. Its error is wrong usage.
func CheckFaults(wanted redis.Spec, faults []plan.Fault) error {
	for _, f := range faults {
		reach := f.Info().Reach
		switch {
		case wanted.Kind == redis.External:
			return fmt.Errorf("faults: %s would do harm to others: expected a server of our own, such as process", f.Kind)
		case wanted.Kind == redis.Embedded && reach != plan.Network:
			return fmt.Errorf("faults: %s: the embedded server cannot do that: expected process", f.Kind)
		case wanted.Kind == redis.Container && reach == plan.ServerProcess:
			return fmt.Errorf("faults: %s: expected a process that can be sent signals", f.Kind)
		}
	}
	return nil
}

// startServer starts the server that --redis and the faults ask for: for auto, a process if a fault breaks more than the network.
func startServer(ctx context.Context, spec string, faults []plan.Fault, notice func(string)) (*redis.Server, error) {
	wanted, err := redis.Parse(spec)
	if err != nil {
		return nil, err
	}
	beyond, aof := false, ""
	for _, f := range faults {
		beyond, aof = beyond || f.Info().Reach != plan.Network, cmp.Or(f.AOF, aof)
	}
	if !beyond || wanted.Kind != redis.Auto && wanted.Kind != redis.Process {
		return redis.Start(ctx, spec, notice)
	}
	if aof == "" || aof == "off" {
		return redis.StartProcess(ctx, wanted.Arg)
	}
	return redis.StartProcess(ctx, wanted.Arg, "--appendonly", "yes", "--appendfsync", aof)
}

// injector does and undoes the faults of a plan, and notes when each began and ended. The implementation under test reaches the
// server by it:
//
//	implementation ──▶ proxy ──▶ server ◀── commands and signals
type injector struct {
	faults []plan.Fault
	server *redis.Server
	proxy  *redis.Proxy
	admin  redis.Conn
}

// newInjector makes an injector for a server of startServer.
func newInjector(s *redis.Server, faults []plan.Fault) (*injector, error) {
	px, err := redis.NewProxy(redis.DialTo(s.Addr))
	if err != nil {
		return nil, err
	}
	return &injector{faults: faults, server: s, proxy: px, admin: s.Conn()}, nil
}

// url is the server's address for the implementation under test. It holds the password: do not print it.
func (in *injector) url() string { return in.server.URLBy(in.proxy.Addr) }

// close ends all connections through it.
func (in *injector) close() error {
	in.proxy.Close()
	return in.admin.Close()
}

// run does the faults, each at its time after start, and returns the ones that it did when the last has ended. When ctx ends, the
// one under way is undone and the others are not done.
func (in *injector) run(ctx context.Context, start time.Time) (events []run.FaultEvent) {
	for _, f := range slices.SortedFunc(slices.Values(in.faults), func(a, b plan.Fault) int { return cmp.Compare(a.At, b.At) }) {
		if !program.Pause(ctx, time.Until(start.Add(f.At))) {
			break
		}
		e := eventOf(f)
		e.From = time.Since(start).Seconds()
		err := in.carryOut(ctx, f, &e.Times)
		e.To = time.Since(start).Seconds()
		if err != nil && (ctx.Err() == nil || !errors.Is(err, context.Canceled)) { // a run that was interrupted says so by itself
			e.Error = err.Error()
		}
		events = append(events, e)
	}
	return events
}

// eventOf is a fault that is done, without its times.
func eventOf(f plan.Fault) run.FaultEvent {
	return run.FaultEvent{Kind: f.Kind, Text: f.String(), MayLose: string(f.Info().Loss)}
}

// carryOut does a fault, and undoes it once its time is over or ctx has ended, or if it could not be done. It counts how often the fault
// happens.
func (in *injector) carryOut(ctx context.Context, f plan.Fault, times *int) (err error) {
	d := in.deeds(f, times)[f.Kind]
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
	case <-time.After(f.For):
	case <-ctx.Done():
	}
	return ctx.Err()
}

type action func(ctx context.Context) error

// deed is how a fault is done, and undone after its time.
type deed struct {
	do, undo action
	enough   chan struct{} // ends it before its time, if not nil
}

// deeds are the ways to do a fault, by the kinds of plan.FaultKinds.
func (in *injector) deeds(f plan.Fault, times *int) map[string]deed {
	kill := []string{"CLIENT KILL TYPE normal", "CLIENT KILL TYPE pubsub"}
	refused := in.through(redis.Fault{})
	refused.do = sure(func() { in.proxy.Refuse(); in.proxy.Reset() })
	return map[string]deed{
		// In the proxy.
		"cut":             {do: sure(in.proxy.Reset)},
		plan.LoseReplies:  in.counted(f, times, redis.CutReply),
		plan.LoseRequests: in.counted(f, times, redis.CutRequest),
		"stall":           in.through(redis.Fault{Stall: true}),
		"slow":            in.through(redis.Fault{Delay: f.Latency}),
		"refuse":          refused,
		// By commands to a server of our own, whose settings are Redis' defaults. 4000 clients are within any limit of open files.
		"flush-scripts": {do: in.send("SCRIPT FLUSH")},
		"flush-all":     {do: in.send("FLUSHALL")},
		"kill-clients":  {do: in.send(kill...)},
		"pause-clients": {do: in.send(fmt.Sprintf("CLIENT PAUSE %d", f.For.Milliseconds()))}, // CLIENT UNPAUSE would wait too
		"oom":           {do: in.send("CONFIG SET maxmemory 1"), undo: in.send("CONFIG SET maxmemory 0")},
		"readonly":      {do: in.send("REPLICAOF 127.0.0.1 1"), undo: in.send("REPLICAOF NO ONE")}, // port 1 is closed: the data stay
		"idle-timeout":  {do: in.send("CONFIG SET timeout 1"), undo: in.send("CONFIG SET timeout 0")},
		"max-clients":   {do: in.send("CONFIG SET maxclients 1", kill[0], kill[1]), undo: in.send("CONFIG SET maxclients 4000")},
		// By signals to its process.
		"halt":        {do: in.process((*redis.Node).Pause), undo: in.process((*redis.Node).Resume)},
		"kill-server": {do: in.process((*redis.Node).Kill), undo: in.restart},
	}
}

// sure is an action that cannot fail.
func sure(do func()) action { return func(context.Context) error { do(); return nil } }

// through has the proxy do a fault.
func (in *injector) through(f redis.Fault) deed {
	return deed{do: sure(func() { in.proxy.Set(f) }), undo: func(context.Context) error { return in.proxy.Heal() }}
}

// send sends commands of plain words past the proxy.
func (in *injector) send(commands ...string) action {
	return func(ctx context.Context) error {
		for _, command := range commands {
			var words []any
			for word := range strings.FieldsSeq(command) {
				words = append(words, word)
			}
			if err := in.admin.Do(ctx, words...).Err(); err != nil {
				return err
			}
		}
		return nil
	}
}

// process does something with the server's process.
func (in *injector) process(do func(*redis.Node) error) action {
	return func(context.Context) error {
		nodes := in.server.Nodes()
		if len(nodes) != 1 {
			return fmt.Errorf("expected one process to send signals to, the server has %d", len(nodes))
		}
		return do(nodes[0])
	}
}

func (in *injector) restart(ctx context.Context) error {
	return in.process(func(n *redis.Node) error { return n.Restart(ctx) })(ctx)
}

// counted gives the verdict on the fault's commands, as often as the fault says. The proxy makes one call of judge at a time.
func (in *injector) counted(f plan.Fault, times *int, verdict redis.Verdict) deed {
	enough := make(chan struct{})
	judge := func(_ *redis.ProxyConn, command []string) redis.Verdict {
		if *times >= int(f.Count) || !named(f.Names(), command) {
			return redis.Pass
		}
		if *times++; *times == int(f.Count) {
			close(enough)
		}
		return verdict
	}
	return deed{enough: enough, do: sure(func() { in.proxy.OnCommand(judge) }), undo: func(context.Context) error {
		in.proxy.OnCommand(nil)
		if *times == 0 {
			return fmt.Errorf("no such command arrived within %s", f.For)
		}
		return nil
	}}
}

// named reports whether a command has one of these names. OFFER is any script that carries a message of dq-bench.
func named(names, command []string) bool {
	sent := strings.ToUpper(command[0])
	offers := slices.Contains(names, "OFFER") && (sent == "EVAL" || sent == "EVALSHA")
	return slices.Contains(names, sent) || offers && slices.ContainsFunc(command[1:], program.HoldsPayload)
}
