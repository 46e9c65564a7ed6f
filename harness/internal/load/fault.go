package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redis"
)

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

// run does the faults, each at its time after start, and returns the done ones. When ctx ends, the one under way is undone.
func (in *injector) run(ctx context.Context, start time.Time) (events []run.FaultEvent) {
	for _, f := range slices.SortedFunc(slices.Values(in.faults), func(a, b plan.Fault) int { return cmp.Compare(a.At, b.At) }) {
		if !program.Pause(ctx, time.Until(start.Add(f.At))) {
			break
		}
		e := run.FaultEvent{Kind: f.Kind, Text: f.String(), MayLose: string(f.Info().Loss), From: time.Since(start).Seconds()}
		err := in.carryOut(ctx, f, &e.Times)
		e.To = time.Since(start).Seconds()
		switch interrupted := ctx.Err() != nil; { // a run that was interrupted says so by itself
		case err != nil && (!interrupted || !errors.Is(err, context.Canceled)):
			e.Error = err.Error()
		case f.Count > 0 && e.Times == 0 && !interrupted:
			e.Error = fmt.Sprintf("no such command arrived within %s", f.For)
		}
		events = append(events, e)
	}
	return events
}

// carryOut does a fault, and undoes it after its time, once it has happened often enough, when ctx ends, or if it could not be done.
func (in *injector) carryOut(ctx context.Context, f plan.Fault, times *int) (err error) {
	lasting, enough := context.WithCancel(ctx)
	defer enough()
	d := in.deeds(f, times, enough)[f.Kind]
	if d.undo != nil {
		defer func() {
			mending, cancel := context.WithTimeout(context.WithoutCancel(ctx), mendTimeout)
			defer cancel()
			err = errors.Join(err, d.undo(mending))
		}()
	}
	if err = d.do(ctx); err == nil {
		program.Pause(lasting, f.For)
	}
	return err
}

type action func(ctx context.Context) error

type deed struct{ do, undo action }

// deeds are the ways to do a fault, by the kinds of plan.FaultKinds. times counts how often it happens, until it is enough.
func (in *injector) deeds(f plan.Fault, times *int, enough func()) map[string]deed {
	send, names := in.send, f.Names()
	proxy := func(do func()) action { return func(context.Context) error { do(); return nil } }
	heal := func(context.Context) error { in.proxy.OnCommand(nil); return in.proxy.Heal() }
	lose := func(verdict redis.Verdict) action {
		return proxy(func() {
			in.proxy.OnCommand(func(_ *redis.ProxyConn, command []string) redis.Verdict { // of one command at a time
				sent := strings.ToUpper(command[0])
				offers := slices.Contains(names, "OFFER") && (sent == "EVAL" || sent == "EVALSHA") && slices.ContainsFunc(command[1:], program.HoldsPayload)
				if *times == f.Count || !offers && !slices.Contains(names, sent) {
					return redis.Pass
				}
				if *times++; *times == f.Count {
					enough()
				}
				return verdict
			})
		})
	}
	node := func(do func(*redis.Node) error) action {
		return func(context.Context) error { return do(in.server.Nodes()[0]) }
	}
	return map[string]deed{
		"cut":             {do: proxy(in.proxy.Reset)},
		plan.LoseReplies:  {lose(redis.CutReply), heal},
		plan.LoseRequests: {lose(redis.CutRequest), heal},
		"stall":           {proxy(func() { in.proxy.Set(redis.Fault{Stall: true}) }), heal},
		"slow":            {proxy(func() { in.proxy.Set(redis.Fault{Delay: f.Latency}) }), heal},
		"refuse":          {proxy(func() { in.proxy.Refuse(); in.proxy.Reset() }), heal},
		// By commands to a server of our own, whose settings are Redis' defaults. 4000 clients are within any limit of open files.
		"flush-scripts": {do: send("SCRIPT FLUSH")},
		"flush-all":     {do: send("FLUSHALL")},
		"kill-clients":  {do: send("CLIENT KILL TYPE normal", "CLIENT KILL TYPE pubsub")},
		"pause-clients": {do: send(fmt.Sprintf("CLIENT PAUSE %d", f.For.Milliseconds()))}, // CLIENT UNPAUSE would wait too
		"oom":           {send("CONFIG SET maxmemory 1"), send("CONFIG SET maxmemory 0")},
		"readonly":      {send("REPLICAOF 127.0.0.1 1"), send("REPLICAOF NO ONE")}, // port 1 is closed: the data stay
		"idle-timeout":  {send("CONFIG SET timeout 1"), send("CONFIG SET timeout 0")},
		"max-clients":   {send("CONFIG SET maxclients 1", "CLIENT KILL TYPE normal", "CLIENT KILL TYPE pubsub"), send("CONFIG SET maxclients 4000")},
		// By signals to its process.
		"halt":        {node((*redis.Node).Pause), node((*redis.Node).Resume)},
		"kill-server": {node((*redis.Node).Kill), func(ctx context.Context) error { return in.server.Nodes()[0].Restart(ctx) }},
	}
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

// account says what became of the messages, which have records. The kill of a member of the fleet is an event too.
func (p *phase) account(events []run.FaultEvent) *run.Faults {
	f := &run.Faults{
		Offered: p.told[program.Offered] + p.unsure(), Acknowledged: p.told[program.Offered],
		Refused: p.told[program.Refused], Uncertain: p.unsure() - p.told[program.Refused],
		Duplicate: p.counts.Duplicate, Early: p.counts.Early, EarlyBeyond: p.counts.Early,
	}
	for _, m := range p.plan.Members() {
		if m.Kill {
			loss, at := map[bool]plan.Loss{true: plan.OnTheWay, false: plan.NoLoss}[m.Takes], m.To.Seconds() // on its way to a member that takes
			events = append(events, run.FaultEvent{Kind: "kill-member", Text: "kill-member at " + m.To.String(), From: at, To: at, MayLose: string(loss)})
		}
	}
	slices.SortStableFunc(events, func(a, b run.FaultEvent) int { return cmp.Compare(a.From, b.From) })
	var lost []int
	for i, s := range p.state {
		switch {
		case s&(confirmed|delivered|held) == confirmed:
			lost = append(lost, i)
		case s&(confirmed|tried|delivered) == tried|delivered && !p.records[i].refused:
			f.UncertainCame++
		}
	}
	f.Lost, f.LostBeyond = int64(len(lost)), p.lostBeyond(events, lost)
	for i := range events {
		e := &events[i]
		for m, r := range p.records { // the first message that was on time again
			after, late := r.came-p.nsAt(e.To), r.came-p.due[m]
			if r.came != 0 && after >= 0 && late <= int64(run.OnTime) && late >= -int64(run.EarlyTolerance) && (e.ResumedNs == nil || after < *e.ResumedNs) {
				e.ResumedNs = &after
			}
		}
	}
	f.Events = append([]run.FaultEvent{}, events...)
	return f
}

// afterwards is for how long after its end a fault may show, in seconds: the server still carries out a command.
const afterwards = 1

// nsAt is a time in seconds after the start, in Unix ns.
func (p *phase) nsAt(seconds float64) int64 { return p.startNs + int64(math.Round(seconds*1e9)) }

// lostBeyond is how many lost messages no event accounts for. What exceeds one event's share counts for the next event.
func (p *phase) lostBeyond(events []run.FaultEvent, lost []int) (beyond int64) {
	for _, e := range events {
		lost = slices.DeleteFunc(lost, func(i int) bool {
			answered := p.records[i].answered
			before := e.MayLose == string(plan.AllBefore) || e.MayLose == string(plan.LastSecond) && answered >= p.nsAt(e.From-1)
			return before && p.records[i].sent <= p.nsAt(e.To) // an answer may arrive later
		})
	}
	for _, e := range events {
		most := int64(p.plan.Consumers) // takes that it may have interrupted
		switch {
		case e.MayLose == string(plan.NoLoss):
			continue
		case e.Kind == plan.LoseReplies:
			most = int64(e.Times)
		}
		// Messages arrive by their due times: one that is older than all later ones was on its way before.
		since := p.nsAt(e.From - afterwards)
		oldest := since
		for i, r := range p.records {
			if r.came >= since {
				oldest = min(oldest, p.due[i])
			}
		}
		left := len(lost)
		lost = slices.DeleteFunc(lost, func(i int) bool {
			// A take that was under way may be carried out after the connection broke.
			return most > 0 && p.due[i] >= oldest && p.due[i] <= p.nsAt(e.To+afterwards)
		})
		beyond = max(beyond+int64(left-len(lost))-most, 0)
	}
	return beyond + int64(len(lost))
}
