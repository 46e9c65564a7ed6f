package driver

import "context"

// Poller is a Queue that can look for a value without waiting for one.
type Poller interface {
	// Poll returns the next value that is due; ok is false if there is none.
	Poll(ctx context.Context) (value []byte, ok bool, err error)
}

// Remover is a Queue that can cancel a message.
type Remover interface {
	// Remove removes one message of this value that is not due yet, and tells
	// whether there was one. What it removed never comes.
	Remove(ctx context.Context, value []byte) (bool, error)
}

// Inspector is a Queue that tells what it holds. For the others the driver's Store
// does. A message that nobody holds counts as lost.
type Inspector interface {
	// Held returns how many messages are held, due or not.
	Held(ctx context.Context) (int64, error)
	// Values calls each with everything that is held, in whatever framing. A
	// message may come twice, and none that is held throughout is left out.
	Values(ctx context.Context, each func(value []byte)) error
}
