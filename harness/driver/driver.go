// Package driver answers: which implementation is under test?
//
// It is the one seam between the harness and an implementation of a delay queue: a
// Driver opens Queues of it on a running server. The implementations are in rooms of their own:
//
//	driver/library   the dq library, in this process
//	driver/baseline  designs to measure against: memory, LIST, ZSET
//	driver/program   everything under the op protocol, Redisson among it
//	driver/spec      which of them a --driver value names
//	driver/serve     a driver of one's own as a program of the op protocol
package driver

import (
	"context"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
)

// Identity names an implementation in reports: "dq" at "4.7.0", "redisson" at "3.16.6".
type Identity struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// String returns name:version, or the name alone where there is no version.
func (i Identity) String() string {
	if i.Version == "" {
		return i.Name
	}
	return i.Name + ":" + i.Version
}

// Target says where a driver finds its queues.
type Target struct {
	// RedisURL is a go-redis style URL of the server, password included. It is
	// empty for drivers that need no server.
	RedisURL string
}

// Driver opens queues of one implementation.
type Driver interface {
	Identity() Identity
	// Open connects, opens the destination queue of each name, and returns them in
	// that order once messages that come due are being transferred. An
	// implementation that can serve several queues over one client does, as one
	// service with many queues would; the client ends when all of them are closed.
	// Where one cannot be opened, none stays open.
	Open(ctx context.Context, target Target, names ...string) ([]Queue, error)
}

// ClockSetter is a Driver of this process that can be given another clock.
type ClockSetter interface {
	Driver
	// WithClock returns the same by that clock.
	WithClock(c clock.Clock) Driver
}

// Queue is a delay queue under load. Offer and Take may be called from many
// goroutines at once. What else it can do it tells by implementing Poller, Remover
// and Inspector.
type Queue interface {
	// Offer hands over value, to be delivered after delay, and returns when the
	// implementation has confirmed it. An error leaves open whether the value
	// was accepted.
	Offer(ctx context.Context, value []byte, delay time.Duration) error
	// Take waits for the next value that is due. It returns ctx's error once
	// ctx ends; a value that was already popped is returned, never dropped.
	Take(ctx context.Context) ([]byte, error)
	// Close stops everything Open started. Values that are not taken stay.
	Close() error
}

// OpenEach opens one queue after the other by open, for drivers that share no
// client among them. Where one fails, those before it are closed.
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
