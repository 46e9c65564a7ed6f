// Package dq is a delay queue on Redis that speaks the wire format of Redisson's
// RDelayedQueue, byte for byte, as any release from 2.7.0 on sends it. Go and
// Java services can share one queue.
//
// A [BlockingQueue] is a LIST that consumers take from. A [DelayedQueue] puts
// values into it later: Offer packs the value with a random id into a member of
// a ZSET scored by due time, and appends the same member to a pending LIST; a
// transfer task moves the members that are due to the destination. No server
// does that by itself: messages move only while some process, Go or Java, holds
// a DelayedQueue of that name.
//
//	producer ── Offer ──► timeout set + pending list ── transfer ──► destination ── Take ──► consumer
//	                │                                      ▲
//	                └── publish of an earlier head ── timer ┘
//
// All of a Client's queues share one scheduler goroutine, one timer and one
// subscription connection. The transfer task runs a transfer at each
// acknowledgement of its subscription, hence after every reconnect, and at the
// exact millisecond at which the earliest member comes due. With [WithFaithful]
// it follows the timing of Redisson instead.
//
// Delivery is at most once, as with Redisson: a value that was popped for a
// process which dies is gone. Cancelling a Take never loses a value.
package dq
