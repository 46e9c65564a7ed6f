package driver

import (
	"context"
	"fmt"
)

// Poller is a Queue that can look for a value without waiting for one.
type Poller interface {
	// Poll returns the next value that is due; ok is false if there is none.
	Poll(ctx context.Context) (value []byte, ok bool, err error)
}

// Remover is a Queue that can call a message off.
type Remover interface {
	// Remove removes one message of this value that is not due yet, and tells
	// whether there was one. What it removed never comes.
	Remove(ctx context.Context, value []byte) (bool, error)
}

// ManyOpener is a Driver that serves several queues over one client, as one
// service with many queues would. Others are opened once for each queue.
type ManyOpener interface {
	// OpenMany is Open for each of the names, in their order; target.Queue is not
	// looked at. The client ends when all the queues are closed.
	OpenMany(ctx context.Context, target Target, names []string) ([]Queue, error)
}

// Preparer is a driver that takes long before its first use, such as to build a
// program. progress gets a line on what takes long.
type Preparer interface {
	Prepare(ctx context.Context, progress func(string)) error
}

// CapabilityError says that an implementation lacks what a plan needs.
type CapabilityError struct {
	Driver Identity
	// Need is the capability in words, after "cannot".
	Need string
}

func (e *CapabilityError) Error() string {
	return fmt.Sprintf("driver %s cannot %s, which the scenario needs; choose another with --driver", e.Driver, e.Need)
}

// OpenQueues opens a queue for each name, over one client where the driver can.
func OpenQueues(ctx context.Context, d Driver, target Target, names []string) ([]Queue, error) {
	if many, ok := d.(ManyOpener); ok {
		return many.OpenMany(ctx, target, names)
	}
	queues := make([]Queue, 0, len(names))
	for _, name := range names {
		target.Queue = name
		q, err := d.Open(ctx, target)
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
