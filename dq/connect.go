package dq

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/auth"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// connection is a socket that go-redis made and authenticated, and that is read
// and written here: what was sent, what was answered and when to stop waiting must
// be known exactly, which a pool does not tell.
type connection struct {
	net.Conn
	// id is the CLIENT ID; 0 where the server, before Redis 5, has none.
	id int64
	// remote is the address that the socket leads to, whatever name was dialled.
	remote string
	owner  *redis.Client
}

// Close closes the socket, and lets go-redis forget it.
func (c *connection) Close() error {
	err := c.Conn.Close()
	_ = c.owner.Close()
	return err
}

// keepAlive has the kernel find a peer that is gone within about 8 s, also where
// the server cannot be asked about a connection.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 4 * time.Second, Interval: time.Second, Count: 4}

// redialAfter is how long an attempt at a connection may take before another one begins
// beside it. The kernel repeats what a network in an outage swallowed only after 1 s,
// 3 s, 7 s, and something that takes connections in an outage never answers on them.
const redialAfter = time.Second

// connect makes one connection, by as many attempts as it takes. It returns as soon as
// ctx ends, whatever a dialer or a handshake is doing then; what they still bring forth
// is closed.
func connect(ctx context.Context, opt *redis.Options) (*connection, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		conn *connection
		err  error
	}
	made := make(chan result)
	attempt := func() {
		conn, err := handshake(ctx, opt)
		select {
		case made <- result{conn, err}:
		case <-ctx.Done():
			if err == nil {
				_ = conn.Close()
			}
		}
	}
	again := time.NewTicker(redialAfter)
	defer again.Stop()
	go attempt()
	for underWay := 1; ; {
		select {
		case r := <-made:
			if underWay--; r.err == nil || underWay == 0 {
				return r.conn, r.err
			}
		case <-again.C:
			underWay++
			go attempt()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func handshake(ctx context.Context, opt *redis.Options) (*connection, error) {
	socket, err := opt.Dialer(ctx, opt.Network, opt.Addr)
	if err != nil {
		return nil, &dialError{opt.Addr, err}
	}
	stop := context.AfterFunc(ctx, func() { _ = socket.Close() })
	setKeepAlive(socket)

	o := *opt
	o.Dialer = handOver(socket)
	o.PoolSize, o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns = 1, 0, 1, 1
	o.PipelinePoolSize = -1
	o.MaxRetries, o.DialerRetries = -1, 1
	o.ContextTimeoutEnabled = true
	o.ReadTimeout, o.WriteTimeout = asGiven(opt.ReadTimeout), asGiven(opt.WriteTimeout)
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	useCurrentCredentials(&o)
	var greeted atomic.Bool
	o.OnConnect = func(ctx context.Context, conn *redis.Conn) error {
		if opt.OnConnect != nil {
			if err := opt.OnConnect(ctx, conn); err != nil {
				return err
			}
		}
		greeted.Store(true)
		return nil
	}

	c := &connection{Conn: socket, remote: socket.RemoteAddr().String(), owner: redis.NewClient(&o)}
	// The first command has go-redis do its handshake.
	id, err := c.owner.Do(ctx, "CLIENT", "ID").Int64()
	if reply := redis.Error(nil); err != nil && (!greeted.Load() || !errors.As(err, &reply) || isFatalGreeting(reply)) {
		stop()
		_ = c.Close()
		return nil, &dialError{opt.Addr, err}
	}
	if !stop() {
		_ = c.Close()
		return nil, ctx.Err()
	}
	c.id = id
	return c, socket.SetDeadline(time.Time{})
}

// isFatalGreeting reports whether an error reply to CLIENT ID makes the connection
// useless, for now (BUSY: without its id, a command on it could never be ended) or for
// good. Any other is that of a server that has no CLIENT ID or of a user who may not
// ask for it.
func isFatalGreeting(reply redis.Error) bool {
	for _, code := range []string{"NOAUTH", "WRONGPASS", "BUSY", "LOADING", "MASTERDOWN", "ERR max number of clients"} {
		if redis.HasErrorPrefix(reply, code) {
			return true
		}
	}
	return false
}

// handOver returns a dialer that gives one socket away, once.
func handOver(socket net.Conn) func(context.Context, string, string) (net.Conn, error) {
	given := make(chan net.Conn, 1)
	given <- socket
	return func(context.Context, string, string) (net.Conn, error) {
		select {
		case s := <-given:
			return s, nil
		default:
			return nil, errors.New("the connection broke in its handshake")
		}
	}
}

// setKeepAlive looks for the TCP socket below TLS too.
func setKeepAlive(socket net.Conn) {
	if t, ok := socket.(interface{ NetConn() net.Conn }); ok {
		socket = t.NetConn()
	}
	if t, ok := socket.(*net.TCPConn); ok {
		_ = t.SetKeepAliveConfig(keepAlive)
	}
}

// asGiven puts a resolved time-out back into the form in which go-redis takes it:
// there 0 stands for "default" and -1 for "none".
func asGiven(timeout time.Duration) time.Duration {
	if timeout == 0 {
		return -1
	}
	return timeout
}

// useCurrentCredentials asks a streaming provider for what is valid now. go-redis
// would send AUTH by itself when that changes, in the middle of our traffic.
func useCurrentCredentials(o *redis.Options) {
	provider := o.StreamingCredentialsProvider
	if provider == nil {
		return
	}
	o.StreamingCredentialsProvider = nil
	o.CredentialsProviderContext = func(context.Context) (string, string, error) {
		credentials, unsubscribe, err := provider.Subscribe(noListener{})
		if err != nil {
			return "", "", err
		}
		_ = unsubscribe()
		user, password := credentials.BasicAuth()
		return user, password, nil
	}
}

type noListener struct{}

func (noListener) OnNext(auth.Credentials) {}
func (noListener) OnError(error)           {}

// dialError says that there is no connection, so that nothing was sent.
type dialError struct {
	addr string
	err  error
}

func (e *dialError) Error() string { return fmt.Sprintf("no connection to %s: %v", e.addr, e.err) }

func (e *dialError) Unwrap() error { return e.err }
