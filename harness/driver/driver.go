// Package driver answers: which implementation is under test?
//
// It is the one seam between the harness and an implementation of a delay queue: a Driver opens Queues of it on a running server.
// Package serve makes a driver a program of the driver protocol.
package driver

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Identity names an implementation in reports: "dq" at "4.7.0", "redisson" at "3.16.6".
type Identity struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// String returns name:version, or only the name without a version.
func (i Identity) String() string {
	if i.Version == "" {
		return i.Name
	}
	return i.Name + ":" + i.Version
}

// Driver opens queues of one implementation.
type Driver interface {
	Identity() Identity
	// Open connects, opens the destination queue of each name, and returns them in that order once due messages are
	// being transferred. An implementation that can serve several queues over one client does, as one service with many queues
	// would; the client ends when all of them are closed. If one cannot be opened, all are closed. redisURL is a go-redis
	// style URL of the server, password included, empty for drivers that need no server.
	Open(ctx context.Context, redisURL string, names ...string) ([]Queue, error)
}

// Queue is a delay queue under load. Offer and Take may be called from many goroutines at once. It shows further abilities by
// implementing Poller, Remover and Inspector.
type Queue interface {
	// Offer hands over value, to be delivered after delay, and returns when the implementation has confirmed it. An error leaves
	// open whether the value was accepted, unless it wraps ErrRefused.
	Offer(ctx context.Context, value []byte, delay time.Duration) error
	// Take waits for the next value that is due. It returns ctx's error once ctx ends; a value that was already popped is
	// returned, never dropped.
	Take(ctx context.Context) ([]byte, error)
	// Close stops everything Open started. Values that are not taken stay.
	Close() error
}

// Poller is a Queue that can look for a value without waiting for one.
type Poller interface {
	// Poll returns the next value that is due; ok is false if no value is due.
	Poll(ctx context.Context) (value []byte, ok bool, err error)
}

// Remover is a Queue that can cancel a message.
type Remover interface {
	// Remove removes one message of this value that is not due yet, and reports whether there was one. A removed message is never delivered.
	Remove(ctx context.Context, value []byte) (bool, error)
}

// Inspector is a Queue that lists its messages. A message that is neither delivered nor held counts as lost.
type Inspector interface {
	// Held returns how many messages are held, due or not.
	Held(ctx context.Context) (int64, error)
	// Values calls each with every message that is held, in whatever framing. A message may be listed twice. A message that is held
	// throughout is listed at least once.
	Values(ctx context.Context, each func(value []byte)) error
}

// OpenEach opens one queue after the other by open, for drivers that share no client. If one fails, the earlier ones
// are closed.
func OpenEach(names []string, open func(name string) (Queue, error)) ([]Queue, error) {
	queues := make([]Queue, 0, len(names))
	for _, name := range names {
		q, err := open(name)
		if err != nil {
			for _, opened := range queues {
				_ = opened.Close()
			}
			return nil, err
		}
		queues = append(queues, q)
	}
	return queues, nil
}

var (
	// ErrClosed is returned by queues once they are closed.
	ErrClosed = errors.New("queue is closed")
	// ErrRefused is wrapped by the error of an Offer whose value was not queued, so that it may be offered again.
	ErrRefused = errors.New("the value was not queued")
)

// CapabilityError says that an implementation lacks an ability that a plan needs.
type CapabilityError struct {
	Driver Identity
	Need   string // in words, after "cannot"
}

func (e *CapabilityError) Error() string {
	return fmt.Sprintf("driver %s cannot %s, which the scenario needs; choose another with --driver", e.Driver, e.Need)
}
