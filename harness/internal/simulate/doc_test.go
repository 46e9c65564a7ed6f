// Package simulate answers: does a delay queue keep its word in whatever order things go wrong?
//
// A seed makes a Plan: clients that come, make each call of package dq, and vanish, and what befalls them: connections that break before or
// after a command took effect, replies that are late while others act, dials that hang, contexts that end, a server that restarts, refuses
// what such a server refuses, is out of memory, ends commands that block or hands out a held message again, rights that a user lacks, also
// within scripts, clocks that step, scripts that the server has forgotten, messages that end their process, values that cannot be decoded.
// Run carries a plan out with real dq clients against the embedded server, over connections in memory, inside a testing/synctest bubble: an
// hour passes in the time its commands take. After every command the server's keys are looked at: no message is lost, doubled, early, late
// or out of order. What events tell, calls return and handlers choose must have happened at the server. While nothing goes wrong no call
// fails and no event of a fault comes, and at the end every message must be accounted for: a Worker handles one twice only after it has
// said so, has none staged that it has no place for, and holds none once it has shut down. Some promises hold whatever goes wrong: a
// handler's context ends before its lease does at the server, or soon after another has the message; a value that is put back is not given
// up for a minute, nor for Close; an error blames the server or the network, and no UNBLOCKED; a Worker's scripts run out of memory never;
// a Take ends a second after its context. What broke is a Violation; a life that does not end names its seed; many lives together must have
// as many commands and events of each kind as always. In half of the plans members are taken out of the pending list before they are due,
// as dq does with long lists, whose bounds are made small. One plan of seven plays scenes, which chance draws too seldom.
//
// The same seed makes the same plan, and often the same run (goroutines that wake in the same instant have no order).
package simulate_test
