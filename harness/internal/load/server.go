package load

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// usages has the work of each server since its start, by the process that says so: its run id, which a restart changes, and its role.
type usages map[string]run.ServerStats

var (
	errOtherServers = errors.New("a server was restarted or its counters reset during the run, or another one took over, joined or went, and its work is not counted in full")
	errNoStatistics = errors.New("the server keeps no command statistics")
)

// since is the work of all since an earlier usage, and the seconds of the busiest processor. It fails if a process changed, or does not count.
func (u usages) since(before usages) (all run.ServerStats, busiest float64, err error) {
	for process, now := range u {
		earlier, ok := before[process]
		calls, commands, seconds := now.TransferCalls-earlier.TransferCalls, now.Commands-earlier.Commands, now.CPUSeconds-earlier.CPUSeconds
		switch {
		case now.Commands == 0:
			return all, 0, errNoStatistics
		case !ok || len(u) != len(before) || calls < 0 || commands < 0 || seconds < 0:
			return all, 0, errOtherServers
		}
		all.TransferCalls, all.Commands, all.CPUSeconds = all.TransferCalls+calls, all.Commands+commands, all.CPUSeconds+seconds
		busiest = max(busiest, seconds)
	}
	return all, busiest, nil
}

// usages asks all masters of a cluster at once, or the one server. What they have done since they answered last is of this second.
func (e *engine) usages(ctx context.Context, limit time.Duration) (usages, error) {
	asking, cancel := e.asking(ctx, limit)
	defer cancel()
	var mu sync.Mutex
	by := usages{}
	err := e.conn.EachMaster(asking, func(ctx context.Context, address string, conn redis.Conn) error {
		info, err := conn.Do(ctx, "INFO", "all").Text()
		if err != nil {
			return fmt.Errorf("INFO: %w", err)
		}
		process, u := readInfo(info)
		mu.Lock()
		defer mu.Unlock()
		by[cmp.Or(process, address)] = u // the embedded server has no run id
		return nil
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil || errors.As(err, new(redis.Error)) { // an error reply is an answer
		e.heard = time.Now()
	}
	if err != nil {
		return nil, err
	}
	if u, _, err := by.since(e.served); err == nil && e.phases[plan.Measured] != nil {
		second := e.phases[plan.Measured].second(e.epoch.Wall(e.heard))
		second.Transfers += u.TransferCalls
		second.Commands += u.Commands
		second.ServerCPUSeconds += u.CPUSeconds
	}
	e.served = by
	return by, nil
}

func readInfo(info string) (process string, u run.ServerStats) {
	told := redis.Fields(info)
	number := func(text string) float64 {
		n, _ := strconv.ParseFloat(text, 64)
		return n
	}
	calls, _, _ := strings.Cut(strings.TrimPrefix(told["cmdstat_zrangebyscore"], "calls="), ",")
	u.TransferCalls, u.Commands = int64(number(calls)), int64(number(told["total_commands_processed"]))
	u.CPUSeconds = number(told["used_cpu_user"]) + number(told["used_cpu_sys"])
	if id := told["run_id"]; id != "" {
		process = id + " " + told["role"]
	}
	return process, u
}

// unblock ends the blocked commands of all connections of a name, with nothing taken.
func (e *engine) unblock(ctx context.Context, name string) error {
	ctx, cancel := e.asking(ctx, askTimeout)
	defer cancel()
	return e.conn.EachMaster(ctx, func(ctx context.Context, _ string, conn redis.Conn) error {
		list, err := conn.Do(ctx, "CLIENT", "LIST").Text()
		ids := connections(list, name)
		if err != nil || len(ids) == 0 {
			return err
		}
		// The script has a server whose writes are paused put the transaction off: it ends itself by CLIENT UNBLOCK of a
		// client that was put off (seen with 7.0.15).
		calls := [][]any{{"EVAL", "return 1", 0}}
		for _, id := range ids {
			calls = append(calls, []any{"CLIENT", "UNBLOCK", id})
		}
		_, err = conn.Multi(ctx, calls...)
		return err
	})
}

// connections are the ids of the connections of a name in an answer to CLIENT LIST.
func connections(list, name string) (ids []string) {
	for _, found := range regexp.MustCompile(`(?m)^id=(\d+) .* name=`+regexp.QuoteMeta(name)+`(?: |$)`).FindAllStringSubmatch(list, -1) {
		ids = append(ids, found[1])
	}
	return ids
}

const (
	// lookEvery is how often a server is asked for its counters, and for how long.
	lookEvery = time.Second
	// electedIn is how long a set of servers may take to name another master.
	electedIn = time.Minute
)

// watchServer asks the server each second for its counters, until stop. A server that has answered nothing for as long as an agent may
// say nothing, and for as long as the run waits for a message, is gone: it interrupts the run. A run that goes on with a
// server which breaks, as planned, is not given up.
func (e *engine) watchServer(ctx context.Context) (running context.Context, stop func()) {
	running, interrupt := context.WithCancelCause(ctx)
	if e.conn == nil {
		return running, func() { interrupt(nil) }
	}
	patience := max(e.Silence, e.Plan.DrainTimeout, map[bool]time.Duration{true: electedIn}[e.several])
	e.heard = time.Now()
	watched := meanwhile(lookEvery, func() (gone bool) { // also after an interrupt, for the run drains yet
		_, err := e.usages(ctx, lookEvery)
		e.mu.Lock()
		defer e.mu.Unlock()
		silent, when := time.Since(e.heard), "before the load began"
		if silent < patience || e.Break != nil {
			return false
		}
		if p := e.phases[plan.Measured]; p != nil && e.heard.After(p.start) {
			when = fmt.Sprintf("%.1fs after the load began", e.heard.Sub(p.start).Seconds())
		}
		e.patience.Store(0)
		interrupt(interruption(fmt.Sprintf("the server was gone: it answered last %s, and for %s it did not, so that the run was given up: %v",
			when, silent.Round(time.Second), err)))
		return true
	})
	return running, func() {
		watched()
		interrupt(nil)
	}
}

// asking is for a call of the server, also after an interrupt: one that hangs then is asked no more.
func (e *engine) asking(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	patience := e.patience.Load()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(limit, time.Duration(patience)))
	return ctx, func() {
		if ctx.Err() != nil && patience == int64(rush) {
			e.patience.CompareAndSwap(patience, 0)
		}
		cancel()
	}
}

// gone says why a run was given up whose server is gone; empty if it was not.
func (e *engine) gone(ctx context.Context) interruption {
	why, _ := errors.AsType[interruption](context.Cause(ctx))
	return why
}

// Stored reports whether an implementation of the plan keeps its messages on a server.
func (o Options) Stored() bool {
	return slices.ContainsFunc(o.Plan.Members(), func(m plan.Member) bool {
		_, stored := spec.KeysOf(o.driverOf(m), nil, "")
		return stored
	})
}

// stores are the keys of the members on the server, but for the ones that list their messages themselves.
func (e *engine) stores(list ...*member) (all []spec.Keys) {
	if e.conn == nil {
		return nil
	}
	for _, name := range e.Plan.QueueNames() {
		for _, m := range e.members {
			kept, ok := spec.KeysOf(m.driver, e.conn, name)
			if ok && !slices.Contains(list, m) && !slices.ContainsFunc(all, func(other spec.Keys) bool { return reflect.DeepEqual(other, kept) }) {
				all = append(all, kept)
			}
		}
	}
	return all
}

// held calls each with every message of the run that is held, due or not. It asks the open members that can list their messages, and
// reads the stores of the others on the server. It fails with errors.ErrUnsupported if nothing can be asked.
func (e *engine) held(ctx context.Context, each func(program.Sample) error) error {
	var asked []*member
	for _, m := range e.members {
		if _, hasKeys := m.driver.(spec.Redis); hasKeys || !m.there() || !m.link.Introduction().Can("load(held)") {
			continue
		}
		if err := m.held(ctx, each); err != nil {
			return err
		}
		asked = append(asked, m)
	}
	stores := e.stores(asked...)
	for _, kept := range stores {
		_, err := kept.Held(ctx, func(value []byte) {
			if index, due, ok := program.FindPayload(value, e.RunID); ok {
				_ = each(program.Sample{Kind: program.Held, Index: index, A: due})
			}
		})
		if err != nil {
			return err
		}
	}
	if len(asked)+len(stores) == 0 {
		return errors.ErrUnsupported
	}
	return nil
}

// held has the member list its messages.
func (m *member) held(ctx context.Context, each func(program.Sample) error) error {
	result, err := m.call(ctx, askTimeout, "load.held", map[string]any{})
	if err != nil {
		return err
	}
	h := program.HeldBy{Held: -1}
	if err = json.Unmarshal(result, &h); err == nil && h.Held < 0 {
		err = fmt.Errorf("held: expected 0 or more, got %.60s", result)
	}
	if err == nil {
		err = program.Decode(h.Samples, each)
	}
	if err != nil {
		err = fmt.Errorf("reported what cannot be: load.held: %w", err)
		m.engine.mu.Lock()
		defer m.engine.mu.Unlock()
		m.breaks(m.heard, err)
	}
	return err
}

func (e *engine) refuseBusy(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for _, kept := range e.stores() {
		held, err := kept.Held(asking, nil)
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
func (e *engine) keepHeld(ctx context.Context) (unread bool) {
	e.mu.Lock()
	missing := slices.ContainsFunc(e.members, func(m *member) bool { return m.broken }) || e.phases[plan.Measured].unsure() > 0
	for _, p := range e.phases {
		missing = missing || p.outstanding > 0 || p.horizon > 0
	}
	e.mu.Unlock()
	if !missing || e.patience.Load() == 0 {
		return missing
	}
	reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	now := e.epoch.Wall(time.Now())
	err := e.held(reading, func(s program.Sample) error {
		e.mu.Lock()
		defer e.mu.Unlock()
		var p *phase
		if p, s.Index = e.phaseOf(s.Index); p == nil {
			return wrong(s, "index", s.Index, "a message that was handed out")
		}
		return p.keepHeld(s, now)
	})
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		e.note("driver cannot list the messages that it holds: missing messages count as lost")
		return false
	case err != nil:
		e.note("the queue could not be read at the end, so that the fate of missing messages is unknown: %v", err)
	}
	return err != nil
}

// cleanUp removes the queues of this run, unless overdue messages are to be looked at, which an interrupt leaves.
func (e *engine) cleanUp(ctx context.Context, c run.Counts, copies map[uint32]bool) {
	if e.conn == nil || e.Plan.Queue != e.ownQueue() {
		return
	}
	if c.Pending > c.NotDue && ctx.Err() == nil || len(copies) > 0 {
		e.note("queue %q is kept: it holds %d messages", e.Plan.Queue, c.Pending+int64(len(copies)))
		return
	}
	clearing, cancel := e.asking(ctx, askTimeout)
	defer cancel()
	for _, kept := range e.stores() {
		if err := kept.Clear(clearing); err != nil {
			e.note("clean up: %v", err)
			return
		}
	}
}
