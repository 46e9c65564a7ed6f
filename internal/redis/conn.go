package redis

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Conn is a client of one server, of a Cluster, or of the master behind sentinels. It is all that other rooms see of go-redis:
// a package that sees go-redis's own client type, even in a private field, costs 1.2 s to compile, as does one that sees a type
// with a method of go-redis's types. Its methods may be called from many goroutines.
type Conn interface {
	// Do sends one command. In a Cluster the first key says where; a command without a key goes to any node.
	Do(ctx context.Context, args ...any) *goredis.Cmd
	// Pipe sends commands in one go. It returns a reply to each, and the first error.
	Pipe(ctx context.Context, calls ...[]any) ([]*goredis.Cmd, error)
	// Multi is Pipe as one MULTI.
	Multi(ctx context.Context, calls ...[]any) ([]*goredis.Cmd, error)
	// Subscribe listens to channels, and returns when the server has confirmed the first.
	Subscribe(ctx context.Context, channels ...string) (*Subscription, error)
	// PSubscribe is Subscribe with patterns.
	PSubscribe(ctx context.Context, patterns ...string) (*Subscription, error)
	// MasterOf is the master that has a key, and its address; of one server itself.
	MasterOf(ctx context.Context, key string) (address string, master Conn, err error)
	// EachMaster calls do for all masters of a Cluster at once, and for any other server once. It returns the first error.
	EachMaster(ctx context.Context, do Visit) error
	// EachNode is EachMaster with the replicas of a Cluster.
	EachNode(ctx context.Context, do Visit) error
	// Topology is what the address named.
	Topology() Topology
	// Close ends all connections.
	Close() error
}

// Visit does something with one server of a set. The Conn is that set's: do not close it.
type Visit func(ctx context.Context, address string, server Conn) error

// Connect returns a Conn for an address, in the form that Server.URL returns. It connects with the first command. The
// error is a *SpecError, or of a file for TLS.
func Connect(address string) (Conn, error) {
	t, err := loaded(address)
	if err != nil {
		return nil, err
	}
	return t.connect(), nil
}

// ConnectOnce is Connect to one server by one connection, which never changes, so that its commands can be told apart in
// MONITOR. No command is sent again.
func ConnectOnce(address string) (Conn, error) {
	t, err := loaded(address)
	if err != nil {
		return nil, err
	}
	return On(t.client(goredis.UniversalOptions{Protocol: 2, Dialer: t.dialer(), PoolSize: 1, ConnMaxIdleTime: -1, MaxRetries: -1})), nil
}

// ConnectMany is Connect with a pool of that many connections, or more. No command is sent again: an offer that is sent
// again may be there twice.
func ConnectMany(address string, connections int) (Conn, error) {
	t, err := loaded(address)
	if err != nil {
		return nil, err
	}
	return On(t.client(goredis.UniversalOptions{Protocol: 2, Dialer: t.dialer(), PoolSize: connections, MaxRetries: -1})), nil
}

// NewClient returns go-redis's client for an address in the form that URL returns, for who gives it to dq. It connects
// with the first command. The error is a *SpecError, or of a file for TLS.
func NewClient(address string) (goredis.UniversalClient, error) {
	t, err := loaded(address)
	if err != nil {
		return nil, err
	}
	return t.client(goredis.UniversalOptions{}), nil
}

func loaded(address string) (Address, error) {
	a, err := ParseAddress(address)
	if err != nil {
		return a, err
	}
	return a.loaded()
}

// client is go-redis's client for t. It has the options in o too.
func (t Address) client(o goredis.UniversalOptions) goredis.UniversalClient {
	o.Addrs, o.IsClusterMode, o.MasterName, o.SentinelPassword = t.Hosts, t.Topology == Cluster, t.Master, t.sentinelPassword
	o.Username, o.Password, o.DB, o.TLSConfig = t.username, t.password, t.Database, t.tlsConfig()
	o.DisableIdentity = true
	o.ContextTimeoutEnabled = true // else a call to a server that stands still outlasts its context
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return goredis.NewUniversalClient(&o)
}

// dialer dials, bounded, as go-redis wants it.
func (t Address) dialer() func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, addr string) (net.Conn, error) { return t.dial(ctx, addr, maxLine) }
}

// On is a Conn by a client that stays the caller's: to close either closes both. The replies that it reads are as large as
// the client lets them be.
//
//go:noinline
func On(client goredis.UniversalClient) Conn { // inlined, it would show the client to all callers
	return conn{client}
}

// connect is a Conn whose connections are bounded, and whose replies are of RESP2.
//
//go:noinline
func (t Address) connect() Conn {
	return On(t.client(goredis.UniversalOptions{Protocol: 2, Dialer: t.dialer()}))
}

type conn struct{ client goredis.UniversalClient }

func (c conn) Do(ctx context.Context, args ...any) *goredis.Cmd { return c.client.Do(ctx, args...) }

func (c conn) Pipe(ctx context.Context, calls ...[]any) ([]*goredis.Cmd, error) {
	return piped(ctx, c.client.Pipelined, calls)
}

func (c conn) Multi(ctx context.Context, calls ...[]any) ([]*goredis.Cmd, error) {
	return piped(ctx, c.client.TxPipelined, calls)
}

func piped(ctx context.Context, send func(context.Context, func(goredis.Pipeliner) error) ([]goredis.Cmder, error), calls [][]any) ([]*goredis.Cmd, error) {
	replies := make([]*goredis.Cmd, len(calls))
	_, err := send(ctx, func(p goredis.Pipeliner) error {
		for i, call := range calls {
			replies[i] = p.Do(ctx, call...)
		}
		return nil
	})
	return replies, err
}

func (c conn) MasterOf(ctx context.Context, key string) (string, Conn, error) {
	cluster, ok := c.client.(*goredis.ClusterClient)
	if !ok {
		return "", c, nil
	}
	master, err := cluster.MasterForKey(ctx, key)
	if err != nil {
		return "", nil, err
	}
	return master.Options().Addr, On(master), nil
}

func (c conn) EachMaster(ctx context.Context, do Visit) error {
	cluster, ok := c.client.(*goredis.ClusterClient)
	if !ok {
		return do(ctx, "", c)
	}
	return cluster.ForEachMaster(ctx, visiting(do))
}

func (c conn) EachNode(ctx context.Context, do Visit) error {
	cluster, ok := c.client.(*goredis.ClusterClient)
	if !ok {
		return do(ctx, "", c)
	}
	return cluster.ForEachShard(ctx, visiting(do))
}

func visiting(do Visit) func(context.Context, *goredis.Client) error {
	return func(ctx context.Context, c *goredis.Client) error { return do(ctx, c.Options().Addr, On(c)) }
}

func (c conn) Topology() Topology {
	switch client := c.client.(type) {
	case *goredis.ClusterClient:
		return Cluster
	case *goredis.Client:
		if client.Options().Addr == "FailoverClient" {
			return Sentinel
		}
	}
	return Single
}

func (c conn) Close() error { return c.client.Close() }

// Subscription receives what is published until Close.
type Subscription struct {
	// Received gets each announcement. One without a channel follows each new subscription of a connection: what was
	// published before it is lost.
	Received <-chan Announcement
	close    func() error
}

// Announcement is a message on a channel.
type Announcement struct{ Channel, Payload string }

// Close ends the subscription, and Received.
func (s *Subscription) Close() error { return s.close() }

// subscriptionSize is how many announcements wait for a reader before others are dropped.
const subscriptionSize = 1000

func (c conn) Subscribe(ctx context.Context, channels ...string) (*Subscription, error) {
	return subscribed(ctx, c.client.Subscribe(ctx, channels...))
}

func (c conn) PSubscribe(ctx context.Context, patterns ...string) (*Subscription, error) {
	return subscribed(ctx, c.client.PSubscribe(ctx, patterns...))
}

func subscribed(ctx context.Context, s *goredis.PubSub) (*Subscription, error) {
	if _, err := s.Receive(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	received, ended := make(chan Announcement), make(chan struct{})
	from := s.ChannelWithSubscriptions(goredis.WithChannelSize(subscriptionSize))
	go func() {
		defer close(received)
		for m := range from {
			var a Announcement
			if message, ok := m.(*goredis.Message); ok {
				a = Announcement{message.Channel, message.Payload}
			}
			select {
			case received <- a:
			case <-ended:
				return
			}
		}
	}()
	var once sync.Once
	return &Subscription{Received: received, close: func() error {
		once.Do(func() { close(ended) })
		return s.Close()
	}}, nil
}

// Nil is the error of a reply without a value.
var Nil error = goredis.Nil

// Error is an error that the server replied.
type Error interface {
	error
	RedisError()
}

// HasErrorPrefix reports whether the server replied with an error that begins so; ERR counts as no part of the text.
func HasErrorPrefix(err error, prefix string) bool { return goredis.HasErrorPrefix(err, prefix) }

// Z is a member of a sorted set.
type Z struct {
	Score  float64
	Member string
}

// Scores reads the reply to a command WITHSCORES, of either version of the protocol.
func Scores(reply *goredis.Cmd) ([]Z, error) {
	items, err := reply.Slice()
	if err != nil {
		return nil, err
	}
	var flat []any
	for _, item := range items {
		if pair, ok := item.([]any); ok {
			flat = append(flat, pair...)
		} else {
			flat = append(flat, item)
		}
	}
	members := make([]Z, 0, len(flat)/2)
	for i := 0; i+1 < len(flat); i += 2 {
		z := Z{Member: fmt.Sprint(flat[i])}
		if z.Score, err = score(flat[i+1]); err != nil {
			return nil, err
		}
		members = append(members, z)
	}
	return members, nil
}

func score(value any) (float64, error) {
	switch value := value.(type) {
	case float64:
		return value, nil
	case string:
		if f, err := strconv.ParseFloat(value, 64); err == nil {
			return f, nil
		}
	}
	return 0, fmt.Errorf("expected a score, got %v", value)
}

// Time is the server's clock.
func Time(ctx context.Context, c Conn) (time.Time, error) {
	parts, err := c.Do(ctx, "TIME").StringSlice()
	if err != nil || len(parts) != 2 {
		return time.Time{}, err
	}
	seconds, err1 := strconv.ParseInt(parts[0], 10, 64)
	micros, err2 := strconv.ParseInt(parts[1], 10, 64)
	return time.Unix(seconds, micros*1000), errors.Join(err1, err2)
}

// Script is a Lua script that is sent by its SHA-1, and whole where the server does not know it.
type Script struct{ text, sha1 string }

// NewScript returns a Script of that text.
func NewScript(text string) *Script {
	sum := sha1.Sum([]byte(text))
	return &Script{text, hex.EncodeToString(sum[:])}
}

// Run runs the script.
func (s *Script) Run(ctx context.Context, c Conn, keys []string, args ...any) *goredis.Cmd {
	call := []any{"EVALSHA", s.sha1, len(keys)}
	for _, key := range keys {
		call = append(call, key)
	}
	call = append(call, args...)
	reply := c.Do(ctx, call...)
	if HasErrorPrefix(reply.Err(), "NOSCRIPT") {
		call[0], call[1] = "EVAL", s.text
		reply = c.Do(ctx, call...)
	}
	return reply
}

// Page reads the reply to a SCAN or one of its kin: elements, and the cursor of the next call, "0" after the last one.
func Page(reply *goredis.Cmd) (elements []string, cursor string, err error) {
	parts, err := reply.Slice()
	if err != nil {
		return nil, "", err
	}
	if len(parts) == 2 {
		items, _ := parts[1].([]any)
		for _, item := range items {
			elements = append(elements, fmt.Sprint(item))
		}
		cursor = fmt.Sprint(parts[0])
	}
	if cursor == "" {
		return nil, "", fmt.Errorf("expected a cursor and elements, got %.80q", fmt.Sprint(parts))
	}
	return elements, cursor, nil
}

// Subscribers is how many clients of a server listen to a channel, those of patterns not counted.
func Subscribers(ctx context.Context, server Conn, channel string) (int64, error) {
	counts, err := server.Do(ctx, "PUBSUB", "NUMSUB", channel).Slice()
	if err != nil || len(counts) != 2 {
		return 0, err
	}
	n, _ := counts[1].(int64)
	return n, nil
}

// Silence keeps go-redis from writing its own lines to stderr.
func Silence() { goredis.SetLogger(silent{}) }

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
