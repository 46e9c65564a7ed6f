package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/internal/redis"
)

// Redis looks at the server over its own connection.
type Redis struct {
	Conn redis.Conn
	// Seeds are the addresses, host:port, by which Conn finds a Cluster, or of the sentinels that name its master; nil for one
	// server.
	Seeds []string
}

// usage is a server's work since its start: calls of zrangebyscore, one in each transfer script, commands, and seconds
// of its processor; and the state of its slow log.
type usage struct {
	transferCalls, commands int64
	cpuSeconds              float64
	// slow is the number after the number of the latest entry of the slow log, which goes on when the log is emptied, 0 without
	// an entry; in a difference, the number of added entries. It is unread if the user may not read the log.
	slow int64
	kept int64 // entries, which the server bounds
}

const unread = -1

// since is the work since an earlier usage.
func (u usage) since(before usage) usage {
	done := usage{u.transferCalls - before.transferCalls, u.commands - before.commands, u.cpuSeconds - before.cpuSeconds, max(u.slow-before.slow, 0), 0}
	switch {
	case u.slow == unread || before.slow == unread:
		done.slow = unread
	case before.slow == 0:
		done.slow = u.kept
	}
	return done
}

// usages has the usage of each server by the process that says so: its run id, which a restart changes, and its role.
type usages map[string]usage

var (
	errOtherServers = errors.New("a server was restarted during the run, or another one took over, joined or went, and its work is not counted in full")
	errNoStatistics = errors.New("the server keeps no command statistics")
	errCountedAnew  = errors.New("CONFIG RESETSTAT was called during the run")
)

// since is the work of each since an earlier usage. It fails if a process changed.
func (u usages) since(before usages) (usages, error) {
	done := usages{}
	for process, now := range u {
		earlier, ok := before[process]
		d := now.since(earlier)
		switch {
		case !ok || len(u) != len(before):
			return nil, errOtherServers
		case d.transferCalls < 0 || d.commands < 0 || d.cpuSeconds < 0:
			return nil, errCountedAnew
		}
		done[process] = d
	}
	return done, nil
}

// total is the sum of what all did.
func (u usages) total() (total usage) {
	for _, one := range u {
		total.transferCalls += one.transferCalls
		total.commands += one.commands
		total.cpuSeconds += one.cpuSeconds
		if total.slow += one.slow; one.slow == unread {
			total.slow = math.MinInt64 / 2
		}
	}
	return total
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
		if u.slow, u.kept = slowlog(ctx, conn); ctx.Err() != nil {
			return ctx.Err()
		}
		mu.Lock()
		defer mu.Unlock()
		by[process] = u
		return err
	})
	return by, err
}

// slowlog reads the state of the slow log. It is unread if there is no such log, or the user may not read it: no run fails for
// that.
func slowlog(ctx context.Context, conn redis.Conn) (next, kept int64) {
	entries, err := conn.Do(ctx, "SLOWLOG", "GET", 1).Slice()
	if err == nil && len(entries) > 0 {
		latest, _ := entries[0].([]any)
		if kept, err = conn.Do(ctx, "SLOWLOG", "LEN").Int64(); err == nil && len(latest) > 0 {
			id, _ := latest[0].(int64)
			return id + 1, kept
		}
		return unread, 0
	}
	if err != nil {
		return unread, 0
	}
	return 0, 0
}

// readInfo reads the lines of INFO that matter.
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
	for line := range strings.Lines(list) {
		id, named := "", false
		for field := range strings.FieldsSeq(line) {
			switch key, value, _ := strings.Cut(field, "="); key {
			case "id":
				id = value
			case "name":
				named = value == name
			}
		}
		if named && id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// clockOffset is how far the clock of a server is ahead of this machine's, and the most that this may be wrong by: half the
// round trip of the quickest answer.
type clockOffset struct{ ahead, off time.Duration }

// clockSamples is how often the server's clock is asked.
const clockSamples = 16

// clockOffset asks the server for TIME several times and believes the quickest answer, as Cristian's algorithm does.
// In a cluster it asks the master of the queue's slot.
func (r *Redis) clockOffset(ctx context.Context, queue string) (best clockOffset, err error) {
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	_, master, err := r.Conn.MasterOf(asking, queue)
	if err != nil {
		return best, fmt.Errorf("master of queue %q: %w", queue, err)
	}
	for i := range clockSamples {
		before := time.Now()
		server, err := redis.Time(asking, master)
		took := time.Since(before)
		if err != nil {
			return best, fmt.Errorf("TIME: %w", err)
		}
		// The answer is in whole microseconds, cut down.
		sample := clockOffset{server.Sub(before.Round(0).Add(took / 2)), took/2 + time.Microsecond}
		if i == 0 || sample.off < best.off {
			best = sample
		}
	}
	return best, nil
}
