package load

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/internal/redis"
)

// Redis looks at the server beside the implementation under test.
type Redis struct {
	Conn redis.Conn
	// Queue is the destination queue.
	Queue string
	// Seeds are the addresses, host:port, by which Conn finds a Cluster, or of the sentinels that name its master.
	Seeds []string
}

// usage is what a server has done since it started: calls of zrangebyscore, one in each transfer script, commands, and seconds
// of its processor.
type usage struct {
	transferCalls, commands int64
	cpuSeconds              float64
}

// plus adds sign times another usage.
func (u usage) plus(sign int64, other usage) usage {
	return usage{u.transferCalls + sign*other.transferCalls, u.commands + sign*other.commands, u.cpuSeconds + float64(sign)*other.cpuSeconds}
}

// usages has the usage of each server by the process that says so: its run id, which a restart changes, and its role.
type usages map[string]usage

var (
	errOtherServers = errors.New("a server was restarted during the run, or another one took over, joined or went, and nobody counted all of it")
	errNoStatistics = errors.New("the server keeps no command statistics")
	errCountedAnew  = errors.New("the server was told to count anew during the run (CONFIG RESETSTAT)")
)

// since is what each did since it stood as before. It fails where those are not the same processes.
func (u usages) since(before usages) (usages, error) {
	done := usages{}
	for process, now := range u {
		earlier, ok := before[process]
		d := now.plus(-1, earlier)
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

// total is the sum of all.
func (u usages) total() (total usage) {
	for _, one := range u {
		total = total.plus(1, one)
	}
	return total
}

// eachMaster asks all masters of a cluster at once, or the one server, and returns their answers by their addresses.
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
	type told struct {
		process string
		usage
	}
	all, err := eachMaster(ctx, r.Conn, func(ctx context.Context, conn redis.Conn) (t told, err error) {
		var calls [][]any // by one connection, behind which there is one process; several sections in one INFO need Redis 7
		for _, section := range []string{"server", "replication", "commandstats", "stats", "cpu"} {
			calls = append(calls, []any{"INFO", section})
		}
		answers, err := conn.Pipe(ctx, calls...)
		if err != nil {
			return t, fmt.Errorf("INFO: %w", err)
		}
		var info strings.Builder
		for _, answer := range answers {
			text, _ := answer.Text()
			info.WriteString(text + "\n")
		}
		t.process, t.usage, err = readInfo(info.String())
		return t, err
	})
	if err != nil {
		return nil, err
	}
	by := usages{}
	for address, one := range all {
		if one.process == "" {
			one.process = address // as the embedded server, which tells no run id
		}
		by[one.process] = one.usage
	}
	return by, nil
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
	u = usage{int64(number(calls)), int64(number(told["total_commands_processed"])), number(told["used_cpu_user"]) + number(told["used_cpu_sys"])}
	if u.commands == 0 && err == nil {
		err = errNoStatistics
	}
	if id := told["run_id"]; id != "" {
		process = id + " " + told["role"]
	}
	return process, u, err
}

// slowlog is how the slow log of one server stands.
type slowlog struct {
	// next is the number after the number of the latest entry, which goes on when the log is emptied; 0 without an entry.
	next int64
	// length is how many entries are kept, which is bounded by the server.
	length int64
}

// slowlogs has the log of each master by its address; nil where they cannot be read.
type slowlogs map[string]slowlog

// since is how many entries all have together since they stood as before; nil where they cannot be compared.
func (s slowlogs) since(before slowlogs) *int64 {
	if s == nil || before == nil {
		return nil
	}
	added := int64(0)
	for address, log := range s {
		earlier, ok := before[address]
		switch {
		case !ok:
			return nil // a server that was no master then
		case earlier.next == 0:
			added += log.length
		default:
			added += max(log.next-earlier.next, 0)
		}
	}
	return &added
}

// slowlogs is nil where the server has no slow log or the user may not read it: no run fails for that.
func (r *Redis) slowlogs(ctx context.Context) slowlogs {
	all, err := eachMaster(ctx, r.Conn, func(ctx context.Context, conn redis.Conn) (slowlog, error) {
		entries, err := conn.Do(ctx, "SLOWLOG", "GET", 1).Slice()
		if err != nil || len(entries) == 0 {
			return slowlog{}, err
		}
		latest, _ := entries[0].([]any)
		if len(latest) == 0 {
			return slowlog{}, fmt.Errorf("SLOWLOG GET: expected an entry, got %.80q", fmt.Sprint(entries[0]))
		}
		id, _ := latest[0].(int64)
		length, err := conn.Do(ctx, "SLOWLOG", "LEN").Int64()
		return slowlog{id + 1, length}, err
	})
	if err != nil {
		return nil
	}
	return all
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

// clockOffset asks the server for TIME several times and believes the answer that came quickest, as Cristian's algorithm does.
// In a cluster it asks the master of the queue's slot.
func (r *Redis) clockOffset(ctx context.Context) (best clockOffset, err error) {
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	_, master, err := r.Conn.MasterOf(asking, r.Queue)
	if err != nil {
		return best, fmt.Errorf("master of queue %q: %w", r.Queue, err)
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
