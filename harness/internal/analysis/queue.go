package analysis

import (
	"cmp"
	"strings"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
)

const (
	maxQueues  = 10_000
	maxKeySize = 4 << 10 // bytes of a key's name
)

// role is what a key is to a queue.
type role uint8

const (
	destination role = iota + 1
	timeoutSet
	pendingList
	quarantine
)

type dbKey struct {
	db   int
	name string
}

type keyRef struct {
	queue *queue
	role  role
}

// queue is a delayed queue and what is alive in it.
type queue struct {
	name string
	db   int
	// named says that a script has shown the name; else it is taken from another key's.
	named  bool
	counts counts

	live      map[memberKey]int32 // index in messages
	values    map[uint64]int32    // messages in the set by their value
	byLayout  [3]int64            // messages in the set by their layout
	layout    wire.Layout         // of the latest member
	ready     ready
	call      *call // nil, or body
	body      call
	unsure    string // the command after which what waits is not known
	unsureOf  string // the same of any log
	expires   int64  // Unix ms at which set and list go; 0 if they do not
	active    bool   // in Analysis.active
	lives     lives
	transfers transferState
}

// counts are over all logs.
type counts struct {
	offers, added, transfers, transferred, taken, removed, pending int64
	late                                                           lateness
	layouts                                                        [3]bool
}

// transferState is what is known of the transfers of a queue.
type transferState struct {
	any        bool  // one ran in this log
	moved      int64 // when one last moved something, µs; 0 if none did
	latest     int64 // when one last ran
	foreignFor [3]bool
}

// channel is known by its name alone: it belongs to no database.
type channel struct {
	subscribers int   // that subscribed in this log
	joined      int64 // when there was one again, µs; 0 if there never was
	left        int64 // when the last one left; 0 if none has
}

func (c *channel) join(at int64) {
	if c.subscribers++; c.subscribers == 1 {
		c.joined = at
	}
}

func (c *channel) leave(at int64) {
	if c.subscribers--; c.subscribers == 0 {
		c.left = at
	}
}

// commonPrefix begins the names of all of a queue's keys but the destination.
const commonPrefix = "redisson_delay_queue"

// queueOf finds the queue of a key, and makes it where the name says that it is one's.
func (a *Analysis) queueOf(db int, key string) (keyRef, bool) {
	ref, ok := a.keys[dbKey{db, key}]
	if !ok && strings.HasPrefix(key, commonPrefix) {
		ref, ok = a.newQueue(db, key)
	}
	if ok && !ref.queue.active {
		ref.queue.active = true
		a.active = append(a.active, ref.queue)
	}
	return ref, ok
}

// newQueue makes the queue that a timeout set or a pending list belongs to. Its name is
// the likeliest one until a script tells.
func (a *Analysis) newQueue(db int, key string) (keyRef, bool) {
	name, ok := wire.DestinationOf(key)
	switch {
	case !ok || len(key) > maxKeySize:
		return keyRef{}, false
	case len(a.queues) == maxQueues:
		a.leftOut = true
		return keyRef{}, false
	}
	q := &queue{db: db, name: strings.Clone(name), layout: wire.LayoutBc0Lc0}
	q.begin()
	a.queues = append(a.queues, q)
	q.lives.drawn = len(a.queues) <= maxDrawnQueues
	names := wire.NamesOf(q.name)
	a.keys[dbKey{db, names.Destination}] = keyRef{q, destination}
	a.keys[dbKey{db, names.TimeoutSet}] = keyRef{q, timeoutSet}
	a.keys[dbKey{db, names.Pending}] = keyRef{q, pendingList}
	a.keys[dbKey{db, scripts.Quarantine(q.name)}] = keyRef{q, quarantine}
	ref, ok := a.keys[dbKey{db, key}]
	return ref, ok
}

// setName takes over the destination that a script names.
func (a *Analysis) setName(q *queue, name string) {
	if !q.named && q.name != name && len(name) <= maxKeySize {
		delete(a.keys, dbKey{q.db, q.name})
		q.name = strings.Clone(name)
		a.keys[dbKey{q.db, q.name}] = keyRef{q, destination}
	}
	q.named = true
}

func (a *Analysis) channelOf(name string) *channel {
	c := a.channels[name]
	if c == nil {
		c = &channel{}
		if len(a.channels) < 2*maxQueues && len(name) <= maxKeySize {
			a.channels[strings.Clone(name)] = c
		}
	}
	return c
}

// begin empties the queue: a log begins.
func (q *queue) begin() {
	q.unsureOf = cmp.Or(q.unsureOf, q.unsure)
	q.live, q.values = map[memberKey]int32{}, map[uint64]int32{}
	q.byLayout = [3]int64{}
	q.ready = ready{}
	q.call = nil
	q.unsure, q.expires = "", 0
	q.transfers = transferState{}
}

// find returns the message of a member; one that was there before the log began is made.
// The pointer is good until the next message is made.
func (a *Analysis) find(q *queue, member string) (int32, *message) {
	key := keyOf(member)
	i, ok := q.live[key]
	if !ok {
		layout, value := unpack(member, q.layout)
		i = a.messages.add(message{layout: layout, value: valueOf(value), host: -1, flags: beforeLog})
		q.live[key] = i
		q.counts.layouts[layout] = true
	}
	q.call.touched = append(q.call.touched, touch{key, i})
	return i, &a.messages.all[i]
}

// setIn and setOut keep what the timeout set holds.
func (q *queue) setIn(m *message) {
	m.set(inSet)
	q.values[m.value]++
	q.byLayout[m.layout]++
}

func (q *queue) setOut(m *message) {
	if !m.is(inSet) {
		return
	}
	m.clear(inSet)
	q.byLayout[m.layout]--
	if q.values[m.value]--; q.values[m.value] <= 0 {
		delete(q.values, m.value)
	}
}

// dueAt is the instant at which a message is due, in µs of the server's clock.
func (a *Analysis) dueAt(m *message, by *host) int64 {
	const farOff = 1 << 52 // ms; beyond it, and for negative ones, times have overflowed
	due := min(max(m.due, -farOff), farOff)
	return (due - a.clocks.aheadOf(m, by)) * 1000
}

// since is from when a message could have been transferred: it was due, and offered.
func (a *Analysis) since(m *message, by *host) int64 {
	return max(a.dueAt(m, by), m.offered)
}

// dropAll removes whatever waits. A call that is open forgets what it did before.
func (a *Analysis) dropAll(q *queue, set, list bool) {
	if c := q.call; c != nil {
		c.removed, c.listed, c.touched = c.removed[:0], c.listed[:0], c.touched[:0]
	}
	for key, i := range q.live {
		m := &a.messages.all[i]
		if set && m.is(inSet) {
			q.setOut(m)
			q.counts.removed++
			q.lives.end(m.life, a.now)
		}
		if list {
			m.listed = 0
		}
		if !m.is(inSet) && m.listed <= 0 {
			delete(q.live, key)
			a.messages.remove(i)
		}
	}
	if len(q.live) == 0 {
		q.unsure, q.expires = "", 0
	}
}
