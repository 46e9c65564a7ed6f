package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/text"
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

	longestText = 400 // of a line
	mostOfKind  = 10  // anomalies of a queue that are kept, the gravest
	mostKept    = 2000
)

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

// shown is the line of a step.
func (s *step) shown() LineOf {
	return LineOf{Number: s.at.number, Text: cut(s.text, longestText), at: s.at}
}
func earlier(at place) LineOf { return LineOf{Number: at.number, at: at} }

// cut leaves out the middle: the command is at the beginning, the member at the end.
func cut(text string, longest int) string {
	if len(text) > longest {
		return text[:longest/2] + "…" + text[len(text)-longest/2:]
	}
	return strings.Clone(text)
}

// found counts an anomaly. It returns nil if the queue keeps graver ones of its kind.
func (a *Analysis) found(kind Kind, q *queue, at, weight int64) *Anomaly {
	a.counts[kind]++
	found := &Anomaly{Kind: kind, Queue: q.Name, At: timeText(at), at: at, weight: weight}
	kept := slices.Insert(q.kept[kind], 0, found)
	if a.kept++; len(kept) > mostOfKind || a.kept > mostKept {
		lightest := slices.MinFunc(kept, func(a, b *Anomaly) int { return cmp.Compare(a.weight, b.weight) })
		kept = slices.DeleteFunc(kept, func(a *Anomaly) bool { return a == lightest })
		if a.kept--; lightest == found {
			found = nil
		}
	}
	q.kept[kind] = kept
	return found
}

// say describes an anomaly, unless it is nil.
func (a *Anomaly) say(lines []LineOf, format string, args ...any) {
	if a != nil {
		a.Lines, a.Detail = slices.DeleteFunc(lines, func(l LineOf) bool { return l.Number == 0 }), fmt.Sprintf(format, args...)
	}
}

func (a *Analysis) anomalies() []*Anomaly {
	all := []*Anomaly{}
	for _, q := range a.queues {
		for _, kept := range q.kept {
			all = append(all, kept...)
		}
	}
	slices.SortFunc(all, func(a, b *Anomaly) int {
		return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind), cmp.Compare(b.weight, a.weight))
	})
	return all
}

// finish judges a step that is over; cut means that the log ends in it.
func (a *Analysis) finish(cut bool) {
	s := &a.step
	q, active := s.queue, s.active
	if s.active = false; !active || q == nil || !s.ran {
		return
	}
	cut = cut && !s.ended
	moves := !s.direct && s.pushed > 0
	switch {
	case s.kind == changeScript && moves:
		for _, m := range s.removed {
			q.Transferred++
			m.out()
			m.earlier = false
			m.story.add("delivered at once by "+s.host.Host, s.at, s.last)
		}
	case len(s.removed) > 0 && moves:
		a.moved(q)
	case len(s.removed) > 0:
		for _, m := range s.removed {
			q.remove(m)
			m.story.add("removed by "+s.host.Host, s.at, s.last)
		}
	case s.kind == wire.ScriptTransfer && moves && !cut:
		a.failed(q)
	}
	for i := range s.pushed {
		e := element{delayed: moves && i < len(s.removed), story: s.storyOf(i)}
		if q.ready = append(q.ready, e); s.front {
			q.ready = slices.Insert(q.ready[:len(q.ready)-1], 0, e)
		}
	}
	if s.kind == wire.ScriptTransfer {
		a.foreign(q)
		q.Transfers++
		q.ran = s.begun
	}
	for _, key := range s.touched {
		m := q.messages[key]
		if m == nil {
			continue
		}
		if m.shown = m.shown || cut; !s.direct { // if cut, the rest of the call is not in the log
			a.mismatch(q, m, s)
		}
		if !m.inSet && !m.held && m.listed <= 0 && (!m.earlier || m.pushed == 0) {
			delete(q.messages, key)
		}
	}
	a.serve(q, s.last)
}

// remove takes a message out that was not transferred.
func (q *queue) remove(m *message) {
	was := m.inSet || m.earlier
	m.earlier = false
	m.out()
	switch {
	case !was:
	case m.pushed > 0: // a transfer that failed has delivered it
		q.Transferred++
	default:
		q.Removed++
	}
}

// moved takes the messages that a transfer has moved out of the set.
func (a *Analysis) moved(q *queue) {
	s := &a.step
	var first *message
	for _, m := range s.removed {
		if m.aside {
			q.remove(m)
			continue
		}
		if !m.earlier && m.offered > 0 {
			if first == nil || m.from(s.host) < first.from(s.host) {
				first = m
			}
			a.late(q, m)
		}
		if m.story != nil {
			m.story.add("delivered by "+s.host.Host+", "+ago(s.last-m.dueAt(s.host))+" after it was due", s.at, s.last)
		}
		q.Transferred++
		m.out()
		m.earlier = false
	}
	a.stalled(q, first, s)
	q.moved = s.last
}

// late records by how much a message that is moved is late.
func (a *Analysis) late(q *queue, m *message) {
	s, due := &a.step, m.dueAt(a.step.host)
	if !m.byHand {
		q.late = append(q.late, s.last-due)
	}
	kind, by, word := Overdue, s.last-max(due, m.offered), "late"
	if due-s.last > earlyBy {
		kind, by, word = Early, due-s.last, "early"
	} else if by <= overdueBy {
		return
	}
	when := "due " + timeText(due)
	if m.offered > due {
		when = "offered " + timeText(m.offered) + ", when it was due already"
	}
	a.found(kind, q, s.last, by).say([]LineOf{earlier(m.at), s.shown()}, "%s, moved %s: %s %s", when, timeText(s.last), ago(by), word)
}

// stalled notes a time in which the first message was due and no transfer moved any, until a step.
func (a *Analysis) stalled(q *queue, first *message, s *step) {
	if first == nil || q.unsure != "" {
		return
	}
	from, until := max(first.from(s.host), q.moved), s.last
	if until-from <= stallAfter {
		return
	}
	kind, reason := Stall, "transfers ran meanwhile and moved none, the latest "+timeText(q.ran)
	if q.ran < from {
		reason = "no transfer ran (its timer was lost, as Redisson 3.5.6 to 3.45.0 can, or its client was gone)"
		l := cmp.Or(a.listeners[wire.NamesOf(q.Name).Channel], &listeners{})
		if unheard := l.count == 0 || l.joined > from; unheard && (q.ran == 0 || l.left > 0 && l.left <= from) {
			kind, reason = NoSubscriber, "no client was subscribed to its channel or ran a transfer: no JVM held an RDelayedQueue of it"
		}
	}
	if sent := (s.named - s.host.AheadMs) * 1000; s.named != 0 && s.host.known && sent >= from && until-sent > stallAfter/2 {
		kind, reason = Stall, fmt.Sprintf("the transfer that ended it was sent at about %s, by the clock of its client, and reached the server %s later: it waited "+
			"for a connection, or its client or the network stood still", timeText(sent), ago(until-sent))
	}
	a.found(kind, q, from, until-from).say([]LineOf{earlier(first.at), s.shown()}, "a message was due, and for %s, until %s, none was moved: %s", ago(until-from), timeText(until), reason)
}

// failed is a transfer that has delivered messages and then did not take them out of the set.
func (a *Analysis) failed(q *queue) {
	s, again := &a.step, int64(0)
	for _, m := range s.unlisted {
		if m.pushed++; m.pushed > 1 {
			again++
		}
	}
	if again == 0 {
		return
	}
	where, lines := "", []LineOf{s.shown()}
	if m := q.firstForeign(s.layout); m != nil {
		where, lines = ", "+m.describe(), append(lines, earlier(m.at))
	}
	a.found(PoisonLoop, q, s.begun, 0).say(lines, "a transfer delivers %s once more, and takes no member out of the timeout set: it fails at a later member%s", text.Plural(again, "message"), where)
}

// foreign looks for members that the transfer of a Redisson cannot read.
func (a *Analysis) foreign(q *queue) {
	s, own := &a.step, a.step.layout
	n := q.byLayout[own.Other()] + q.byLayout[0]
	if own == 0 || n == 0 || q.foreignSeen[own] {
		return
	}
	q.foreignSeen[own] = true
	m := q.firstForeign(own)
	a.found(ForeignMember, q, s.begun, 0).say([]LineOf{s.shown(), earlier(m.at)}, "%s reads %s; of another layout there wait %s, the first %s: when it is due, transfers fail and the queue stands still",
		s.known.Variant, own, text.Plural(n, "member"), m.describe())
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
	layout := map[bool]string{true: "neither layout", false: m.layout.String()}[m.layout == 0]
	return fmt.Sprintf("of %s, due %s", layout, timeText(m.due*1000))
}

// mismatch notes a message that is in only one of set and list after a step.
func (a *Analysis) mismatch(q *queue, m *message, s *step) {
	if q.unsure != "" || m.shown || m.earlier || m.held || m.pushed > 0 || m.inSet == (m.listed > 0) {
		return
	}
	m.shown = true
	lines := []LineOf{earlier(m.at)}
	if s.at != m.at {
		lines = append(lines, s.shown())
	}
	switch {
	case a.damaged:
	case m.inSet:
		a.found(Orphan, q, s.last, 0).say(lines, "a member is in the timeout set and not in the pending list: size(), readAll() and remove() do not see it, and it will be delivered")
	default:
		a.found(Ghost, q, s.last, 0).say(lines, "a member is in the pending list, %s, and not in the timeout set: size() counts it, and it is never delivered", text.Plural(int64(m.listed), "time"))
	}
}

// judgeRest judges what still waits when the log ends, by a step without a line.
func (a *Analysis) judgeRest(q *queue) {
	end, first := &step{last: a.now, host: &host{}}, (*message)(nil)
	for _, m := range q.messages {
		a.mismatch(q, m, end)
		if !m.inSet && !m.held {
			continue
		}
		q.StillPending++
		if !m.earlier && (first == nil || m.from(end.host) < first.from(end.host)) {
			first = m
		}
		if late := a.now - m.from(end.host); late > overdueBy && q.unsure == "" {
			detail := "due " + timeText(m.dueAt(end.host)) + " and not moved when the log ends, " + ago(late) + " later"
			if m.due < 0 {
				detail = "its due time is negative, for it has overflowed: no transfer asks for it, and later offers are not announced"
			}
			a.found(Overdue, q, a.now, late).say([]LineOf{earlier(m.at)}, "%s", detail)
		}
	}
	a.stalled(q, first, end)
}
