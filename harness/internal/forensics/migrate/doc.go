// Package migrate answers: how do messages that wait get from one side of Redisson 3.21.1
// to the other?
//
// It rewrites the members of a queue in the other layout where they are, some hundred in
// each call of a script, while others offer, transfer and remove:
//
//	survey ─► list, from its tail ─► survey ─► members that are not listed ─┐
//	             ▲                                                          │
//	             └──────────────── until a whole pass finds nothing ◄───────┘
//
// Whoever removes an entry moves those behind it towards the head. A walk from the tail
// passes over none of those before it, so one pass is enough unless somebody still
// offers in the layout that is left.
//
// A call is one script and so happens or does not: nothing is kept elsewhere, and what
// was killed goes on where it was when it is run again.
package migrate
