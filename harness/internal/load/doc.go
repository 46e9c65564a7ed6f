// Package load answers: how late, how fast?
//
// A run is parts and a join. A part is a plan plus a role: which share of the offers
// and takes it makes, on which queues, from when to when. The same plan goes to each,
// whether it runs in this process, in a program or on another host; each accounts for
// what it did, message by message and second by second, and the join makes one
// run document of that.
//
// Data flows one way: the plan gives a schedule; a pacer wakes each producer at the
// intended instant of its next message; producers offer; consumers take and look at
// the clock; the ledger accounts for every single message.
//
// The load is open. Nothing that is measured waits for anything else that is: a slow
// offer delays neither other producers nor the intended instants that follow, and its
// delay shows as schedule lag and response time, never as lateness.
package load
