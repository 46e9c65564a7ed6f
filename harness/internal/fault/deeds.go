package fault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/agent"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redis/proxy"
	"github.com/dq-bench/dq-bench/internal/resp"
)

type action func(ctx context.Context) error

// deed is how a fault is done, and undone. One without undo is over once it is done.
type deed struct {
	do, undo action
	enough   chan struct{} // ends it before its time; nil where the time alone does
}

// sure is an action that cannot fail.
func sure(do func()) action { return func(context.Context) error { do(); return nil } }

// all does one action after the other.
func all(actions ...action) action {
	return func(ctx context.Context) error {
		for _, do := range actions {
			if err := do(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

// send sends a command from beside the implementation.
func (in *Injector) send(words ...any) action {
	return func(ctx context.Context) error { return in.admin.Do(ctx, words...).Err() }
}

func (in *Injector) config(name, value string) action { return in.send("CONFIG", "SET", name, value) }

// deed is how an event's fault is done.
func (in *Injector) deed(e *Event) (d deed, err error) {
	killClients := all(in.send("CLIENT", "KILL", "TYPE", "normal"), in.send("CLIENT", "KILL", "TYPE", "pubsub"))
	through := func(f proxy.Fault) deed {
		return deed{do: sure(func() { in.proxy.Set(f, nil) }), undo: func(context.Context) error { return in.proxy.Heal() }}
	}
	switch e.Kind {
	// In the proxy.
	case plan.Cut:
		d.do = sure(in.proxy.Reset)
	case plan.CutInTurn:
		return in.counted(e, inTurn()), nil
	case plan.LoseReplies:
		return in.counted(e, named(e.Commands, proxy.CutReply)), nil
	case plan.LoseRequests:
		return in.counted(e, named(e.Commands, proxy.CutRequest)), nil
	case plan.Stall:
		return through(proxy.Fault{Stall: proxy.Both}), nil
	case plan.Slow:
		return through(proxy.Fault{Delay: e.Latency}), nil
	case plan.Narrow:
		return through(proxy.Fault{Bandwidth: e.Bandwidth}), nil
	case plan.Refuse:
		d = through(proxy.Fault{})
		d.do = sure(func() { in.proxy.Refuse(); in.proxy.Reset() })

	// By commands.
	case plan.FlushScripts:
		d.do = in.send("SCRIPT", "FLUSH")
	case plan.FlushAll:
		d.do = in.send("FLUSHALL")
	case plan.KillClients:
		d.do = killClients
	case plan.ForeignMembers:
		d.do = in.foreign(e.Count)
	case plan.PauseClients:
		d.do, d.undo = in.send("CLIENT", "PAUSE", e.For.Milliseconds()), sure(func() {}) // it ends by itself: CLIENT UNPAUSE would wait too
	case plan.OutOfMemory:
		d.do, d.undo = in.config("maxmemory", "1"), in.config("maxmemory", "0")
	case plan.ReadOnly: // port 1 is closed: the data stay as they are
		d.do, d.undo = in.send("REPLICAOF", "127.0.0.1", "1"), in.send("REPLICAOF", "NO", "ONE")
	case plan.IdleTimeout:
		d.do, d.undo = in.config("timeout", "1"), in.config("timeout", "0")
	case plan.MaxClients:
		d.do = all(in.config("maxclients", "1"), killClients)
		var info string
		info, err = in.admin.Do(context.Background(), "INFO", "clients").Text()
		_, rest, _ := strings.Cut(info, "maxclients:")
		before, _, _ := strings.Cut(rest, "\r\n")
		d.undo = in.config("maxclients", before)
	case plan.Busy:
		return in.busy(e.For), nil

	// By signals to the process.
	case plan.Halt, plan.KillServer, plan.Loading, plan.NoSnapshots:
		nodes := in.server.Nodes()
		if len(nodes) != 1 {
			return d, fmt.Errorf("expected one process to send signals to, the server has %d", len(nodes))
		}
		node := nodes[0]
		kill := func(context.Context) error { return node.Kill() }
		switch e.Kind {
		case plan.Halt:
			d.do, d.undo = func(context.Context) error { return node.Pause() }, func(context.Context) error { return node.Resume() }
		case plan.KillServer:
			d.do, d.undo = kill, node.Restart
		case plan.NoSnapshots:
			return in.noSnapshots(filepath.Join(node.Dir, "dump.rdb")), nil
		default: // it lasts as long as the server takes to start
			d.do, d.undo, d.enough = all(in.lengthen(e.For), kill), node.Restart, make(chan struct{})
			close(d.enough)
		}

	case plan.WrongClock:
		file, ok := in.clocks[e.Member]
		if !ok {
			return d, fmt.Errorf("expected a clock of member %d that can be moved", e.Member)
		}
		d.do, d.undo = func(context.Context) error { return file.Set(e.By) }, func(context.Context) error { return file.Set(0) }
	default:
		return d, fmt.Errorf("no way to do %s", e.Kind)
	}
	return d, err
}

// rule decides what happens to a command.
type rule func(c *proxy.Conn, command []string) proxy.Verdict

// counted lets a rule decide until it has cut so many connections as the event says.
func (in *Injector) counted(e *Event, decide rule) deed {
	var mu sync.Mutex
	enough := make(chan struct{})
	judge := func(c *proxy.Conn, command []string) proxy.Verdict {
		mu.Lock()
		defer mu.Unlock()
		if e.Times >= e.Count {
			return proxy.Pass
		}
		verdict := decide(c, command)
		if verdict != proxy.Pass {
			if e.Times++; e.Times == e.Count {
				close(enough)
			}
		}
		return verdict
	}
	return deed{enough: enough, do: sure(func() { in.proxy.OnCommand(judge) }), undo: func(context.Context) error {
		in.proxy.OnCommand(nil)
		mu.Lock()
		defer mu.Unlock()
		if e.Times == 0 {
			return fmt.Errorf("no such command came within %s", e.For)
		}
		return nil
	}}
}

// inTurn cuts the first connection that sends anything at its 1st command, the next one at its 2nd, and so on.
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

// named gives the verdict on the commands of these names, or words: "offer" for scripts that carry a message of dq-bench, and
// "take" for all that take from a list. Without names it is on all scripts.
func named(names []string, verdict proxy.Verdict) rule {
	scripts := []string{"EVAL", "EVALSHA"}
	if len(names) == 0 {
		names = scripts
	}
	return func(_ *proxy.Conn, command []string) proxy.Verdict {
		sent := strings.ToUpper(command[0])
		for _, name := range names {
			met := strings.EqualFold(name, sent)
			switch name {
			case "offer":
				met = slices.Contains(scripts, sent) && slices.ContainsFunc(command[1:], agent.HoldsPayload)
			case plan.Takes:
				met = slices.Contains(plan.Pops, sent)
			}
			if met {
				return verdict
			}
		}
		return proxy.Pass
	}
}

// busyScript runs for ARGV[1] ms. After the lua-time-limit the server answers BUSY.
const busyScript = `local function now() local t = redis.call('TIME') return t[1] * 1000 + t[2] / 1000 end
local till = now() + ARGV[1]
while now() < till do end
return 1`

func (in *Injector) busy(d time.Duration) deed {
	var closed func() error
	return deed{do: func(ctx context.Context) error {
		if err := in.config("lua-time-limit", "50")(ctx); err != nil {
			return err
		}
		c, err := redis.Dial(ctx, in.server.URL())
		if err != nil {
			return err
		}
		closed = c.Close
		_, err = c.Write(resp.AppendCommand(nil, "EVAL", busyScript, "0", fmt.Sprint(d.Milliseconds())))
		return err
	}, undo: func(ctx context.Context) error {
		if closed == nil {
			return nil
		}
		_ = in.admin.Do(ctx, "SCRIPT", "KILL").Err() // it has ended, or is no more than ms late
		return closed()
	}}
}

// foreign puts members in the first queue that are due now: n that hold a value in the layout of before 3.21.1, and n that no
// release can read.
func (in *Injector) foreign(n int) action {
	return func(ctx context.Context) error {
		names, now := wire.NamesOf(in.plan.QueueNames()[0]), time.Now().UnixMilli()
		var calls [][]any
		for i := range n {
			for _, member := range []string{
				string(wire.LayoutDLc0.Pack(wire.DoubleID(int64(i)+1), []byte("foreign-"+strconv.Itoa(i)))),
				"unreadable-" + strconv.Itoa(i),
			} {
				calls = append(calls, []any{"ZADD", names.TimeoutSet, now, member}, []any{"RPUSH", names.Pending, member})
			}
		}
		_, err := in.admin.Multi(ctx, calls...)
		return err
	}
}

// keyLoadDelay is how long a server that is to be loading takes for each command of its file, in µs.
const keyLoadDelay = 100

// lengthen adds to the server's file what takes it so long to read.
func (in *Injector) lengthen(d time.Duration) action {
	return func(ctx context.Context) error {
		var calls [][]any
		for i := range d.Microseconds() / keyLoadDelay {
			calls = append(calls, []any{"SET", "dq-bench:loading", i})
		}
		_, err := in.admin.Pipe(ctx, calls...)
		return err
	}
}

// noSnapshots has a snapshot fail for a folder that is where its file should be: the server takes no writes after that.
func (in *Injector) noSnapshots(file string) deed {
	failed := func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, mendTimeout)
		defer cancel()
		for {
			info, err := in.admin.Do(ctx, "INFO", "persistence").Text()
			if err != nil || strings.Contains(info, "rdb_last_bgsave_status:err") {
				return err
			}
			if err := sleep(ctx, 10*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return deed{
		do: all(func(context.Context) error { return os.Mkdir(file, 0o700) }, in.config("save", "3600 1"), in.send("BGSAVE"), failed),
		undo: func(ctx context.Context) error {
			return errors.Join(in.config("save", "")(ctx), os.Remove(file))
		},
	}
}
