package analysis

import (
	"container/list"

	"github.com/dq-bench/dq-bench/internal/monitor"
)

// Analysis takes in the lines of one log, or of several, in order. One goroutine may use
// it.
type Analysis struct {
	commands, unparsed int64
	lines              int64 // of this log
	first, latest      int64 // of all lines, µs
	now                int64 // of the line at hand
	file               int32 // that it is in
	logs               int64
	inner, calls       int64 // commands of scripts, and scripts that were called

	scripts     *scriptTable
	clocks      clocks
	conns       connections
	rebuilt     *conn // stands for those whose calls are not in the log
	evidence    map[evidenceKey]*evidence
	keys        map[dbKey]keyRef
	channels    map[string]*channel
	queues      []*queue
	active      []*queue // have state since the log began
	latestQueue *queue   // that a script worked on
	leftOut     bool     // there were more queues than are kept
	messages    messages
	waiting     map[dbKey]*list.List
	findings    findings
	limits      int64 // transfers that did not ask for 100
}

// logGap is by how many µs time may go back within a log: lines of several servers may be
// mixed. Further back, another log begins.
const logGap = 60_000_000

// New returns an Analysis that has seen nothing.
func New() *Analysis {
	a := &Analysis{
		scripts:  newScriptTable(),
		evidence: map[evidenceKey]*evidence{},
		keys:     map[dbKey]keyRef{},
		findings: findings{counts: map[Kind]int64{}, kept: map[findingKey][]*Anomaly{}},
		clocks:   clocks{byName: map[string]*host{}},
	}
	a.begin()
	return a
}

// begin forgets what was alive. Queues stay, with what was counted, and so do clocks.
func (a *Analysis) begin() {
	a.conns = connections{recent: map[string]*conn{}, old: map[string]*conn{}}
	a.rebuilt = &conn{peer: "unknown", host: a.clocks.of("unknown:"), releases: allReleases, usual: allReleases}
	a.channels = map[string]*channel{}
	a.waiting = map[dbKey]*list.List{}
	a.messages = messages{}
	for _, q := range a.active {
		q.begin()
		q.active = false
	}
	a.active, a.latestQueue = a.active[:0], nil
	a.clocks.log++
}

// Unparsed counts a line that is no MONITOR line.
func (a *Analysis) Unparsed() { a.unparsed++ }

// Line takes in the next line, which begins at a byte of its file; what it needs of the
// line later it copies.
func (a *Analysis) Line(l monitor.Line, offset int64) {
	if a.lines > 0 && l.Time < a.now-logGap {
		a.end(a.now, true)
	}
	a.commands++
	a.lines++
	a.now = l.Time
	a.latest = max(a.latest, l.Time)
	if a.first == 0 || l.Time < a.first {
		a.first = l.Time
	}
	at := place{file: a.file, number: int64(l.Number), offset: offset}
	cmd := commandOf(l.Args[0])
	if l.Inner() {
		a.inner++
		a.innerLine(cmd, l, at)
		return
	}
	if cmd == echo {
		if _, ok := monitor.CaseMark(l); ok {
			a.end(a.now, false)
			return
		}
	}
	if c := a.connOf(l.Peer); c != nil {
		a.clientLine(c, cmd, l, at)
	}
}

// innerLine is a command of a script. It belongs to the latest call on the queue of its
// key; where that is none of a script, a call is made up.
func (a *Analysis) innerLine(cmd command, l monitor.Line, at place) {
	if len(l.Args) < 2 {
		return
	}
	ref, ok := a.queueOf(l.DB, l.Args[1])
	if !ok {
		return
	}
	q := ref.queue
	begins := ref.role == timeoutSet && (cmd == zadd || cmd == zrangeByScore)
	if c := q.call; c == nil || c.lost && c.ran && begins || len(c.touched) > maxTouched {
		a.close(q)
		q.open(call{kind: rebuiltCall, lost: true, at: at, text: l.Raw, begun: l.Time, from: a.rebuilt})
	}
	if cmd == zrangeByScore && ref.role == timeoutSet && len(l.Args) == 7 && l.Args[6] != "100" && (q.call.script == nil || q.call.script.known != nil) {
		a.limits++
	}
	a.latestQueue = q
	a.effect(ref, cmd, l)
	if cmd == del && len(l.Args) > 2 {
		a.others(cmd, l)
	}
}

// clientLine is a command of a client.
func (a *Analysis) clientLine(c *conn, cmd command, l monitor.Line, at place) {
	if c.waiter != nil {
		for _, p := range c.waiter.places {
			a.settle(p.key)
		}
		a.wake(c)
	}
	a.setUp(c, cmd, l)
	a.latestQueue = nil
	switch cmd {
	case eval, evalSHA, evalSHAReadOnly:
		a.calls++
		a.script(c, cmd, l, at)
	case blockingPop, blockingMove:
		if len(l.Args) > 2 {
			a.block(c, cmd, l)
		}
	case subscribe:
		a.subscribe(c, l)
	case unsubscribe:
		a.unsubscribe(c, l.Args[1:], l.Time)
	case leave:
		a.unsubscribe(c, nil, l.Time)
	case flushAll, flushDB:
		a.flush(cmd, l.DB)
	case scriptCommand, clientCommand, hello, ping, mget, echo, publish:
	default:
		a.direct(c, cmd, l, at)
	}
}

// direct is a command on keys that a client sent itself.
func (a *Analysis) direct(c *conn, cmd command, l monitor.Line, at place) {
	if len(l.Args) < 2 {
		return
	}
	keys := l.Args[1:2]
	switch {
	case cmd == del:
		keys = l.Args[1:]
	case cmd == unknownCommand && len(l.Args) > 2:
		keys = l.Args[1:3] // RENAME, COPY, ZUNIONSTORE …
	}
	for _, key := range keys {
		ref, ok := a.queueOf(l.DB, key)
		if !ok {
			continue
		}
		q := ref.queue
		a.close(q)
		q.open(call{kind: directCall, at: at, text: l.Raw, begun: l.Time, from: c})
		a.effect(ref, cmd, l)
		a.close(q)
	}
}

// others are the further keys of a command that a script made.
func (a *Analysis) others(cmd command, l monitor.Line) {
	for _, key := range l.Args[2:] {
		if ref, ok := a.queueOf(l.DB, key); ok && ref.queue.call != nil {
			a.effect(ref, cmd, l)
		}
	}
}

// flush is a FLUSHALL, or a FLUSHDB.
func (a *Analysis) flush(cmd command, db int) {
	for _, q := range a.active {
		if cmd == flushAll || q.db == db {
			a.close(q)
			a.dropAll(q, true, true)
			q.ready = ready{}
		}
	}
}

// settle closes the call on a destination, if it is one.
func (a *Analysis) settle(key dbKey) {
	if ref, ok := a.keys[key]; ok && ref.role == destination {
		a.close(ref.queue)
	}
}

// End is the end of a log: what waits still is judged, and what was alive forgotten.
func (a *Analysis) End() { a.end(a.now, true) }

// end ends the log at an instant; cut says that its last call may not be whole.
func (a *Analysis) end(at int64, cut bool) {
	if a.lines == 0 {
		return
	}
	a.now, a.lines = at, 0
	for _, q := range a.active {
		if q.call != nil {
			q.call.cut = cut && q == a.latestQueue && !q.call.ended
		}
		a.close(q)
		a.endQueue(q)
	}
	a.forget(a.conns.old)
	a.forget(a.conns.recent)
	a.note(a.rebuilt)
	a.begin()
	a.logs++
}

// endQueue judges what still waits when the log ends.
func (a *Analysis) endQueue(q *queue) {
	if q.expires != 0 && a.now >= q.expires*1000 {
		a.dropAll(q, true, true)
	}
	var head since
	for _, i := range q.live {
		m := &a.messages.all[i]
		if !m.is(beforeLog) {
			a.mismatch(q, m, a.now, nil)
		}
		if !m.is(inSet) {
			continue
		}
		q.counts.pending++
		from := a.since(m, nil)
		if !m.is(beforeLog) {
			head.take(from, m.at)
		}
		if late := a.now - from; late > overdueBy && q.unsure == "" {
			detail := "due " + timeText(a.dueAt(m, nil)) + " and not moved when the log ends, " + ago(late) + " later"
			if m.due < 0 {
				detail = "its due time is negative, for it has overflowed: no transfer asks for it, and later offers are not announced"
			}
			a.findings.add(Overdue, q, a.now, late, func() (string, []LineOf) { return detail, []LineOf{earlier(m.at)} })
		}
	}
	if head.known {
		a.stalled(q, head, a.now, nil)
	}
	q.lives.close(a.now)
}
