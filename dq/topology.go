package dq

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// topology knows which server owns a key, and follows when that changes: of a
// single server, of a master watched by Sentinel, of a Cluster.
type topology interface {
	// owner returns the server that keys like this one are written to.
	owner(ctx context.Context, key string) (*node, error)
	// at returns the server of an address that a redirection names; nil where there
	// are no redirections.
	at(address string) *node
	// redirected tells that a server says that keys like this one are at an address.
	redirected(key, address string)
	// suspect tells that something about a node looks as if it were no longer the
	// owner: a broken connection, a redirection, READONLY, silence. It does not wait.
	suspect(n *node)
	// moved tells that a new connection of a node led to another server than those
	// before, and reports whether the node was retired for that.
	moved(n *node) bool
	// follows reports whether a server that says READONLY is replaced by another.
	follows() bool
	close()
}

// singleTopology is one server at one address.
type singleTopology struct{ node *node }

func newSingleTopology(ctx context.Context, opt *redis.Options) *singleTopology {
	t := &singleTopology{}
	t.node = newNode(ctx, opt, t)
	return t
}

func (t *singleTopology) owner(context.Context, string) (*node, error) { return t.node, nil }
func (t *singleTopology) at(string) *node                              { return nil }
func (t *singleTopology) redirected(string, string)                    {}
func (t *singleTopology) suspect(*node)                                {}
func (t *singleTopology) moved(*node) bool                             { return false }
func (t *singleTopology) follows() bool                                { return false }
func (t *singleTopology) close()                                       { t.node.retire(ErrClosed) }

// backoff yields growing pauses between attempts.
type backoff struct{ last time.Duration }

// Bounds of a backoff. The upper one bounds how long a server that is back is left
// waiting.
const (
	minBackoff = 20 * time.Millisecond
	maxBackoff = 500 * time.Millisecond
)

func (b *backoff) next() time.Duration {
	b.last = min(max(2*b.last, minBackoff), maxBackoff)
	return b.last
}

func (b *backoff) reset() { b.last = 0 }

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
