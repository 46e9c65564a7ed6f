package simulate_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis/embedded"
	"github.com/dq-bench/dq-bench/internal/resp"
)

// valueLength is that of every message, so that the end of a member is its message.
const valueLength = len("m-000001")

// model looks at the server after each command and judges what it sees. It is used under the server's lock alone.
type model struct {
	server    *embedded.Server
	names     wire.Names
	unlisting scripts.Unlisting
	leases    scripts.LeaseNames
	world     *world

	seen    map[string]*message
	held    map[string]string // the messages that Workers hold, by id
	counts  map[string]string // of their deliveries
	failed  map[string]int    // the last delivery of each that failed and was not lost
	leased  map[string]lease
	settled map[string]string          // how, by id and delivery, at last
	did     map[string]bool            // what was done for a delivery: "held", or how it was settled, the id and the number
	buried  map[string]burial          // dead letters, by id
	said    map[string]map[string]bool // what clients have sent
	alones  map[string]bool            // messages that were last handed out to be handled alone, by id
	overrun map[string]time.Time       // when the lease of a message was made to be over, by id and by value, and when it was last handed out
	handed  map[string]time.Time
	polls   map[string][]int // how many values each LPOP of a client popped
	pops    int
	ready   []string             // in the destination
	torn    time.Time            // Redisson's script has stopped half-way: see look
	tears   bool                 // for want of a right, which it may do again
	pending map[string]int64     // member → due time
	writes  uint64               // after which it looked last
	wrote   map[string]bool      // connections that have written since their last WAIT
	staged  map[string]string    // by which client's BLMOVE
	moved   map[string]time.Time // by a transfer of ours into the destination, and not handed out
	silent  bool                 // the offer that runs is not announced
	forgets int                  // after how many writing scripts the server forgets all
}

// lease is when the server was last told how long a message is held, or set aside for a retry, and by whom.
type lease struct {
	by   string
	at   time.Time
	held bool
}

// tornFor is how long that may last.
const tornFor = 2 * time.Second

// message is what the server has seen of one.
type message struct {
	due     int64 // Unix ms
	offered bool  // it has been pending
	popped  int   // given to a taker
	place   int   // among all that were, when it was last
	taken   time.Time
	settled int // acknowledged
	removed bool
	// torn says that Redisson's script has moved it, and stopped at a member of the other layout before it took it out of the timeout
	// set: it comes twice if another dq transfers before the one that saw that (see "members of the other layout" in the README of dq).
	torn    bool
	arrived time.Time // in the destination
	since   int64     // when the server had the due time, Unix ms
	by      string    // the client that offered or rescheduled it
	unheard string    // the same, if that was not announced: a foreign member was due first, or the script failed half-way
}

func (m *model) ran(client string, args []string, reply []byte) {
	command := strings.ToUpper(args[0])
	name, _, _ := strings.Cut(client, ":")
	m.world.noteCommand(client, args, reply)
	moment := momentOf(args)
	if m.said[name] == nil {
		m.said[name] = map[string]bool{}
	}
	m.said[name][moment] = true
	m.world.counts(moment)
	if m.world.plan.Strict && (slices.Contains([]string{"transfer", "find", "survey", "unlist", "LPOS"}, moment) || command == "BLPOP" && args[2] != "0") {
		m.world.violate("%s sends %s, as no Redisson does", client, moment)
	}
	ours := moment == scripts.Transfer().Name && args[3] == queue
	if ours {
		m.world.mayTransfer(name)
	}
	if strings.HasPrefix(string(reply), "-ERR user_script") {
		m.torn = time.Now()
	} else if moment == "Redisson" && strings.HasPrefix(string(reply), "-NOPERM") {
		m.torn, m.tears = time.Now(), true
	}
	writes := m.server.Writes()
	if writes == m.writes {
		return // as it was
	}
	m.writes = writes
	m.wrote[client] = m.wrote[client] || strings.HasPrefix(command, "EVAL")
	if strings.HasPrefix(command, "EVAL") {
		if m.acknowledged(client, args, reply); args[1] == scripts.Take().SHA1 {
			m.handedOut(client, args[3] == queue, reply)
		}
	}
	if command != "EXEC" && !slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, queue) }) {
		return // another queue is not as it was
	}
	if m.forgets--; m.forgets == 0 && strings.HasPrefix(command, "EVAL") {
		m.server.ForgetScripts()
	}
	switch {
	case command == "BLPOP" || command == "LPOP":
		if command == "LPOP" {
			m.polls[name] = append(m.polls[name], len(texts(reply)))
		}
		for _, v := range valuesIn(reply) {
			msg := m.message(v)
			m.pops++
			msg.place, msg.taken = m.pops, time.Now()
			if msg.popped++; msg.popped == 1 && !msg.arrived.IsZero() { // a transfer that fails delivers again
				m.world.popped(v, msg.arrived)
			}
		}
	case command == "BLMOVE":
		for _, v := range valuesIn(reply) {
			m.staged[v] = name
			m.world.stages(name, v)
		}
	case command == "LPUSH": // back, for its taker is gone
		for i, v := range args[2:] {
			m.message(v).popped--
			m.message(v).arrived = time.Now()
			if i > 0 && v[0] == 'm' && args[1+i][0] == 'm' && m.message(v).place > m.message(args[1+i]).place {
				m.world.violate("%s comes back before %s, which was taken first", v, args[1+i])
			}
		}
	case strings.HasPrefix(command, "EVAL"):
		before, after := m.ready, m.elements("LRANGE", m.names.Destination, "0", "-1")
		more := len(after) - len(before)
		if slices.Contains(args, "release") && more > 0 && !slices.Equal(after[more:], before) {
			m.world.violate("what is given back is not at the front")
		}
		if slices.Contains(args, "replay") && more > 0 && !slices.Equal(after[:len(before)], before) {
			m.world.violate("what is replayed is not at the end")
		}
		if args[1] == scripts.Unlist().SHA1 && strings.HasPrefix(string(reply), "*2\r\n$4\r\ndone\r\n") {
			m.world.counts("passes")
		}
	}
	m.look(client)
	m.silent = false
	moved := map[string]time.Time{}
	for _, v := range append(m.elements("LRANGE", m.leases.Staged, "0", "-1"), m.ready...) {
		_, was := m.moved[v]
		if msg := m.message(ending(v)); was || ours && msg.arrived.Equal(time.Now()) {
			moved[v] = msg.arrived
		}
	}
	m.moved = moved
}

// acknowledged takes note of the ids that an acknowledgement names and the reply has a 1 for.
func (m *model) acknowledged(client string, args []string, reply []byte) {
	at := slices.IndexFunc(args, func(a string) bool { return slices.Contains([]string{"ack", "extend", "retry", "bury", "release"}, a) })
	if at < 0 {
		return
	}
	list, _ := decoded(reply).([]any)
	for i, n := range list {
		id := at + 2 + 2*i
		if n != int64(1) || id >= len(args) {
			continue
		}
		m.did[args[at]+" "+args[id]+" "+args[id+1]] = true
		if args[at-1] == queue {
			if strconv.Itoa(m.failed[args[id]]) == args[id+1] {
				m.world.violate("%s counts for delivery %s of %s, which had failed", args[at], args[id+1], m.held[args[id]])
			}
			m.lease(args[id], client, args[at] == "extend")
			m.world.becomes(client, args[at], args[at+1], args[id]+" "+args[id+1])
			m.settled[args[id]+" "+args[id+1]] = args[at]
			switch args[at] {
			case "ack":
				m.message(m.held[args[id]]).settled++
			case "bury":
				m.buried[args[id]] = burial{args[at+1], args[id+1], time.Now()}
			case "retry":
				m.failed[args[id]], _ = strconv.Atoi(args[id+1])
			}
			if count := m.counts[args[id]]; count != args[id+1] {
				m.world.violate("the result of delivery %s of %s counts, which was delivered %s times", args[id+1], m.held[args[id]], count)
			}
		}
	}
}

// handedOut judges who is handled alone: what two holders in a row did not settle, or one before the last attempt.
func (m *model) handedOut(client string, mine bool, reply []byte) {
	handed, _, _, _ := scripts.ReadHandedOut(decoded(reply))
	for _, h := range handed {
		if h.Claimed { // it is to be handled alone, and waits for all places of its Worker
			m.alones[h.ID] = true
			m.lease(h.ID, client, true)
			continue
		}
		m.did[map[bool]string{false: "held", true: "bury"}[h.Buried]+" "+h.ID+" "+strconv.FormatInt(h.Delivery, 10)] = true
		if !mine && h.Alone { // it waits for all places of its Worker
			m.world.locked(func() { m.world.bad(30 * time.Second) })
		}
		if !mine {
			continue
		}
		m.lease(h.ID, client, !h.Buried)
		m.alones[h.ID], m.handed[h.ID] = h.Alone, time.Now()
		if h.Buried {
			m.buried[h.ID] = burial{fmt.Sprintf("lost by its worker in attempt %d of %d", h.Delivery, m.world.plan.Seed%3*2), strconv.Itoa(int(h.Delivery)), time.Now()}
		}
		attempt, most := int(h.Delivery), int(m.world.plan.Seed%3*2)
		lost := attempt - 1 - m.failed[h.ID]
		if alone := lost > 1 || lost == 1 && attempt == most; !h.Buried && h.Alone != alone {
			m.world.violate("delivery %d of %s, of %d, has been lost %d times: alone is %t", attempt, ending(string(h.Value)), most, lost, h.Alone)
		}
	}
}

// burial is how a message became a dead letter.
type burial struct {
	reason, delivery string
	at               time.Time
}

func (m *model) burial(id string) (b burial, known bool) {
	m.server.Exclusive(func() { b, known = m.buried[id] })
	return b, known
}

func (m *model) lease(id, client string, held bool) {
	name, _, _ := strings.Cut(client, ":")
	m.leased[id] = lease{name, time.Now(), held}
}

// ends judges the end of a handler's context, which comes before another client can have the message.
func (m *model) ends(c *client, of *dq.Message[string]) {
	until, held := m.scores(m.leases.Leases)[of.ID]
	if at, over := m.overrun[of.ID]; over {
		late, again := time.Since(m.handed[of.ID])-m.world.plan.Visibility/3-2*time.Second, m.counts[of.ID] != strconv.Itoa(of.Attempt)
		if again && late > 0 && m.world.calm(time.Since(at)-time.Millisecond) && m.world.net.prompt(c.name, at) {
			m.world.violate("a handler of %s was to know %s ago that another has %s", c.name, late, of.Value)
		}
		return
	}
	if left := time.Until(time.UnixMilli(until)); m.counts[of.ID] != strconv.Itoa(of.Attempt) || !held || left < 0 {
		m.world.violate("a handler of %s ends, or its context, %s after the lease of %s, which is held: %t", c.name, -left, of.Value, held)
	}
}

// alone reports whether a message is, or is to be, handled while no other is.
func (m *model) alone(leases map[string]int64) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(leases)), func(id string) bool { return m.lonely(id, leases[id]) })
}

// lonely reports whether a message is handled by itself when its lease is over.
func (m *model) lonely(id string, ends int64) bool {
	n, _ := strconv.Atoi(m.counts[id])
	return n-m.failed[id] > 1 || m.alones[id] || n-m.failed[id] == 1 && n+1 == int(m.world.plan.Seed%3*2) && ends <= time.Now().UnixMilli()
}

// look compares where each message is with where it was.
func (m *model) look(client string) {
	now := time.Now()
	pending, list := m.scores(m.names.TimeoutSet), m.elements("LRANGE", m.names.Pending, "0", "-1")
	// Redisson's own script stops at a member of the other layout, and what it has moved by
	// then stays in the timeout set until the next transfer of a dq.
	torn := !m.torn.IsZero() && (now.Sub(m.torn) < tornFor || m.world.stops || m.tears)
	unlisted := append(m.elements("SMEMBERS", m.unlisting.Unlisted[0]), m.elements("SMEMBERS", m.unlisting.Unlisted[1])...)
	places := map[string]int{}
	for member := range pending {
		switch {
		case slices.Contains(list, member):
		case slices.Contains(unlisted, member):
			places[ending(member)]++
		case !torn:
			m.world.violate("%q is in the timeout set, and neither in the pending list nor unlisted", member)
		default:
			m.message(ending(member)).torn = true
		}
	}
	for _, member := range list {
		if _, ok := pending[member]; !ok {
			m.world.violate("%q is in the pending list and not in the timeout set", member)
		}
		places[ending(member)]++
	}
	waits := map[string]bool{}
	for member, due := range pending {
		waits[ending(member)] = true
		msg := m.message(ending(member))
		if !msg.offered || msg.due != due {
			if msg.by, _, _ = strings.Cut(client, ":"); strings.Count(member, ending(member)) > 1 {
				msg.by = "Redisson" // whose call tells nobody
			}
			msg.since = now.UnixMilli()
			if first := m.elements("ZRANGE", m.names.TimeoutSet, "0", "0"); ending(first[0])[0] != 'm' || m.silent || m.message(ending(first[0])).unheard != "" {
				msg.unheard = msg.by
			}
		}
		if !msg.offered {
			m.world.offered(ending(member), due)
		}
		msg.offered, msg.due = true, due
	}
	out := func(values []string) {
		for _, v := range values {
			v = ending(v)
			places[v]++
			if msg := m.message(v); msg.arrived.IsZero() {
				msg.arrived = now
			}
		}
	}
	m.inOrder()
	m.ready = m.elements("LRANGE", m.names.Destination, "0", "-1")
	out(m.ready)
	out(m.elements("ZRANGE", scripts.Quarantine(queue), "0", "-1"))
	if m.world.plan.Reliable {
		out(m.elements("LRANGE", m.leases.Staged, "0", "-1"))
		m.held, m.counts = map[string]string{}, map[string]string{}
		counts := m.elements("HGETALL", m.leases.Counts)
		for i := 0; i+1 < len(counts); i += 2 {
			m.counts[counts[i]] = counts[i+1]
		}
		bodies := m.elements("HGETALL", m.leases.Bodies)
		for i := 0; i+1 < len(bodies); i += 2 {
			m.held[bodies[i]] = ending(bodies[i+1])
			out(bodies[i+1 : i+2])
		}
	}
	for v, msg := range m.seen {
		n := places[v] + msg.popped + msg.settled
		switch {
		case !msg.offered || msg.removed && n == 0:
		case n == 0 && (v[0] != 'm' || m.world.mayBeCancelled(v)):
			msg.removed = true
		case n == 0:
			m.world.violate("%s is nowhere after a command of %s", v, client)
			msg.removed = true
		case n == 2 && msg.torn:
		case n > 1 && !torn:
			m.world.violate("%s is in %d places after a command of %s", v, n, client)
			delete(m.seen, v)
		}
	}
	for member, due := range m.pending {
		if _, still := pending[member]; still {
			continue
		}
		if due < 0 && !m.world.cleared {
			m.world.violate("%q is never due, and %s takes it out of the timeout set", member, client)
		}
		msg := m.message(ending(member))
		if msg.removed || places[ending(member)]+msg.popped == 0 || waits[ending(member)] {
			continue
		}
		if early := due - m.world.aheadOf(now).UnixMilli(); early > 0 {
			m.world.violate("%s was transferred %d ms before it was due, by %s", ending(member), early, client)
		}
		m.world.transferred(ending(member), time.UnixMilli(max(due, msg.since)), now)
	}
	m.pending = pending
}

// inOrder judges the order of the messages that reached the destination since the last look.
func (m *model) inOrder() {
	last := int64(0)
	for _, v := range m.elements("LRANGE", m.names.Destination, "0", "-1") {
		msg := m.seen[ending(v)]
		if msg == nil || !msg.arrived.IsZero() || !msg.offered {
			continue
		}
		if msg.due < last {
			m.world.violate("%s was transferred behind what is due %d ms later", v, last-msg.due)
		}
		last = msg.due
	}
}

func (m *model) message(value string) *message {
	if m.seen[value] == nil {
		m.seen[value] = &message{}
	}
	return m.seen[value]
}

func (m *model) elements(args ...string) []string { return texts(m.server.Do(args...)) }

func (m *model) scores(key string) map[string]int64 {
	all := m.elements("ZRANGE", key, "0", "-1", "WITHSCORES")
	scores := make(map[string]int64, len(all)/2)
	for i := 0; i+1 < len(all); i += 2 {
		score, _ := strconv.ParseFloat(all[i+1], 64)
		scores[all[i]] = int64(score)
	}
	return scores
}

// decoded is the value of a reply, nil if it has none.
func decoded(reply []byte) any {
	v, _ := resp.NewReader(bytes.NewReader(reply), 16).Read()
	return v
}

func texts(reply []byte) (all []string) {
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			all = append(all, v)
		case []any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(decoded(reply))
	return all
}

// valuesIn returns the messages of a pop's reply.
func valuesIn(reply []byte) (all []string) {
	for _, text := range texts(reply) {
		if v := ending(text); len(text) == valueLength && strings.HasPrefix(v, "m-") {
			all = append(all, v)
		}
	}
	return all
}

// ending is the message that a member ends with.
func ending(member string) string { return member[max(0, len(member)-valueLength):] }

func show(args []string) string {
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%.40q", a)
	}
	return b.String()
}
