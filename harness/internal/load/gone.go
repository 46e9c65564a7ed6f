package load

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/internal/redis"
)

const (
	// pingEvery is how often a server is asked whether it is there, and pingTimeout for how long.
	pingEvery, pingTimeout = time.Second, time.Second
	// silentFor is how long a server that can be connected to may not answer: one that runs a long script
	// does not, nor does one whose host is gone.
	silentFor = 30 * time.Second
	// electedIn is how long a set of servers may take to name another master, while any of them takes connections.
	electedIn = time.Minute
)

// goneAfter is how long a server may refuse connections in a run, given how long the run waits for a
// message: less than half of that, so that with what ends then a run is over within that time after its server is.
func goneAfter(drainTimeout time.Duration) time.Duration { return drainTimeout * 4 / 10 }

// watchServer closes the channel, with a note, when the server is gone for good: there is nothing to
// offer to and to wait for any more. In a run whose faults it takes part in, nobody watches.
func (e *engine) watchServer(ctx context.Context) <-chan struct{} {
	if e.Redis == nil || e.Meanwhile != nil {
		return nil
	}
	gone := make(chan struct{})
	deserted := goneAfter(e.Plan.DrainTimeout)
	refused, silent := deserted, max(silentFor, deserted)
	if e.Redis.Conn.Topology() != redis.Single {
		refused, silent = max(electedIn, refused), max(electedIn, silent)
	}
	go func() {
		tick := time.NewTicker(pingEvery)
		defer tick.Stop()
		answered, connected, somebody := time.Now(), time.Now(), time.Now()
		var failed time.Time // the first ping since then that was not answered
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			err := e.ping(ctx)
			now := time.Now()
			switch {
			case ctx.Err() != nil:
				return
			case err == nil:
				answered, connected, somebody, failed = now, now, now, time.Time{}
				e.Live.silent(time.Time{})
			case timedOut(err):
				connected = now
			}
			if err != nil && !e.Redis.deserted(ctx) {
				somebody = now
			}
			if err != nil && failed.IsZero() {
				failed = now
				e.Live.silent(answered)
			}
			if now.Sub(connected) >= refused || now.Sub(answered) >= silent || now.Sub(somebody) >= deserted {
				e.mu.Lock()
				e.left = departure{answered, failed, now.Sub(answered), err}
				e.mu.Unlock()
				close(gone)
				return
			}
		}
	}()
	return gone
}

// departure is when a server that is gone last answered, when it first did not, how long was waited for it
// then, and what asking it last came to.
type departure struct {
	answered, failed time.Time
	waited           time.Duration
	err              error
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

// goneText says when the server went, where it is gone; of a run that ended by itself, where what is held could not be
// read and nobody answers. start is when the load began.
func (e *engine) goneText(ctx context.Context, start time.Time, unread bool) string {
	if !e.isGone() {
		if !unread || e.Redis == nil || e.Meanwhile != nil {
			return ""
		}
		if err := e.ping(context.WithoutCancel(ctx)); err != nil {
			return fmt.Sprintf("the server was gone when the run ended: %v", err)
		}
		return ""
	}
	e.mu.Lock()
	d := e.left
	e.mu.Unlock()
	return fmt.Sprintf("the server was gone %s, and for %s, so that the run was given up: %v", d.since(start), d.waited.Round(time.Second), d.err)
}

// ping returns nil for any answer.
func (e *engine) ping(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if e.Redis.Conn.Topology() == redis.Cluster {
		return e.pingMasters(asking)
	}
	err := e.Redis.Conn.Do(asking, "PING").Err()
	if errors.As(err, new(redis.Error)) {
		return nil
	}
	// A client that is refused tries again until its time is over.
	if err != nil && timedOut(err) {
		dialing, cancel := context.WithTimeout(ctx, pingTimeout)
		defer cancel()
		conn, refused := redis.Dial(dialing, e.RedisURL)
		switch {
		case refused == nil:
			_ = conn.Close()
		case !timedOut(refused):
			return refused
		}
	}
	return err
}

// pingMasters asks the masters that the queues are on: others may well answer without them.
func (e *engine) pingMasters(ctx context.Context) error {
	asked := map[string]bool{}
	for _, name := range e.Plan.QueueNames() {
		address, master, err := e.Redis.Conn.MasterOf(ctx, name)
		if err != nil {
			return fmt.Errorf("the master of queue %q: %w", name, err)
		}
		if asked[address] {
			continue
		}
		asked[address] = true
		if err := master.Do(ctx, "PING").Err(); err != nil && !errors.As(err, new(redis.Error)) {
			return fmt.Errorf("the master %s of queue %q: %w", address, name, err)
		}
	}
	return nil
}

// deserted reports whether every seed and every node that is known refuses connections.
func (r *Redis) deserted(ctx context.Context) bool {
	if len(r.Seeds) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	var mu sync.Mutex
	nodes := map[string]bool{}
	for _, address := range r.Seeds {
		nodes[address] = true
	}
	if r.Conn.Topology() == redis.Cluster {
		known := r.Conn.EachNode(ctx, func(_ context.Context, address string, _ redis.Conn) error {
			mu.Lock()
			defer mu.Unlock()
			nodes[address] = true
			return nil
		})
		if known != nil {
			return false
		}
	}
	return refuses(ctx, slices.Collect(maps.Keys(nodes)))
}

// refuses reports whether none of the addresses takes a connection, and each says so.
func refuses(ctx context.Context, addresses []string) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
	defer cancel()
	refused := make(chan bool, len(addresses))
	for _, address := range addresses {
		go func() {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
			if err == nil {
				_ = conn.Close()
			}
			refused <- err != nil && !timedOut(err)
		}()
	}
	all := true
	for range addresses {
		all = <-refused && all
	}
	return all
}

func timedOut(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout()
}

// isGone reports whether the server is gone for good.
func (e *engine) isGone() bool {
	select {
	case <-e.gone:
		return true
	default:
		return false
	}
}

// errGone is why nobody asks what a server holds.
var errGone = errors.New("the server is gone")
