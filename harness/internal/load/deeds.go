package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/resp"
)

type action func(ctx context.Context) error

// deed is how a fault is done, and undone after its time.
type deed struct {
	do, undo action
	enough   chan struct{} // ends it before its time, if not nil
}

// deeds are the ways to do an event's fault, by the kinds of plan.FaultKinds.
func (in *Injector) deeds(e *Event) map[string]deed {
	kill := []string{"CLIENT KILL TYPE normal", "CLIENT KILL TYPE pubsub"}
	refused := in.through(redis.Fault{})
	refused.do = sure(func() { in.proxy.Refuse(); in.proxy.Reset() })
	return map[string]deed{
		// In the proxy.
		"cut":             {do: sure(in.proxy.Reset)},
		plan.LoseReplies:  in.counted(e, redis.CutReply),
		plan.LoseRequests: in.counted(e, redis.CutRequest),
		"stall":           in.through(redis.Fault{Stall: true}),
		"slow":            in.through(redis.Fault{Delay: e.Latency}),
		"refuse":          refused,
		// By commands to the server.
		"flush-scripts":   {do: in.send("SCRIPT FLUSH")},
		"flush-all":       {do: in.send("FLUSHALL")},
		"kill-clients":    {do: in.send(kill...)},
		"pause-clients":   {do: in.send(fmt.Sprintf("CLIENT PAUSE %d", e.For.Milliseconds()))}, // CLIENT UNPAUSE would wait too
		"oom":             in.configured("maxmemory", "1"),
		"readonly":        {do: in.send("REPLICAOF 127.0.0.1 1"), undo: in.send("REPLICAOF NO ONE")}, // port 1 is closed: the data stay
		"idle-timeout":    in.configured("timeout", "1"),
		"max-clients":     in.configured("maxclients", "1", kill...),
		"busy":            in.busy(e.For),
		"foreign-members": {do: in.foreign(e.Count)},
		// By signals to its process.
		"halt":        {do: in.process(func(_ context.Context, n *redis.Node) error { return n.Pause() }), undo: in.process(func(_ context.Context, n *redis.Node) error { return n.Resume() })},
		"kill-server": {do: in.process(kill9), undo: in.process(restart)},
		plan.Loading:  {do: all(in.lengthen(e.For), in.process(kill9)), undo: in.process(restart), enough: atOnce}, // until it has started
		"misconf":     in.noSnapshots(),
		// By the file that moves a process's clock.
		plan.WrongClock: {do: func(context.Context) error { return in.clocks[e.Member].Set(e.By) }, undo: func(context.Context) error { return in.clocks[e.Member].Set(0) }},
	}
}

// atOnce is closed.
var atOnce = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// sure is an action that cannot fail.
func sure(do func()) action { return func(context.Context) error { do(); return nil } }

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

// through has the proxy do a fault.
func (in *Injector) through(f redis.Fault) deed {
	return deed{do: sure(func() { in.proxy.Set(f, nil) }), undo: func(context.Context) error { return in.proxy.Heal() }}
}

// send sends commands of plain words past the proxy.
func (in *Injector) send(commands ...string) action {
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

// configured changes a setting of the server, sends commands, and restores the setting.
func (in *Injector) configured(name, value string, commands ...string) deed {
	before := []string{name, "0"}
	read := func(ctx context.Context) (err error) {
		before, err = in.admin.Do(ctx, "CONFIG", "GET", name).StringSlice()
		return err
	}
	return deed{
		do:   all(read, in.config(name, value), in.send(commands...)),
		undo: func(ctx context.Context) error { return in.config(name, before[1])(ctx) },
	}
}

func (in *Injector) config(name, value string) action {
	return func(ctx context.Context) error { return in.admin.Do(ctx, "CONFIG", "SET", name, value).Err() }
}

// process does something with the server's process.
func (in *Injector) process(do func(ctx context.Context, n *redis.Node) error) action {
	return func(ctx context.Context) error {
		nodes := in.server.Nodes()
		if len(nodes) != 1 {
			return fmt.Errorf("expected one process to send signals to, the server has %d", len(nodes))
		}
		return do(ctx, nodes[0])
	}
}

func kill9(_ context.Context, n *redis.Node) error     { return n.Kill() }
func restart(ctx context.Context, n *redis.Node) error { return n.Restart(ctx) }

// counted gives the verdict on the event's commands, as often as the event says. The proxy makes one call of judge at a time.
func (in *Injector) counted(e *Event, verdict redis.Verdict) deed {
	enough := make(chan struct{})
	judge := func(_ *redis.ProxyConn, command []string) redis.Verdict {
		if e.Times >= e.Count || !named(e.Commands, command) {
			return redis.Pass
		}
		if e.Times++; e.Times == e.Count {
			close(enough)
		}
		return verdict
	}
	return deed{enough: enough, do: sure(func() { in.proxy.OnCommand(judge) }), undo: func(context.Context) error {
		in.proxy.OnCommand(nil)
		if e.Times == 0 {
			return fmt.Errorf("no such command came within %s", e.For)
		}
		return nil
	}}
}

// named reports whether a command has one of these names, or words: "offer" for scripts that carry a message of dq-bench, and
// "take" for all that take from a list. Without names it is any script.
func named(names, command []string) bool {
	scripts, sent := []string{"EVAL", "EVALSHA"}, strings.ToUpper(command[0])
	if len(names) == 0 {
		names = scripts
	}
	return slices.ContainsFunc(names, func(name string) bool {
		switch name {
		case "offer":
			return slices.Contains(scripts, sent) && slices.ContainsFunc(command[1:], program.HoldsPayload)
		case plan.Takes:
			return slices.Contains(plan.Pops, sent)
		}
		return strings.EqualFold(name, sent)
	})
}

// busyScript runs for ARGV[1] ms. After the lua-time-limit the server answers BUSY.
const busyScript = `local function now() local t = redis.call('TIME') return t[1] * 1000 + t[2] / 1000 end
local till = now() + ARGV[1]
while now() < till do end
return 1`

func (in *Injector) busy(d time.Duration) deed {
	var closed func() error
	return deed{do: func(ctx context.Context) error {
		c, err := redis.Dial(ctx, in.server.URL())
		if err != nil {
			return err
		}
		closed = c.Close
		if err := in.send("CONFIG SET lua-time-limit 50")(ctx); err != nil {
			return err
		}
		_, err = c.Write(resp.AppendCommand(nil, "EVAL", busyScript, "0", fmt.Sprint(d.Milliseconds())))
		return err
	}, undo: func(ctx context.Context) error {
		if closed == nil {
			return nil
		}
		_ = in.admin.Do(ctx, "SCRIPT", "KILL").Err() // it has ended, or is at most ms late
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

// keyLoadDelay is how long a loading server takes for each command of its file, in µs.
const keyLoadDelay = 100

// lengthen adds commands to the server's file, so that it takes so long to read.
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

// noSnapshots has a snapshot fail because of a folder in the place of its file: the server takes no writes after that.
func (in *Injector) noSnapshots() deed {
	var file string
	failed := func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, mendTimeout)
		defer cancel()
		return redis.Until(ctx, "a snapshot failed", func() error {
			info, err := in.admin.Do(ctx, "INFO", "persistence").Text()
			if err == nil && !strings.Contains(info, "rdb_last_bgsave_status:err") {
				err = errors.New("the last one succeeded")
			}
			return err
		})
	}
	return deed{
		do: all(in.process(func(_ context.Context, n *redis.Node) error {
			file = filepath.Join(n.Dir, "dump.rdb")
			return os.Mkdir(file, 0o700)
		}), in.config("save", "3600 1"), in.send("BGSAVE"), failed),
		undo: func(ctx context.Context) error { return errors.Join(in.config("save", "")(ctx), os.Remove(file)) },
	}
}
