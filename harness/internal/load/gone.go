package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/internal/redis"
)

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
				e.each = append(e.each, look{at: now, servers: servers})
				e.mu.Unlock()
				last, somebody = departure{answered: now}, now
				e.show(func() { e.answered = time.Time{} })
				return false
			case e.Injector != nil:
				return false
			case last.failed.IsZero():
				last.failed = now
				e.show(func() { e.answered = last.answered })
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

// goneText says when the server ended, if it has; of a run that ended by itself, where what is held could not be read
// and no server answers. start is the begin of the load.
func (e *engine) goneText(ctx context.Context, start time.Time, unread bool) string {
	if d, gone := context.Cause(e.server).(departure); gone {
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
