package conn

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// sentinel is the master that a Sentinel names. go-redis's failover client asks the sentinels at each dial, and listens to
// +switch-master: then it closes all its connections to the old master, one of which is held here for that.
type sentinel struct {
	single // the no-ops of it
	conns  *Conns
	rdb    *redis.Client
	opt    *redis.Options

	mu      sync.Mutex
	current *server // retired, no call can succeed: the Client is closed, or rdb is
	watched sync.Once
	asking  bool
}

// failoverAddr is what go-redis puts in the place of an address in the options of a failover client.
const failoverAddr = "FailoverClient"

func newSentinel(c *Conns, rdb *redis.Client) *sentinel {
	opt := *rdb.Options()
	t := &sentinel{conns: c, rdb: rdb, opt: &opt}
	dial := opt.Dialer
	opt.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if errors.Is(err, redis.ErrClosed) {
			t.end(ErrRedisClosed)
			return nil, ErrRedisClosed
		}
		return conn, err
	}
	t.current = newServer(c, t.opt)
	return t
}

func (t *sentinel) owner(context.Context, string) (*server, error) {
	t.watched.Do(func() { go t.watch() })
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.current, nil
}

// end gives up. If rdb is closed, connections would work until the next fail-over, and then serve a server that is the master no more.
func (t *sentinel) end(reason error) {
	t.mu.Lock()
	s := t.current
	s.end(reason) // no other server takes its place
	t.mu.Unlock()
	s.retire(reason)
}

func (t *sentinel) close()      { t.end(ErrClosed) }
func (*sentinel) follows() bool { return true }

// moved replaces the server: whatever is under way on its other connections would be acknowledged by a server that is about to forget it.
func (t *sentinel) moved(s *server) bool {
	t.mu.Lock()
	if t.current == s && s.ctx.Err() == nil {
		t.current = newServer(t.conns, t.opt)
	}
	t.mu.Unlock()
	s.retire(errRetired)
	return true
}

// suspect asks the sentinels for the master. Calls that fail one after the other ask once.
func (t *sentinel) suspect(s *server) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asking || t.current != s || s.ctx.Err() != nil || t.conns.ctx.Err() != nil {
		return
	}
	t.asking = true
	go func() {
		t.ask()
		_ = Pause(t.conns.ctx, minBackoff)
		t.mu.Lock()
		t.asking = false
		t.mu.Unlock()
	}()
}

// ask dials the master, and has the server replaced if that is another now. It reports whether there is one.
func (t *sentinel) ask() bool {
	ctx, cancel := context.WithTimeout(t.conns.ctx, time.Second)
	defer cancel()
	t.mu.Lock()
	s := t.current
	t.mu.Unlock()
	conn, err := t.opt.Dialer(ctx, t.opt.Network, t.opt.Addr)
	if err != nil {
		return false
	}
	remote := conn.RemoteAddr().String()
	_ = conn.Close()
	s.mu.Lock()
	moved := s.remote != "" && s.remote != remote
	s.mu.Unlock()
	if moved {
		t.moved(s)
	}
	return true
}

// watch holds a connection of the failover client until Stop. When it breaks, go-redis has heard of a new master or the old one is gone.
func (t *sentinel) watch() {
	var retry Backoff
	for t.conns.ctx.Err() == nil {
		began := time.Now()
		if t.ask() { // a pool that cannot dial logs it
			t.hold()
		}
		if time.Since(began) > time.Second {
			retry = Backoff{}
		}
		_ = Pause(t.conns.ctx, retry.Next())
	}
}

const (
	// heldPause is the pause between two PINGs, and heldTimeout how long one may take.
	heldPause, heldTimeout = 200 * time.Millisecond, 2 * time.Second
)

// hold returns when the connection breaks. No PING is tried again: the pauses between the tries, on a connection that is
// broken, are when offers are lost.
func (t *sentinel) hold() {
	conn := t.rdb.WithTimeout(heldTimeout).Conn()
	defer conn.Close()
	for ctx, isNew := t.conns.ctx, true; ; isNew = false {
		err := conn.Process(ctx, once{redis.NewCmd(ctx, "PING")})
		if errors.Is(err, redis.ErrClosed) {
			t.end(ErrRedisClosed)
		}
		if isNew && err == nil {
			t.ask() // what happened before there was a connection to break
		}
		if err != nil || Pause(ctx, heldPause) != nil {
			return
		}
	}
}

// once is a command that go-redis does not try again.
type once struct{ *redis.Cmd }

// NoRetry is part of redis.Cmder.
func (once) NoRetry() bool { return true }
