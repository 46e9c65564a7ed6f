package load

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/dq-bench/dq-bench/internal/redis"
)

// Redis looks at the server beside the implementation under test.
type Redis struct {
	Conn redis.Conn
	// Queue is the destination queue.
	Queue string
	// Seeds are the addresses, host:port, by which Conn finds a Cluster, or of the sentinels that name its master. Where
	// all of them refuse connections, and the nodes of the Cluster too, nobody is left to name another master.
	Seeds []string
}

// usage is what a server has done since it started, all masters of a cluster
// together.
type usage struct {
	transferCalls int64 // calls of zrangebyscore, one in each transfer script
	commands      int64
	cpuSeconds    float64
}

func (u usage) minus(before usage) usage {
	return usage{u.transferCalls - before.transferCalls, u.commands - before.commands, u.cpuSeconds - before.cpuSeconds}
}

func (u usage) plus(other usage) usage {
	return usage{u.transferCalls + other.transferCalls, u.commands + other.commands, u.cpuSeconds + other.cpuSeconds}
}

// negative reports whether the server did less than nothing: then it counted anew.
func (u usage) negative() bool { return u.transferCalls < 0 || u.commands < 0 || u.cpuSeconds < 0 }

// usages is what each server has done, by the process that says so: its run id, of which a restarted
// server has another, and its role.
type usages map[string]usage

var (
	errOtherServers = errors.New("a server was restarted during the run, or another one took over, joined or went, and nobody counted all of it")
	errCountedAnew  = errors.New("the server was told to count anew during the run (CONFIG RESETSTAT)")
)

// since is what each did since it stood as before. It fails where those are not the same processes.
func (u usages) since(before usages) (usages, error) {
	if len(u) != len(before) {
		return nil, errOtherServers
	}
	done := usages{}
	for process, now := range u {
		earlier, ok := before[process]
		switch {
		case !ok:
			return nil, errOtherServers
		case now.minus(earlier).negative():
			return nil, errCountedAnew
		}
		done[process] = now.minus(earlier)
	}
	return done, nil
}

// total is what all did together.
func (u usages) total() usage {
	var total usage
	for _, one := range u {
		total = total.plus(one)
	}
	return total
}

// eachMaster asks all masters of a cluster at once, or the one server, and returns their
// answers by their addresses.
func eachMaster[T any](ctx context.Context, conn redis.Conn, ask func(context.Context, redis.Conn) (T, error)) (map[string]T, error) {
	var mu sync.Mutex
	all := map[string]T{}
	err := conn.EachMaster(ctx, func(ctx context.Context, address string, master redis.Conn) error {
		answer, err := ask(ctx, master)
		mu.Lock()
		defer mu.Unlock()
		all[address] = answer
		return err
	})
	return all, err
}

// usages asks the servers. It fails where one keeps no such statistics.
func (r *Redis) usages(ctx context.Context) (usages, error) {
	all, err := eachMaster(ctx, r.Conn, usageOf)
	if err != nil {
		return nil, err
	}
	told := usages{}
	for address, one := range all {
		if one.process == "" {
			one.process = address // as the embedded server, which tells no run id
		}
		told[one.process] = one.usage
	}
	return told, nil
}

// processUsage is what one process says that it has done.
type processUsage struct {
	process string
	usage
}

// usageOf asks by one connection, behind which there is one process. Several sections in one INFO need Redis 7.
func usageOf(ctx context.Context, conn redis.Conn) (processUsage, error) {
	var u processUsage
	sections := []string{"server", "replication", "commandstats", "stats", "cpu"}
	var calls [][]any
	for _, section := range sections {
		calls = append(calls, []any{"INFO", section})
	}
	texts, err := conn.Pipe(ctx, calls...)
	if err != nil {
		return u, fmt.Errorf("INFO: %w", err)
	}
	told := map[string]string{}
	for i, text := range texts {
		info, _ := text.Text()
		if err := u.add(info); err != nil {
			return u, fmt.Errorf("INFO %s: %w", sections[i], err)
		}
		for line := range strings.Lines(info) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			told[name] = value
		}
	}
	if u.commands == 0 {
		return u, errors.New("the server keeps no command statistics")
	}
	if id := told["run_id"]; id != "" {
		u.process = id + " " + told["role"]
	}
	return u, nil
}

// add reads the lines of an INFO answer that matter.
func (u *usage) add(info string) error {
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		var err error
		switch name {
		case "cmdstat_zrangebyscore":
			calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
			u.transferCalls, err = strconv.ParseInt(calls, 10, 64)
		case "total_commands_processed":
			u.commands, err = strconv.ParseInt(value, 10, 64)
		case "used_cpu_user", "used_cpu_sys":
			var seconds float64
			seconds, err = strconv.ParseFloat(value, 64)
			u.cpuSeconds += seconds
		}
		if err != nil {
			return fmt.Errorf("expected a number, got %q: %w", line, err)
		}
	}
	return nil
}
