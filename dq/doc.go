// Package dq is a delay queue on Redis that speaks the wire format of Redisson's
// RDelayedQueue, byte for byte, as any release from 2.7.0 on sends it. Go and
// Java services can share one queue.
//
// A [Queue] packs an offered value with a random id into a member of a ZSET scored by due time, and appends the same
// member to a pending LIST; a transfer task moves the members that are due to the destination LIST, which consumers
// take from. No server does that by itself: messages move only while some process, Go or Java, has a queue of that
// name open.
//
//	producer ── Offer ──► timeout set + pending list ── transfer ──► destination ── Take ──► consumer
//	                │                                      ▲
//	                └── publish of an earlier head ── timer ┘
//
// All of a Client's queues share one scheduler goroutine, one timer and one
// subscription connection. The transfer task runs a transfer at each
// acknowledgement of its subscription, hence after every reconnect, and at the
// exact millisecond at which the earliest member comes due; of several Clients on a
// queue one does, and the others stand in for it.
//
// [Queue.Take] takes a value at most once. A [Worker] handles each message at least once, under a lease, with retries and
// dead letters.
//
// # What a fault costs
//
// Offers: one whose error wraps [ErrUncertain] may be queued; after any other error it
// is not. Nothing that may have arrived is sent a second time.
//
// Takes: a server gives a value to one taker, once, as with Redisson. A value is lost that
// it popped for a process which then dies, or for a connection which is cut, or dead without
// its knowing, before the reply is there: one value for each, and all that a Poll of
// several took. Cancelling a Take or
// a poll loses none: the server is asked to end a Take, the reply is waited for, and what
// is popped all the same is returned, or, where the server takes longer than a second or
// the user may not send CLIENT UNBLOCK, put back at the end it was taken from, and
// [Returned] says so. Only the end of the process, of the connection, or of the Client while
// the server stands still, before that is done can lose it. A value that cannot be
// decoded costs no other.
//
// A fail-over of Sentinel or Cluster can do both: what the old master did after the new
// one's copy ended is forgotten, so that offers are lost, and values that it delivered
// come again.
//
// Every call ends with its context: at once, one that takes values away after a second at
// most.
//
// The README has the table of faults, what a caller sees of each, and for how long.
package dq
