package fault

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/dq-bench/dq-bench/harness/internal/agent"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/internal/redis/proxy"
)

// network does a fault of the connections.
func (in *Injector) network(ctx context.Context, f plan.Fault) (times int, err error) {
	p := in.proxy
	heal := func(context.Context) error { return p.Heal() }
	lasting := func(begin func()) error {
		return during(ctx, f.For, func(context.Context) error { begin(); return nil }, heal)
	}
	switch f.Kind {
	case plan.Cut:
		p.Reset()
		return 0, nil
	case plan.CutInTurn:
		return in.counted(ctx, f, inTurn())
	case plan.LoseReplies:
		return in.counted(ctx, f, named(f.Commands, proxy.CutReply))
	case plan.LoseRequests:
		return in.counted(ctx, f, named(f.Commands, proxy.CutRequest))
	case plan.Stall:
		return 0, lasting(func() { p.Set(proxy.Fault{Stall: proxy.Both}, nil) })
	case plan.Slow:
		return 0, lasting(func() { p.Set(proxy.Fault{Delay: f.Latency}, nil) })
	case plan.Narrow:
		return 0, lasting(func() { p.Set(proxy.Fault{Bandwidth: f.Bandwidth}, nil) })
	case plan.Refuse:
		return 0, lasting(func() { p.Refuse(); p.Reset() })
	}
	return 0, fmt.Errorf("no way to do %s", f.Kind)
}

// rule decides what happens to a command.
type rule func(c *proxy.Conn, command []string) proxy.Verdict

// counted lets a rule decide until it has cut so many connections, or the fault's time is over.
func (in *Injector) counted(ctx context.Context, f plan.Fault, decide rule) (int, error) {
	var mu sync.Mutex
	times, enough := 0, make(chan struct{})
	in.proxy.OnCommand(func(c *proxy.Conn, command []string) proxy.Verdict {
		mu.Lock()
		defer mu.Unlock()
		if times >= f.Count {
			return proxy.Pass
		}
		verdict := decide(c, command)
		if verdict != proxy.Pass {
			if times++; times == f.Count {
				close(enough)
			}
		}
		return verdict
	})
	waiting, cancel := context.WithTimeout(ctx, f.For)
	defer cancel()
	select {
	case <-enough:
	case <-waiting.Done():
	}
	in.proxy.OnCommand(nil)
	mu.Lock()
	defer mu.Unlock()
	if times == 0 && ctx.Err() == nil {
		return 0, fmt.Errorf("no such command came within %s", f.For)
	}
	return times, ctx.Err()
}

// inTurn cuts the first connection that sends anything at its 1st command, the next one at its
// 2nd, and so on.
func inTurn() rule {
	type turn struct{ at, seen int }
	turns := map[int]*turn{}
	return func(c *proxy.Conn, _ []string) proxy.Verdict {
		t := turns[c.ID()]
		if t == nil {
			t = &turn{at: len(turns) + 1}
			turns[c.ID()] = t
		}
		if t.seen++; t.seen == t.at {
			return proxy.CutRequest
		}
		return proxy.Pass
	}
}

// offers stands for the scripts that carry a message of dq-bench.
const offers = "offer"

var scripts = []string{"EVAL", "EVALSHA"}

// named gives the verdict on the commands of these names, or words; scripts if there is none.
func named(names []string, verdict proxy.Verdict) rule {
	if len(names) == 0 {
		names = scripts
	}
	return func(_ *proxy.Conn, command []string) proxy.Verdict {
		if slices.ContainsFunc(names, func(name string) bool { return is(name, command) }) {
			return verdict
		}
		return proxy.Pass
	}
}

// is reports whether a command goes by that name or word.
func is(name string, command []string) bool {
	sent := strings.ToUpper(command[0])
	switch name {
	case offers:
		return slices.Contains(scripts, sent) && slices.ContainsFunc(command[1:], agent.HoldsPayload)
	case plan.Takes:
		return slices.Contains(plan.Pops, sent)
	}
	return strings.EqualFold(name, sent)
}
