package conn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
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
	// mostDialTimeouts is the number of dial time-outs after which an attempt is given up. Its callers wait for one: a handshake
	// over a slow network takes as long as it takes, and the next callers find the connection.
	mostDialTimeouts = 6
)

func (s *server) dialTimeout() time.Duration {
	return cmp.Or(max(s.opt.DialTimeout, 0), defaultDialTimeout)
}

// unconnected is the error of a connection that was not made.
func (s *server) unconnected(err error) error {
	if retired := context.Cause(s.ctx); retired != nil {
		return fmt.Errorf("%w: %w", ErrUnsent, retired)
	}
	s.conns.topology.suspect(s)
	return fmt.Errorf("%w: %w", ErrUnsent, sharedError{err})
}

// takeIn takes note of a new socket, and notices that it leads to another server than before: then a fail-over has moved the name.
func (s *server) takeIn(one *socket) error {
	s.mu.Lock()
	if s.remote == "" {
		s.remote = one.remote
	}
	moved, retired := s.remote != one.remote, context.Cause(s.ctx)
	if retired == nil {
		s.open[one] = true
	}
	s.mu.Unlock()
	if retired == nil && moved && s.conns.topology.moved(s) {
		retired = errRetired
	}
	if retired != nil {
		one.fail(retired)
	} else if one.id == 0 && one.use != listening {
		s.cannotUnblock.Store(true)
	}
	return retired
}

// errGreeted ends what go-redis is needed for.
var errGreeted = errors.New("the handshake is done")

// greet dials once and has go-redis do its handshake. From then on the connection is ours.
func (s *server) greet(ctx context.Context, as use) (*socket, error) {
	conn, err := s.opt.Dialer(ctx, s.opt.Network, s.opt.Addr)
	if err != nil {
		return nil, fmt.Errorf("no connection to %s: %w", s.opt.Addr, err)
	}
	setKeepAlive(conn)
	one := newSocket(conn, as, s.conns.MostReply)
	one.writeFor = max(s.opt.WriteTimeout, 0)
	if as == shared {
		one.readFor = max(s.opt.ReadTimeout, 0)
	}
	stop := context.AfterFunc(ctx, func() { one.fail(ctx.Err()) })
	client := redis.NewClient(greeting(s.opt, one))
	err = client.Ping(ctx).Err() // never sent
	_ = client.Close()
	if stopped := stop(); !errors.Is(err, errGreeted) || !stopped {
		one.fail(err)
		return nil, fmt.Errorf("no connection to %s: %w", s.opt.Addr, err)
	}
	_ = conn.SetDeadline(time.Time{})
	context.AfterFunc(one.ctx, func() { s.gone(one) })
	if as != listening {
		go one.serve()
	}
	return one, s.takeIn(one)
}

// greeting returns the options of a client that greets over a connection, and leaves it: only the options for a handshake.
func greeting(from *redis.Options, one *socket) *redis.Options {
	o := redis.Options{
		Network: from.Network, Addr: from.Addr, Protocol: from.Protocol, ClientName: from.ClientName, DB: from.DB,
		Username: from.Username, Password: from.Password, CredentialsProvider: from.CredentialsProvider,
		CredentialsProviderContext: from.CredentialsProviderContext, IdentitySuffix: from.IdentitySuffix,
		DisableIdentity: from.DisableIdentity || from.DisableIndentity,                             //nolint:staticcheck // many set the old name
		ReadTimeout:     cmp.Or(from.ReadTimeout, -1), WriteTimeout: cmp.Or(from.WriteTimeout, -1), // 0 would be the default
		ReadBufferSize: 4 << 10, WriteBufferSize: 4 << 10,
		PoolSize: 1, MaxIdleConns: 1, MaxActiveConns: 1, MaxRetries: -1, DialerRetries: 1, DialTimeout: from.DialTimeout, ContextTimeoutEnabled: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	o.Dialer = func(context.Context, string, string) (net.Conn, error) { return lent{one.Conn}, nil }
	if one.use != shared {
		o.ReadTimeout = -1
	}
	if provider := from.StreamingCredentialsProvider; provider != nil {
		// The valid credentials. go-redis would send AUTH by itself when that changes.
		o.CredentialsProviderContext = func(context.Context) (user, password string, err error) {
			credentials, unsubscribe, err := provider.Subscribe(noListener{})
			if err != nil {
				return "", "", err
			}
			user, password = credentials.BasicAuth()
			return user, password, unsubscribe()
		}
	}
	o.OnConnect = func(ctx context.Context, conn *redis.Conn) error {
		if from.OnConnect != nil {
			if err := from.OnConnect(ctx, conn); err != nil {
				return err
			}
		}
		if one.use != listening {
			id, err := conn.Do(ctx, "CLIENT", "ID").Int64()
			if reply := redis.Error(nil); err != nil && (!errors.As(err, &reply) || begins(reply, useless)) {
				return err
			}
			one.id = id
		}
		return errGreeted
	}
	return &o
}

// lent is a connection that stays open when its borrower closes it.
type lent struct{ net.Conn }

func (lent) Close() error { return nil }

type noListener struct{}

func (noListener) OnNext(auth.Credentials) {}
func (noListener) OnError(error)           {}

// useless begin the errors to CLIENT ID that make the connection useless, for now (BUSY: without its id, a command on it could
// never be ended) or for good. Any other means that the server has no CLIENT ID or that the user may not ask for it.
var useless = []string{"NOAUTH", "WRONGPASS", "BUSY", "LOADING", "MASTERDOWN", "max number of clients"}

// begins reports whether an error reply begins with one of some texts, maybe behind "ERR ".
func begins(reply error, with []string) bool {
	return slices.ContainsFunc(with, func(text string) bool { return redis.HasErrorPrefix(reply, text) })
}

// setKeepAlive has the kernel find a dead peer within about 8 s, also if the server cannot be asked about a
// connection. It looks for the TCP connection below TLS too.
func setKeepAlive(conn net.Conn) {
	if t, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = t.NetConn()
	}
	if t, ok := conn.(*net.TCPConn); ok {
		_ = t.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 4 * time.Second, Interval: time.Second, Count: 4})
	}
}
