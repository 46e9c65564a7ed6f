// Package scripts answers: which Lua scripts are our own?
//
// Redisson's scripts, which package wire catalogues, read one layout of members
// and stop at the other. These here read both. They touch the same keys as
// Redisson's in the same way, so that Java services on the queue see nothing but
// members that come and go; README.md says when each is sent, instead of which of
// Redisson's, and why that is safe.
//
// All run on Redis 5.0 and later and on Valkey, name each key they touch in KEYS,
// and use no command but those of Redisson's own scripts, LLEN, ZCARD and ZSCORE; but for
// unlisting, which copies the pending list and puts the copy in its place (Unlist, and what
// Transfer and Survey ask of its keys), and for those of a Worker.
// They read and check everything before they write anything, so that an error
// means that the queue is as it was.
//
// Below, D is the destination queue, Q the pending list, T the timeout set (see
// wire.Names), and X the quarantine.
package scripts
