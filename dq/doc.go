// Package dq is a delay queue on Redis that speaks the wire format of Redisson's RDelayedQueue, byte for byte, as any
// release from 2.7.0 on sends it. Go and Java services can share one queue.
//
//	producer ── Offer ──► timeout set + pending list ── transfer ──► list ── Take, Poll ──► caller
//	                                                                      └─ Worker: lease ──► handler ──► settled
//
// A [Client] has its own connections to the servers of a go-redis client. A [Queue] offers values, each with a delay in milliseconds, and
// moves due messages to the list from which consumers take. No server does that by itself: messages move only while some process, Go or
// Java, has a queue of that name open. Of several Clients, one moves them; the others take over if needed.
//
// [Queue.Take] and [Queue.Poll] take a value at most once. A [Worker] handles each message at least once, under a lease
// that it extends, with retries and dead letters. [WithObserver] reports each [Event].
//
// # What a fault costs
//
// Offers: after an error that wraps [ErrUncertain] the value may be queued; after any other error it is not. An offer that
// may have arrived is never sent a second time.
//
// Takes: a popped value is lost if the process dies, or if the connection breaks before the reply arrives. A take whose
// context ends loses no value: a popped value is returned, or is put back with the event [Requeued]. A value that cannot be
// decoded is a [DecodeError], which holds its bytes.
//
// Workers: a message whose worker dies is delivered again when its lease is over. The handler's context ends before that, with the
// cause [ErrLeaseLost]. A message is handled twice only if its process died, the server's clock was set ahead, or an Event of
// its first hand-out says so: [LeaseLost], [AckFailed], or [GivenBack], which follows when the next hand-out may have begun.
//
// A failover of Sentinel or Cluster loses the old master's writes that were not replicated: offers are lost, and
// values are delivered again.
//
// Every call ends with its context: at once, or within a second if it takes values. The README has the table of
// faults, with the caller's view and the duration of each.
package dq
