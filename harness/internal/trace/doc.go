// Package trace answers: do two recordings mean the same?
//
// It reads MONITOR lines and does no I/O on Redis. Two questions are told apart.
//
// CompareLines asks whether a server showed exactly what was recorded, byte for byte; package replay uses it. Where a
// recording deviates from a server of today its metadata declares it, and Deviations.Expected translates the line.
//
// Compare asks whether two recordings of the same work, made at different times, show the same behaviour. It brings
// both into a normal form first:
//
//   - Connection set-up is dropped: HELLO, AUTH, SELECT, CLIENT SETNAME, PING, COMMAND, the
//     probes of clusters, as far as a connection sends them before its first other command and
//     none more than twice, a ping within a second too; a ping after 29 s of idleness; the QUIT at the end. At any other
//     time they count. The database stays part of each command.
//   - Names of commands keep their case: a client that sends blpop for BLPOP is
//     another client.
//   - A script's text or SHA-1 becomes its name in Redisson's catalogue. EVAL and
//     EVALSHA stay different. EVALSHA, SCRIPT LOAD, EVALSHA with equal arguments,
//     in this order, is one EVALSHA: it depends on what the server had cached.
//     Any other shape stays as it is.
//   - Commands that a script made belong to its call.
//   - A random id becomes id#n in the order of first use; a member becomes
//     member(layout, id#n, value). Equal ids stay equal, different ones different.
//   - A due time becomes due, its distance to the moment of the offer, by the
//     clock of the client, is compared with a tolerance. The clock of a transfer
//     becomes now.
//   - Calls go to roles: publisher, transfer task, consumer, subscriber, the last
//     three per queue. A pool gives any connection to any command, so that the
//     role follows from the command, not from the connection.
//   - A transfer that moves nothing is dropped where the next message is due within
//     10 ms: Redisson sends these again and again until it is. Where the head has been due
//     and is not moved, as with a negative score, it does so too, and one in a row is kept.
//     Any other counts.
//
// Within a role everything must be equal in order, byte for byte; across roles the order is compared where one call
// depends on another: see order.go. Nothing is matched by similarity.
package trace
