package fault

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/resp"
)

// settings does a fault by commands to the server.
func (in *Injector) settings(ctx context.Context, f plan.Fault) error {
	switch f.Kind {
	case plan.FlushScripts:
		return in.admin.Do(ctx, "SCRIPT", "FLUSH").Err()
	case plan.FlushAll:
		return in.admin.Do(ctx, "FLUSHALL").Err()
	case plan.KillClients:
		return in.killClients(ctx)
	case plan.PauseClients:
		return during(ctx, f.For, in.command("CLIENT", "PAUSE", f.For.Milliseconds()), func(context.Context) error { return nil })
	case plan.OutOfMemory:
		return during(ctx, f.For, in.config("maxmemory", "1"), in.config("maxmemory", "0"))
	case plan.ReadOnly:
		// Nobody listens at port 1: the data stay as they are.
		return during(ctx, f.For, in.command("REPLICAOF", "127.0.0.1", "1"), in.command("REPLICAOF", "NO", "ONE"))
	case plan.Busy:
		return in.busy(ctx, f.For)
	case plan.MaxClients:
		return in.maxClients(ctx, f.For)
	case plan.IdleTimeout:
		return during(ctx, f.For, in.config("timeout", "1"), in.config("timeout", "0"))
	case plan.ForeignMembers:
		return in.foreign(ctx, f.Count)
	}
	return fmt.Errorf("no way to do %s", f.Kind)
}

// command is one that the server gets from beside.
func (in *Injector) command(words ...any) func(context.Context) error {
	return func(ctx context.Context) error { return in.admin.Do(ctx, words...).Err() }
}

func (in *Injector) config(name, value string) func(context.Context) error {
	return in.command("CONFIG", "SET", name, value)
}

// killClients closes all connections but its own.
func (in *Injector) killClients(ctx context.Context) error {
	for _, kind := range []string{"normal", "pubsub"} {
		if err := in.command("CLIENT", "KILL", "TYPE", kind)(ctx); err != nil {
			return err
		}
	}
	return nil
}

// maxClients leaves no room for any connection but one.
func (in *Injector) maxClients(ctx context.Context, d time.Duration) error {
	info, err := in.admin.Do(ctx, "INFO", "clients").Text()
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(info, "maxclients:")
	before, _, _ := strings.Cut(rest, "\r\n")
	return during(ctx, d, func(ctx context.Context) error {
		if err := in.config("maxclients", "1")(ctx); err != nil {
			return err
		}
		return in.killClients(ctx)
	}, in.config("maxclients", before))
}

// busyAfter is after how many ms of a script the server answers BUSY.
const busyAfter = 50

// busyScript runs for ARGV[1] ms.
const busyScript = `local function now() local t = redis.call('TIME') return t[1] * 1000 + t[2] / 1000 end
local till = now() + ARGV[1]
while now() < till do end
return 1`

func (in *Injector) busy(ctx context.Context, d time.Duration) error {
	if err := in.config("lua-time-limit", strconv.Itoa(busyAfter))(ctx); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), d+mendTimeout)
	defer cancel()
	c, err := redis.Dial(waiting, in.server.URL())
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(waiting, func() { _ = c.Close() })()
	if _, err := c.Write(resp.AppendCommand(nil, "EVAL", busyScript, "0", fmt.Sprint(d.Milliseconds()))); err != nil {
		return err
	}
	reply, err := resp.NewReader(c, 0).Read()
	if refused, ok := reply.(resp.Error); ok {
		return refused
	}
	return err
}

// foreign puts members in the first queue that are due now: n that hold a value in the layout
// of before 3.21.1, and n that no release can read.
func (in *Injector) foreign(ctx context.Context, n int) error {
	names := wire.NamesOf(in.plan.QueueNames()[0])
	now := time.Now().UnixMilli()
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
