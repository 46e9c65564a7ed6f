package analysis

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// call is the effect of one client command on one queue.
type call struct {
	queue          *queue
	kind           callKind
	direct, lost   bool // no script; the script's own line is not in the log
	at             place
	text           string
	begun, last    int64
	host           *host
	script         *script
	named          int64 // the now of a transfer, Unix ms
	ran, ended     bool
	pushed, popped int
	front          bool
	removed        []*message // from the set
	values         []string   // pushed ones, if stories are told
	unlisted       []*message // from the list, by LREM
	touched        []uint64
}

type callKind uint8

const (
	otherCall callKind = iota
	offerCall
	transferCall
)

// script is a known text, or a digest.
type script struct {
	sha1   string
	kind   callKind
	layout wire.Layout  // that a Redisson's transfer reads; 0 otherwise
	known  *wire.Script // nil if no Redisson sends it
	ours   string       // the name of one of ours
	sentBy releaseSet
}

// scriptTable finds scripts by digest. It holds every text that a Redisson or anything of this project sends.
type scriptTable struct {
	bySHA1 map[string]*script
	byText map[string]string // digests of texts seen
}

func newScriptTable() *scriptTable {
	t := &scriptTable{map[string]*script{}, map[string]string{}}
	for _, k := range wire.Scripts() {
		s := &script{sha1: k.SHA1, known: &k, sentBy: that(k.SentBy)}
		switch k.Name {
		case wire.ScriptOffer:
			s.kind = offerCall
		case wire.ScriptTransfer:
			s.kind, s.layout = transferCall, wire.LayoutDLc0
			if strings.Contains(k.Body, "'"+wire.LayoutBc0Lc0.String()+"'") {
				s.layout = wire.LayoutBc0Lc0
			}
		}
		t.bySHA1[k.SHA1] = s
	}
	for _, o := range slices.Concat(scripts.All(), ops.Scripts()) {
		s := &script{sha1: o.SHA1, ours: o.Name}
		if o.Name == "transfer" || o.Name == "guard-step" {
			s.kind = transferCall
		}
		t.bySHA1[o.SHA1] = s
	}
	return t
}

func (t *scriptTable) of(isText bool, text string) *script {
	sum := strings.ToLower(text)
	if isText {
		if sum = t.byText[text]; sum == "" {
			digest := sha1.Sum([]byte(text))
			sum = hex.EncodeToString(digest[:])
			if len(t.byText) < 1000 && len(text) <= 64<<10 {
				t.byText[strings.Clone(text)] = sum
			}
		}
	}
	if s := t.bySHA1[sum]; s != nil {
		return s
	}
	return &script{sha1: strings.Clone(sum[:min(len(sum), 40)])}
}

// script is an EVAL or EVALSHA: its commands follow.
func (a *Analysis) script(c *conn, name string, l monitor.Line, at place) {
	if len(l.Args) < 3 {
		return
	}
	n, err := strconv.Atoi(l.Args[2])
	if err != nil || n < 0 || n > len(l.Args)-3 {
		return
	}
	keys, args := l.Args[3:3+n], l.Args[3+n:]
	isText := strings.HasPrefix(name, "eval") && !strings.HasPrefix(name, "evalsha")
	if isText && slices.Equal(keys, probeKeys) && strings.HasPrefix(l.Args[1], "redis.call('get', KEYS[1]") {
		c.speaks = true
		c.can(map[bool]releaseSet{true: probesFaulty, false: probesGet}[len(args) > 0])
		return
	}
	s := a.scripts.of(isText, l.Args[1])
	c.sent(name, s)
	call := &call{kind: s.kind, at: at, text: l.Raw, begun: l.Time, last: l.Time, host: c.host, script: s}
	a.call = call
	for _, own := range []bool{true, false} { // a key that only a delayed queue has is surer
		for _, key := range keys {
			if call.queue == nil && strings.HasPrefix(key, prefix) == own {
				if ref, ok := a.queueOf(l.DB, key); ok {
					call.queue = ref.queue
				}
			}
		}
	}
	q := call.queue
	if q == nil {
		return
	}
	if s.kind != otherCall && n >= 3 {
		a.rename(q, keys[0])
	}
	if s.kind == transferCall && len(args) >= 2 {
		if now, err := strconv.ParseInt(args[0], 10, 64); err == nil {
			c.host.saw(now, l.Time)
			call.named = now
		}
	}
	if s.known == nil && s.ours == "" && slices.ContainsFunc(keys, func(k string) bool { return strings.HasPrefix(k, prefix) }) {
		a.findings.add(UnknownScript, q, l.Time, 0, func() (string, []LineOf) {
			return "script " + s.sha1 + " works on the queue's keys; no Redisson release sends it, nor does dq or dq-bench", []LineOf{call.shown()}
		})
	}
}

func words(s string) map[string]bool {
	all := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		all[w] = true
	}
	return all
}

var (
	readOnly = words(`exists type ttl pttl expiretime pexpiretime object dump touch memory sort_ro zcard zcount zscore zmscore zrank zrange
		zrevrange zrevrank zrevrangebyscore zlexcount zrandmember zscan llen lindex lrange lpos watch get pubsub`)
	knownCommands = words(`zadd zrem zrangebyscore rpush lpush rpushx lpushx lpop rpop rpoplpush lmove lrem ltrim del unlink
		expire pexpire expireat pexpireat persist`)
)

func isDelete(name string) bool { return name == "del" || name == "unlink" }

// effect is a command on a key of the queue.
func (a *Analysis) effect(ref keyRef, name string, l monitor.Line) {
	q, c := ref.queue, a.call
	c.ran, c.last = true, l.Time
	if readOnly[name] || len(l.Args) < 2 {
		c.ended = c.ended || ref.role == timeoutSet && len(l.Args) == 5 && name == "zrange"
		return
	}
	arg := func(i int) int64 {
		if len(l.Args) <= i {
			return 1
		}
		n, _ := strconv.ParseInt(l.Args[i], 10, 64)
		return n
	}
	switch both := ref.role == timeoutSet || ref.role == pendingList; {
	case ref.role == destination:
		a.onDestination(q, name, l, arg)
	case ref.role == quarantine && name == "zadd":
		for i := 3; i < len(l.Args); i += 2 {
			a.find(q, l.Args[i]).aside = true
		}
	case ref.role == heldByGuard:
		a.onHeld(q, name, l)
	case !both:
	case isDelete(name):
		a.drop(q, ref.role == timeoutSet, ref.role == pendingList)
	case strings.HasSuffix(name, "expire") || strings.HasSuffix(name, "expireat"):
		n := arg(2)
		if name[0] == 'e' {
			n *= 1000
		}
		if strings.HasSuffix(name, "expire") {
			n += l.Time / 1000
		}
		q.expires = n
		if len(l.Args) > 3 && l.Args[3] != "" {
			q.unsure = name + " with a condition"
		}
	case name == "persist":
		q.expires = 0
	case ref.role == timeoutSet:
		a.onSet(q, name, l)
	default:
		a.onList(q, name, l, arg)
	}
}

// onHeld is a guard that takes members out of the queue ahead of time, and out of its own key when they are delivered.
func (a *Analysis) onHeld(q *queue, name string, l monitor.Line) {
	for i, member := range l.Args[2:] {
		switch m := a.find(q, member); {
		case name == "zadd" && i%2 == 1:
			m.held, m.earlier = true, false
		case name == "zrem":
			m.held = false
			a.call.removed = append(a.call.removed, m)
		}
	}
}

func (a *Analysis) onSet(q *queue, name string, l monitor.Line) {
	c := a.call
	switch name {
	case "zadd":
		i := 2
		for i < len(l.Args) && slices.Contains([]string{"NX", "XX", "GT", "LT", "CH", "INCR"}, strings.ToUpper(l.Args[i])) {
			i++
		}
		for ; i+1 < len(l.Args); i += 2 {
			score, err := strconv.ParseFloat(l.Args[i], 64)
			if err != nil {
				return
			}
			a.add(q, int64(score), l.Args[i+1], l)
		}
	case "zrem":
		for _, member := range l.Args[2:] {
			m := a.find(q, member)
			switch {
			case m.held:
				q.out(m)
				m.story.add("taken out by a guard, which delivers it", c.at, l.Time)
			case m.inSet || m.earlier:
				c.removed = append(c.removed, m)
			}
			if c.popped > 0 {
				c.popped--
				m.listed--
			}
		}
	case "zrangebyscore":
		if c.lost && c.kind == otherCall {
			c.kind = transferCall
			if now, err := strconv.ParseInt(l.Args[min(3, len(l.Args)-1)], 10, 64); err == nil {
				c.host.saw(now, l.Time)
			}
		}
	default:
		q.unsure = name
	}
}

// add puts a member into the set.
func (a *Analysis) add(q *queue, due int64, member string, l monitor.Line) {
	c := a.call
	if c.lost && c.kind == otherCall {
		c.kind = offerCall
	}
	m := a.find(q, member)
	if m.inSet {
		if c.kind == offerCall {
			a.findings.add(ResentOffer, q, l.Time, 0, func() (string, []LineOf) {
				return "the same member is offered again, " + ago(l.Time-m.offered) + " after the first time: the pending list gets it twice and keeps " +
					"one for ever (Redisson to 3.16.3 sends an offer again when its answer is late)", []LineOf{earlier(m.at), c.shown()}
			})
		}
		m.due = due
		return
	}
	m.earlier, m.due, m.offered, m.at, m.host = false, due, c.begun, c.at, c.host
	if m.story != nil {
		m.story.add("offered by "+c.host.name+", due "+timeText(m.dueAt(nil)), c.at, l.Time)
	}
	if c.direct {
		m.byHand = true
		q.counts.added++
	} else {
		q.counts.offers++
		if n := q.values[m.value]; n > 0 {
			a.findings.add(DuplicateOffer, q, l.Time, 0, func() (string, []LineOf) {
				lines := []LineOf{c.shown()}
				for _, other := range q.live {
					if other.value == m.value && other.inSet {
						lines = []LineOf{earlier(other.at), c.shown()}
					}
				}
				return "the value waits in the queue already, " + plural(int64(n), "time") + ": it will be delivered once more", lines
			})
		}
	}
	m.inSet = true
	q.values[m.value]++
	q.byLayout[m.layout]++
	if c.lost && m.layout != 0 {
		a.connOf("unknown").speaks = true
		a.connOf("unknown").can(ofLayout[m.layout])
	}
}

func (a *Analysis) onList(q *queue, name string, l monitor.Line, arg func(int) int64) {
	c := a.call
	switch name {
	case "rpush", "lpush", "rpushx", "lpushx":
		for _, member := range l.Args[2:] {
			m := a.find(q, member)
			m.earlier = false
			if m.at.number == 0 {
				m.at = c.at
			}
			m.listed++
		}
	case "lrem":
		if len(l.Args) == 4 {
			m := a.find(q, l.Args[3])
			c.unlisted = append(c.unlisted, m)
			if n := int(arg(2)); n != 0 {
				m.listed -= min(max(n, -n), max(m.listed, 0))
			} else {
				m.listed = 0
			}
		}
	case "lpop", "rpop":
		c.popped += int(arg(2))
	default:
		q.unsure = name
	}
}

func (a *Analysis) onDestination(q *queue, name string, l monitor.Line, arg func(int) int64) {
	switch name {
	case "rpush", "lpush", "rpushx", "lpushx":
		a.call.pushed += len(l.Args) - 2
		if a.Where != "" {
			a.call.values = append(a.call.values, l.Args[2:]...)
		}
		a.call.front = name[0] == 'l'
	case "lpop", "rpop":
		for range min(arg(2), int64(len(q.ready))) {
			a.take(q, a.call.host, l.Time)
		}
	case "rpoplpush", "lmove", "lrem":
		a.take(q, a.call.host, l.Time)
	case "del", "unlink":
		for len(q.ready) > 0 {
			a.take(q, a.call.host, l.Time)
		}
	}
}

// take takes an element of the destination; it reports whether there was one.
func (a *Analysis) take(q *queue, by *host, at int64) bool {
	if len(q.ready) == 0 {
		return false
	}
	if q.ready[0].delayed {
		q.counts.taken++
	}
	if s := q.ready[0].story; s != nil {
		s.add("taken by "+by.name, place{}, at)
	}
	q.ready = q.ready[1:]
	return true
}

// find returns the message of a member; one that was there before the log began is made.
func (a *Analysis) find(q *queue, member string) *message {
	key := hash(member)
	m := q.live[key]
	if m == nil {
		u, err := wire.LayoutBc0Lc0.UnpackAny([]byte(member))
		m = &message{earlier: true}
		if err == nil {
			m.layout, m.value = u.Layout, hash(string(u.Value))
			m.story = a.begun(q, u.Value)
		}
		q.live[key] = m
		q.counts.layouts[m.layout] = true
	}
	a.call.touched = append(a.call.touched, key)
	return m
}

// out takes a message out of the set.
func (q *queue) out(m *message) {
	if m.inSet {
		m.inSet = false
		q.byLayout[m.layout]--
		if q.values[m.value]--; q.values[m.value] <= 0 {
			delete(q.values, m.value)
		}
	}
}

// drop removes whatever waits in the set, in the list or in both.
func (a *Analysis) drop(q *queue, set, list bool) {
	if a.call != nil {
		a.call.removed, a.call.unlisted = nil, nil
	}
	for key, m := range q.live {
		if set && m.inSet {
			q.out(m)
			q.counts.removed++
		}
		if list {
			m.listed = 0
		}
		if !m.inSet && m.listed <= 0 {
			delete(q.live, key)
		}
	}
	if len(q.live) == 0 {
		q.unsure, q.expires = "", 0
	}
}
