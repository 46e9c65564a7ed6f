package trace

import (
	"math"
	"slices"
	"strconv"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// waiting is a member and its due time.
type waiting struct {
	member string
	due    float64
}

// Queue is a delayed queue at an instant of a Timeline.
type Queue struct {
	wire.Names
	db   int
	keys *Keyspace
	ids  map[[8]byte]waiting // the pending member of each id
	last [8]byte             // the id of the last offer

	first  string // the head, if sorted
	sorted bool

	owes      int64 // when a transfer moved a whole batch while more was due; 0 for never
	transfers int   // own ones since the last subscription ended
	vain      int   // transfers in a row without a cause
	mustStart int64 // when a client subscribed without a transfer since; 0 for none
	timer     int64 // when the next transfer must run; 0 for never
}

func (q *Queue) value(name string) *Value {
	if v := q.keys.Values[Key{q.db, name}]; v != nil {
		return v
	}
	return &Value{}
}

// head returns the member that is due first; "" for none.
func (q *Queue) head() (member string, due float64) {
	scores := q.value(q.TimeoutSet).Scores
	if due, ok := scores[q.first]; ok && q.sorted {
		return q.first, due
	}
	due = math.Inf(1)
	for m, d := range scores {
		if d < due || d == due && m < member {
			member, due = m, d
		}
	}
	q.first, q.sorted = member, len(scores) > 0
	return member, due
}

// due returns how many members have a due time in a range, both ends included.
func (q *Queue) due(from, to float64) (n int) {
	for _, d := range q.value(q.TimeoutSet).Scores {
		if d >= from && d <= to {
			n++
		}
	}
	return n
}

// known reports whether the content of the queue's keys is known.
func (q *Queue) known() bool {
	return q.keys.Unknown[Key{q.db, q.TimeoutSet}] == "" && q.keys.Unknown[Key{q.db, q.Pending}] == ""
}

// holds reports whether the pending list has one of these members.
func (q *Queue) holds(members []string) bool {
	list := q.value(q.Pending).List
	return slices.ContainsFunc(members, func(m string) bool { return slices.Contains(list, m) })
}

// waits reports whether the timeout set has a member.
func (q *Queue) waits(member string) bool {
	_, ok := q.value(q.TimeoutSet).Scores[member]
	return ok
}

// Step is the effect of one script, transaction or command on one queue.
type Step struct {
	Call  Call
	Queue *Queue // after the step
	Lines []Line // the commands that name the queue's keys or channel
	// Added and Removed are members of the timeout set, Listed and Unlisted members of the pending list.
	Added, Removed, Listed, Unlisted []string
	Due                              map[string]float64 // of Added and Removed
	Pushed                           []string           // to the destination
	Published                        []string

	off int64 // as the Timeline's
}

// Breach is a statement of the specification that a line breaks.
type Breach struct {
	Statement string
	// Text says what was seen.
	Text string
	Line Line
	// Late marks a reaction after its bound. A machine that hung shows the same.
	Late bool
}

// Timeline replays calls on a model of the queues that they name and holds each step against the rules.
type Timeline struct {
	// Off is how far the clocks of the server and of its clients may differ, in ms.
	Off int64
	// Live says that clients with a subscription stay connected and healthy, so that they must transfer in time.
	Live bool
	// Seen counts, by statement, the steps that a rule was about.
	Seen map[string]int

	keys   *Keyspace
	all    []*Queue
	queues map[Key]*Queue // by each of their keys
	multi  map[string][]Line
	missed []Call  // of scripts that the server did not know
	steps  []*Step // of the call under way, one for each queue
	now    int64
	broken []Breach
}

// NewTimeline begins with an empty server. Queues are known by their names, or by the name of a timeout set.
func NewTimeline(names ...wire.Names) *Timeline {
	t := &Timeline{Seen: map[string]int{}, keys: NewKeyspace(), queues: map[Key]*Queue{}, multi: map[string][]Line{}}
	t.keys.changed = t.changed
	for _, n := range names {
		t.add(0, n)
	}
	return t
}

// Add takes over the next call and returns what it breaks, and what did not come before it in time. Own calls are judged; others
// only count.
func (t *Timeline) Add(c Call, own bool) []Breach {
	t.Until(c.Time)
	queued, inTransaction := t.multi[c.Peer]
	switch name := c.Name(); {
	case name == "multi":
		t.multi[c.Peer] = []Line{}
	case name == "exec" || name == "discard":
		delete(t.multi, c.Peer)
		if name == "exec" && len(queued) > 0 {
			t.step(c, queued, own)
		}
	case inTransaction:
		t.multi[c.Peer] = append(queued, c.commands()...)
	default:
		t.step(c, c.commands(), own)
	}
	return t.broken
}

// Until takes over that no further call has come up to an instant, in Unix microseconds.
func (t *Timeline) Until(now int64) []Breach {
	t.broken, t.now = nil, now
	t.late()
	return t.broken
}

// End takes over that no call follows, and returns what was broken.
func (t *Timeline) End() []Breach {
	t.Until(t.now)
	t.forget(soon)
	return t.broken
}

// step applies what one call does at once, and judges it.
func (t *Timeline) step(c Call, lines []Line, own bool) {
	t.steps = nil
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
	case c.Script != nil:
		t.postpone(c)
	}
	for _, s := range t.steps {
		s.Call = c
		if own {
			t.judge(s)
		}
		t.remind(s)
	}
	if own {
		t.judgeMisses(c)
	}
}

// of is the step of a queue in the call under way.
func (t *Timeline) of(q *Queue) *Step {
	i := slices.IndexFunc(t.steps, func(s *Step) bool { return s.Queue == q })
	if i < 0 {
		i = len(t.steps)
		t.steps = append(t.steps, &Step{Queue: q, Due: map[string]float64{}, off: t.Off})
	}
	return t.steps[i]
}

// queue finds the queue of a key or channel, and makes one of the name of a timeout set or a pending list.
func (t *Timeline) queue(db int, name string, isKey bool) *Queue {
	if q := t.queues[Key{db, name}]; q != nil {
		return q
	}
	dest, ok := wire.DestinationOf(name)
	if !isKey || !ok {
		return nil
	}
	return t.add(db, wire.NamesOf(dest))
}

func (t *Timeline) add(db int, n wire.Names) *Queue {
	q := &Queue{Names: n, db: db, keys: t.keys, ids: map[[8]byte]waiting{}}
	for _, name := range []string{n.Destination, n.Pending, n.TimeoutSet, n.Channel} {
		t.queues[Key{db, name}] = q
	}
	t.all = append(t.all, q)
	return q
}

// changed notes an element that came or went in the step under way. What a waiting client gets of a push is of no step.
func (t *Timeline) changed(k Key, element string, score float64, by int) {
	q := t.queues[k]
	if q == nil {
		return
	}
	if k.Name == q.TimeoutSet && q.sorted {
		member, due := q.head()
		if q.sorted = element != member; q.sorted && by > 0 && (score < due || score == due && element < member) {
			q.first = element
		}
	}
	i := slices.IndexFunc(t.steps, func(s *Step) bool { return s.Queue == q })
	if i < 0 {
		return
	}
	switch s := t.steps[i]; {
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

// asks returns the command, with its arguments, by which a step asks the timeout set for due members; nil for none.
func (s *Step) asks() []string {
	for _, l := range s.Lines {
		if l.Name() == "zrangebyscore" && len(l.Args) > 3 && l.Args[1] == s.Queue.TimeoutSet {
			return l.Args
		}
	}
	return nil
}

// transfers reports whether a step asks for due members, or takes members out and delivers.
func (s *Step) transfers() bool { return s.asks() != nil || s.moves() }

// clock is the client's clock that a transfer names, in Unix ms.
func (s *Step) clock() (int64, bool) {
	args := s.asks()
	if args == nil {
		return 0, false
	}
	now, err := strconv.ParseInt(args[3], 10, 64)
	return now, err == nil
}
