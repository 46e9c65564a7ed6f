package trace

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// batch is how many members a transfer moves at most.
const batch = 100

// A rule holds a step against a statement of the specification. about says that the statement is about the step, and
// broken how the step breaks it. Each rule is silent on every recording of a real Redisson for which its statement
// holds.
type rule struct {
	statement string
	check     func(t *Timeline, s *Step) (about bool, broken string)
}

var rules = []rule{
	{"W-OFFER-1", func(_ *Timeline, s *Step) (bool, string) {
		switch {
		case s.copies():
			return false, ""
		case len(s.Added) > 0 && len(s.Listed) == 0:
			return true, "a member comes to the timeout set, and not to the pending list in the same step"
		case len(s.Listed) > 0 && len(s.Added) == 0:
			return true, "a member comes to the pending list, and not to the timeout set in the same step"
		}
		return len(s.Added) > 0, ""
	}},
	{"W-OFFER-2", func(_ *Timeline, s *Step) (bool, string) {
		if !s.offers() {
			return false, ""
		}
		if slices.ContainsFunc(s.Call.Inner, func(l monitor.Line) bool { return l.Name() == "time" }) {
			return true, "the script asks the server for its time; the client's clock counts"
		}
		if due := s.Due[s.Added[0]]; due != math.Trunc(due) {
			return true, fmt.Sprintf("the due time %v is no whole number of milliseconds", due)
		}
		return true, ""
	}},
	{"W-OFFER-3", func(_ *Timeline, s *Step) (bool, string) {
		head, due := s.Queue.head()
		if !s.offers() || head != s.Added[0] {
			return false, ""
		}
		if !slices.ContainsFunc(s.Published, func(text string) bool { at, err := strconv.ParseFloat(text, 64); return err == nil && at == due }) {
			return true, fmt.Sprintf("the new member is due first, at %.0f, and %q was published", due, s.Published)
		}
		return true, ""
	}},
	{"W-OFFER-4", func(_ *Timeline, s *Step) (bool, string) {
		if head, _ := s.Queue.head(); !s.offers() || head == s.Added[0] {
			return false, ""
		}
		if len(s.Published) > 0 {
			return true, "the new member is not due first, and was published"
		}
		return true, ""
	}},
	{"W-MEMBER-5", func(_ *Timeline, s *Step) (bool, string) {
		about := s.offers() && len(s.Listed) == 1
		if about && s.Listed[0] != s.Added[0] {
			return true, "the pending list gets other bytes than the timeout set"
		}
		return about, ""
	}},
	{"W-MEMBER-1", func(_ *Timeline, s *Step) (bool, string) { return s.packed(wire.LayoutDLc0) }},
	{"W-MEMBER-2", func(_ *Timeline, s *Step) (bool, string) { return s.packed(wire.LayoutBc0Lc0) }},
	{"W-MEMBER-3", func(_ *Timeline, s *Step) (bool, string) { return s.unique(wire.LayoutDLc0) }},
	{"W-MEMBER-4", func(_ *Timeline, s *Step) (bool, string) { return s.unique(wire.LayoutBc0Lc0) }},
	{"W-MEMBER-8", func(_ *Timeline, s *Step) (bool, string) {
		for i, m := range s.Removed {
			if i < len(s.Pushed) && s.Pushed[i] == m {
				return true, "the destination queue gets a packed member, not its value"
			}
		}
		return len(s.Removed) > 0 && len(s.Pushed) > 0, ""
	}},
	{"W-TRANSFER-1", (*Timeline).bounds},
	{"W-TRANSFER-2", func(_ *Timeline, s *Step) (bool, string) {
		if !s.transfers() || len(s.Removed) == 0 {
			return false, ""
		}
		for _, l := range s.Lines {
			if l.Name() == "lrem" && len(l.Args) == 4 && l.Args[2] != "1" {
				return true, fmt.Sprintf("LREM with the count %s in place of 1: another entry of the pending list goes", l.Args[2])
			}
		}
		switch {
		case len(s.Pushed) != len(s.Removed):
			return true, fmt.Sprintf("%d members leave the timeout set and %d values come to the destination queue", len(s.Removed), len(s.Pushed))
		case len(s.Unlisted) == 0 && s.Queue.holds(s.Removed):
			return true, "members leave the timeout set, and not the pending list in the same step"
		}
		return true, ""
	}},
	{"W-TRANSFER-3", func(_ *Timeline, s *Step) (bool, string) {
		if !s.transfers() || len(s.Pushed) == 0 {
			return false, ""
		}
		for _, l := range s.Lines {
			if strings.HasPrefix(l.Name(), "lpush") && l.Args[1] == s.Queue.Destination {
				return true, "LPUSH: the value comes before what the destination queue holds already"
			}
		}
		return true, ""
	}},
	{"W-TRANSFER-6", func(_ *Timeline, s *Step) (bool, string) {
		if _, asks := s.asks(); !asks || len(s.Pushed) > 0 || len(s.Removed) > 0 {
			return false, ""
		}
		if len(s.Unlisted)+len(s.Added)+len(s.Listed) > 0 {
			return true, "a transfer that moves nothing changes keys"
		}
		return true, ""
	}},
	{"W-SCRIPT-1", func(_ *Timeline, s *Step) (bool, string) {
		// Known texts of a release do as they do; see W-FAULT-9 and W-FAULT-10.
		if s.Call.Script != nil && s.Call.Script.Known != nil || len(s.Removed) == 0 || len(s.Pushed) > 0 || s.deletes() {
			return false, ""
		}
		if len(s.Unlisted) == 0 && s.Queue.holds(s.Removed) {
			return true, "a member leaves the timeout set, and not the pending list in the same step"
		}
		return true, ""
	}},
	{"W-REMOVE-1", func(_ *Timeline, s *Step) (bool, string) {
		known := s.Call.Script != nil && s.Call.Script.Known != nil
		if known || s.transfers() || s.deletes() || len(s.Unlisted) == 0 {
			return false, ""
		}
		for _, l := range s.Lines {
			if l.Name() == "lrem" && len(l.Args) == 4 && l.Args[1] == s.Queue.Pending && strings.HasPrefix(l.Args[2], "-") && s.Queue.holds(l.Args[3:]) {
				return true, fmt.Sprintf("LREM with the count %s: not the first entry goes", l.Args[2])
			}
		}
		for _, m := range s.Unlisted {
			if !slices.Contains(s.Removed, m) && s.Queue.waits(m) {
				return true, "a member leaves the pending list, and stays in the timeout set"
			}
		}
		return true, ""
	}},
}

// judge holds a step against the rules, then keeps what later steps are judged by.
func (t *Timeline) judge(s *Step) {
	q := s.Queue
	if !q.known() {
		return
	}
	for _, r := range rules {
		about, broken := r.check(t, s)
		if about {
			t.Seen[r.statement]++
		}
		if broken != "" {
			t.broken = append(t.broken, Breach{r.statement, broken, s.Call.Line})
		}
	}
	if s.transfers() {
		q.owes = 0
		t.afterStop(s)
		t.idle(s)
		if now, ok := s.clock(); ok && len(s.Removed) == batch {
			t.Seen["W-TRANSFER-5"]++
			if q.due(0, float64(now)) > 0 {
				q.owes = s.Call.Time
			}
		}
	}
	for _, l := range s.Lines {
		if Subscribes(l) {
			q.transfers = 0
		}
	}
	if !s.transfers() {
		q.vain = 0
	}
	for _, m := range s.Added {
		if id, ok := idOf(m); ok {
			q.ids[id] = m
		}
	}
	for _, m := range s.Removed {
		if id, ok := idOf(m); ok {
			delete(q.ids, id)
		}
	}
}

// soon is how long, in µs, what must follow at once may take on a busy machine.
const soon = 2_000_000

// late finds what did not follow in time.
func (t *Timeline) late() {
	for _, q := range t.all() {
		if q.owes > 0 && t.now-q.owes > soon {
			q.owes = 0
			t.broken = append(t.broken, Breach{"W-TRANSFER-5", "100 members were moved, more are due, and no transfer followed at once", monitor.Line{Time: t.now}})
		}
	}
	t.missed = slices.DeleteFunc(t.missed, func(m miss) bool {
		late := t.now-m.line.Time > 5*soon
		if late {
			t.broken = append(t.broken, lost(m))
		}
		return late
	})
}

// atEnd finds what never followed.
func (t *Timeline) atEnd() {
	for _, m := range t.missed {
		if t.now-m.line.Time > soon {
			t.broken = append(t.broken, lost(m))
		}
	}
}

func lost(m miss) Breach {
	return Breach{"W-SCRIPT-5", "the server did not know the script, and the call was not sent again with the same arguments", m.line}
}

// all are the queues, each once.
func (t *Timeline) all() (all []*Queue) {
	for k, q := range t.queues {
		if k.Name == q.TimeoutSet {
			all = append(all, q)
		}
	}
	return all
}

// judgeMisses follows calls of scripts that the server does not know: an offer must come again as it was. A call that
// runs a script has commands of it; one that misses has none.
func (t *Timeline) judgeMisses(c Call) {
	if c.Script == nil || c.Script.Known == nil || c.Script.Known.Name != wire.ScriptOffer {
		return
	}
	rest := strings.Join(c.Script.Keys, "\x00") + "\x01" + strings.Join(c.Script.Args, "\x00")
	if len(c.Inner) == 0 {
		if c.Name() == "evalsha" {
			t.missed = append(t.missed, miss{c.Line, c.Script.SHA1, rest})
		}
		return
	}
	i := slices.IndexFunc(t.missed, func(m miss) bool { return m.sha1 == c.Script.SHA1 && m.rest == rest })
	if i >= 0 {
		t.Seen["W-SCRIPT-5"]++
		t.missed = slices.Delete(t.missed, i, i+1)
	}
}

// afterStop judges transfers of a client that has unsubscribed: a timer may be left, and no more.
func (t *Timeline) afterStop(s *Step) {
	q := s.Queue
	subscribers, subscribed := t.keys.Subscribers[q.Channel]
	if !subscribed || len(subscribers) > 0 {
		q.transfers = 0
		return
	}
	t.Seen["W-STOP-3"]++
	const timers = 2 // and one that was under way
	if q.transfers++; q.transfers > timers {
		t.broken = append(t.broken, Breach{"W-STOP-3", "the client has unsubscribed, and runs transfers", s.Call.Line})
	}
}

// idle judges transfers that find nothing due, one after the other, with nothing in between that causes one: no offer,
// no announcement, no subscription. A timer whose message was taken away causes one, and each client has its own.
func (t *Timeline) idle(s *Step) {
	q := s.Queue
	now, ok := s.clock()
	_, head := q.head()
	if !ok || len(s.Removed) > 0 || head <= float64(now+soon/1000) {
		q.vain = 0
		return
	}
	const most = 3
	t.Seen["W-TIMER-5"]++
	if q.vain++; q.vain > most {
		t.broken = append(t.broken, Breach{"W-TIMER-5", "the client asks the timeout set again and again while nothing is due", s.Call.Line})
	}
}

// bounds is W-TRANSFER-1.
func (t *Timeline) bounds(s *Step) (bool, string) {
	ask, asks := s.asks()
	if !s.transfers() {
		return false, ""
	}
	latest := s.Call.Time/1000 + 1 + t.Off
	for _, m := range s.Removed {
		if early := s.Due[m] - float64(latest); early > 0 {
			return true, fmt.Sprintf("a member is delivered %.0f ms before it is due", early)
		}
	}
	inOrder := slices.IsSortedFunc(s.Removed, func(a, b string) int { return cmp.Or(cmp.Compare(s.Due[a], s.Due[b]), strings.Compare(a, b)) })
	switch {
	case len(s.Removed) > batch:
		return true, fmt.Sprintf("moves %d members in one call", len(s.Removed))
	case !inOrder:
		return true, "moves members in another order than that of their due times"
	case !asks:
		return true, ""
	}
	now, err := strconv.ParseInt(ask.Args[3], 10, 64)
	switch {
	case err != nil:
		return true, "asks up to " + ask.Args[3] + ", not up to the client's clock"
	case ask.Args[2] != "0" && ask.Args[2] != "-inf":
		return true, "asks from " + ask.Args[2] + " on, not from 0"
	case now > latest:
		return true, fmt.Sprintf("its clock is %d ms ahead", now-latest)
	case len(s.Removed) > 0 && len(s.Removed) < batch && len(s.Pushed) == len(s.Removed) && s.Queue.due(0, float64(now)) > 0:
		return true, fmt.Sprintf("moves %d members and leaves %d that are due", len(s.Removed), s.Queue.due(0, float64(now)))
	}
	return true, ""
}

// offers reports whether a step offers one message.
func (s *Step) offers() bool { return len(s.Added) == 1 && len(s.Lines) > 1 && !s.copies() }

// copies reports whether a step writes what another key holds, or makes a message due at another time: no offer.
func (s *Step) copies() bool {
	return len(s.Added) > 0 && len(s.Listed) == 0 && s.Queue.holds(s.Added) ||
		s.Call.Script != nil && s.Call.Script.Known != nil && s.Call.Script.Known.Name != wire.ScriptOffer
}

// deletes reports whether a step removes whole keys.
func (s *Step) deletes() bool {
	return slices.ContainsFunc(s.Lines, func(l monitor.Line) bool { return l.Name() == "del" || l.Name() == "unlink" })
}

// holds reports whether the pending list has one of these members.
func (q *Queue) holds(members []string) bool {
	v := q.keys.Values[Key{q.db, q.Pending}]
	return v != nil && slices.ContainsFunc(members, func(m string) bool { return slices.Contains(v.List, m) })
}

// waits reports whether the timeout set has a member.
func (q *Queue) waits(member string) bool {
	v := q.keys.Values[Key{q.db, q.TimeoutSet}]
	if v == nil {
		return false
	}
	_, ok := v.Scores[member]
	return ok
}

// packed is W-MEMBER-1 or -2: an offer's member has the layout.
func (s *Step) packed(layout wire.Layout) (bool, string) {
	if !s.offers() {
		return false, ""
	}
	if _, err := layout.Unpack([]byte(s.Added[0])); err != nil {
		return true, fmt.Sprintf("the member is not packed as %s: %v", layout, err)
	}
	return true, ""
}

// unique is W-MEMBER-3 or -4: no member that waits has the id of a new one.
func (s *Step) unique(layout wire.Layout) (bool, string) {
	if !s.offers() {
		return false, ""
	}
	m, err := layout.Unpack([]byte(s.Added[0]))
	if err != nil {
		return false, ""
	}
	if other, taken := s.Queue.ids[m.ID]; taken && other != s.Added[0] {
		return true, "two members that wait have one id"
	}
	return true, ""
}

func idOf(member string) (id [8]byte, ok bool) {
	m, err := unpackAny(member, wire.LengthSize)
	return m.ID, err == nil
}
