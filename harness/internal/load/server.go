package load

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/dq-bench/dq-bench/internal/redis"
)

// Redis looks at the server over its own connection.
type Redis struct {
	Conn redis.Conn
	// Several says that Conn leads to a Cluster, or by sentinels to a master.
	Several bool
}

// usage is a server's work since its start: calls of zrangebyscore, one in each transfer script, commands, and seconds
// of its processor.
type usage struct {
	transferCalls, commands int64
	cpuSeconds              float64
}

// usages has the usage of each server by the process that says so: its run id, which a restart changes, and its role.
type usages map[string]usage

var (
	errOtherServers = errors.New("a server was restarted during the run, or another one took over, joined or went, and its work is not counted in full")
	errNoStatistics = errors.New("the server keeps no command statistics")
	errCountedAnew  = errors.New("CONFIG RESETSTAT was called during the run")
)

// since is the work of all since an earlier usage, and the seconds of the busiest processor. It fails if a process changed.
func (u usages) since(before usages) (all usage, busiest float64, err error) {
	for process, now := range u {
		earlier, ok := before[process]
		d := usage{now.transferCalls - earlier.transferCalls, now.commands - earlier.commands, now.cpuSeconds - earlier.cpuSeconds}
		switch {
		case !ok || len(u) != len(before):
			return usage{}, 0, errOtherServers
		case d.transferCalls < 0 || d.commands < 0 || d.cpuSeconds < 0:
			return usage{}, 0, errCountedAnew
		}
		all = usage{all.transferCalls + d.transferCalls, all.commands + d.commands, all.cpuSeconds + d.cpuSeconds}
		busiest = max(busiest, d.cpuSeconds)
	}
	return all, busiest, nil
}

// usages asks all masters of a cluster at once, or the one server. It fails if one has no such statistics.
func (r *Redis) usages(ctx context.Context) (usages, error) {
	var mu sync.Mutex
	by := usages{}
	err := r.Conn.EachMaster(ctx, func(ctx context.Context, address string, conn redis.Conn) error {
		info, err := conn.Do(ctx, "INFO", "all").Text()
		if err != nil {
			return fmt.Errorf("INFO: %w", err)
		}
		process, u, err := readInfo(info)
		if process == "" {
			process = address // as the embedded server, which has no run id
		}
		mu.Lock()
		defer mu.Unlock()
		by[process] = u
		return err
	})
	return by, err
}

func readInfo(info string) (process string, u usage, err error) {
	told := map[string]string{}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		told[name] = value
	}
	number := func(text string) float64 {
		n, e := strconv.ParseFloat(text, 64)
		if text != "" && e != nil {
			err = fmt.Errorf("INFO: expected a number, got %q", text)
		}
		return n
	}
	calls, _, _ := strings.Cut(strings.TrimPrefix(told["cmdstat_zrangebyscore"], "calls="), ",")
	u.transferCalls, u.commands = int64(number(calls)), int64(number(told["total_commands_processed"]))
	u.cpuSeconds = number(told["used_cpu_user"]) + number(told["used_cpu_sys"])
	if u.commands == 0 && err == nil {
		err = errNoStatistics
	}
	if id := told["run_id"]; id != "" {
		process = id + " " + told["role"]
	}
	return process, u, err
}

// unblock ends the blocked commands of all connections of a name, with nothing taken.
func (r *Redis) unblock(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return r.Conn.EachMaster(ctx, func(ctx context.Context, _ string, conn redis.Conn) error {
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
