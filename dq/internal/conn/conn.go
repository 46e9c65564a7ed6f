// Package conn holds the connections of a dq.Client: it sends commands at most once, blocks for values without
// losing any, and follows Sentinel and Cluster.
//
//	Send ──► server of the key ──► courier of a lane ──► socket        many callers, one pipeline after the other
//	Block, Send with Pops ───────► idle socket, or a new one           one command, as long as it takes
//	Subscription ────────────────► socket of its own
//
// go-redis dials, does the handshake and asks the sentinels. What goes over a connection after that is written and read
// here: written requests, received replies and the end of waiting must be known exactly, and a pool hides them.
package conn

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	// ErrClosed is the error of calls after Close.
	ErrClosed = errors.New("dq: closed")
	// ErrLost is wrapped by the error of commands that were given to a socket and had no reply: the server may have run them or not.
	ErrLost = errors.New("the reply is lost")
	// ErrUnsent is wrapped by the error of commands that were never given to a socket.
	ErrUnsent = errors.New("not sent")
	// ErrRedisClosed is why nothing can be done any more under Sentinel.
	ErrRedisClosed = errors.New("the redis.Client given to dq.NewClient was closed, and only that one hears from Sentinel: close the dq.Client first")
)

// sharedError is the error of work that many calls wait for, such as a dial. Its time-outs are not theirs: it is no error
// of a context to them.
type sharedError struct{ error }

func (e sharedError) Is(target error) bool {
	return target != context.Canceled && target != context.DeadlineExceeded && errors.Is(e.error, target) //nolint:errorlint // these very values
}

func (e sharedError) As(target any) bool { return errors.As(e.error, target) }

// Options of the connections. Usual has the default of each.
type Options struct {
	// Turn is how long a command blocks at the server until it is sent again; Overdue is how much longer its reply
	// may take. Together they bound how long a dead connection goes unnoticed.
	Turn, Overdue time.Duration
	// Cancel is how much longer than its context a call may last, for a value that is on its way.
	Cancel time.Duration
	// Silent is for how long the server may answer over another connection while a command that it was asked to end does not,
	// until the connection counts as dead.
	Silent time.Duration
	// Idle is after how long a connection is closed on which no command blocks.
	Idle time.Duration
	// Quiet is after how long without a frame a subscription asks for a sign of life; it waits as long for the answer.
	Quiet time.Duration
	// Refused is after how long a refused SUBSCRIBE is sent again, for rights can change.
	Refused time.Duration
	// Patience is for how long a command waits for a slot that is being moved. Redis runs a command on several keys only if
	// all of them exist, and an offer's keys never do: so it waits until the slot has arrived.
	Patience time.Duration
	// Strict sends a command that blocks once, with the time-out that it was given, as Redisson does.
	Strict bool
	// MostReply is how many bytes may arrive in reply to one write.
	MostReply int64
	// Returned is called for values that were put back, or could not be.
	Returned func(key string, values []string, err error)
}

// Usual are the options of a Client. A reply may be twice as long as the longest value.
var Usual = Options{
	Turn: 4 * time.Second, Overdue: 2 * time.Second, Cancel: time.Second, Silent: 5 * time.Second, Idle: 30 * time.Second,
	Quiet: 2 * time.Second, Refused: 3 * time.Second, Patience: 5 * time.Second, MostReply: 1 << 30,
}

// Conns are the connections of one Client.
type Conns struct {
	Options
	// Clustered says that the servers are a Redis Cluster.
	Clustered bool

	topology       topology
	ctx, late      context.Context // end with Stop, and putBackGrace after it
	cancel, giveUp context.CancelCauseFunc

	jobs    chan func() // for the goroutines that stay
	staying atomic.Int32

	mu sync.Mutex // guards the end of ctx
	// work is the commands that block or pop, and what is done for callers that have left.
	work sync.WaitGroup
}

// New returns the connections of a Client that connects as rdb does. It does not connect yet.
func New(rdb redis.UniversalClient, o Options) (*Conns, error) {
	c := &Conns{Options: o, jobs: make(chan func())}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.late, c.giveUp = context.WithCancelCause(context.Background())
	switch r := reflect.ValueOf(rdb); {
	case !r.IsValid() || r.Kind() == reflect.Pointer && r.IsNil():
		return nil, errors.New("expected a *redis.Client or a *redis.ClusterClient, got nil")
	case reflect.Indirect(r).IsZero():
		return nil, fmt.Errorf("expected a client of redis.NewClient or its like, got a zero value %T", rdb)
	}
	switch rdb := rdb.(type) {
	case *redis.Client:
		if rdb.Options().Addr == failoverAddr {
			c.topology = newSentinel(c, rdb)
		} else {
			c.topology = single{newServer(c, rdb.Options())}
		}
	case *redis.ClusterClient:
		c.topology, c.Clustered = newCluster(c, rdb), true
	default:
		return nil, fmt.Errorf("expected a *redis.Client or a *redis.ClusterClient, got %T", rdb)
	}
	return c, nil
}

// Context ends with Stop, by ErrClosed.
func (c *Conns) Context() context.Context { return c.ctx }

// Stop ends the commands that block and lets no other begin. Wait follows.
func (c *Conns) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancel(ErrClosed)
	time.AfterFunc(putBackGrace, func() { c.giveUp(ErrClosed) })
}

// Wait returns when no command blocks any more and values taken for callers that have left are back, and closes the connections.
func (c *Conns) Wait() {
	c.work.Wait()
	c.topology.close()
}

// Go runs f in a goroutine. A few stay for the next, until Stop: the stack of a new one grows each time.
func (c *Conns) Go(f func()) {
	select {
	case c.jobs <- f:
		return
	default:
	}
	go func() {
		for more := true; more; c.staying.Add(-1) {
			f()
			if more = c.staying.Add(1) <= mostStaying; more {
				select {
				case f = <-c.jobs:
				case <-c.ctx.Done():
					more = false
				}
			}
		}
	}()
}

// mostStaying is how many goroutines wait for work.
const mostStaying = 8

// hold has Wait wait for one more; false after Stop.
func (c *Conns) hold() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	open := c.ctx.Err() == nil
	if open {
		c.work.Add(1)
	}
	return open
}

// topology knows which server owns a key, and follows when that changes.
type topology interface {
	// owner returns the server that keys like this one are written to.
	owner(ctx context.Context, key string) (*server, error)
	// redirect takes note that keys like this one are at an address, for good or for one command, and returns its server; nil without
	// redirections.
	redirect(key, address string, forGood bool) *server
	// suspect reports a sign that a server is no longer the owner. It does not wait.
	suspect(s *server)
	// moved reports that a new connection of a server led to another address than before, and reports whether
	// the server was retired for that.
	moved(s *server) bool
	// follows reports whether a server that says READONLY is replaced by another.
	follows() bool
	close()
}

// single is one server at one address.
type single struct{ *server }

func (t single) owner(context.Context, string) (*server, error) { return t.server, nil }
func (single) redirect(string, string, bool) *server            { return nil }
func (single) suspect(*server)                                  {}
func (single) moved(*server) bool                               { return false }
func (single) follows() bool                                    { return false }
func (t single) close()                                         { t.retire(ErrClosed) }

// Backoff yields growing pauses between attempts, and after that as long ones. The zero value begins anew.
type Backoff struct{ last time.Duration }

// Bounds of a Backoff. The upper one bounds how long a server that is back is left waiting.
const minBackoff, maxBackoff = 20 * time.Millisecond, 500 * time.Millisecond

// Next returns the next pause.
func (b *Backoff) Next() time.Duration {
	b.last = min(max(2*b.last, minBackoff), maxBackoff)
	return b.last
}

// Pause waits, or returns why ctx ended before.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
