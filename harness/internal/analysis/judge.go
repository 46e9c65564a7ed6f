package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// Kind is the kind of an anomaly.
type Kind string

// The kinds of anomalies.
const (
	ForeignMember  Kind = "foreign-member"  // in a queue whose transfers do not read its layout
	PoisonLoop     Kind = "poison-loop"     // a failing transfer delivers the same members again
	Stall          Kind = "stall"           // due for more than 5 s, and a client transfers
	NoSubscriber   Kind = "no-subscriber"   // the same, and no client does
	Early          Kind = "early"           // moved more than 100 ms before it was due
	Overdue        Kind = "overdue"         // moved, or still waiting, more than 1 s after
	Ghost          Kind = "ghost"           // in the pending list only
	Orphan         Kind = "orphan"          // in the timeout set only
	DuplicateOffer Kind = "duplicate-offer" // of a value that waits
	ResentOffer    Kind = "resent-offer"    // of a member that waits
	UnknownScript  Kind = "unknown-script"
)

// Bounds of anomalies, in µs; earlyBy is how well another machine's clock is known.
const (
	stallAfter = 5_000_000
	overdueBy  = 1_000_000
	earlyBy    = 100_000
)

// finish judges a step that is over; cut means that the log ends in it.
func (a *Analysis) finish(cut bool) {
	s := &a.step
	q := s.queue
	if !s.active || q == nil || !s.ran {
		s.active = false
		return
	}
	cut = cut && !s.ended
	moves := !s.direct && s.pushed > 0
	if s.kind == transferStep {
		q.transfers++
	}
	switch {
	case len(s.removed) > 0 && moves:
		a.moved(q)
	case len(s.removed) > 0:
		for _, m := range s.removed {
			q.remove(m)
			m.story.add("removed by "+s.host.name, s.at, s.last)
		}
	case s.kind == transferStep && moves && !cut:
		a.failed(q)
	}
	for i := range s.pushed {
		e := element{delayed: moves && len(s.removed) > 0, story: s.storyOf(i)}
		if s.front {
			q.ready = slices.Insert(q.ready, 0, e)
		} else {
			q.ready = append(q.ready, e)
		}
	}
	if s.kind == transferStep {
		a.foreign(q)
		q.ran = s.begun
	}
	for _, key := range s.touched {
		m := q.messages[key]
		if m == nil {
			continue
		}
		switch {
		case cut:
			m.shown = true // the rest of the call is not in the log
		case !s.direct:
			a.mismatch(q, m, s.last, s)
		}
		if !m.inSet && !m.held && m.listed <= 0 && (!m.earlier || m.pushed == 0) {
			delete(q.messages, key)
		}
	}
	a.serve(q, s.last)
	if q.expires != 0 && s.last >= q.expires*1000 {
		a.drop(q, true, true)
	}
	s.active = false
}

// remove takes a message out that was not transferred.
func (q *queue) remove(m *message) {
	was := m.inSet || m.earlier
	m.earlier = false
	q.out(m)
	switch {
	case !was:
	case m.pushed > 0: // a transfer that failed has delivered it
		q.transferred++
	default:
		q.removed++
	}
}

// moved takes the messages that a transfer has moved out of the set.
func (a *Analysis) moved(q *queue) {
	c := &a.step
	since, offer, known := int64(0), place{}, false
	for _, m := range c.removed {
		if m.aside {
			q.remove(m)
			continue
		}
		if !m.earlier && m.offered > 0 {
			if from := max(m.dueAt(c.host), m.offered); !known || from < since {
				since, offer, known = from, m.at, true
			}
			a.late(q, m)
		}
		if m.story != nil {
			m.story.add("delivered by "+c.host.name+", "+ago(c.last-m.dueAt(c.host))+" after it was due", c.at, c.last)
		}
		q.transferred++
		q.out(m)
		m.earlier = false
	}
	if known {
		a.stalled(q, since, offer, c.last, c)
	}
	q.moved = c.last
}

// late records by how much a message that is moved is late.
func (a *Analysis) late(q *queue, m *message) {
	c := &a.step
	due := m.dueAt(c.host)
	if !m.byHand {
		q.late.add(c.last - due)
	}
	tell := func(kind Kind, by int64, word string) {
		a.findings.add(kind, q, c.last, by, func() (string, []LineOf) {
			when := "due " + timeText(due)
			if m.offered > due {
				when = "offered " + timeText(m.offered) + ", when it was due already"
			}
			return fmt.Sprintf("%s, moved %s: %s %s", when, timeText(c.last), ago(by), word), []LineOf{earlier(m.at), c.shown()}
		})
	}
	switch by := c.last - max(due, m.offered); {
	case due-c.last > earlyBy:
		tell(Early, due-c.last, "early")
	case by > overdueBy:
		tell(Overdue, by, "late")
	}
}

// stalled notes a time in which a message was due and none was moved. c is the call that ended it, nil at the end.
func (a *Analysis) stalled(q *queue, due int64, offer place, until int64, c *step) {
	from := max(due, q.moved)
	if until-from <= stallAfter || q.unsure != "" {
		return
	}
	kind, reason := Stall, "transfers ran meanwhile and moved none, the latest "+timeText(q.ran)
	if q.ran < from {
		reason = "no transfer ran (its timer was lost, as Redisson 3.5.6 to 3.45.0 can, or its client was gone)"
		l := a.listenersOf(wire.NamesOf(q.name).Channel)
		if nobody := l.count == 0 || l.joined > from; nobody && (q.ran == 0 || l.left > 0 && l.left <= from) {
			kind, reason = NoSubscriber, "no client was subscribed to its channel or ran a transfer: no JVM held an RDelayedQueue of it"
		}
	}
	if c != nil && c.named != 0 && c.host.known {
		if sent := (c.named - c.host.ahead) * 1000; sent >= from && until-sent > stallAfter/2 {
			kind, reason = Stall, fmt.Sprintf("the transfer that ended it was sent at about %s, by the clock of its client, and reached the server %s later: it waited "+
				"for a connection, or its client or the network stood still", timeText(sent), ago(until-sent))
		}
	}
	a.findings.add(kind, q, from, until-from, func() (string, []LineOf) {
		lines := []LineOf{earlier(offer)}
		if c != nil {
			lines = append(lines, c.shown())
		}
		return fmt.Sprintf("a message was due, and for %s, until %s, none was moved: %s", ago(until-from), timeText(until), reason), lines
	})
}

// failed is a transfer that has delivered messages and then did not take them out of the set.
func (a *Analysis) failed(q *queue) {
	c := &a.step
	again := int64(0)
	for _, m := range c.unlisted {
		if m.pushed++; m.pushed > 1 {
			again++
		}
	}
	if again == 0 {
		return
	}
	a.findings.add(PoisonLoop, q, c.begun, 0, func() (string, []LineOf) {
		detail, lines := fmt.Sprintf("a transfer delivers %s once more, and takes no member out of the timeout set: it fails at a later member", plural(again, "message")), []LineOf{c.shown()}
		if c.script != nil {
			if m := q.firstForeign(c.script.layout); m != nil {
				detail += ", " + m.describe()
				lines = append(lines, earlier(m.at))
			}
		}
		return detail, lines
	})
}

// foreign looks for members that the transfer of a Redisson cannot read.
func (a *Analysis) foreign(q *queue) {
	c := &a.step
	if c.script == nil || c.script.layout == 0 {
		return
	}
	own := c.script.layout
	n := q.byLayout[own.Other()] + q.byLayout[0]
	if n == 0 || q.foreignSeen[own] {
		return
	}
	q.foreignSeen[own] = true
	a.findings.add(ForeignMember, q, c.begun, 0, func() (string, []LineOf) {
		m, lines := q.firstForeign(own), []LineOf{c.shown()}
		if m.at.number > 0 {
			lines = append(lines, earlier(m.at))
		}
		return fmt.Sprintf("%s reads %s; of another layout there wait %s, the first %s: when it is due, transfers fail and the queue stands still",
			c.script.known.Variant, own, plural(n, "member"), m.describe()), lines
	})
}

func (q *queue) firstForeign(own wire.Layout) (first *message) {
	for _, m := range q.messages {
		if own != 0 && m.inSet && m.layout != own && (first == nil || m.due < first.due) {
			first = m
		}
	}
	return first
}

func (m *message) describe() string {
	layout := "neither layout"
	if m.layout != 0 {
		layout = m.layout.String()
	}
	return fmt.Sprintf("of %s, due %s", layout, timeText(min(max(m.due, -1<<46), 1<<46)*1000))
}

// mismatch notes a message that is in only one of set and list; c is nil at the end of the log.
func (a *Analysis) mismatch(q *queue, m *message, at int64, c *step) {
	if q.unsure != "" || m.shown || m.earlier || m.held || m.pushed > 0 || m.inSet == (m.listed > 0) {
		return
	}
	m.shown = true
	kind, detail := Orphan, "a member is in the timeout set and not in the pending list: size(), readAll() and remove() do not see it, and it will be delivered"
	if !m.inSet {
		kind, detail = Ghost, "a member is in the pending list, "+plural(int64(m.listed), "time")+", and not in the timeout set: size() counts it, and it is never delivered"
	}
	a.findings.add(kind, q, at, 0, func() (string, []LineOf) {
		lines := []LineOf{}
		if m.at.number > 0 {
			lines = append(lines, earlier(m.at))
		}
		if c != nil && c.at != m.at {
			lines = append(lines, c.shown())
		}
		return detail, lines
	})
}

// judgeRest judges what still waits when the log ends.
func (a *Analysis) judgeRest(q *queue) {
	if q.expires != 0 && a.now >= q.expires*1000 {
		a.drop(q, true, true)
	}
	since, offer, known := int64(0), place{}, false
	for _, m := range q.messages {
		if !m.earlier {
			a.mismatch(q, m, a.now, nil)
		}
		if !m.inSet && !m.held {
			continue
		}
		q.pending++
		from := max(m.dueAt(nil), m.offered)
		if !m.earlier && (!known || from < since) {
			since, offer, known = from, m.at, true
		}
		if late := a.now - from; late > overdueBy && q.unsure == "" {
			detail := "due " + timeText(m.dueAt(nil)) + " and not moved when the log ends, " + ago(late) + " later"
			if m.due < 0 {
				detail = "its due time is negative, for it has overflowed: no transfer asks for it, and later offers are not announced"
			}
			a.findings.add(Overdue, q, a.now, late, func() (string, []LineOf) { return detail, []LineOf{earlier(m.at)} })
		}
	}
	if known {
		a.stalled(q, since, offer, a.now, nil)
	}
}

// Anomaly is a finding.
type Anomaly struct {
	Kind   Kind     `json:"kind"`
	Queue  string   `json:"queue"`
	At     string   `json:"at"` // the server's time, RFC 3339
	Detail string   `json:"detail"`
	Lines  []LineOf `json:"lines"`

	at, weight int64
}

// LineOf is a line of the log. Its text is cut if it is long, and empty if the log cannot be read again.
type LineOf struct {
	File   string `json:"file,omitempty"`
	Number int64  `json:"number"`
	Text   string `json:"text"`

	at place
}

func (c *step) shown() LineOf {
	return LineOf{Number: c.at.number, Text: cut(c.text, longestText), at: c.at}
}
func earlier(at place) LineOf { return LineOf{Number: at.number, at: at} }

const longestText = 400 // of a line

// cut leaves out the middle: the command is at the beginning, the member at the end.
func cut(text string, longest int) string {
	if len(text) > longest {
		return text[:longest/2] + "…" + text[len(text)-longest/2:]
	}
	return strings.Clone(text)
}

// findings keep of each kind in a queue the ten that weigh most, and 2,000 in all.
type findings struct {
	counts map[Kind]int64
	kept   map[findingKey][]*Anomaly
	size   int
}

type findingKey struct {
	kind  Kind
	queue *queue
}

func (f *findings) add(kind Kind, q *queue, at, weight int64, describe func() (string, []LineOf)) {
	f.counts[kind]++
	key := findingKey{kind, q}
	kept := f.kept[key]
	if len(kept) == 10 || f.size == 2000 {
		if len(kept) == 0 {
			return
		}
		lightest := slices.MinFunc(kept, func(a, b *Anomaly) int { return cmp.Compare(a.weight, b.weight) })
		if weight <= lightest.weight {
			return
		}
		kept = slices.DeleteFunc(kept, func(a *Anomaly) bool { return a == lightest })
		f.size--
	}
	detail, lines := describe()
	f.kept[key] = append(kept, &Anomaly{kind, q.name, timeText(at), detail, lines, at, weight})
	f.size++
}

func (f *findings) list() []*Anomaly {
	all := []*Anomaly{}
	for _, kept := range f.kept {
		all = append(all, kept...)
	}
	slices.SortFunc(all, func(a, b *Anomaly) int {
		return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind), cmp.Compare(b.weight, a.weight))
	})
	return all
}
