// Package analysis explains a MONITOR log: which clients it shows, the path of every message, and the anomalies.
//
//	line → trace.Call → step (the effect on a queue) → findings → Document
//
// Only commands that ran count: an EVALSHA that the server did not know leaves nothing but its line. The package keeps
// live messages and connections, and at most 2,000 examples of findings.
package analysis

import (
	"cmp"
	"hash/maphash"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
)

// Bounds of the memory.
const (
	logGap     = 60_000_000 // µs that time may go back within one log
	maxQueues  = 10_000
	maxKeySize = 4 << 10
	farOff     = 1 << 46 // ms: beyond it times have overflowed
	prefix     = "redisson_delay_queue"
)

// Analysis takes in the lines of logs, in order. It is for one goroutine.
type Analysis struct {
	Where  string                                // chooses the values whose stories are wanted; empty: no story
	Match  func(value []byte, shown string) bool // what ops.Match makes of it
	Redact bool                                  // shows no values and no lines
	Rules  func(*trace.Line) []trace.Breach      // takes each line, and nil at the end of a log; returns what the lines before it broke

	commands, unparsed, lines, logs int64 // lines: of this log
	scriptCalls, scriptLines        int64
	first, latest, now              int64 // µs
	files                           []trace.Log
	file, begunIn                   int32 // the file, and the one in which the call under way began
	calls                           trace.Scanner
	step                            step // under way
	cut                             bool // the log begins within a script, and is still there
	damaged                         bool // a line of the call under way was a command, and cannot be read
	conns                           map[string]*conn
	hosts                           map[string]*host
	clients                         map[client]*Group
	keys                            map[trace.Key]keyRef
	queues                          []*queue
	listeners                       map[string]*listeners // by channel
	waiters                         map[trace.Key][]*conn
	leftOut, back                   bool
	counts                          map[Kind]int64
	kept                            int // anomalies
	stories                         []*Story
}

type role uint8

const (
	destination role = iota + 1
	timeoutSet
	pendingList
	quarantine
	takenAhead
)

type keyRef struct {
	queue *queue
	role  role
}

// queue is a delayed queue and its live messages.
type queue struct {
	Queue
	named   bool    // by a script; else the name is taken from another key
	also    string  // another list
	late    []int64 // µs, of each message that was moved
	kept    map[Kind][]*Anomaly
	layouts [3]bool
	alive
}

// alive is forgotten when a log ends.
type alive struct {
	messages    map[uint64]*message // by the hash of the member
	values      map[uint64]int      // in the set, by the hash of the value
	byLayout    [3]int64            // in the set
	ready       []element           // the destination
	unsure      string              // the command after which the content is unknown
	moved, ran  int64               // when a transfer last moved a message, and last ran; 0 for never
	foreignSeen [3]bool
}

func newAlive() alive { return alive{messages: map[uint64]*message{}, values: map[uint64]int{}} }

// element is one of the destination.
type element struct {
	delayed bool // a transfer moved it
	story   *Story
}

// message is a member of the timeout set, of the pending list, or of both.
type message struct {
	queue                       *queue
	due, offered                int64 // Unix ms by the offering client's clock; µs of the server
	at                          place
	value                       uint64
	host                        *host
	layout                      wire.Layout
	listed, pushed              int
	inSet, shown, aside, byHand bool
	earlier                     bool // from before the log
	held                        bool // by a guard, out of both
	story                       *Story
}

type place struct {
	file           int32
	number, offset int64
}

var seed = maphash.MakeSeed()

func hash(s string) uint64 { return maphash.String(seed, s) }

// New returns an Analysis that has seen nothing.
func New() *Analysis {
	a := &Analysis{clients: map[client]*Group{}, keys: map[trace.Key]keyRef{}, hosts: map[string]*host{}, counts: map[Kind]int64{}}
	a.begin()
	return a
}

// begin forgets live messages; counts stay.
func (a *Analysis) begin() {
	a.damaged, a.lines, a.conns, a.listeners, a.waiters = false, 0, map[string]*conn{}, map[string]*listeners{}, map[trace.Key][]*conn{}
	for _, h := range a.hosts {
		h.known = false
	}
	for _, q := range a.queues {
		q.alive = newAlive()
	}
}

// Line takes in the next line. It counts one without arguments as unparsed.
func (a *Analysis) Line(l trace.Line) {
	if len(l.Args) == 0 {
		a.unparsed++
		a.damaged = a.damaged || l.Time > 0
		return
	}
	if a.lines > 0 && l.Time < a.now-logGap {
		a.End()
	}
	a.commands++
	a.lines++
	a.back = a.back || a.lines > 1 && l.Time < a.now
	a.now, a.latest, a.cut = l.Time, max(a.latest, l.Time), a.cut && a.lines > 1 || a.lines == 1 && l.Inner()
	a.first = min(cmp.Or(a.first, l.Time), l.Time)
	if _, mark := trace.CaseMark(l); mark {
		a.end(false)
		return
	}
	c := a.calls.Add(l)
	if c != nil {
		a.call(c, false)
		a.damaged = false
	}
	if a.Rules != nil {
		held := l // else each line is on the heap
		a.hold(&held)
	}
	if c != nil || a.lines == 1 {
		a.begunIn = a.file
	}
}

// End ends the log: waiting messages are judged, and live ones forgotten.
func (a *Analysis) End() { a.end(true) }

// end ends a log, which may be cut within its last call.
func (a *Analysis) end(cut bool) {
	if c := a.calls.End(); c != nil {
		a.call(c, cut)
	}
	if a.Rules != nil {
		a.hold(nil)
	}
	if a.lines == 0 {
		return
	}
	for _, q := range a.queues {
		a.judgeRest(q)
	}
	for _, peer := range slices.Sorted(maps.Keys(a.conns)) {
		a.note(a.conns[peer])
	}
	a.begin()
	a.logs++
}

// call takes in a call; cut means that the log ends in it.
func (a *Analysis) call(c *trace.Call, cut bool) {
	if c.Line.Inner() {
		a.inner(c.Line)
	} else {
		a.client(c)
	}
	for _, l := range c.Inner {
		a.inner(l)
	}
	a.finish(cut)
}

// client is the command that a client sent.
func (a *Analysis) client(c *trace.Call) {
	from, name := a.connOf(c.Peer), c.Name()
	a.cut = false
	a.unblock(from)
	from.setUp(name, c.Line)
	switch name {
	case "eval", "eval_ro", "evalsha", "evalsha_ro":
		if a.scriptCalls++; c.Script != nil {
			a.script(from, name, c)
		}
	case "blpop", "brpop", "brpoplpush", "blmove":
		a.block(from, name, c.Line)
	case "subscribe":
		a.subscribe(from, c.Line)
	case "unsubscribe", "quit", "reset":
		a.unsubscribe(from, c.Args[1:], c.Time)
	case "flushall", "flushdb":
		for _, q := range a.queues {
			if name == "flushall" || q.DB == c.DB {
				a.drop(q, true, true)
				q.ready = nil
			}
		}
	default:
		for _, key := range affected(name, c.Line) {
			if ref, ok := a.queueOf(c.DB, key); ok {
				a.begun(c.Line, from.host, ref.queue).direct = true
				a.effect(ref, name, c.Line)
				a.finish(false)
			}
		}
	}
}

// affected returns the keys of a command, but not the list that it moves to: that push is no offer.
func affected(name string, l trace.Line) []string {
	keys := trace.KeysOf(l)
	if strings.HasSuffix(name, "rpoplpush") || strings.HasSuffix(name, "lmove") {
		keys = keys[:min(len(keys), 1)]
	}
	return keys
}

// begun begins the step of a call.
func (a *Analysis) begun(l trace.Line, by *host, q *queue) *step {
	s := &a.step
	*s = step{
		queue: q, at: place{a.begunIn, int64(l.Number), l.Offset}, text: l.Raw, begun: l.Time, last: l.Time, host: by,
		removed: s.removed[:0], values: s.values[:0], unlisted: s.unlisted[:0], touched: s.touched[:0], active: true,
	}
	return s
}

// inner is a command of a script. Without a script's line in the log, a step is made up.
func (a *Analysis) inner(l trace.Line) {
	if a.scriptLines++; len(l.Args) < 2 {
		return
	}
	ref, ok := a.queueOf(l.DB, l.Args[1])
	if !ok {
		return
	}
	name, s := l.Name(), &a.step
	begins := ref.role == timeoutSet && (name == "zadd" || name == "zrangebyscore")
	if a.cut = a.cut && !begins; a.cut {
		return
	}
	if !s.active || s.lost && (s.ran && begins || s.queue != ref.queue) {
		a.finish(false)
		a.begun(l, a.hostOf("unknown:"), ref.queue).lost = true
	}
	s.queue = cmp.Or(s.queue, ref.queue)
	for i, key := range affected(name, l) {
		if i > 0 { // the first is the one above
			ref, ok = a.queueOf(l.DB, key)
		}
		if ok {
			a.effect(ref, name, l)
		}
	}
}

// queueOf finds the queue of a key, or makes one from the name of the key.
func (a *Analysis) queueOf(db int, key string) (keyRef, bool) {
	ref, ok := a.keys[trace.Key{DB: db, Name: key}]
	if ok || !strings.HasPrefix(key, prefix) || len(key) > maxKeySize {
		return ref, ok
	}
	name, ok := wire.DestinationOf(key)
	if full := len(a.queues) == maxQueues; !ok || full {
		a.leftOut = a.leftOut || ok
		return keyRef{}, false
	}
	q := &queue{Queue: Queue{DB: db, Name: strings.Clone(name)}, kept: map[Kind][]*Anomaly{}, alive: newAlive()}
	a.queues = append(a.queues, q)
	n := wire.NamesOf(q.Name)
	for key, r := range map[string]role{
		n.Destination: destination, n.TimeoutSet: timeoutSet, n.Pending: pendingList, scripts.Quarantine(q.Name): quarantine, ops.AheadKey(q.Name): takenAhead,
	} {
		a.keys[trace.Key{DB: db, Name: key}] = keyRef{q, r}
	}
	ref, ok = a.keys[trace.Key{DB: db, Name: key}]
	return ref, ok
}

// rename takes over the destination in a script. "{orders}" and "orders" have the same keys: they are one queue with two lists.
func (a *Analysis) rename(q *queue, name string) {
	key := trace.Key{DB: q.DB, Name: name}
	if _, known := a.keys[key]; !known && len(name) <= maxKeySize {
		if name = strings.Clone(name); !q.named {
			delete(a.keys, trace.Key{DB: q.DB, Name: q.Name})
			q.Name = name
		} else {
			q.also = name
		}
		a.keys[trace.Key{DB: q.DB, Name: name}] = keyRef{q, destination}
	}
	q.named = true
}

// host is a machine of clients. A transfer names its client's clock just before the server runs it: the largest difference is the truest.
type host struct {
	Clock
	known bool // AheadMs is
}

func (a *Analysis) hostOf(peer string) *host {
	name, _, err := net.SplitHostPort(peer)
	if err != nil { // a path with a colon
		name, _, _ = strings.Cut(peer, ":")
	}
	h := a.hosts[name]
	if h == nil {
		h = &host{Clock: Clock{Host: strings.Clone(name)}}
		if len(a.hosts) < 10_000 {
			a.hosts[h.Host] = h
		}
	}
	return h
}

func (h *host) saw(clientMS, serverUS int64) {
	if ahead := clientMS - serverUS/1000; !h.known || ahead > h.AheadMs {
		h.known, h.AheadMs = true, ahead
	}
	h.Transfers++
}

// dueAt is when a message is due, in µs of the server's clock. An offering host that shows no clock is taken to have
// the clock of the host that transfers.
func (m *message) dueAt(by *host) int64 {
	if m.host != nil && m.host.known {
		by = m.host
	} else if !by.known {
		return m.due * 1000
	}
	return (m.due - by.AheadMs) * 1000
}

// from is the instant from which a message can be moved.
func (m *message) from(by *host) int64 { return max(m.dueAt(by), m.offered) }

func timeText(us int64) string { return time.UnixMicro(us).UTC().Format("2006-01-02T15:04:05.000000Z") }

func ago(us int64) string {
	return (time.Duration(us) * time.Microsecond).Round(time.Millisecond).String()
}
