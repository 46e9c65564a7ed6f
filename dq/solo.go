package dq

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// soloConn is one connection on its own, for a command that blocks or for a
// subscription. go-redis makes it, with all ways to authenticate; the socket
// stays within reach so that it can be taken over or cut.
type soloConn struct {
	client *redis.Client
	addr   string

	mu     sync.Mutex
	socket net.Conn
	id     int64 // CLIENT ID; 0 where the server has none
}

func newSoloConn(opt *redis.Options) *soloConn {
	s := &soloConn{addr: opt.Addr}
	o := onceOptions(opt)
	o.PoolSize, o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns = 1, 0, 1, 1
	o.ReadTimeout = -1
	o.DialerRetries = 1 // whoever asks for a connection has a pace of his own
	dial, onConnect := o.Dialer, o.OnConnect
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		socket, err := dial(ctx, network, addr)
		s.mu.Lock()
		s.socket, s.id = socket, 0
		s.mu.Unlock()
		return socket, err
	}
	o.OnConnect = func(ctx context.Context, cn *redis.Conn) error {
		if onConnect != nil {
			if err := onConnect(ctx, cn); err != nil {
				return err
			}
		}
		if id, err := cn.ClientID(ctx).Result(); err == nil {
			s.mu.Lock()
			s.id = id
			s.mu.Unlock()
		}
		return nil
	}
	s.client = redis.NewClient(o)
	return s
}

func (s *soloConn) clientID() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

// take returns the socket of a connection that was made, for use instead of the
// client.
func (s *soloConn) take() net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.socket
}

// cut closes the socket under whoever reads from it.
func (s *soloConn) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.socket != nil {
		_ = s.socket.Close()
	}
}

func (s *soloConn) close() { _ = s.client.Close() }

// unblockDeadline bounds how long a cancelled command is asked to end before its
// socket is cut.
const unblockDeadline = 2 * time.Second

// block runs a blocking command on a connection of its own. When ctx ends, the
// server is asked to unblock the connection, instead of closing it: if a value
// was on its way at that moment it still arrives, and is returned. A server
// without CLIENT UNBLOCK, before Redis 5, can lose it.
//
// The reply is nil, without an error, when the command ended empty-handed.
func (c *Client) block(ctx context.Context, key string, args ...any) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, err := c.acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	defer c.rest(s)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.ctx, func() { cancel(ErrClosed) })()

	finished, unblocked := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(unblocked)
		c.unblock(s, key, finished)
	})
	reply, err := nilIsNoError(s.client.Do(context.WithoutCancel(ctx), args...).Result())
	close(finished)
	if !stop() {
		<-unblocked
	}
	if reply == nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return reply, err
}

// unblock ends the command that s is blocked in. It asks again until that has
// finished, because the command may not have reached the server yet.
func (c *Client) unblock(s *soloConn, key string, finished <-chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), unblockDeadline)
	defer cancel()
	for {
		id := s.clientID()
		if id == 0 {
			break
		}
		if _, err := c.router.do(ctx, key, []any{"CLIENT", "UNBLOCK", id}); err != nil {
			break
		}
		select {
		case <-finished:
			return
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	s.cut()
}

// acquire takes a resting connection to the server that owns key, or makes one.
func (c *Client) acquire(ctx context.Context, key string) (*soloConn, error) {
	opt, err := c.router.options(ctx, key)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return nil, ErrClosed
	}
	var s *soloConn
	if list := c.idle[opt.Addr]; len(list) > 0 {
		s = list[len(list)-1]
		c.idle[opt.Addr] = list[:len(list)-1]
	} else {
		s = newSoloConn(opt)
	}
	c.blocked.Add(1)
	return s, nil
}

// rest puts a connection away for the next blocking command.
func (c *Client) rest(s *soloConn) {
	defer c.blocked.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		s.close()
		return
	}
	c.idle[s.addr] = append(c.idle[s.addr], s)
}
