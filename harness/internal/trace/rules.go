package trace

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
)

const (
	// batch is how many members a transfer moves at most.
	batch = 100
	// soon bounds, in µs, the delay of a script's second try on a busy machine.
	soon = 2_000_000
	// alive bounds, in µs, the delay of a transfer at a subscription, when the head comes due, or after a full batch. Real
	// Redissons took 101 ms at most beside two busy loops on two processors.
	alive = 250_000
)

// A rule holds a step against a statement of the specification. about selects the steps; broken says how one breaks the
// statement, or "". Each rule is silent on every recording of a real Redisson for which its statement holds.
type rule struct {
	statement string
	about     func(*Step) bool
	broken    func(*Step) string
}

// says is a text, under a condition.
func says(broken bool, format string, args ...any) string {
	if !broken {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

var rules = []rule{
	{"W-OFFER-1", func(s *Step) bool { return !s.copies() && len(s.Added)+len(s.Listed) > 0 }, func(s *Step) string {
		front := slices.ContainsFunc(s.Lines, func(l Line) bool { return l.Name() == "lpush" && l.Arg(1) == s.Queue.Pending })
		return says(front, "LPUSH: the member comes before what the pending list holds already") +
			says(len(s.Listed) == 0, "a member comes to the timeout set, and not to the pending list in the same step") +
			says(len(s.Added) == 0, "a member comes to the pending list, and not to the timeout set in the same step")
	}},
	{"W-OFFER-2", (*Step).offers, func(s *Step) string {
		asks := slices.ContainsFunc(s.Call.Inner, func(l Line) bool { return l.Name() == "time" })
		due := s.Due[s.Added[0]]
		return cmp.Or(says(asks, "the script asks the server for its time; the client's clock counts"),
			says(due != math.Trunc(due), "the due time %v is no whole number of milliseconds", due))
	}},
	{"W-OFFER-3", func(s *Step) bool { return s.offers() && s.first() }, func(s *Step) string {
		_, due := s.Queue.head()
		announced := slices.ContainsFunc(s.Published, func(text string) bool { at, _ := strconv.ParseInt(text, 10, 64); return float64(at) == due })
		return says(!announced, "the new member is due first, at %.0f, and %s was published", due, cmp.Or(strings.Trim(fmt.Sprintf("%q", s.Published), "[]"), "nothing"))
	}},
	{"W-OFFER-4", func(s *Step) bool { return s.offers() && !s.first() }, func(s *Step) string {
		return says(len(s.Published) > 0, "the new member is not due first, but its due time was published")
	}},
	{"W-MEMBER-5", func(s *Step) bool { return s.offers() && len(s.Listed) == 1 }, func(s *Step) string {
		return says(s.Listed[0] != s.Added[0], "the pending list gets other bytes than the timeout set")
	}},
	{"W-MEMBER-1", (*Step).offers, func(s *Step) string { return s.packed(wire.LayoutDLc0) }},
	{"W-MEMBER-2", (*Step).offers, func(s *Step) string { return s.packed(wire.LayoutBc0Lc0) }},
	{"W-MEMBER-3", func(s *Step) bool { return s.offers() && s.packed(wire.LayoutDLc0) == "" }, (*Step).repeats},
	{"W-MEMBER-4", func(s *Step) bool { return s.offers() && s.packed(wire.LayoutBc0Lc0) == "" }, (*Step).repeats},
	{"W-MEMBER-8", (*Step).moves, func(s *Step) string {
		for i, m := range s.Removed {
			if i < len(s.Pushed) && s.Pushed[i] == m {
				return "the destination queue gets a packed member, not its value"
			}
		}
		return ""
	}},
	{"W-TRANSFER-1", (*Step).transfers, (*Step).bounds},
	{"W-TRANSFER-2", func(s *Step) bool { return s.transfers() && (len(s.Removed) > 0 || s.leaves()) }, func(s *Step) string {
		for _, l := range s.Lines {
			if l.Name() == "lrem" && len(l.Args) == 4 && l.Args[2] != "1" {
				return fmt.Sprintf("LREM with the count %s in place of 1: another entry of the pending list goes", l.Args[2])
			}
		}
		return cmp.Or(says(s.leaves(), "values come to the destination queue, and their members stay in the timeout set"),
			says(len(s.Pushed) != len(s.Removed), "%d members leave the timeout set and %d values come to the destination queue", len(s.Removed), len(s.Pushed)),
			says(s.keepsEntries(), "members leave the timeout set, and not the pending list in the same step"), s.alters())
	}},
	{"W-TRANSFER-3", func(s *Step) bool { return s.transfers() && len(s.Pushed) > 0 }, func(s *Step) string {
		front := slices.ContainsFunc(s.Lines, func(l Line) bool {
			return strings.HasPrefix(l.Name(), "lpush") && l.Arg(1) == s.Queue.Destination
		})
		return says(front, "LPUSH: the value comes before what the destination queue holds already")
	}},
	{"W-TRANSFER-4", (*Step).moves, func(s *Step) string {
		expected, moved := s.misplaces()
		return says(expected != moved && s.Due[expected] == s.Due[moved], "moves members of one due time in another order than that of their bytes")
	}},
	{"W-TRANSFER-6", func(s *Step) bool { return s.asks() != nil && len(s.Pushed)+len(s.Removed) == 0 }, func(s *Step) string {
		return says(len(s.Unlisted)+len(s.Added)+len(s.Listed) > 0, "a transfer that moves nothing changes keys")
	}},
	// Known texts of a release do as they do; see W-FAULT-9 and W-FAULT-10.
	{"W-SCRIPT-1", func(s *Step) bool { return !s.known() && len(s.Removed) > 0 && len(s.Pushed) == 0 && !s.deletes() }, func(s *Step) string {
		return says(s.keepsEntries(), "a member leaves the timeout set, and not the pending list in the same step")
	}},
	{"W-REMOVE-1", func(s *Step) bool { return !s.known() && !s.transfers() && !s.deletes() && len(s.Unlisted) > 0 }, func(s *Step) string {
		for _, l := range s.Lines {
			if l.Name() == "lrem" && len(l.Args) == 4 && l.Args[1] == s.Queue.Pending && strings.HasPrefix(l.Args[2], "-") && s.Queue.holds(l.Args[3:]) {
				return fmt.Sprintf("LREM with the count %s: not the first entry goes", l.Args[2])
			}
		}
		left := slices.ContainsFunc(s.Unlisted, func(m string) bool { return !slices.Contains(s.Removed, m) && s.Queue.waits(m) })
		return says(left, "a member leaves the pending list, and stays in the timeout set")
	}},
	{"W-REMOVE-7", func(s *Step) bool { return s.deletes() && len(s.Unlisted)+len(s.Removed) > 0 }, func(s *Step) string {
		half := slices.ContainsFunc(s.Unlisted, s.Queue.waits) || s.keepsEntries()
		return says(half, "one of the two keys is deleted, and the other keeps the messages")
	}},
}

// Decides reports whether only a rule breaks a statement: a failed case is no further evidence. The rules of W-REMOVE
// do not look for the value, nor at the destination queue.
func Decides(statement string) bool {
	return !strings.HasPrefix(statement, "W-REMOVE-") && slices.ContainsFunc(rules, func(r rule) bool { return r.statement == statement })
}

// judge holds a step against the rules, then keeps what later steps are judged by.
func (t *Timeline) judge(s *Step) {
	q := s.Queue
	if !q.known() {
		return
	}
	for _, r := range rules {
		if r.about(s) {
			t.Seen[r.statement]++
			t.breaks(r.statement, r.broken(s), s.Call.Line)
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
	} else {
		q.vain = 0
	}
	for _, l := range s.Lines {
		if Subscribes(l) {
			q.transfers = 0
		}
	}
	for _, m := range s.Added {
		if id, ok := idOf(m); ok {
			q.ids[id], q.last = waiting{m, s.Due[m]}, id
		}
	}
	for _, m := range s.Removed {
		if id, ok := idOf(m); ok {
			delete(q.ids, id)
		}
	}
}

// breaks notes a breach; an empty text is none.
func (t *Timeline) breaks(statement, text string, l Line) {
	if text != "" {
		t.broken = append(t.broken, Breach{Statement: statement, Text: text, Line: l})
	}
}

// remind keeps when the next transfer of a queue must run, by any client: at a subscription, at an announced due time, at
// the due time that a transfer replies.
func (t *Timeline) remind(s *Step) {
	q := s.Queue
	if s.looks() {
		if q.mustStart > 0 {
			t.Seen["W-START-2"]++
		}
		if q.timer > 0 && s.Call.Time >= q.timer {
			t.Seen["W-TIMER-1"]++
		}
		before := q.timer
		q.mustStart, q.timer = 0, 0
		_, due := q.head()
		switch now, asked := s.clock(); {
		case !q.known() || due >= 1<<50:
		case int64(due) > s.Call.Time/1000:
			q.timer = int64(due) * 1000
		case asked && now < int64(due): // by a clock that is behind, or a call that was sent again
			q.timer = before
		} // any other head that stays due means that the transfer failed: it may come again after 5 s
	}
	for _, l := range s.Lines {
		switch l.Name() {
		case "subscribe":
			q.mustStart = l.Time
		case "unsubscribe":
			q.mustStart, q.timer = 0, 0
		case "publish":
			if due, err := strconv.ParseInt(l.Args[len(l.Args)-1], 10, 64); err == nil && due > 0 && due < 1<<50 {
				if at := max(due*1000, l.Time); q.timer == 0 || at < q.timer {
					q.timer = at
				}
			}
		}
	}
}

// Retry is after how long a client tries a transfer that failed again (W-RETRY-1).
const Retry = 5 * time.Second

// postpone moves deadlines after a script call that failed: the client may repeat the transfer after Retry.
func (t *Timeline) postpone(c Call) {
	for _, key := range c.Script.Keys {
		if q := t.queues[Key{c.DB, key}]; q != nil {
			for _, from := range []*int64{&q.owes, &q.mustStart, &q.timer} {
				if *from > 0 {
					*from = max(*from, c.Time+Retry.Microseconds())
				}
			}
		}
	}
}

// late finds reactions that did not come in time.
func (t *Timeline) late() {
	before := len(t.broken)
	defer func() {
		for i := range t.broken[before:] {
			t.broken[before+i].Late = true
		}
	}()
	for _, q := range t.all {
		if q.owes > 0 && t.now-q.owes > alive {
			q.owes = 0
			t.breaks("W-TRANSFER-5", "100 members were moved, more are due, and no transfer followed in time", Line{Time: t.now})
		}
		if !t.Live || len(t.keys.Subscribers[q.Channel]) == 0 {
			continue
		}
		if q.mustStart > 0 && t.now-q.mustStart > alive {
			t.breaks("W-START-2", "the client has subscribed, and ran no transfer in time", Line{Time: t.now})
			q.mustStart = 0
		}
		if q.timer > 0 && t.now-q.timer > alive {
			t.breaks("W-TIMER-1", fmt.Sprintf("the head came due at %d, and no transfer followed in time", q.timer/1000), Line{Time: t.now})
			q.timer = 0
		}
	}
	t.forget(5 * soon)
}

// forget gives up the calls of unknown scripts that did not come again within so many µs.
func (t *Timeline) forget(patience int64) {
	t.missed = slices.DeleteFunc(t.missed, func(c Call) bool {
		late := t.now-c.Time > patience
		t.breaks("W-SCRIPT-5", says(late, "the server did not know the script, and the call was not sent again with the same arguments"), c.Line)
		return late
	})
}

// judgeMisses follows calls of scripts that the server does not know: an offer must come again as it was. A call that
// runs a script has commands of it; one that misses has none.
func (t *Timeline) judgeMisses(c Call) {
	if c.Script == nil || c.Script.Known == nil || c.Script.Known.Name != wire.ScriptOffer {
		return
	}
	if len(c.Inner) == 0 {
		if c.Name() == "evalsha" {
			t.missed = append(t.missed, c)
		}
		return
	}
	i := slices.IndexFunc(t.missed, func(m Call) bool {
		return m.Script.SHA1 == c.Script.SHA1 && slices.Equal(m.Script.Keys, c.Script.Keys) && slices.Equal(m.Script.Args, c.Script.Args)
	})
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
	q.transfers++
	t.breaks("W-STOP-3", says(q.transfers > timers, "the client has unsubscribed, and runs transfers"), s.Call.Line)
}

// idle judges transfers in a row that find nothing due, without a cause in between: no offer, no announcement, no
// subscription. A timer whose message was taken away is a cause, and each client has its own.
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
	q.vain++
	t.breaks("W-TIMER-5", says(q.vain > most, "the client asks the timeout set again and again while nothing is due"), s.Call.Line)
}

// bounds is W-TRANSFER-1.
func (s *Step) bounds() string {
	latest := s.Call.Time/1000 + 1 + s.off
	for _, m := range s.Removed {
		if early := s.Due[m] - float64(latest); early > 0 {
			return fmt.Sprintf("a member is delivered %.0f ms before it is due", early)
		}
	}
	expected, moved := s.misplaces()
	switch {
	case len(s.Removed) > batch:
		return fmt.Sprintf("moves %d members in one call", len(s.Removed))
	case s.Due[expected] != s.Due[moved]:
		return "moves members in another order than that of their due times"
	case s.asks() == nil:
		return ""
	}
	args := s.asks()
	now, err := strconv.ParseInt(args[3], 10, 64)
	switch {
	case err != nil: // of a script that only looks, it is none
		return says(len(s.Removed) > 0, "asks up to %s, not up to the client's clock", args[3])
	case args[2] != "0" && args[2] != "-inf":
		return "asks from " + args[2] + " on, not from 0"
	case now > latest && s.Call.Script != nil: // else it may only look
		return fmt.Sprintf("its clock is %d ms ahead", now-latest)
	}
	left := s.Queue.due(0, float64(now))
	whole := len(s.Removed) > 0 && len(s.Removed) < batch && len(s.Pushed) == len(s.Removed)
	return says(whole && left > 0, "moves %d of %d due members", len(s.Removed), len(s.Removed)+left)
}

// leaves reports whether the values of all due members were pushed, and all members stayed. A script that fails at a member of
// the other layout, or at a destination that is no list, pushes fewer.
func (s *Step) leaves() bool {
	now, ok := s.clock()
	return ok && s.Queue.keys.Unknown[Key{s.Queue.db, s.Queue.Destination}] == "" && len(s.Removed) == 0 && len(s.Pushed) > 0 && len(s.Pushed) == min(s.Queue.due(0, float64(now)), batch)
}

// moved are the removed members and their values, the earliest first; nil if one cannot be read.
func (s *Step) moved() (members, values []string) {
	members = slices.SortedFunc(slices.Values(s.Removed), func(a, b string) int { return cmp.Or(cmp.Compare(s.Due[a], s.Due[b]), strings.Compare(a, b)) })
	for _, m := range members {
		unpacked, err := unpackAny(m, wire.LengthSize, nil)
		if err != nil {
			return nil, nil
		}
		values = append(values, string(unpacked.Value))
	}
	return members, values
}

// alters says which value was pushed that is of no removed member. W-MEMBER-8 is about members that are pushed whole.
func (s *Step) alters() string {
	_, values := s.moved()
	for _, pushed := range s.Pushed {
		i := slices.Index(values, pushed)
		if i < 0 {
			return says(len(values) > 0 && !slices.Contains(s.Removed, pushed), "the destination queue gets %q, and the values are %q", pushed, values)
		}
		values = slices.Delete(values, i, i+1)
	}
	return ""
}

// misplaces returns the first member whose place in the destination queue another one took, and that one.
func (s *Step) misplaces() (expected, moved string) {
	members, values := s.moved()
	for i, pushed := range s.Pushed[:min(len(s.Pushed), len(members))] {
		if at := slices.Index(values, pushed); at >= 0 && pushed != values[i] {
			return members[i], members[at]
		}
	}
	return "", ""
}

// looks reports whether a step finds out what is due next, by any command.
func (s *Step) looks() bool {
	return s.transfers() || len(s.Added) == 0 && slices.ContainsFunc(s.Lines, func(l Line) bool {
		return l.Arg(1) == s.Queue.TimeoutSet && slices.Contains([]string{"zrange", "zrangebyscore", "zpopmin", "zremrangebyscore", "zrangestore", "zcount"}, l.Name())
	})
}

// offers reports whether a step offers one message.
func (s *Step) offers() bool { return len(s.Added) == 1 && len(s.Lines) > 1 && !s.copies() }

// first reports whether the offered member is the head.
func (s *Step) first() bool {
	head, _ := s.Queue.head()
	return head == s.Added[0]
}

// copies reports whether a step writes what another key holds, or makes a message due at another time: no offer.
func (s *Step) copies() bool {
	return len(s.Added) > 0 && len(s.Listed) == 0 && s.Queue.holds(s.Added) || s.known() && s.Call.Script.Known.Name != wire.ScriptOffer
}

// known reports whether a Redisson sends the script of a step.
func (s *Step) known() bool { return s.Call.Script != nil && s.Call.Script.Known != nil }

// moves reports whether members leave and values come.
func (s *Step) moves() bool { return len(s.Removed) > 0 && len(s.Pushed) > 0 }

// keepsEntries reports whether members leave the timeout set, and the pending list keeps them.
func (s *Step) keepsEntries() bool { return len(s.Unlisted) == 0 && s.Queue.holds(s.Removed) }

// deletes reports whether a step removes whole keys.
func (s *Step) deletes() bool {
	return slices.ContainsFunc(s.Lines, func(l Line) bool { return l.Name() == "del" || l.Name() == "unlink" })
}

// packed is W-MEMBER-1 or -2: an offer's member has the layout.
func (s *Step) packed(layout wire.Layout) string {
	_, err := layout.Unpack([]byte(s.Added[0]))
	return says(err != nil, "the member is not packed as %s: %v", layout, err)
}

// repeats is W-MEMBER-3 or -4: a pending member has the id of the new one, or the offer before had nearly the same, as counters give.
func (s *Step) repeats() string {
	id, ok := idOf(s.Added[0])
	other, taken := s.Queue.ids[id] // with equal due times the same offer was sent again
	var same int
	for i := range id {
		same += map[bool]int{true: 1}[id[i] == s.Queue.last[i]]
	}
	return cmp.Or(says(ok && taken && other != waiting{s.Added[0], s.Due[s.Added[0]]}, "two members that wait have one id"),
		says(ok && (same == 6 || same == 7), "the id differs from that of the offer before in %d of 8 bytes: it is not drawn at random", 8-same))
}

func idOf(member string) (id [8]byte, ok bool) {
	m, err := unpackAny(member, wire.LengthSize, nil)
	return m.ID, err == nil
}
