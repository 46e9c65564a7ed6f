package analysis

import (
	"math"
	"strconv"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// callKind is what a call is.
type callKind uint8

const (
	directCall callKind = iota // a command of a client, no script
	otherCall
	offerCall
	transferCall
	rebuiltCall // of a script whose call is not in the log, and that is not known yet
)

const (
	maxTouched = 100_000 // messages of one call, which a script cannot have
	maxUsual   = 100     // that Redisson's transfer moves
)

// call is what a client's command does to one queue, until the next one.
type call struct {
	kind   callKind
	at     place
	text   string  // of the line
	begun  int64   // µs
	last   int64   // of its latest command
	from   *conn   // nil where the log does not tell
	script *script // nil where there is none
	lost   bool    // the log does not have the call, only commands of it
	cut    bool    // the log ends in it

	// named is what a transfer gave for now, by its client's clock, in Unix ms; 0 of others.
	named int64

	ran     bool // a command of it ran
	ended   bool // a transfer reached its last command
	pushed  []element
	popped  int     // from the pending list, not named yet
	removed []int32 // from the timeout set
	listed  []int32 // taken out of the pending list
	touched []touch
}

// touch is a message that a call has to do with.
type touch struct {
	key memberKey
	i   int32
}

// open begins a call, in the memory of the one before.
func (q *queue) open(c call) {
	last := &q.body
	if cap(last.touched) <= 4*maxUsual {
		c.pushed, c.removed, c.listed, c.touched = last.pushed[:0], last.removed[:0], last.listed[:0], last.touched[:0]
	}
	c.last = c.begun
	q.body = c
	q.call = &q.body
}

func (c *call) host() *host {
	if c.from == nil {
		return nil
	}
	return c.from.host
}

// effect is a command on a key of a queue that has a call.
func (a *Analysis) effect(ref keyRef, cmd command, l monitor.Line) {
	q := ref.queue
	q.call.ran, q.call.last = true, l.Time
	if cmd == readOnly || len(l.Args) < 2 {
		q.call.ended = q.call.ended || ref.role == timeoutSet && len(l.Args) == 5 && l.Name() == "zrange"
		return
	}
	switch ref.role {
	case timeoutSet:
		a.onSet(q, cmd, l)
	case pendingList:
		a.onPending(q, cmd, l)
	case destination:
		a.onDestination(q, cmd, l)
	case quarantine:
		if cmd == zadd {
			for i := 3; i < len(l.Args); i += 2 {
				_, m := a.find(q, l.Args[i])
				m.set(setAside)
			}
		}
	}
}

func (a *Analysis) onSet(q *queue, cmd command, l monitor.Line) {
	switch cmd {
	case zadd:
		a.add(q, l)
	case zrem:
		for _, member := range l.Args[2:] {
			i, m := a.find(q, member)
			if m.is(inSet | beforeLog) {
				q.call.removed = append(q.call.removed, i)
			}
			if q.call.popped > 0 {
				q.call.popped--
				m.listed--
			}
		}
	case zrangeByScore:
		if q.call.kind == rebuiltCall {
			q.call.kind = transferCall
			if now, err := strconv.ParseInt(l.Args[min(3, len(l.Args)-1)], 10, 64); err == nil {
				a.rebuilt.host.saw(now, l.Time)
			}
		}
	case del:
		a.dropAll(q, true, false)
	case expire:
		q.expires = expiryOf(l)
		if len(l.Args) > 3 && l.Args[3] != "" {
			q.unsure = l.Name() + " with a condition"
		}
	case persist:
		q.expires = 0
	default:
		q.unsure = l.Name()
	}
}

// add is a ZADD, of one member or more.
func (a *Analysis) add(q *queue, l monitor.Line) {
	first := 2
	for first < len(l.Args) && isFlag(l.Args[first]) {
		first++
	}
	for i := first; i+1 < len(l.Args); i += 2 {
		score, err := strconv.ParseFloat(l.Args[i], 64)
		if err != nil {
			return
		}
		a.addOne(q, int64(score), l.Args[i+1], l)
	}
}

func isFlag(s string) bool {
	switch s {
	case "NX", "XX", "GT", "LT", "CH", "INCR", "nx", "xx", "gt", "lt", "ch", "incr":
		return true
	}
	return false
}

func (a *Analysis) addOne(q *queue, due int64, member string, l monitor.Line) {
	c := q.call
	if c.kind == rebuiltCall {
		c.kind = offerCall
	}
	_, m := a.find(q, member)
	if m.is(inSet) {
		if c.kind == offerCall {
			a.resent(q, m, l)
		}
		m.due = due
		return
	}
	m.clear(beforeLog)
	m.due, m.offered, m.at = due, c.begun, c.at
	if h := c.host(); h != nil {
		ahead, known := h.ahead()
		m.host, m.ahead = h.index, int32(min(max(ahead, math.MinInt32), math.MaxInt32))
		if known {
			m.set(clockKnown)
		}
	}
	if c.kind == directCall {
		m.set(byHand)
		q.counts.added++
	} else {
		q.counts.offers++
		a.duplicate(q, m, l)
	}
	q.layout = max(m.layout, wire.LayoutDLc0)
	q.setIn(m)
	m.life = q.lives.begin(Life{Line: m.at.number, Offered: m.offered, Due: a.dueAt(m, c.host())})
	if c.lost && m.layout != 0 {
		a.rebuilt.speaks = true
		a.rebuilt.sent(ofLayout[m.layout])
	}
}

func (a *Analysis) resent(q *queue, m *message, l monitor.Line) {
	a.findings.add(ResentOffer, q, l.Time, 0, func() (string, []LineOf) {
		return "the same member is offered again, " + ago(l.Time-m.offered) + " after the first time: " +
				"the pending list gets it twice and keeps one for ever (Redisson to 3.16.3 sends an offer again when its answer is late)",
			[]LineOf{earlier(m.at), q.call.shown()}
	})
}

func (a *Analysis) duplicate(q *queue, m *message, l monitor.Line) {
	if q.values[m.value] == 0 {
		return
	}
	value := m.value
	a.findings.add(DuplicateOffer, q, l.Time, 0, func() (string, []LineOf) {
		lines := []LineOf{q.call.shown()}
		for _, i := range q.live {
			if of := &a.messages.all[i]; of.value == value && of.is(inSet) {
				lines = []LineOf{earlier(of.at), q.call.shown()}
				break
			}
		}
		return "the value waits in the queue already, " + some(int64(q.values[value]), "time") + ": it will be delivered once more", lines
	})
}

// shown is the line of the call.
func (c *call) shown() LineOf { return shown(c.at, c.text) }

func ago(us int64) string {
	return (time.Duration(us) * time.Microsecond).Round(time.Millisecond).String()
}

func (a *Analysis) onPending(q *queue, cmd command, l monitor.Line) {
	switch cmd {
	case push:
		for _, member := range l.Args[2:] {
			_, m := a.find(q, member)
			m.clear(beforeLog)
			if m.at.number == 0 {
				m.at = q.call.at
			}
			m.listed = min(m.listed, math.MaxInt16-1) + 1
		}
	case lrem:
		if len(l.Args) == 4 {
			i, m := a.find(q, l.Args[3])
			q.call.listed = append(q.call.listed, i)
			if n, err := strconv.Atoi(l.Args[2]); err == nil && n != 0 {
				m.listed -= int16(min(max(n, -n), int(max(m.listed, 0))))
			} else {
				m.listed = 0
			}
		}
	case pop:
		q.call.popped += countOf(l, 2)
	case del:
		a.dropAll(q, false, true)
	case expire, persist: // as for the set
	default:
		q.unsure = l.Name()
	}
}

// expiryOf is when a key expires, in Unix ms.
func expiryOf(l monitor.Line) int64 {
	if len(l.Args) < 3 {
		return 0
	}
	n, err := strconv.ParseInt(l.Args[2], 10, 64)
	if err != nil {
		return 0
	}
	switch l.Name() {
	case "expire":
		return l.Time/1000 + n*1000
	case "pexpire":
		return l.Time/1000 + n
	case "expireat":
		return n * 1000
	}
	return n
}
