package analysis

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/text"
)

// step is the effect of one client command on one queue.
type step struct {
	queue                *queue
	active, direct, lost bool // direct: no script; lost: the script's own line is not in the log
	at                   place
	text                 string
	begun, last          int64
	host                 *host
	script
	named          int64 // the now of a transfer, Unix ms
	ran, ended     bool
	pushed, popped int
	front          bool
	removed        []*message // from the set
	values         []string   // pushed ones, if stories are wanted
	unlisted       []*message // from the list, by LREM
	touched        []uint64
	renamed        map[string]string // by changeScript: the member that another one replaces
}

// changeScript is the kind of the script of queue and migrate.
const changeScript wire.ScriptName = "change"

// script is a text that a Redisson or this project sends.
type script struct {
	kind   wire.ScriptName // of Redisson's that does the same; empty for another
	layout wire.Layout     // that a Redisson's transfer reads; 0 otherwise
	known  *wire.Script    // nil if no Redisson sends it
	ours   bool            // dq or dq-bench sends it
	sentBy releaseSet
}

// registry has every text by its digest.
var registry = sync.OnceValue(func() map[string]script {
	all := map[string]script{}
	for _, k := range wire.Scripts() {
		s := script{kind: k.Name, known: &k, sentBy: by(k.SentBy)}
		s.layout = map[bool]wire.Layout{true: trace.LayoutOf(&k)}[k.Name == wire.ScriptTransfer]
		all[k.SHA1] = s
	}
	for _, o := range slices.Concat(scripts.All(), ops.Scripts()) {
		all[o.SHA1] = script{ours: true, kind: map[string]wire.ScriptName{"transfer": wire.ScriptTransfer, "guard-step": wire.ScriptTransfer, "change": changeScript}[o.Name]}
	}
	return all
})

// hold holds a line against the rules; nil is the end of a log.
func (a *Analysis) hold(l *trace.Line) {
	for _, b := range a.Rules(l) {
		if c := trace.Group([]trace.Line{b.Line})[0]; c.Script != nil && registry()[c.Script.SHA1].ours {
			continue // dq and dq-bench look ahead, and set members aside
		}
		for _, arg := range b.Line.Args {
			if ref, ok := a.keys[trace.Key{DB: b.Line.DB, Name: arg}]; ok {
				line := LineOf{Number: int64(b.Line.Number), Text: cut(b.Line.Raw, longestText), at: place{a.begunIn, int64(b.Line.Number), b.Line.Offset}}
				a.found(Kind(b.Statement), ref.queue, b.Line.Time, 1).say([]LineOf{line}, "by %s: %s", b.Line.Peer, map[bool]string{true: "--redact hides how", false: b.Text}[a.Redact])
				break
			}
		}
	}
}

func isOwn(key string) bool { return strings.HasPrefix(key, prefix) }

// script begins the step of an EVAL or EVALSHA.
func (a *Analysis) script(from *conn, name string, c *trace.Call) {
	keys, args := c.Script.Keys, c.Script.Args
	if slices.Equal(keys, probeKeys) && strings.HasPrefix(c.Body, "redis.call('get', KEYS[1]") {
		from.speaks = true
		from.by = from.by.and(map[bool]releaseSet{true: probesFaulty, false: probesGet}[len(args) > 0])
		return
	}
	s := a.begun(c.Line, from.host, nil)
	own := slices.ContainsFunc(keys, isOwn)
	for i := 0; i < 2*len(keys) && s.queue == nil; i++ { // a key that only a delayed queue has is surer
		if key := keys[i%len(keys)]; i >= len(keys) || isOwn(key) {
			ref, _ := a.queueOf(c.DB, key)
			s.queue = ref.queue
		}
	}
	known := false
	if s.script, known = registry()[c.Script.SHA1]; known {
		from.sent(name, s.script)
	}
	switch q := s.queue; {
	case q == nil:
	case known:
		if (s.kind == wire.ScriptOffer || s.kind == wire.ScriptTransfer) && len(keys) >= 3 {
			a.rename(q, keys[0])
		}
		if s.kind == wire.ScriptTransfer && len(args) >= 2 {
			if now, err := strconv.ParseInt(args[0], 10, 64); err == nil {
				from.host.saw(now, c.Time)
				s.named = now
			}
		}
		if s.kind == changeScript && len(args) > 0 && args[0] == "replace" {
			s.renamed = map[string]string{}
			for i := ops.ChangeArgs; i+3 < len(args); i += 4 {
				s.renamed[args[i+1]] = args[i]
			}
		}
	case a.Rules == nil && own:
		a.found(UnknownScript, q, c.Time, 0).say([]LineOf{s.shown()}, "script %.40s works on the queue's keys; no Redisson release sends it, nor does dq or dq-bench", c.Script.SHA1)
	}
}

// argument is the number after the key, which is 1 if the command leaves it out.
func argument(l trace.Line) int64 {
	if len(l.Args) <= 2 {
		return 1
	}
	n, _ := strconv.ParseInt(l.Args[2], 10, 64)
	return n
}

// effect is a command on a key of the queue.
func (a *Analysis) effect(ref keyRef, name string, l trace.Line) {
	q, s := ref.queue, &a.step
	s.ran, s.last = true, l.Time
	if s.ours && slices.Contains(l.Args, ops.NoMember) {
		return
	}
	if !trace.Changes(l) || len(l.Args) < 2 {
		s.ended = s.ended || ref.role == timeoutSet && len(l.Args) == 5 && name == "zrange"
		if name == "zrangebyscore" && len(l.Args) > 3 && s.lost && s.kind == "" {
			s.kind = wire.ScriptTransfer
			if now, err := strconv.ParseInt(l.Args[3], 10, 64); err == nil {
				s.host.saw(now, l.Time)
			}
		}
		return
	}
	switch {
	case ref.role == destination:
		a.onDestination(q, name, l)
	case ref.role == quarantine:
		for i := 3; name == "zadd" && i < len(l.Args); i += 2 {
			a.find(q, l.Args[i]).aside = true
		}
	case ref.role == takenAhead: // a guard takes members out of the queue, and out of this key when it delivers them
		for i, member := range l.Args[2:] {
			switch m := a.find(q, member); {
			case name == "zadd" && i%2 == 1:
				m.held, m.earlier = true, false
			case name == "zrem" && (m.held || s.kind != changeScript): // which removes it wherever it is
				m.held = false
				s.removed = append(s.removed, m)
			}
		}
	case name == "del" || name == "unlink":
		a.drop(q, ref.role == timeoutSet, ref.role == pendingList)
	case strings.Contains(name, "expire"):
		q.unsure = name
	case name == "persist":
	case ref.role == timeoutSet:
		a.onSet(q, name, l)
	default:
		a.onList(q, name, l)
	}
}

func (a *Analysis) onSet(q *queue, name string, l trace.Line) {
	s := &a.step
	switch name {
	case "zadd":
		for i := 2; i+1 < len(l.Args); i++ {
			if score, err := strconv.ParseFloat(l.Args[i], 64); err == nil { // else an option
				i++
				a.add(q, int64(min(max(score, -farOff), farOff)), l.Args[i], l.Time)
			}
		}
	case "zrem":
		for _, member := range l.Args[2:] {
			m := a.find(q, member)
			if m.held {
				m.out()
				m.story.add("taken out by a guard, which delivers it", s.at, l.Time)
			} else if m.inSet || m.earlier {
				s.removed = append(s.removed, m)
			}
			if s.popped > 0 {
				s.popped--
				m.listed--
			}
			if s.kind == changeScript {
				m.listed = 0
			}
		}
	default:
		q.unsure = name
	}
}

func (a *Analysis) add(q *queue, due int64, member string, at int64) {
	s := &a.step
	if s.lost && s.kind == "" {
		s.kind = wire.ScriptOffer
	}
	m := a.find(q, member)
	if m.inSet {
		if s.kind == wire.ScriptOffer {
			a.found(ResentOffer, q, at, 0).say([]LineOf{earlier(m.at), s.shown()}, "the same member is offered again, %s after the first time: the pending list gets it twice and keeps "+
				"one for ever (Redisson to 3.16.3 sends an offer again when its answer is late)", ago(at-m.offered))
		}
		if m.due = due; s.kind == changeScript {
			m.story.add("rescheduled by "+s.host.Host+", due "+timeText(due*1000), s.at, at)
		}
		return
	}
	switch old, renamed := s.renamed[member]; {
	case renamed:
		a.rewritten(m, a.find(q, old), due)
	case s.direct || s.kind == changeScript:
		q.Added++
		m.byHand = true
		fallthrough
	default:
		m.earlier, m.due, m.offered, m.at, m.host = false, due, s.begun, s.at, s.host
		if m.story != nil {
			m.story.add("offered by "+s.host.Host+", due "+timeText(due*1000), s.at, at)
		}
	}
	if !m.byHand && s.renamed == nil {
		q.Offers++
		if n := q.values[m.value]; n > 0 {
			if found := a.found(DuplicateOffer, q, at, 0); found != nil {
				lines := []LineOf{s.shown()}
				for _, other := range q.messages {
					if other.value == m.value && other.inSet {
						lines = []LineOf{earlier(other.at), s.shown()}
					}
				}
				found.say(lines, "the value waits in the queue already, %s: it will be delivered once more", text.Plural(int64(n), "time"))
			}
		}
	}
	m.inSet = true
	q.values[m.value]++
	q.byLayout[m.layout]++
	if s.lost && m.layout != 0 {
		unknown := a.connOf("unknown")
		unknown.speaks = true
		unknown.by = unknown.by.and(packedBy[m.layout])
	}
}

// rewritten has a message go on as another member.
func (a *Analysis) rewritten(m, old *message, due int64) {
	a.stories = slices.DeleteFunc(a.stories, func(s *Story) bool { return s == m.story && s != old.story })
	m.earlier, m.due, m.offered, m.at, m.host, m.byHand, m.story = old.earlier, due, old.offered, old.at, old.host, old.byHand, old.story
	old.out()
	old.earlier, old.listed, old.story = false, 0, nil
	m.story.add("rewritten by "+a.step.host.Host, a.step.at, a.step.last)
}

func (a *Analysis) onList(q *queue, name string, l trace.Line) {
	s := &a.step
	switch name {
	case "rpush", "lpush", "rpushx", "lpushx", "lset":
		if name == "lset" && s.kind != changeScript {
			q.unsure = name
			return
		}
		for _, member := range l.Args[map[bool]int{true: 3, false: 2}[name == "lset"]:] {
			m := a.find(q, member)
			m.earlier = false
			if m.at.number == 0 {
				m.at = s.at
			}
			m.listed++
		}
	case "lrem":
		if len(l.Args) == 4 {
			m := a.find(q, l.Args[3])
			s.unlisted = append(s.unlisted, m)
			if n := int(argument(l)); n != 0 {
				m.listed -= min(max(n, -n), max(m.listed, 0))
			} else {
				m.listed = 0
			}
		}
	case "lpop", "rpop":
		s.popped += int(argument(l))
	default:
		q.unsure = name
	}
}

func (a *Analysis) onDestination(q *queue, name string, l trace.Line) {
	s, most := &a.step, int64(0)
	switch name {
	case "rpush", "lpush", "rpushx", "lpushx":
		s.pushed += len(l.Args) - 2
		if a.Where != "" {
			s.values = append(s.values, l.Args[2:]...)
		}
		s.front = name[0] == 'l'
	case "lpop", "rpop", "ltrim": // a Worker keeps the values from its argument on
		most = argument(l)
	case "rpoplpush", "lmove", "lrem":
		if most = 1; s.kind == changeScript && len(q.ready) > 0 { // an undo
			most, q.ready = 0, q.ready[:len(q.ready)-1]
		}
	case "del", "unlink":
		most = int64(len(q.ready))
	}
	for range min(most, int64(len(q.ready))) {
		q.take(s.host, l.Time)
	}
}

// take takes the first element of the destination.
func (q *queue) take(by *host, at int64) {
	if q.ready[0].delayed {
		q.Taken++
	}
	q.ready[0].story.add("taken by "+by.Host, place{}, at)
	q.ready = q.ready[1:]
}

// find returns the message of a member; one from before the log is made.
func (a *Analysis) find(q *queue, member string) *message {
	key := hash(member)
	m := q.messages[key]
	if m == nil {
		m = &message{queue: q, earlier: true}
		if u, err := wire.LayoutBc0Lc0.UnpackAny([]byte(member)); err == nil {
			m.layout, m.value = u.Layout, hash(string(u.Value))
			m.story = a.story(q, u.Value)
		}
		q.messages[key] = m
		q.layouts[m.layout] = true
	}
	a.step.touched = append(a.step.touched, key)
	return m
}

// out takes a message out of the set of its queue: in a log whose order is wrong, another than the step's.
func (m *message) out() {
	if q := m.queue; m.inSet {
		m.inSet = false
		q.byLayout[m.layout]--
		if q.values[m.value]--; q.values[m.value] <= 0 {
			delete(q.values, m.value)
		}
	}
}

// drop empties the set, the list or both.
func (a *Analysis) drop(q *queue, set, list bool) {
	a.step.removed, a.step.unlisted = nil, nil
	for key, m := range q.messages {
		if set && m.inSet {
			m.out()
			q.Removed++
		}
		if list {
			m.listed = 0
		}
		if !m.inSet && m.listed <= 0 {
			delete(q.messages, key)
		}
	}
	if len(q.messages) == 0 {
		q.unsure = ""
	}
}
