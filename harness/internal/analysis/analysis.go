// Package analysis explains a MONITOR log: which clients it shows, the path of every message, and the anomalies.
//
//	line → call (a client's command with the commands its script made) → queue → findings → Document
//
// Only commands that ran count: an EVALSHA that the server did not know leaves nothing but its line. It keeps what is
// alive (waiting messages, connections) and at most 2,000 examples of findings.
package analysis

import (
	"hash/maphash"
	"math"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// Bounds of the memory.
const (
	logGap     = 60_000_000 // µs that time may go back within one log
	maxQueues  = 10_000
	maxKeySize = 4 << 10
	prefix     = "redisson_delay_queue"
)

// Analysis takes in the lines of logs, in order. It is for one goroutine.
type Analysis struct {
	commands, unparsed, lines, logs int64
	innerSeen, scriptsSeen          int64
	oddLimits                       int64
	first, latest, now              int64
	file                            int32
	call                            *call
	scripts                         *scriptTable
	conns                           map[string]*conn
	hosts                           map[string]*host
	evidence                        map[evidenceKey]*evidence
	keys                            map[dbKey]keyRef
	queues                          []*queue
	listeners                       map[string]*listeners // by channel
	waiters                         map[dbKey][]*waiter
	leftOut                         bool
	findings                        findings

	// Where is a part of the values whose story is told; empty: no story.
	Where   string
	stories []*Story
}

type dbKey struct {
	db   int
	name string
}

type role uint8

const (
	destination role = iota + 1
	timeoutSet
	pendingList
	quarantine
	heldByGuard
)

type keyRef struct {
	queue *queue
	role  role
}

// queue is a delayed queue and its live messages.
type queue struct {
	name   string
	db     int
	named  bool // by a script; else taken from another key's name
	counts struct {
		offers, added, transfers, transferred, taken, removed, pending int64
		late                                                           lateness
		layouts                                                        [3]bool
	}
	live     map[uint64]*message // by the hash of the member
	values   map[uint64]int      // in the set, by the hash of the value
	byLayout [3]int64            // in the set
	ready    []element           // the destination
	unsure   string              // the command after which what waits is not known
	expires  int64               // Unix ms

	transferred bool  // somebody transfers
	moved, ran  int64 // when a transfer last moved something, and last ran
	foreignTold [3]bool
}

// element is one of the destination.
type element struct {
	delayed bool // a transfer moved it
	story   *Story
}

// message is a member that is in the timeout set, in the pending list, or both.
type message struct {
	due, offered                        int64 // Unix ms by the offering client's clock; µs of the server
	at                                  place
	value                               uint64
	host                                *host
	layout                              wire.Layout
	listed, pushed                      int
	inSet, told, aside, byHand, earlier bool // earlier: it was there before the log began
	held                                bool // by a guard, which has taken it out of both
	story                               *Story
}

type place struct {
	file           int32
	number, offset int64
}

var lowered = map[string]string{} // names of commands, which are few

func lower(name string) string {
	low, ok := lowered[name]
	if !ok {
		if low = strings.ToLower(name); len(lowered) < 1000 && len(name) < 32 {
			lowered[strings.Clone(name)] = low
		}
	}
	return low
}

var seed = maphash.MakeSeed()

func hash(s string) uint64 { return maphash.String(seed, s) }

// New returns an Analysis that has seen nothing.
func New() *Analysis {
	a := &Analysis{
		scripts: newScriptTable(), evidence: map[evidenceKey]*evidence{}, keys: map[dbKey]keyRef{}, hosts: map[string]*host{},
		findings: findings{counts: map[Kind]int64{}, kept: map[findingKey][]*Anomaly{}},
	}
	a.begin()
	return a
}

// begin forgets live messages; counts stay.
func (a *Analysis) begin() {
	a.call = nil
	a.conns, a.listeners, a.waiters = map[string]*conn{}, map[string]*listeners{}, map[dbKey][]*waiter{}
	for _, h := range a.hosts {
		h.known = false
	}
	for _, q := range a.queues {
		q.begin()
	}
}

func (q *queue) begin() {
	q.live, q.values, q.byLayout, q.ready = map[uint64]*message{}, map[uint64]int{}, [3]int64{}, nil
	q.unsure, q.expires, q.transferred, q.moved, q.ran, q.foreignTold = "", 0, false, 0, 0, [3]bool{}
}

// Unparsed counts a line that is no MONITOR line.
func (a *Analysis) Unparsed() { a.unparsed++ }

// Line takes in the next line, which begins at a byte of its file.
func (a *Analysis) Line(l monitor.Line, offset int64) {
	if a.lines > 0 && l.Time < a.now-logGap {
		a.end(true)
	}
	a.commands++
	a.lines++
	a.now, a.latest = l.Time, max(a.latest, l.Time)
	if a.first == 0 || l.Time < a.first {
		a.first = l.Time
	}
	at := place{a.file, int64(l.Number), offset}
	name := lower(l.Args[0])
	if l.Inner() {
		a.innerSeen++
		a.inner(name, l, at)
		return
	}
	a.finish(false)
	if _, mark := monitor.CaseMark(l); mark && name == "echo" {
		a.end(false)
		return
	}
	a.client(a.connOf(l.Peer), name, l, at)
}

// inner is a command of a script. If the log lacks the script's own line, a call is made up.
func (a *Analysis) inner(name string, l monitor.Line, at place) {
	if len(l.Args) < 2 {
		return
	}
	ref, ok := a.queueOf(l.DB, l.Args[1])
	if !ok {
		return
	}
	begins := ref.role == timeoutSet && (name == "zadd" || name == "zrangebyscore")
	if c := a.call; c == nil || c.lost && c.ran && begins || c.lost && c.queue != ref.queue {
		a.finish(false)
		a.call = &call{queue: ref.queue, lost: true, at: at, text: l.Raw, begun: l.Time, host: a.hostOf("unknown:")}
	} else if c.queue == nil {
		c.queue = ref.queue
	}
	if name == "zrangebyscore" && ref.role == timeoutSet && len(l.Args) == 7 && l.Args[6] != "100" && (a.call.script == nil || a.call.script.known != nil) {
		a.oddLimits++
	}
	a.effect(ref, name, l)
	if isDelete(name) {
		for _, key := range l.Args[2:] {
			if ref, ok := a.queueOf(l.DB, key); ok {
				a.effect(ref, name, l)
			}
		}
	}
}

// client is a command that a client sent.
func (a *Analysis) client(c *conn, name string, l monitor.Line, at place) {
	a.unblock(c)
	a.setUp(c, name, l)
	switch name {
	case "eval", "eval_ro", "evalsha", "evalsha_ro":
		a.scriptsSeen++
		a.script(c, name, l, at)
	case "blpop", "brpop", "brpoplpush", "blmove":
		a.block(c, name, l)
	case "subscribe":
		a.subscribe(c, l)
	case "unsubscribe", "quit", "reset":
		a.unsubscribe(c, l.Args[1:], l.Time)
	case "flushall", "flushdb":
		for _, q := range a.queues {
			if name == "flushall" || q.db == l.DB {
				a.drop(q, true, true)
				q.ready = nil
			}
		}
	case "script", "client", "hello", "ping", "mget", "echo", "publish", "psubscribe":
	default:
		a.direct(c, name, l, at)
	}
}

// direct is a command on keys.
func (a *Analysis) direct(c *conn, name string, l monitor.Line, at place) {
	keys := l.Args[1:]
	if !isDelete(name) {
		keys = keys[:min(len(keys), 1)]
		if !knownCommands[name] { // RENAME, COPY, ZUNIONSTORE …
			keys = l.Args[1:min(len(l.Args), 3)]
		}
	}
	for _, key := range keys {
		if ref, ok := a.queueOf(l.DB, key); ok {
			a.call = &call{queue: ref.queue, direct: true, at: at, text: l.Raw, begun: l.Time, host: c.host}
			a.effect(ref, name, l)
			a.finish(false)
		}
	}
}

// queueOf finds the queue of a key, or makes one from the name of the key.
func (a *Analysis) queueOf(db int, key string) (keyRef, bool) {
	ref, ok := a.keys[dbKey{db, key}]
	if ok || !strings.HasPrefix(key, prefix) || len(key) > maxKeySize {
		return ref, ok
	}
	name, ok := wire.DestinationOf(key)
	if !ok {
		return keyRef{}, false
	}
	if len(a.queues) == maxQueues {
		a.leftOut = true
		return keyRef{}, false
	}
	q := &queue{db: db, name: strings.Clone(name)}
	q.begin()
	a.queues = append(a.queues, q)
	n := wire.NamesOf(q.name)
	for key, r := range map[string]role{n.Destination: destination, n.TimeoutSet: timeoutSet, n.Pending: pendingList, scripts.Quarantine(q.name): quarantine, wire.PrefixName("redisson_delay_queue_guard", q.name): heldByGuard} {
		a.keys[dbKey{db, key}] = keyRef{q, r}
	}
	ref, ok = a.keys[dbKey{db, key}]
	return ref, ok
}

// rename takes over the destination that a script names.
func (a *Analysis) rename(q *queue, name string) {
	if !q.named && q.name != name && len(name) <= maxKeySize {
		delete(a.keys, dbKey{q.db, q.name})
		q.name = strings.Clone(name)
		a.keys[dbKey{q.db, q.name}] = keyRef{q, destination}
	}
	q.named = true
}

// End ends the log: waiting messages are judged, and live ones forgotten.
func (a *Analysis) End() { a.end(true) }

func (a *Analysis) end(cut bool) {
	if a.lines == 0 {
		return
	}
	a.finish(cut)
	a.lines = 0
	for _, q := range a.queues {
		a.judgeRest(q)
	}
	for _, peer := range sortedKeys(a.conns) {
		a.note(a.conns[peer])
	}
	a.begin()
	a.logs++
}

// host is a machine that clients connect from. A transfer names its client's clock just before the server runs it:
// the largest difference to the server's clock is the truest.
type host struct {
	name      string
	known     bool
	ahead     int64 // ms
	transfers int64
}

func (a *Analysis) hostOf(peer string) *host {
	name := "unix"
	if !strings.HasPrefix(peer, "unix:") {
		if i := strings.LastIndexByte(peer, ':'); i >= 0 {
			peer = peer[:i]
		}
		name = strings.Trim(peer, "[]")
	}
	h := a.hosts[name]
	if h == nil {
		h = &host{name: strings.Clone(name)}
		if len(a.hosts) < 10_000 {
			a.hosts[h.name] = h
		}
	}
	return h
}

func (h *host) saw(clientMS, serverUS int64) {
	if ahead := clientMS - serverUS/1000; !h.known || ahead > h.ahead {
		h.known, h.ahead = true, ahead
	}
	h.transfers++
}

// dueAt is when a message is due, in µs of the server's clock. An offering host that shows no clock is taken to have
// the clock of the host that transfers.
func (m *message) dueAt(by *host) int64 {
	const farOff = 1 << 52 // ms: beyond it times have overflowed
	ahead := int64(0)
	switch {
	case m.host != nil && m.host.known:
		ahead = m.host.ahead
	case by != nil && by.known:
		ahead = by.ahead
	}
	return (min(max(m.due, -farOff), farOff) - ahead) * 1000
}

// lateness counts durations in µs, in buckets no wider than 1.6 % of the value; only used ones.
type lateness struct {
	buckets         map[int]int64
	count, min, max int64
}

func (l *lateness) add(us int64) {
	if l.count == 0 {
		l.buckets, l.min, l.max = map[int]int64{}, us, us
	}
	l.buckets[bucketOf(us)]++
	l.count++
	l.min, l.max = min(l.min, us), max(l.max, us)
}

func bucketOf(us int64) int {
	sign := 1
	if us < 0 {
		sign, us = -1, -max(us, -math.MaxInt64)
	}
	return sign * int(math.Round(math.Log1p(float64(us))*64))
}

func (l *lateness) quantile(q float64) int64 {
	rank := max(1, int64(math.Ceil(q*float64(l.count))))
	for _, k := range sortedKeys(l.buckets) {
		if rank -= l.buckets[k]; rank <= 0 {
			return min(l.max, max(l.min, int64(math.Copysign(math.Expm1(math.Abs(float64(k))/64), float64(k)))))
		}
	}
	return l.max
}

func timeText(us int64) string { return time.UnixMicro(us).UTC().Format("2006-01-02T15:04:05.000000Z") }

func ago(us int64) string {
	return (time.Duration(us) * time.Microsecond).Round(time.Millisecond).String()
}
