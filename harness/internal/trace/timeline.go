package trace

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// Queue is a delayed queue at an instant of a Timeline.
type Queue struct {
	wire.Names
	db   int
	keys *Keyspace
	ids  map[[8]byte]string // the member of each id that waits
	// owes is when a transfer moved a whole batch while more was due; 0 for never.
	owes int64
	// transfers counts those of own since its last subscription ended.
	transfers int
	// vain counts transfers in a row that nothing had caused.
	vain int
}

// head returns the member that is due first; "" for none.
func (q *Queue) head() (member string, due float64) {
	due = math.Inf(1)
	if v := q.keys.Values[Key{q.db, q.TimeoutSet}]; v != nil {
		for m, d := range v.Scores {
			if d < due || d == due && m < member {
				member, due = m, d
			}
		}
	}
	return member, due
}

// due returns how many members have a due time in a range, both ends included.
func (q *Queue) due(from, to float64) (n int) {
	if v := q.keys.Values[Key{q.db, q.TimeoutSet}]; v != nil {
		for _, d := range v.Scores {
			if d >= from && d <= to {
				n++
			}
		}
	}
	return n
}

// known reports whether the content of the queue's keys is known.
func (q *Queue) known() bool {
	return q.keys.Unknown[Key{q.db, q.TimeoutSet}] == "" && q.keys.Unknown[Key{q.db, q.Pending}] == ""
}

// Step is the effect of one script, transaction or command on one queue.
type Step struct {
	Call  Call
	Queue *Queue         // after the step
	Lines []monitor.Line // the commands that name the queue's keys or channel
	// Added and Removed are members of the timeout set, Listed and Unlisted members of the pending list.
	Added, Removed, Listed, Unlisted []string
	Due                              map[string]float64 // of Added and Removed
	Pushed                           []string           // to the destination
	Published                        []string
}

// Breach is a statement of the specification that a line breaks.
type Breach struct {
	Statement string
	// Text says what was seen.
	Text string
	Line monitor.Line
}

// Timeline replays lines on a model of the queues that they name and holds each step against the rules.
type Timeline struct {
	// Off is how far the clocks of the server and of its clients may differ, in ms.
	Off int64
	// Seen counts, by statement, the steps that a rule was about.
	Seen map[string]int

	keys   *Keyspace
	queues map[Key]*Queue // by each of their keys
	call   []monitor.Line // of which more inner lines may come
	own    bool           // call is judged
	multi  map[string][]monitor.Line
	missed []miss
	steps  map[*Queue]*Step // of the call under way
	order  []*Step
	now    int64
	broken []Breach
}

// miss is a script call that the server did not know.
type miss struct {
	line monitor.Line
	sha1 string
	rest string // keys and arguments
}

// NewTimeline begins with an empty server. Queues are known by their names, or by the name of a timeout set.
func NewTimeline(names ...wire.Names) *Timeline {
	t := &Timeline{Seen: map[string]int{}, keys: NewKeyspace(), queues: map[Key]*Queue{}, multi: map[string][]monitor.Line{}}
	t.keys.changed = t.changed
	for _, n := range names {
		t.add(0, n)
	}
	return t
}

// Add takes over the next line and returns what was broken before it. Own lines are judged; others only count.
func (t *Timeline) Add(l monitor.Line, own bool) []Breach {
	t.broken = nil
	if !l.Inner() || len(t.call) == 0 {
		t.flush()
		t.call, t.own, t.now = []monitor.Line{l}, own, l.Time
		t.late()
		return t.broken
	}
	t.call = append(t.call, l)
	return nil
}

// End takes over that no line follows, and returns what was broken.
func (t *Timeline) End() []Breach {
	t.broken = nil
	t.flush()
	t.atEnd()
	return t.broken
}

// flush applies the call under way.
func (t *Timeline) flush() {
	if len(t.call) == 0 {
		return
	}
	first, inner := t.call[0], t.call[1:]
	t.call = nil
	queued, inTransaction := t.multi[first.Peer]
	switch name := first.Name(); {
	case name == "multi":
		t.multi[first.Peer] = []monitor.Line{}
		return
	case name == "discard":
		delete(t.multi, first.Peer)
		return
	case name == "exec":
		delete(t.multi, first.Peer)
		if len(queued) > 0 {
			t.step(newCall(first), queued)
		}
		return
	case inTransaction:
		if !callsScript(first) {
			inner = []monitor.Line{first}
		}
		t.multi[first.Peer] = append(queued, inner...)
		return
	}
	c := newCall(first)
	c.Inner = slices.Clone(inner)
	lines := c.Inner
	if !callsScript(first) {
		lines = []monitor.Line{first}
	}
	t.step(c, lines)
}

// step applies what one call does at once, and judges it.
func (t *Timeline) step(c Call, lines []monitor.Line) {
	t.steps, t.order = map[*Queue]*Step{}, nil
	for _, l := range lines {
		var named []*Queue
		for i, arg := range l.Args[min(1, len(l.Args)):] {
			q := t.queue(l.DB, arg, i == 0)
			if q == nil || slices.Contains(named, q) {
				continue
			}
			named = append(named, q)
			s := t.of(q)
			s.Lines = append(s.Lines, l)
			if l.Name() == "publish" && len(l.Args) == 3 && arg == q.Channel {
				s.Published = append(s.Published, l.Args[2])
			}
		}
	}
	switch {
	case c.Name() == "exec":
		t.keys.Apply(c.Line, lines)
	case !callsScript(c.Line) || len(lines) > 0:
		t.keys.Apply(c.Line, c.Inner)
	}
	for _, s := range t.order {
		s.Call = c
		if t.own {
			t.judge(s)
		}
	}
	if t.own {
		t.judgeMisses(c)
	}
}

// of is the step of a queue in the call under way.
func (t *Timeline) of(q *Queue) *Step {
	s := t.steps[q]
	if s == nil {
		s = &Step{Queue: q, Due: map[string]float64{}}
		t.steps[q] = s
		t.order = append(t.order, s)
	}
	return s
}

// queue finds the queue of a key or channel, and makes one of the name of a timeout set or a pending list.
func (t *Timeline) queue(db int, name string, isKey bool) *Queue {
	if q := t.queues[Key{db, name}]; q != nil {
		return q
	}
	if !isKey || !strings.HasPrefix(name, "redisson_delay_queue") {
		return nil
	}
	dest, ok := wire.DestinationOf(name)
	if !ok {
		return nil
	}
	return t.add(db, wire.NamesOf(dest))
}

func (t *Timeline) add(db int, n wire.Names) *Queue {
	q := &Queue{Names: n, db: db, keys: t.keys, ids: map[[8]byte]string{}}
	for _, name := range []string{n.Destination, n.Pending, n.TimeoutSet, n.Channel} {
		t.queues[Key{db, name}] = q
	}
	return q
}

// changed notes an element that came or went in the step under way. What a waiting client gets of a push is of no step.
func (t *Timeline) changed(k Key, element string, score float64, by int) {
	q := t.queues[k]
	if q == nil || t.steps[q] == nil {
		return
	}
	s := t.steps[q]
	switch {
	case k.Name == q.TimeoutSet && by > 0:
		s.Added, s.Due[element] = append(s.Added, element), score
	case k.Name == q.TimeoutSet:
		s.Removed, s.Due[element] = append(s.Removed, element), score
	case k.Name == q.Pending && by > 0:
		s.Listed = append(s.Listed, element)
	case k.Name == q.Pending:
		s.Unlisted = append(s.Unlisted, element)
	case k.Name == q.Destination && by > 0:
		s.Pushed = append(s.Pushed, element)
	}
}

// asks returns the command by which a step asks the timeout set for what is due.
func (s *Step) asks() (line monitor.Line, ok bool) {
	for _, l := range s.Lines {
		if l.Name() == "zrangebyscore" && len(l.Args) > 3 && l.Args[1] == s.Queue.TimeoutSet {
			return l, true
		}
	}
	return line, false
}

// transfers reports whether a step moves what is due: it asks for it, or takes members out and delivers.
func (s *Step) transfers() bool {
	_, ok := s.asks()
	return ok || len(s.Removed) > 0 && len(s.Pushed) > 0
}

// clock is the client's clock that a transfer names, in Unix ms.
func (s *Step) clock() (int64, bool) {
	ask, ok := s.asks()
	if !ok {
		return 0, false
	}
	now, err := strconv.ParseInt(ask.Args[3], 10, 64)
	return now, err == nil
}
