// Package bridge answers: how do services of both sides of Redisson 3.21.1 share a queue
// while one replaces the other?
//
// A Redisson's transfer fails at a member of the other layout, and keeps all behind it from
// being delivered. So no Redisson may find one that is due. A Bridge takes every member out
// of the queue a little before it is due, whatever its layout, holds it in a key of its own,
// and delivers it when it is due:
//
//	timeout set + pending list ── lead before due ──► held ── due ──► destination
//
// To each Redisson that looks like another one that was quicker. What a Redisson would do
// with the queue otherwise, such as to offer, to read and to remove, it can do until then.
//
// Each step is one script, and happens or does not. What a bridge that was killed has held
// is delivered by the next one that runs; any number may run at a time.
package bridge
