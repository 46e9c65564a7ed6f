package dq

import (
	"context"
	"errors"
	"math"
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

	mu      sync.Mutex
	current *node
	watched sync.Once
	asking  bool
}

// failoverAddr is what go-redis puts in the place of an address in the options of
// a failover client.
const failoverAddr = "FailoverClient"

func newSentinelTopology(ctx context.Context, rdb *redis.Client) *sentinelTopology {
	t := &sentinelTopology{ctx: ctx, rdb: rdb}
	t.current = newNode(ctx, rdb.Options(), t)
	return t
}

func (t *sentinelTopology) owner(context.Context, string) (*node, error) {
	t.watched.Do(func() { go t.watch() })
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.current, nil
}

func (t *sentinelTopology) at(string) *node { return nil }

func (t *sentinelTopology) redirected(string, string) {}

func (t *sentinelTopology) follows() bool { return true }

// moved replaces the node: whatever is under way on its other connections would
// be acknowledged by a server that is about to forget it.
func (t *sentinelTopology) moved(n *node) bool {
	t.mu.Lock()
	if t.current == n {
		t.current = newNode(t.ctx, t.rdb.Options(), t)
	}
	t.mu.Unlock()
	n.retire(errRetired)
	return true
}

// suspect asks the sentinels who the master is.
func (t *sentinelTopology) suspect(n *node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asking || t.current != n || t.ctx.Err() != nil {
		return
	}
	t.asking = true
	go func() {
		t.ask(n)
		t.mu.Lock()
		t.asking = false
		t.mu.Unlock()
	}()
}

// ask dials the master, and has it replaced if that is another server now.
func (t *sentinelTopology) ask(n *node) {
	ctx, cancel := context.WithTimeout(t.ctx, time.Second)
	defer cancel()
	opt := t.rdb.Options()
	socket, err := opt.Dialer(ctx, opt.Network, opt.Addr)
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
			return
		}
		t.mu.Lock()
		n := t.current
		t.mu.Unlock()
		t.ask(n)
		if time.Since(began) > time.Second {
			retry.reset()
		}
		_ = pause(t.ctx, retry.next())
	}
}

// holdFor is how long one WAIT lasts, and so how long a closed Client may keep the
// connection.
const holdFor = time.Second

// hold returns when the connection breaks: it blocks in WAIT for more replicas than
// there can be, which names no key and changes nothing. Where the user may not, it
// pings.
func (t *sentinelTopology) hold() error {
	conn := t.rdb.EphemeralConn()
	defer conn.Close()
	waits := true
	for t.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(t.ctx, 2*holdFor+connectTimeout)
		var err error
		if waits {
			err = conn.Wait(ctx, math.MaxInt32, holdFor).Err()
		} else {
			err = conn.Ping(ctx).Err()
		}
		cancel()
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

func (t *sentinelTopology) close() {
	t.mu.Lock()
	n := t.current
	t.mu.Unlock()
	n.retire(ErrClosed)
}
