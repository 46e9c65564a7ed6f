package dq

import (
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
)

// Event is something that a Client did, or that happened to it: one of the types below that implement it. No event holds
// a message's value, except Requeued.
type Event interface{ event() }

// Offered follows each offer that was sent, and each batch of OfferAll.
type Offered struct {
	Queue    string
	Messages int           // confirmed ones
	Took     time.Duration // from the call to the reply
	Err      error         // of Queue.Offer
}

// Taken follows each command that took messages out of the destination queue for a consumer. Messages that cannot be decoded count.
type Taken struct {
	Queue    string
	Messages int
}

// Handled follows each call of a handler.
type Handled struct {
	Delivery
	Took time.Duration
	Err  error // the handler's error, a *PanicError, or that it ended its goroutine
}

// Held says that a Worker got a message under a lease.
type Held struct{ Delivery }

// Extended says that a lease was extended.
type Extended struct{ Delivery }

// ExtensionFailed says that a try to extend a lease failed. The Worker tries again until the lease is lost.
type ExtensionFailed struct {
	Delivery
	Err error
}

// LeaseLost says that a handler's context was ended with ErrLeaseLost: another worker may get the message.
type LeaseLost struct{ Delivery }

// Acknowledged says that a message has left Redis.
type Acknowledged struct{ Delivery }

// AckFailed says that a handler's result, named in Err, could not be sent to the server before the lease ended, or at all by Shutdown. The
// message is handled again, or becomes a dead letter after its last attempt. Err wraps ErrLeaseLost if another worker has it.
type AckFailed struct {
	Delivery
	Err error
}

// GivenBack says that a message went back to the front of its queue, because the Worker shuts down or because the lease
// was over before its handler was called.
type GivenBack struct{ Delivery }

// Retry says that a message will be handed out again.
type Retry struct {
	Delivery
	At  time.Time
	Err error // the handler's
}

// Dead says that a message has become a dead letter.
type Dead struct {
	Delivery
	Reason string
}

// TakeFailed says that a Worker could not take from a queue. It tries again.
type TakeFailed struct {
	Queue string
	Err   error
}

// Transferred follows each run of a transfer script.
type Transferred struct {
	Queue string
	Took  time.Duration // from sending to the reply
	// Late is the time from the earliest known due time to the reply; 0 if no due time was known, as at the start, and after a failure.
	Late time.Duration
	// Next is when the next member is due; zero when no member is left.
	Next time.Time
	// OtherLayout is how many of the values were members of the other layout.
	OtherLayout int
	// Err is nil on success. errors.Is(Err, ErrForeignMember) says that a script of Redisson met a member of the other
	// layout, which stops only a Client WithRedissonCommands, and a Client that has reported Restricted.
	Err error
}

// Subscribed is each acknowledgement of a queue's subscription: the first, and each after a reconnect.
type Subscribed struct{ Queue string }

// Disconnected says that the subscription's connection was lost or cannot be made, or that the server refuses
// a subscription. The Client tries again.
type Disconnected struct{ Err error }

// Requeued says that a value arrived after its taker had left, and was put back to the front of the queue that it was taken from.
type Requeued struct {
	// Queue is the LIST that the value was popped from.
	Queue string
	// Value is as it is on the wire.
	Value []byte
	// Err is nil if the value is back in the queue. If it wraps ErrUncertain, the value may be back; after any other error it
	// is not, and Value is the only copy.
	Err error
}

// Quarantined says that a transfer met due members that fit neither layout, and set them aside.
type Quarantined struct {
	Queue   string
	Key     string // the ZSET that has them now, with their scores
	Members int
}

// Unlisted is the end of a pass through the pending list that takes out members that are due soon: see scripts.Unlist.
type Unlisted struct {
	Queue string
	// Until is the due time up to which members were taken out of the list.
	Until time.Time
	// Entries is the list's approximate length, and Members the number taken out.
	Entries, Members int
	// Calls is the number of calls, Longest the longest call with its round trip, and Took the whole pass with its pauses.
	Calls         int
	Longest, Took time.Duration
	// Err is nil on success. Otherwise the list is as it was, and each transfer walks it until the next pass.
	Err error
}

// Restricted says that the user lacks a right to dq's own transfer script, or to its keys: for a minute the Client sends Redisson's script
// for this queue, which stops at a member of the other layout, redelivers messages it cannot take out, and walks a long pending list.
type Restricted struct {
	Queue string
	Err   error // the server's
}

// ClockSet says that the wall clock was set by more than half a second within ten, or corrected again: see WithClockStepDetection.
type ClockSet struct{ clock.StepEvent }

func (Offered) event()      {}
func (Taken) event()        {}
func (Delivery) event()     {} // and each event that embeds one
func (TakeFailed) event()   {}
func (Transferred) event()  {}
func (Subscribed) event()   {}
func (Disconnected) event() {}
func (Requeued) event()     {}
func (Quarantined) event()  {}
func (Unlisted) event()     {}
func (ClockSet) event()     {}
func (Restricted) event()   {}

// tell calls the observers.
func (c *Client) tell(e Event) {
	for _, observe := range c.observers {
		observe(e)
	}
}
