package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/internal/redis"
)

const (
	// pingEvery is how often a server is asked whether it is there, and pingTimeout for how long.
	pingEvery, pingTimeout = time.Second, time.Second
	// silentFor is how long a server that can be connected to may not answer: one that runs a long script does not, nor does
	// one whose host is gone.
	silentFor = 30 * time.Second
	// electedIn is how long a set of servers may take to name another master, while any of them takes connections.
	electedIn = time.Minute
)

// departure is when a server that is gone last answered, when it first did not, how long was waited for it then, and what
// asking it last came to.
type departure struct {
	answered, failed time.Time
	waited           time.Duration
	err              error
}

// errGone is why nobody asks what a server holds.
var errGone = errors.New("the server is gone")

// watchServer closes the channel, with a note, when the server is gone for good: there is nothing to offer to and to wait for
// any more. In a run whose faults it takes part in, nobody watches.
//
// A server may refuse connections for less than half of the time that the run waits for a message, so that with what ends
// then a run is over within that time after its server is.
func (e *engine) watchServer(ctx context.Context) <-chan struct{} {
	if e.Redis == nil || e.Meanwhile != nil {
		return nil
	}
	gone := make(chan struct{})
	deserted := e.Plan.DrainTimeout * 4 / 10
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
				continue
			case timedOut(err):
				connected = now
			}
			if !e.Redis.deserted(ctx) {
				somebody = now
			}
			if failed.IsZero() {
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

// isGone reports whether the server is gone for good.
func (e *engine) isGone() bool {
	select {
	case <-e.gone:
		return true
	default:
		return false
	}
}

// goneText says when the server went, where it is gone; of a run that ended by itself, where what is held could not be read
// and nobody answers. start is when the load began.
func (e *engine) goneText(ctx context.Context, start time.Time, unread bool) string {
	if e.isGone() {
		e.mu.Lock()
		d := e.left
		e.mu.Unlock()
		return fmt.Sprintf("the server was gone %s, and for %s, so that the run was given up: %v", d.since(start), d.waited.Round(time.Second), d.err)
	}
	if unread && e.Redis != nil && e.Meanwhile == nil {
		if err := e.ping(context.WithoutCancel(ctx)); err != nil {
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

// ping asks the server, or the masters that the queues are on: others may well answer without them. It returns nil for any
// answer.
func (e *engine) ping(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if e.Redis.Conn.Topology() == redis.Cluster {
		asked := map[string]bool{}
		for _, name := range e.Plan.QueueNames() {
			address, master, err := e.Redis.Conn.MasterOf(asking, name)
			if err == nil && !asked[address] {
				err = answerOf(master.Do(asking, "PING").Err())
			}
			if err != nil {
				return fmt.Errorf("the master %s of queue %q: %w", address, name, err)
			}
			asked[address] = true
		}
		return nil
	}
	err := answerOf(e.Redis.Conn.Do(asking, "PING").Err())
	if err == nil || !timedOut(err) {
		return err
	}
	// A client that is refused tries again until its time is over.
	dialing, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	conn, refused := redis.Dial(dialing, e.RedisURL)
	switch {
	case refused == nil:
		_ = conn.Close()
	case !timedOut(refused):
		return refused
	}
	return err
}

// answerOf takes an error of the server for an answer.
func answerOf(err error) error {
	if errors.As(err, new(redis.Error)) {
		return nil
	}
	return err
}

// deserted reports whether every seed and every node that is known refuses connections: then nobody is left to name another
// master.
func (r *Redis) deserted(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTimeout)
	defer cancel()
	var mu sync.Mutex
	nodes := map[string]bool{}
	for _, address := range r.Seeds {
		nodes[address] = true
	}
	if r.Conn.Topology() == redis.Cluster {
		err := r.Conn.EachNode(ctx, func(_ context.Context, address string, _ redis.Conn) error {
			mu.Lock()
			defer mu.Unlock()
			nodes[address] = true
			return nil
		})
		if err != nil {
			return false
		}
	}
	refused := make(chan bool, len(nodes))
	for address := range nodes {
		go func() {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
			if err == nil {
				_ = conn.Close()
			}
			refused <- err != nil && !timedOut(err)
		}()
	}
	all := []bool{len(nodes) > 0}
	for range nodes {
		all = append(all, <-refused)
	}
	return !slices.Contains(all, false)
}

func timedOut(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout()
}
