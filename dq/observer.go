package dq

import "time"

// Observer holds hooks that a Client calls from its background goroutines. Any
// of them may be nil. A hook must return soon, because the scheduler waits for
// it, and must not call the Client.
type Observer struct {
	// Transfer is called after each run of a transfer script.
	Transfer func(TransferEvent)
	// Subscribed is called at each acknowledgement of a queue's subscription,
	// the first one and those after a reconnect.
	Subscribed func(queue string)
	// Disconnected is called when the subscription connection is lost or cannot
	// be made; the Client connects again by itself.
	Disconnected func(err error)
}

// TransferEvent tells of one run of a transfer script.
type TransferEvent struct {
	// Queue is the destination queue.
	Queue string
	// Took is the time from sending to the reply.
	Took time.Duration
	// Next is when the next member comes due; zero when none is left.
	Next time.Time
	// Err is nil on success. errors.Is(Err, ErrForeignMember) tells that the
	// queue stands still before a member of the other layout.
	Err error
}
