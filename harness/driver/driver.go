// Package driver answers: which implementation is under test?
//
// It is the one seam between the harness and an implementation of a delay queue: a Driver opens Queues of it on a running server.
// Package serve makes a driver a program of the driver protocol.
package driver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Identity names an implementation in reports: "dq" at "4.7.0", "redisson" at "3.16.6".
type Identity struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// String returns name:version, or only the name without a version.
func (i Identity) String() string { return strings.TrimSuffix(i.Name+":"+i.Version, ":") }

// Driver opens queues of one implementation.
type Driver interface {
	Identity() Identity
	// Open connects, and opens a destination queue by its name. redisURL is the server's, with the password; empty without a server.
	Open(ctx context.Context, redisURL, name string) (Queue, error)
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
	// Poll returns the next value that is due, nil if no value is due.
	Poll(ctx context.Context) ([]byte, error)
}

// Remover is a Queue that can cancel a message.
type Remover interface {
	// Remove removes one message of this value that is not due yet, and reports whether there was one. A removed message is never delivered.
	Remove(ctx context.Context, value []byte) (bool, error)
}

// Inspector is a Queue that lists its messages. A message that is neither delivered nor held counts as lost.
type Inspector interface {
	// Held calls each with every message that is held, due or not, in whatever framing, and returns their number. A message may be
	// listed twice. A message that is held throughout is listed at least once.
	Held(ctx context.Context, each func(value []byte)) (int64, error)
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
