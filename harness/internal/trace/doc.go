// Package trace answers: what did Redis see, do two recordings mean the same, and does a server do it again?
//
// Conn is a connection in MONITOR mode. It uses its own socket: client libraries lose lines, or all of them under RESP3. Line is the
// exact codec of a line, Recording a file of lines.
//
// CompareLines asks whether a server showed exactly the recorded lines, byte for byte. A recording declares in its
// metadata how it deviates from a server of today; Deviations.Expected translates the line.
//
// Compare asks whether two recordings of the same work show the same behaviour. It brings both into a normal form:
//
//   - Connection set-up, pings of idle connections and the last QUIT are dropped: see dropSetUp.
//   - Names of commands keep their case. A script's text or SHA-1 becomes its name in Redisson's catalogue. EVALSHA,
//     SCRIPT LOAD, EVALSHA with equal arguments is one EVALSHA: the server's cache decides.
//   - Commands of a script belong to its call.
//   - A random id becomes id#n in the order of first use; a member becomes member(layout, id#n, value).
//   - A due time becomes due; its distance to the offer, by the client's clock, is compared with a tolerance. The clock
//     of a transfer becomes now. Repeated transfers that move nothing are dropped: see foldEmptyTransfers.
//   - Calls go to roles: publisher, and transfer task, consumer and subscriber for each queue. The role follows from the
//     command: a pool gives any connection to any command.
//
// Within a role all calls must be equal in order, byte for byte. Across roles the order counts where one call depends on
// another: see dependencies. Nothing is matched by similarity.
//
// Replay asks whether a server does what a recording shows. It sends the commands of clients, one connection for each recorded
// peer, in the recorded order and case, and compares what MONITOR shows line by line, then the keys and the subscriptions with a
// small model of Redis.
package trace
