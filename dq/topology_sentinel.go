package dq

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// sentinelTopology is the master that a Sentinel names. go-redis's failover client
// asks the sentinels at each dial, and listens to +switch-master: then it closes all
// its connections to the old master, one of which is held here for that.
type sentinelTopology struct {
	ctx context.Context
	rdb *redis.Client
	opt *redis.Options

	mu      sync.Mutex
	current *node
	watched sync.Once
	asking  bool
	ended   error // why no call can succeed: the Client is closed, or rdb is
}

// errRedisClosed is why nothing can be done any more.
var errRedisClosed = errors.New("the redis.Client given to dq.NewClient was closed, and only that one hears from Sentinel: close the dq.Client first")

// failoverAddr is what go-redis puts in the place of an address in the options of
// a failover client.
const failoverAddr = "FailoverClient"

func newSentinelTopology(ctx context.Context, rdb *redis.Client) *sentinelTopology {
	opt := *rdb.Options()
	t := &sentinelTopology{ctx: ctx, rdb: rdb, opt: &opt}
	dial := opt.Dialer
	opt.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		asking.note(t)
		socket, err := dial(ctx, network, addr)
		if errors.Is(err, redis.ErrClosed) {
			t.end(errRedisClosed)
			return nil, errRedisClosed
		}
		return socket, err
	}
	t.current = newNode(ctx, t.opt, t)
	return t
}

func (t *sentinelTopology) owner(context.Context, string) (*node, error) {
	t.watched.Do(func() { go t.watch() })
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended != nil {
		return nil, fmt.Errorf("%w: %w", errUnsent, t.ended)
	}
	return t.current, nil
}

// end gives up. If rdb is closed, connections would work until the next fail-over, and
// then serve a server that is the master no more.
func (t *sentinelTopology) end(reason error) {
	t.mu.Lock()
	if t.ended == nil {
		t.ended = reason
	}
	n := t.current
	t.mu.Unlock()
	n.retire(reason)
}

func (t *sentinelTopology) close() { t.end(ErrClosed) }

func (t *sentinelTopology) at(string) *node { return nil }

func (t *sentinelTopology) redirected(string, string) {}

func (t *sentinelTopology) follows() bool { return true }

// moved replaces the node: whatever is under way on its other connections would
// be acknowledged by a server that is about to forget it.
func (t *sentinelTopology) moved(n *node) bool {
	t.mu.Lock()
	if t.current == n && t.ended == nil {
		t.current = newNode(t.ctx, t.opt, t)
	}
	t.mu.Unlock()
	n.retire(errRetired)
	return true
}

// suspect asks the sentinels who the master is.
func (t *sentinelTopology) suspect(n *node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asking || t.ended != nil || t.current != n || t.ctx.Err() != nil {
		return
	}
	t.asking = true
	go func() {
		t.ask(n)
		_ = pause(t.ctx, minBackoff) // calls that fail one after the other need no more
		t.mu.Lock()
		t.asking = false
		t.mu.Unlock()
	}()
}

// ask dials the master, and has it replaced if that is another server now.
func (t *sentinelTopology) ask(n *node) {
	ctx, cancel := context.WithTimeout(t.ctx, time.Second)
	defer cancel()
	socket, err := t.opt.Dialer(ctx, t.opt.Network, t.opt.Addr)
	if err != nil {
		return
	}
	remote := socket.RemoteAddr().String()
	_ = socket.Close()
	n.mu.Lock()
	moved := n.remote != "" && n.remote != remote
	n.mu.Unlock()
	if moved {
		t.moved(n)
	}
}

// watch holds a connection of the failover client until the Client is closed. When
// it breaks, go-redis has heard of a new master or the old one is gone.
func (t *sentinelTopology) watch() {
	var retry backoff
	for t.ctx.Err() == nil {
		began := time.Now()
		err := t.hold()
		if errors.Is(err, redis.ErrClosed) {
			t.end(errRedisClosed)
			return
		}
		t.askCurrent()
		if time.Since(began) > time.Second {
			retry.reset()
		}
		// Without it, nobody hears of a new master, or that rdb was closed.
		_ = pause(t.ctx, min(retry.next(), time.Second))
	}
}

func (t *sentinelTopology) askCurrent() {
	t.mu.Lock()
	n := t.current
	t.mu.Unlock()
	t.ask(n)
}

const (
	// holdFor is how long one WAIT lasts, and so how long a closed Client may keep the
	// connection.
	holdFor = time.Second
	// holdGrace is how much longer a server may take that does not answer.
	holdGrace = time.Second
)

// hold returns when the connection breaks: it blocks in WAIT for more replicas than
// there can be, which names no key and changes nothing. Where the user may not, it
// pings.
func (t *sentinelTopology) hold() error {
	asking.note(t)
	conn := t.rdb.WithTimeout(holdFor + holdGrace).EphemeralConn()
	defer conn.Close()
	if err := once(t.ctx, conn, "PING"); err != nil {
		return err
	}
	// What happened before there was a connection to break.
	t.askCurrent()
	waits := true
	for t.ctx.Err() == nil {
		var err error
		if waits {
			err = once(t.ctx, conn, "WAIT", math.MaxInt32, holdFor.Milliseconds())
		} else {
			err = once(t.ctx, conn, "PING")
		}
		var reply redis.Error
		switch {
		case err == nil:
		case waits && errors.As(err, &reply) && !redis.HasErrorPrefix(reply, "UNBLOCKED"):
			waits = false
		default:
			return err
		}
		if !waits && pause(t.ctx, holdFor/10) != nil {
			return nil
		}
	}
	return nil
}

// once runs a command of go-redis's that is not tried again: the pauses between its
// attempts, on a connection that is broken, are when offers are lost.
func once(ctx context.Context, conn *redis.Conn, args ...any) error {
	command := onceCommand{redis.NewCmd(ctx, args...)}
	return conn.Process(ctx, command)
}

type onceCommand struct{ *redis.Cmd }

// NoRetry is part of redis.Cmder.
func (onceCommand) NoRetry() bool { return true }
