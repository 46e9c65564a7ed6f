package dq

import "time"

// Observer holds hooks that a Client calls. Any of them may be nil. Offered, Taken and Handled
// are called by whoever made the call, many at once; the others from the Client's background
// goroutines. A hook must return soon, because the caller or the scheduler waits for it, and must
// not call the Client. Package dqprom makes metrics of them.
type Observer struct {
	// Offered is called after each offer that was sent; OfferAll's after each of its batches.
	Offered func(OfferEvent)
	// Taken is called when values have left the destination queue for a consumer: by Take, Poll
	// and their kin, by Reserve, and for each value that Consume begins.
	Taken func(TakeEvent)
	// Handled is called by Consume after each of its handler's calls.
	Handled func(HandleEvent)
	// Transfer is called after each run of a transfer script.
	Transfer func(TransferEvent)
	// Subscribed is called at each acknowledgement of a queue's subscription,
	// the first one and those after a reconnect.
	Subscribed func(queue string)
	// Disconnected is called when the subscription connection is lost or cannot
	// be made, or the server refuses a subscription; the Client tries again by itself.
	Disconnected func(err error)
	// Returned is called when a value arrived for a Take that had returned already, and
	// has been put back to the end of the queue that it was taken from; and for what a Consume
	// took and puts back, for its turn has not come.
	Returned func(ReturnedEvent)
	// Quarantined is called when a transfer met due members that neither layout reads,
	// and set them aside.
	Quarantined func(QuarantinedEvent)
	// Unlisted is called when a pass through the pending list has ended that takes out what is
	// due soon: see Auto.
	Unlisted func(UnlistEvent)
	// ClockSet is called when the wall clock of the machine has been set, and it is known whether to
	// follow it: see WithClockGuard.
	ClockSet func(ClockEvent)
	// Log is called with what go-redis would log of the Client's connections. It may be
	// called from many goroutines at once.
	Log func(line string)
}

// OfferEvent tells of one call that offered.
type OfferEvent struct {
	// Queue is the destination queue.
	Queue string
	// Messages is how many were confirmed.
	Messages int
	// Took is the time from the call to the reply.
	Took time.Duration
	// Err is nil on success; see DelayedQueue.Offer.
	Err error
}

// TakeEvent tells of values that a consumer got.
type TakeEvent struct {
	// Queue is the destination queue.
	Queue string
	// Messages is how many there were, those included that cannot be decoded.
	Messages int
}

// HandleEvent tells of one call of a handler.
type HandleEvent struct {
	// Queue is the destination queue.
	Queue string
	// Attempt is how often a ReliableQueue has held the message, this time included; 1 for a
	// BlockingQueue.
	Attempt int
	// Took is how long the handler ran.
	Took time.Duration
	// Err is what it returned, a *PanicError, or tells that it ended its goroutine.
	Err error
}

func (c *Client) tellTaken(queue string, n int) {
	if hook := c.observer.Taken; hook != nil {
		hook(TakeEvent{Queue: queue, Messages: n})
	}
}

func (c *Client) tellHandled(queue string, attempt int, took time.Duration, err error) {
	if hook := c.observer.Handled; hook != nil {
		hook(HandleEvent{Queue: queue, Attempt: attempt, Took: took, Err: err})
	}
}

// ReturnedEvent tells of a value that came too late for its taker: its context had
// ended, and the server took longer to say whether it had popped a value, or may not
// be asked.
type ReturnedEvent struct {
	// Queue is the LIST that the value was popped from, or of a DelayedQueue its
	// destination.
	Queue string
	// Value is as it is on the wire.
	Value []byte
	// Err is nil when the value is back, or where BRPOPLPUSH or BLMOVE has moved it to
	// its other list. If it wraps ErrUncertain nobody knows; otherwise Value is all there is left:
	// always so of a DelayedQueue, whose due time is gone.
	Err error
}

// QuarantinedEvent tells of members that nobody can read: a foreign tool wrote them, or
// they are damaged.
type QuarantinedEvent struct {
	// Queue is the destination queue.
	Queue string
	// Key is the ZSET that has them now, with the scores they had.
	Key string
	// Members is how many there were.
	Members int
}

// UnlistEvent tells of a pass through the pending list.
type UnlistEvent struct {
	// Queue is the destination queue.
	Queue string
	// Until is the due time up to which members were taken out of the list.
	Until time.Time
	// Entries is how long the list was, about, and Members how many were taken out of it.
	Entries, Members int
	// Calls is how many the pass made, Longest what one of them took, with the way there and
	// back, and Took what all took, with pauses in between.
	Calls         int
	Longest, Took time.Duration
	// Err is nil on success. Else the list is as it was, and is transferred as by Redisson
	// until the next pass, seconds to minutes later.
	Err error
}

// ClockEvent tells of a wall clock that was set by more than half a second within ten, or put right again.
type ClockEvent struct {
	// By is by how much it was set ahead; less than 0 for back.
	By time.Duration
	// Followed tells that the Client goes by it as it is now: the server's clock agrees, or could not
	// be asked. Otherwise the Client goes on as before.
	Followed bool
	// Err is why the server could not be asked.
	Err error
}

// TransferEvent tells of one run of a transfer script.
type TransferEvent struct {
	// Queue is the destination queue.
	Queue string
	// Took is the time from sending to the reply.
	Took time.Duration
	// Late is how long after the earliest member known to be due the reply came; 0 where none was
	// known, as at the start, and after a failure.
	Late time.Duration
	// Next is when the next member comes due; zero when none is left.
	Next time.Time
	// OtherLayout is how many of the values came from members of the other layout.
	OtherLayout int
	// Err is nil on success. errors.Is(Err, ErrForeignMember) tells that a script of
	// Redisson met a member of the other layout, which only stops a Client
	// WithStrictWire or WithFaithful.
	Err error
}
