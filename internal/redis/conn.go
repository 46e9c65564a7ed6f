package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Conn is a client of one server, of a Cluster, or of the master behind sentinels. It hides go-redis's client type: a package that sees
// the type, even in a private field or an inlined body, costs 1.2 s to compile. All methods may be called from many goroutines.
type Conn interface {
	// Do sends one command. In a Cluster the first key chooses the node; a command without a key goes to any node.
	Do(ctx context.Context, args ...any) *goredis.Cmd
	// Pipe sends commands at once. It returns a reply to each, and the first error.
	Pipe(ctx context.Context, calls ...[]any) ([]*goredis.Cmd, error)
	// Multi is Pipe as one MULTI.
	Multi(ctx context.Context, calls ...[]any) ([]*goredis.Cmd, error)
	// Run sends a Script by its SHA-1, and in full if the server does not know the Script.
	Run(ctx context.Context, script *Script, keys []string, args ...any) *goredis.Cmd
	// EachMaster calls do for all masters of a Cluster at once, and for any other server once. It returns the first error.
	EachMaster(ctx context.Context, do Visit) error
	// EachNode is EachMaster with the replicas of a Cluster.
	EachNode(ctx context.Context, do Visit) error
	// Close ends all connections.
	Close() error
}

// Visit does something with one server of a set. The Conn belongs to the set: do not close it.
type Visit func(ctx context.Context, address string, server Conn) error

// Connect returns a Conn for an address, in the form of Server.URL. It connects with the first command. It fails with a *SpecError, or
// on a file for TLS.
//
//go:noinline
func Connect(address string) (Conn, error) { return connect(address, goredis.UniversalOptions{}) }

// ConnectMany is Connect with a pool of so many connections, which stay open: MONITOR shows the commands of each. It
// sends no command twice: an offer might be there twice.
//
//go:noinline
func ConnectMany(address string, connections int) (Conn, error) {
	return connect(address, goredis.UniversalOptions{PoolSize: connections, ConnMaxIdleTime: -1, MaxRetries: -1})
}

// NewClient is Connect for a caller that needs go-redis's client, as dq does. Its replies have no bound.
func NewClient(address string) (goredis.UniversalClient, error) {
	a, err := loaded(address)
	if err != nil {
		return nil, err
	}
	return newClient(a, goredis.UniversalOptions{}), nil
}

func loaded(address string) (Address, error) {
	a, err := ParseAddress(address)
	if err != nil {
		return a, err
	}
	return a.loaded()
}

func connect(address string, o goredis.UniversalOptions) (Conn, error) {
	a, err := loaded(address)
	if err != nil {
		return nil, err
	}
	return connectTo(a, o), nil
}

// connectTo returns a Conn with bounded replies of RESP2.
func connectTo(a Address, o goredis.UniversalOptions) Conn {
	o.Protocol = 2
	o.Dialer = func(ctx context.Context, _, addr string) (net.Conn, error) { return a.dial(ctx, addr) }
	return On(newClient(a, o))
}

// newClient returns go-redis's client for an address, with the options in o. It is no method, because a type shows its methods to all callers.
func newClient(a Address, o goredis.UniversalOptions) goredis.UniversalClient {
	o.Addrs, o.IsClusterMode, o.MasterName, o.SentinelPassword = a.Hosts, a.Topology == Cluster, a.Master, a.sentinelPassword
	o.Username, o.Password, o.DB, o.TLSConfig = a.username, a.password, a.Database, a.trust.Clone()
	if a.username != "" && a.password == "" {
		o.Password = "any" // a user without a password takes any, and go-redis sends no user without a password
	}
	o.DisableIdentity = true
	o.ContextTimeoutEnabled = true // else a call to a server that hangs outlasts its context
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return goredis.NewUniversalClient(&o)
}

// On returns a Conn by a client of the caller, whose replies are as large as the client allows. Close closes both.
//
//go:noinline
func On(client goredis.UniversalClient) Conn { return conn{client: client} }

// Within returns a Conn on the connections of another, whose calls end after a limit each.
//
//go:noinline
func Within(c Conn, limit time.Duration) Conn {
	if all, ok := c.(conn); ok {
		return conn{all.client, limit}
	}
	return c
}

type conn struct {
	client goredis.UniversalClient
	limit  time.Duration // that a call may take; 0 for no limit
}

// await makes a call of at most limit. It returns at the end of ctx as well: go-redis ends a read at a deadline only.
func (c conn) await(ctx context.Context, call func(context.Context)) error {
	if c.limit == 0 {
		call(ctx)
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, c.limit)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer cancel()
		call(limited)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c conn) cmd(ctx context.Context, call func(context.Context) *goredis.Cmd) *goredis.Cmd {
	var reply *goredis.Cmd
	if err := c.await(ctx, func(ctx context.Context) { reply = call(ctx) }); err != nil {
		return failed(ctx, err)
	}
	return reply
}

func failed(ctx context.Context, err error) *goredis.Cmd {
	reply := goredis.NewCmd(ctx)
	reply.SetErr(err)
	return reply
}

func (c conn) Do(ctx context.Context, args ...any) *goredis.Cmd {
	return c.cmd(ctx, func(ctx context.Context) *goredis.Cmd { return c.client.Do(ctx, args...) })
}

func (c conn) Pipe(ctx context.Context, calls ...[]any) ([]*goredis.Cmd, error) {
	return c.piped(ctx, c.client.Pipelined, calls)
}

func (c conn) Multi(ctx context.Context, calls ...[]any) ([]*goredis.Cmd, error) {
	return c.piped(ctx, c.client.TxPipelined, calls)
}

func (c conn) piped(ctx context.Context, send func(context.Context, func(goredis.Pipeliner) error) ([]goredis.Cmder, error), calls [][]any) ([]*goredis.Cmd, error) {
	replies, err := make([]*goredis.Cmd, len(calls)), error(nil)
	ended := c.await(ctx, func(ctx context.Context) {
		_, err = send(ctx, func(p goredis.Pipeliner) error {
			for i, call := range calls {
				replies[i] = p.Do(ctx, call...)
			}
			return nil
		})
	})
	if ended != nil {
		return slices.Repeat([]*goredis.Cmd{failed(ctx, ended)}, len(calls)), ended
	}
	return replies, err
}

func (c conn) Run(ctx context.Context, script *Script, keys []string, args ...any) *goredis.Cmd {
	return c.cmd(ctx, func(ctx context.Context) *goredis.Cmd { return script.Run(ctx, c.client, keys, args...) })
}

func (c conn) EachMaster(ctx context.Context, do Visit) error {
	return c.each(ctx, (*goredis.ClusterClient).ForEachMaster, do)
}

func (c conn) EachNode(ctx context.Context, do Visit) error {
	return c.each(ctx, (*goredis.ClusterClient).ForEachShard, do)
}

func (c conn) each(ctx context.Context, all func(*goredis.ClusterClient, context.Context, func(context.Context, *goredis.Client) error) error, do Visit) error {
	cluster, ok := c.client.(*goredis.ClusterClient)
	if !ok {
		return do(ctx, "", c)
	}
	return all(cluster, ctx, func(ctx context.Context, node *goredis.Client) error {
		return do(ctx, node.Options().Addr, conn{node, c.limit})
	})
}

func (c conn) Close() error { return c.client.Close() }

// Nil is the error of a reply without a value.
var Nil error = goredis.Nil

// ErrChanged is the error of a Multi before which a watched key changed.
var ErrChanged error = goredis.TxFailedErr

// Error is an error reply.
type Error = goredis.Error

// HasErrorPrefix reports whether err is an error reply that begins with prefix, after ERR if the reply has it.
func HasErrorPrefix(err error, prefix string) bool { return goredis.HasErrorPrefix(err, prefix) }

// Z is a member of a sorted set.
type Z struct {
	Score  float64
	Member string
}

// Scores reads the reply of RESP2 to a command WITHSCORES.
func Scores(reply *goredis.Cmd) (members []Z, err error) {
	flat, err := reply.StringSlice()
	for ; err == nil && len(flat) > 1; flat = flat[2:] {
		members = append(members, Z{Member: flat[0]})
		members[len(members)-1].Score, err = strconv.ParseFloat(flat[1], 64)
	}
	return members, err
}

// Time returns the server's clock.
func Time(ctx context.Context, c Conn) (time.Time, error) {
	parts, err := c.Do(ctx, "TIME").Int64Slice()
	if err != nil || len(parts) != 2 {
		return time.Time{}, err
	}
	return time.Unix(parts[0], parts[1]*1000), nil
}

// Script is a Lua script, for Conn.Run.
type Script = goredis.Script

// NewScript returns a Script of a text.
func NewScript(text string) *Script { return goredis.NewScript(text) }

// Page reads the reply to a SCAN or its like: elements, and the cursor of the next call, "0" after the last one.
func Page(reply *goredis.Cmd) (elements []string, cursor string, err error) {
	parts, err := reply.Slice()
	if err != nil {
		return nil, "", err
	}
	if len(parts) != 2 || parts[0] == "" {
		return nil, "", fmt.Errorf("expected a cursor and elements, got %.80q", fmt.Sprint(parts))
	}
	items, _ := parts[1].([]any)
	for _, item := range items {
		elements = append(elements, fmt.Sprint(item))
	}
	return elements, fmt.Sprint(parts[0]), nil
}

// Subscribers counts the clients of a server that listen to a channel, without clients of patterns.
func Subscribers(ctx context.Context, server Conn, channel string) (int64, error) {
	counts, err := server.Do(ctx, "PUBSUB", "NUMSUB", channel).Slice()
	if err != nil || len(counts) != 2 {
		return 0, err
	}
	n, _ := counts[1].(int64)
	return n, nil
}

// Silence keeps go-redis from writing to stderr.
func Silence() { logging.Disable() }

const (
	// maxReply bounds a reply, in bytes; each element of a list counts elementCost as well, and each list listCost: nested lists take
	// a client's stack. A line, as an error is one, is at most a lineShare of the bound: 1 MB.
	maxReply, elementCost, listCost, lineShare = 256 << 20, 16, 1 << 10, 256
)

// errReply ends a connection.
var errReply = errors.New("the server's reply does not end, or is none: its connection was closed")

// bounded ends a connection in the middle of a reply that is too large, by its bytes or by its header: before a client allocates memory for it.
type bounded struct {
	net.Conn
	most int64

	left       int64  // of the current reply; less than 0 if it is too large, or none
	values     int64  // to come of it
	bulk, line int64  // bytes to come of a string and its CR LF; bytes of the line
	head       []byte // the line's beginning
	err        error
}

func newBounded(c net.Conn, most int64) *bounded { return &bounded{Conn: c, most: most} }

func (b *bounded) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.Conn.Read(p)
	if b.err = b.pass(p[:n]); b.err != nil {
		_ = b.Close()
		return 0, b.err
	}
	return n, err
}

// Write returns the server's reason if the server closed the connection because it wants a certificate.
func (b *bounded) Write(p []byte) (int, error) {
	n, err := b.Conn.Write(p)
	if err != nil {
		_ = b.SetReadDeadline(time.Now().Add(time.Second))
		if _, why := b.Conn.Read(make([]byte, 1)); why != nil && strings.Contains(why.Error(), "tls: ") {
			err = why
		}
	}
	return n, err
}

// pass follows the replies in bytes.
func (b *bounded) pass(p []byte) error {
	for len(p) > 0 {
		if b.values == 0 && b.bulk == 0 {
			b.values, b.left = 1, b.most
		}
		n := min(int64(len(p)), max(b.bulk, 1))
		b.left -= n
		switch {
		case b.bulk > 0:
			b.bulk, b.line = b.bulk-n, 0
		case p[0] == '\n':
			b.header()
			b.head, b.line = b.head[:0], 0
		case len(b.head) < 24: // the type and a number
			b.head = append(b.head, p[0])
		}
		if b.line++; b.left < 0 || b.line > b.most/lineShare {
			return fmt.Errorf("%w: expected at most %d bytes", errReply, b.most)
		}
		p = p[n:]
	}
	return nil
}

// header follows a whole line: a value, or what comes before a string or the elements of a list.
func (b *bounded) header() {
	b.values--
	kind := string(b.head[:min(len(b.head), 1)])
	n, err := strconv.ParseInt(strings.TrimSuffix(string(b.head[len(kind):]), "\r"), 10, 64)
	isString, isList, isMap := strings.ContainsAny(kind, "$=!"), strings.ContainsAny(kind, "*~>"), strings.ContainsAny(kind, "%|")
	switch {
	case kind == "", (isString || isList || isMap) && (err != nil || n+2 > b.left):
		b.left = -1
	case n < 0: // null, or a number
	case isString:
		b.bulk = n + 2
	case isList, isMap:
		if isMap { // keys and values
			n *= 2
		}
		b.values, b.left = b.values+n, b.left-listCost-n*elementCost
		if kind == "|" { // it describes a value
			b.values++
		}
	}
}
