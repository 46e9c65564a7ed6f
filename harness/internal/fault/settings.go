package fault

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

// settings does a fault by commands to the server.
func (in *Injector) settings(ctx context.Context, f plan.Fault) error {
	switch f.Kind {
	case plan.FlushScripts:
		return in.admin.ScriptFlush(ctx).Err()
	case plan.FlushAll:
		return in.admin.FlushAll(ctx).Err()
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
	before, err := in.admin.ConfigGet(ctx, "maxclients").Result()
	if err != nil {
		return err
	}
	return during(ctx, d, func(ctx context.Context) error {
		if err := in.config("maxclients", "1")(ctx); err != nil {
			return err
		}
		return in.killClients(ctx)
	}, in.config("maxclients", before["maxclients"]))
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
	client := redis.NewClient(&redis.Options{Addr: in.server.Addr, Password: in.password(), ReadTimeout: -1, MaxRetries: -1, DisableIdentity: true})
	defer client.Close()
	return client.Eval(waiting, busyScript, nil, d.Milliseconds()).Err()
}

func (in *Injector) password() string {
	if c, ok := in.admin.(*redis.Client); ok {
		return c.Options().Password
	}
	return ""
}

// foreign puts members in the first queue that are due now: n that hold a value in the layout
// of before 3.21.1, and n that no release can read.
func (in *Injector) foreign(ctx context.Context, n int) error {
	names := wire.NamesOf(in.plan.QueueNames()[0])
	now := float64(time.Now().UnixMilli())
	_, err := in.admin.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for i := range n {
			for _, member := range []string{
				string(wire.LayoutDLc0.Pack(wire.DoubleID(int64(i)+1), []byte("foreign-"+strconv.Itoa(i)))),
				"unreadable-" + strconv.Itoa(i),
			} {
				p.ZAdd(ctx, names.TimeoutSet, redis.Z{Score: now, Member: member})
				p.RPush(ctx, names.Pending, member)
			}
		}
		return nil
	})
	return err
}
