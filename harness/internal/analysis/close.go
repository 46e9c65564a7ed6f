package analysis

import (
	"fmt"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// close judges what the queue's call did, now that it is over.
func (a *Analysis) close(q *queue) {
	c := q.call
	if c == nil {
		return
	}
	if c.ran {
		a.finish(q, c)
	}
	q.call = nil
	if q.ready.len() > 0 {
		a.serve(q, c.last)
	}
	if q.expires != 0 && c.last >= q.expires*1000 {
		a.dropAll(q, true, true)
	}
}

func (a *Analysis) finish(q *queue, c *call) {
	moves := c.kind != directCall && len(c.pushed) > 0
	if c.kind == transferCall {
		q.counts.transfers++
	}
	switch {
	case len(c.removed) > 0 && moves:
		a.moved(q, c)
	case len(c.removed) > 0:
		for _, i := range c.removed {
			a.removed(q, &a.messages.all[i], c.last)
		}
	case c.kind == transferCall && moves && !c.cut:
		a.failed(q, c)
	}
	for _, e := range c.pushed {
		q.ready.push(e)
	}
	if c.kind == transferCall {
		a.foreign(q, c)
		q.transfers.any, q.transfers.latest = true, c.begun
	}
	a.judge(q, c)
}

// removed takes a message out of the set that was not transferred.
func (a *Analysis) removed(q *queue, m *message, at int64) {
	switch {
	case m.is(beforeLog):
		m.clear(beforeLog)
	case m.is(inSet):
		q.setOut(m)
	default:
		return
	}
	if m.pushed > 0 { // a transfer that failed has delivered it
		q.counts.transferred++
		return
	}
	q.counts.removed++
	q.lives.end(m.life, at)
}

// moved takes the messages that a transfer has moved out of the set.
func (a *Analysis) moved(q *queue, c *call) {
	var first since
	for _, i := range c.removed {
		m := &a.messages.all[i]
		if m.is(setAside) {
			a.removed(q, m, c.last)
			continue
		}
		if !m.is(beforeLog) {
			first.take(a.since(m, c.host()), m.at)
			a.late(q, c, m)
		}
		q.counts.transferred++
		q.setOut(m)
		m.clear(beforeLog)
	}
	same := len(c.pushed) == len(c.removed)
	for k := range c.pushed {
		c.pushed[k].delayed = true
		if same {
			c.pushed[k].life = a.messages.all[c.removed[k]].life
		}
	}
	if first.known {
		a.stalled(q, first, c.last, c)
	}
	q.transfers.moved = c.last
}

// late records by how much a message that is moved is late.
func (a *Analysis) late(q *queue, c *call, m *message) {
	due := a.dueAt(m, c.host())
	us := c.last - due
	if !m.is(byHand) {
		q.counts.late.add(us)
	}
	q.lives.transferred(m.life, due, c.last)
	since := max(due, m.offered)
	text := func(word string, by int64) func() (string, []LineOf) {
		at := m.at
		detail := fmt.Sprintf("due %s, moved %s: %s %s", timeText(due), timeText(c.last), ago(by), word)
		if m.offered > due {
			detail = fmt.Sprintf("offered %s, when it was due already, moved %s: %s %s", timeText(m.offered), timeText(c.last), ago(by), word)
		}
		return func() (string, []LineOf) { return detail, []LineOf{earlier(at), c.shown()} }
	}
	switch {
	case -us > earlyBy:
		a.findings.add(Early, q, c.last, -us, text("early", -us))
	case c.last-since > overdueBy:
		a.findings.add(Overdue, q, c.last, c.last-since, text("late", c.last-since))
	}
}

// since is from when the first of some messages could have been transferred, µs, and the
// line of its offer.
type since struct {
	known bool
	at    int64
	offer place
}

func (s *since) take(at int64, offer place) {
	if !s.known || at < s.at {
		*s = since{true, at, offer}
	}
}

// stalled notes a time in which a message was due and none was moved, if it was long. c is
// the call that ended it; nil at the end of the log.
func (a *Analysis) stalled(q *queue, due since, until int64, c *call) {
	from := max(due.at, q.transfers.moved)
	if until-from <= stallAfter || q.unsure != "" {
		return
	}
	kind, reason := Stall, "transfers ran meanwhile and moved none, the latest "+timeText(q.transfers.latest)
	if q.transfers.latest < from {
		reason = "no transfer ran (its timer was lost, as Redisson 3.5.6 to 3.45.0 can, or its client was gone)"
		ch := a.channelOf(wire.NamesOf(q.name).Channel)
		if nobody := ch.subscribers == 0 || ch.joined > from; nobody && (!q.transfers.any || ch.left > 0 && ch.left <= from) {
			kind, reason = NoSubscriber, "no client was subscribed to its channel or ran a transfer: no JVM held an RDelayedQueue of it"
		}
	}
	if sent, known := c.sentAt(); known && sent >= from && until-sent > stallAfter/2 {
		kind, reason = Stall, fmt.Sprintf("the transfer that ended it was sent at about %s, by the clock of its client, and reached the server %s later: it waited behind a blocking command on its connection, for the pool of connections is too small, or its client or the network stood still",
			timeText(sent), ago(until-sent))
	}
	a.findings.add(kind, q, from, until-from, func() (string, []LineOf) {
		detail := fmt.Sprintf("a message was due, and for %s, until %s, none was moved: %s", ago(until-from), timeText(until), reason)
		if c == nil {
			return detail, []LineOf{earlier(due.offer)}
		}
		return detail, []LineOf{earlier(due.offer), c.shown()}
	})
}

// sentAt is when a transfer was sent, by what its client's clock said, µs of the server's clock.
func (c *call) sentAt() (at int64, known bool) {
	if c == nil || c.named == 0 || c.host() == nil {
		return 0, false
	}
	ahead, known := c.host().ahead()
	return (c.named - ahead) * 1000, known
}

// failed is a transfer that has delivered messages and then did not take them out of the
// set.
func (a *Analysis) failed(q *queue, c *call) {
	again := int64(0)
	for _, i := range c.listed {
		m := &a.messages.all[i]
		if m.pushed++; m.pushed > 1 {
			again++
		}
	}
	if again == 0 {
		return
	}
	a.findings.add(PoisonLoop, q, c.begun, 0, func() (string, []LineOf) {
		detail := fmt.Sprintf("a transfer delivers %s once more, and takes none out of the timeout set: it fails at a later member", some(again, "message"))
		lines := []LineOf{c.shown()}
		if m := a.firstForeign(q, c.layout()); m != nil {
			detail += ", " + describe(m)
			lines = append(lines, earlier(m.at))
		}
		return detail, lines
	})
}

func (c *call) layout() wire.Layout {
	if c.script == nil {
		return 0
	}
	return c.script.layout
}

// foreign looks for members that the transfer of a Redisson cannot read.
func (a *Analysis) foreign(q *queue, c *call) {
	own := c.layout()
	if own == 0 || q.transfers.foreignFor[own] || q.byLayout[own.Other()]+q.byLayout[0] == 0 {
		return
	}
	q.transfers.foreignFor[own] = true
	a.findings.add(ForeignMember, q, c.begun, 0, func() (string, []LineOf) {
		lines := []LineOf{c.shown()}
		m := a.firstForeign(q, own)
		if m.at.number > 0 {
			lines = append(lines, earlier(m.at))
		}
		return fmt.Sprintf("%s reads %s; of another layout there wait %s, the first %s: when it is due, transfers fail and the queue stands still",
			c.script.known.Variant, own, some(q.byLayout[own.Other()]+q.byLayout[0], "member"), describe(m)), lines
	})
}

// firstForeign is the member, of those that are not of a layout, that is due first.
func (a *Analysis) firstForeign(q *queue, own wire.Layout) *message {
	var first *message
	for _, i := range q.live {
		if m := &a.messages.all[i]; m.is(inSet) && m.layout != own && (first == nil || m.due < first.due) {
			first = m
		}
	}
	if own == 0 {
		return nil
	}
	return first
}

func describe(m *message) string {
	layout := "neither layout"
	if m.layout != 0 {
		layout = m.layout.String()
	}
	return fmt.Sprintf("of %s, due %s", layout, timeText(min(max(m.due, -1<<46), 1<<46)*1000))
}

// judge looks at the messages that a call had to do with, and forgets those that are dead.
func (a *Analysis) judge(q *queue, c *call) {
	for _, t := range c.touched {
		i, ok := q.live[t.key]
		if !ok || i != t.i {
			continue
		}
		m := &a.messages.all[i]
		switch {
		case c.cut:
			m.set(reported) // what the rest of the call does to it is not known
		case c.kind != directCall:
			a.mismatch(q, m, c.last, c)
		}
		if !m.is(inSet) && m.listed <= 0 && (!m.is(beforeLog) || m.pushed == 0) {
			delete(q.live, t.key)
			a.messages.remove(i)
		}
	}
}

// mismatch notes a message that is in only one of set and list, after a call; nil at the
// end of the log.
func (a *Analysis) mismatch(q *queue, m *message, at int64, c *call) {
	if q.unsure != "" || m.is(reported|beforeLog) || m.pushed > 0 || m.is(inSet) == (m.listed > 0) {
		return
	}
	m.set(reported)
	kind, detail := Orphan, "a member is in the timeout set and not in the pending list: size(), readAll() and remove() do not see it, and it will be delivered"
	if !m.is(inSet) {
		kind = Ghost
		detail = "a member is in the pending list, " + some(int64(m.listed), "time") + ", and not in the timeout set: size() counts it, and it is never delivered"
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
