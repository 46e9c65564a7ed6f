// Package driver answers: which implementation is under test?
//
// A Driver is one implementation of a delay queue; Open binds it to a queue of
// a running server. In-process drivers are plain Go; external programs speak
// JSON lines on stdin and stdout.
package driver

import (
	"context"
	"time"
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

// Target says where a driver finds its queue.
type Target struct {
	// RedisURL is a go-redis style URL of the server, password included. It is
	// empty for drivers that need no server.
	RedisURL string
	// Queue is the name of the destination queue.
	Queue string
}

// Driver opens queues of one implementation.
type Driver interface {
	Identity() Identity
	// Open connects to the target's queue and returns once messages that come
	// due are being transferred.
	Open(ctx context.Context, target Target) (Queue, error)
}

// Queue is a delay queue under load. Offer and Take may be called from many
// goroutines at once.
type Queue interface {
	// Offer hands over value, to be delivered after delay, and returns when the
	// implementation has confirmed it. An error leaves open whether the value
	// was taken over.
	Offer(ctx context.Context, value []byte, delay time.Duration) error
	// Take waits for the next value that is due. It returns ctx's error once
	// ctx ends; a value that was already popped is returned, never dropped.
	Take(ctx context.Context) ([]byte, error)
	// Close stops everything Open started. Values that are not taken stay.
	Close() error
}
