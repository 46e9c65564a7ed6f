// Package scripts has dq's own Lua scripts.
//
// Redisson's scripts, which package wire catalogues, read one layout of members and fail at the other. The scripts here read both, and use
// the same keys with the same effect. D is the destination queue, Q the pending list, T the timeout set (see wire.Names), X the quarantine
// redisson_delay_queue_quarantine:{D}, which only dq knows.
//
//	transfer  each transfer of due members, in place of Redisson's
//	survey    5 s and 0.5 s before a due time, once a second in a busy queue: does unlisting pay?
//	unlist    a pass of unlisting, see Unlist
//	find      Remove: 2,000 members or 0.5 MB a call
//	cancel    Cancel, Reschedule, Remove, RemoveFunc
//	guard     in one MULTI with CLIENT UNBLOCK. It makes the server delay the transaction while
//	          writes are paused: Redis 7.0.15 fails an assertion at CLIENT UNBLOCK of a delayed BLPOP
//	take, settle, dead  by a Worker, on D and keys of its own
//
// Offers are always Redisson's. All scripts run on Redis 5.0 and later and on Valkey, by EVALSHA, and name each key in KEYS. Scripts other
// than unlist and a Worker's use only the commands of Redisson's scripts, LLEN, ZCARD and ZSCORE.
//
// # A member
//
// A member is exactly as long as its length field says: 17 + L bytes in Bc0Lc0 (the field is bytes 10 to 17, the first byte is 8), 16 + L
// in dLc0 (bytes 9 to 16). A Redis for Windows packs lengths in four bytes: 13 + L and 12 + L. If two layouts fit, the client's own counts
// first, then the other, then the four-byte ones. wire.Layout.UnpackAny is the same rule in Go. A member that fits no layout moves to X
// with its score; ZADD T and RPUSH Q return it.
//
// # With Java services on the same queue
//
//   - A script is atomic. A Redisson's transfer at the same due time finds no due member, and
//     returns the next due time.
//   - D gets the value as Redisson pushes it, by RPUSH, in the order of T. BLPOP wakes.
//   - The head of T only becomes later, so no announcement is due. A timer that a client set for an earlier
//     head costs one transfer without a member. Cancel with a new offer announces as an offer does.
//   - A script reads and checks first: types, arguments, members. Only its first write can fail, for want of memory
//     or rights, and then the queue is unchanged.
//   - A foreign member at the head of T fails a Redisson's transfer every five seconds, and each failure
//     pushes the members before it again. transfer removes the foreign member. It cannot see that values
//     were pushed, and delivers them once more.
//   - An offer that a Redisson before 3.16.4 sent twice is twice in Q and once in T: transfer removes
//     the copy nearest the head, as Redisson does.
package scripts
