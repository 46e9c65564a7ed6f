package conn

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/auth"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// use is the purpose of a socket.
type use int

const (
	shared    use = iota // commands of many callers, each within the read time-out
	dedicated            // one command at a time, however long it takes
	listening            // a subscription
)

const (
	defaultDialTimeout = 5 * time.Second
	// mostDialTimeouts is after how many dial time-outs a connection is given up. Its callers wait for one: a handshake
	// over a slow network takes as long as it takes, and the next callers find the connection.
	mostDialTimeouts = 6
	// firstRedial and mostRedial bound the pauses, growing, after which another attempt at a connection begins beside
	// those under way. The kernel repeats what a network in an outage swallowed only after 1 s, 3 s, 7 s, and something
	// that takes connections in an outage never answers on them.
	firstRedial, mostRedial = time.Second, 5 * time.Second
)

func (s *server) dialTimeout() time.Duration {
	if s.opt.DialTimeout > 0 {
		return s.opt.DialTimeout
	}
	return defaultDialTimeout
}

// connect makes a connection, by as many attempts as it takes, until ctx or the server ends. What attempts still
// bring forth behind the first success is closed.
func (s *server) connect(ctx context.Context, as use) (*socket, error) {
	ctx, cancel := context.WithTimeout(ctx, mostDialTimeouts*s.dialTimeout())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	made := make(chan dialed)
	attempt := func() {
		one, err := s.greet(ctx, as)
		select {
		case made <- dialed{one, err}:
		case <-ctx.Done():
			if err == nil {
				_ = one.Close()
			}
		}
	}
	wait := firstRedial
	again := time.NewTimer(wait)
	defer again.Stop()
	go attempt()
	for underWay := 1; ; {
		select {
		case d := <-made:
			if underWay--; d.err == nil {
				return d.socket, s.takeIn(d.socket, as)
			} else if underWay == 0 {
				return nil, s.unconnected(d.err)
			}
		case <-again.C:
			underWay++
			go attempt()
			wait = min(2*wait, mostRedial)
			again.Reset(wait)
		case <-ctx.Done():
			return nil, s.unconnected(fmt.Errorf("no connection to %s: %w", s.opt.Addr, ctx.Err()))
		}
	}
}

// unconnected is the error of a connection that was not made.
func (s *server) unconnected(err error) error {
	s.mu.Lock()
	retired := s.retired
	s.mu.Unlock()
	if retired != nil {
		return fmt.Errorf("%w: %w", ErrUnsent, retired)
	}
	s.conns.topology.suspect(s)
	return fmt.Errorf("%w: %w", ErrUnsent, err)
}

// takeIn takes note of a new socket, and notices that it leads to another server than those before: then a
// fail-over has moved the name.
func (s *server) takeIn(one *socket, as use) error {
	s.mu.Lock()
	if s.remote == "" {
		s.remote = one.remote
	}
	moved, retired := s.remote != one.remote, s.retired
	if retired == nil {
		s.open[one] = true
	}
	s.mu.Unlock()
	if retired == nil && moved && s.conns.topology.moved(s) {
		retired = errRetired
	}
	if retired != nil {
		one.fail(retired)
		return fmt.Errorf("%w: %w", ErrUnsent, retired)
	}
	if one.id == 0 && as != listening {
		s.cannotUnblock.Store(true)
	}
	return nil
}

// greet dials once and has go-redis do its handshake.
func (s *server) greet(ctx context.Context, as use) (*socket, error) {
	conn, err := s.opt.Dialer(ctx, s.opt.Network, s.opt.Addr)
	if err != nil {
		return nil, fmt.Errorf("no connection to %s: %w", s.opt.Addr, err)
	}
	setKeepAlive(conn)
	one := &socket{Conn: conn, remote: conn.RemoteAddr().String(), most: s.conns.MostReply, ended: make(chan struct{}), use: as}
	var greeted atomic.Bool
	one.client = redis.NewClient(s.optionsOf(one, as, &greeted))
	stop := context.AfterFunc(ctx, func() { one.fail(ctx.Err()) })
	var failed bool
	if as == listening {
		one.pubsub = one.client.Subscribe(ctx)
		// Nothing is sent, and nothing will come so soon: it has go-redis do its handshake.
		_, err = one.pubsub.ReceiveTimeout(ctx, time.Nanosecond)
		failed = !isTimeout(err) || !one.alive()
	} else {
		one.id, err = one.client.Do(ctx, "CLIENT", "ID").Int64()
		reply := redis.Error(nil)
		failed = err != nil && (!greeted.Load() || !errors.As(err, &reply) || isFatal(reply))
	}
	if stopped := stop(); failed || !stopped {
		one.fail(err)
		return nil, fmt.Errorf("no connection to %s: %w", s.opt.Addr, cmp.Or(err, ctx.Err()))
	}
	one.onEnd = func() { s.gone(one) }
	return one, nil
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// optionsOf returns the options for the client of one socket.
func (s *server) optionsOf(one *socket, as use, greeted *atomic.Bool) *redis.Options {
	o := *s.opt
	o.Dialer = handOver(one)
	o.PoolSize, o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns, o.PipelinePoolSize = 1, 0, 1, 1, -1
	o.ConnMaxIdleTime, o.ConnMaxLifetime = -1, 0
	o.MaxRetries, o.DialerRetries = -1, 1
	o.ContextTimeoutEnabled, o.Limiter = true, nil
	o.ClientSideCache, o.ClientSideCacheConfig = nil, nil
	o.ReadTimeout, o.WriteTimeout = asGiven(s.opt.ReadTimeout), asGiven(s.opt.WriteTimeout)
	if as != shared {
		o.ReadTimeout = -1
		o.ReadBufferSize, o.WriteBufferSize = 4<<10, 4<<10
	}
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if provider := o.StreamingCredentialsProvider; provider != nil {
		// What is valid now. go-redis would send AUTH by itself when that changes, in the middle of our traffic.
		o.StreamingCredentialsProvider = nil
		o.CredentialsProviderContext = func(context.Context) (user, password string, err error) {
			credentials, unsubscribe, err := provider.Subscribe(noListener{})
			if err != nil {
				return "", "", err
			}
			user, password = credentials.BasicAuth()
			return user, password, unsubscribe()
		}
	}
	o.OnConnect = func(ctx context.Context, conn *redis.Conn) (err error) {
		if s.opt.OnConnect != nil {
			err = s.opt.OnConnect(ctx, conn)
		}
		greeted.Store(err == nil)
		return err
	}
	return &o
}

type noListener struct{}

func (noListener) OnNext(auth.Credentials) {}
func (noListener) OnError(error)           {}

// isFatal reports whether an error reply to CLIENT ID makes the connection useless, for now (BUSY: without its id, a
// command on it could never be ended) or for good. Any other is that of a server that has no CLIENT ID or of a user
// who may not ask for it.
func isFatal(reply redis.Error) bool {
	return slices.ContainsFunc([]string{"NOAUTH", "WRONGPASS", "BUSY", "LOADING", "MASTERDOWN", "ERR max number of clients"}, func(code string) bool {
		return redis.HasErrorPrefix(reply, code)
	})
}

// handOver returns a dialer that gives one connection away, once. Then it gives a connection that has ended, for go-redis logs
// the error of a dialer.
func handOver(one net.Conn) func(context.Context, string, string) (net.Conn, error) {
	var given atomic.Bool
	return func(context.Context, string, string) (net.Conn, error) {
		if given.Swap(true) {
			near, far := net.Pipe()
			_ = far.Close()
			return near, nil
		}
		return one, nil
	}
}

// setKeepAlive has the kernel find a peer that is gone within about 8 s, also where the server cannot be asked about a
// connection. It looks for the TCP connection below TLS too.
func setKeepAlive(conn net.Conn) {
	if t, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = t.NetConn()
	}
	if t, ok := conn.(*net.TCPConn); ok {
		_ = t.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 4 * time.Second, Interval: time.Second, Count: 4})
	}
}

// asGiven puts a resolved time-out back into the form in which go-redis takes it: there 0 stands for "default" and
// -1 for "none".
func asGiven(timeout time.Duration) time.Duration {
	return cmp.Or(timeout, -1)
}

// upperCase writes the first word of a subscription's command as Redisson does.
func upperCase(p []byte) []byte {
	for _, word := range []string{"unsubscribe", "subscribe", "ping"} {
		if i := bytes.Index(p[:min(len(p), 24)], []byte("\r\n"+word+"\r\n")); i >= 0 {
			p = bytes.Clone(p)
			copy(p[i+2:], bytes.ToUpper([]byte(word)))
			return p
		}
	}
	return p
}
