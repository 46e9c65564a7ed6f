package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

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
	told := redis.Fields(info)
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

const (
	// lookEvery is how often a server is asked for its counters, and for how long.
	lookEvery = time.Second
	// silentFor is how long a server that can be connected to may not answer: one that runs a long script does not, nor does
	// one whose host is gone.
	silentFor = 30 * time.Second
	// electedIn is how long a set of servers may take to name another master.
	electedIn = time.Minute
)

// departure is the end of a server, and why the run's context of the server has ended: when the server last answered, when it first did
// not, how long was waited for it then, and what asking it last came to.
type departure struct {
	answered, failed time.Time
	waited           time.Duration
	err              error
}

// Error is the reason not to ask a server for its messages.
func (departure) Error() string { return "the server is gone" }

// watchServer asks the server each second for its counters, until stop, and ends e.server when it is dead for good: there is
// nothing to offer to and to wait for any more. A run that goes on with a server which breaks, as planned, is not given up.
//
// A server may refuse connections for less than half of the time that the run waits for a message, so that with what ends
// then a run is over within that time after its server is.
func (e *engine) watchServer(ctx context.Context) (stop func()) {
	if e.Redis == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // a run that is interrupted drains yet
	refused := e.Plan.DrainTimeout * 4 / 10
	silent := max(silentFor, refused)
	if e.Redis.Several {
		silent = max(electedIn, refused)
		refused = silent
	}
	var watching sync.WaitGroup
	last, somebody := departure{answered: time.Now()}, time.Now()
	watching.Go(func() {
		every(lookEvery, ctx.Done(), func() (gone bool) {
			servers, err := e.ask(ctx)
			now := time.Now()
			switch {
			case ctx.Err() != nil:
				return true
			case err == nil:
				e.mu.Lock()
				e.each, e.answered = append(e.each, look{at: now, servers: servers}), time.Time{}
				e.mu.Unlock()
				last, somebody = departure{answered: now}, now
				return false
			case e.Injector != nil:
				return false
			case last.failed.IsZero():
				last.failed = now
				e.mu.Lock()
				e.answered = last.answered
				e.mu.Unlock()
			}
			if !refuses(ctx, e.RedisURL) {
				somebody = now
			}
			last.waited, last.err = now.Sub(last.answered), err
			if gone = last.waited >= silent || now.Sub(somebody) >= refused; gone {
				e.gone(last)
			}
			return gone
		})
	})
	return func() {
		cancel()
		watching.Wait()
	}
}

// ask asks the server, or the masters, for their counters. An error reply is an answer.
func (e *engine) ask(ctx context.Context) (usages, error) {
	asking, cancel := context.WithTimeout(ctx, lookEvery)
	defer cancel()
	servers, err := e.Redis.usages(asking)
	if errors.Is(err, errNoStatistics) || errors.As(err, new(redis.Error)) {
		return nil, nil
	}
	return servers, err
}

// goneText says when the server ended, if it has; of a run that ended by itself, if the held messages could not be read
// and no server answers. start is the begin of the load.
func (e *engine) goneText(ctx context.Context, start time.Time, unread bool) string {
	if d := (departure{}); errors.As(context.Cause(e.server), &d) {
		return fmt.Sprintf("the server was gone %s, and for %s, so that the run was given up: %v", d.since(start), d.waited.Round(time.Second), d.err)
	}
	if unread && e.Redis != nil && e.Injector == nil {
		if _, err := e.ask(context.WithoutCancel(ctx)); err != nil {
			return fmt.Sprintf("the server was gone when the run ended: %v", err)
		}
	}
	return ""
}

// since says when it went, as far as that is known, in a run whose load began at start.
func (d departure) since(start time.Time) string {
	from, to := d.answered.Sub(start).Round(100*time.Millisecond), d.failed.Sub(start).Round(100*time.Millisecond)
	switch {
	case to <= 0:
		return "before the load began"
	case from <= 0:
		return fmt.Sprintf("at the latest %v after the load began", to)
	}
	return fmt.Sprintf("between %v and %v after the load began", from, to)
}

// refuses reports whether a server takes no connections.
func refuses(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, lookEvery)
	defer cancel()
	conn, err := redis.Dial(ctx, url)
	if err == nil {
		_ = conn.Close()
	}
	var network net.Error
	timedOut := errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout()
	return err != nil && !timedOut
}
