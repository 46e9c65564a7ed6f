package analysis

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

const (
	maxConns   = 100_000
	maxClients = 1000
	maxNamed   = 5 // hosts and peers of a group
)

// conn is a client's connection.
type conn struct {
	peer     string
	host     *host
	speaks   bool // it sent what belongs to delayed queues
	marks    marks
	client   string // of another kind than Redisson
	channels []string
	waits    dbKey // the first of the keys that it waits at; MONITOR does not show which client got an element
	deadline int64 // of the wait, in µs; 0: no deadline
}

func (a *Analysis) connOf(peer string) *conn {
	c := a.conns[peer]
	if c == nil {
		if len(a.conns) == maxConns { // short connections: their evidence is kept
			for _, c := range a.conns {
				a.note(c)
			}
			a.conns, a.waiters = map[string]*conn{}, map[dbKey][]*conn{}
		}
		peer = strings.Clone(peer[:min(len(peer), 256)])
		c = &conn{peer: peer, host: a.hostOf(peer)}
		a.conns[peer] = c
	}
	return c
}

var probeKeys = []string{"test1", "test2"}

// setUp notes the evidence of a command about its connection. Redisson writes commands in capitals.
func (c *conn) setUp(name string, l monitor.Line) {
	if first := l.Args[0]; c.client == "" && first != "" && first[0] >= 'a' && first[0] <= 'z' {
		c.client = "another client"
	}
	switch {
	case name == "client" && len(l.Args) == 4 && strings.EqualFold(l.Args[1], "setinfo") && strings.EqualFold(l.Args[2], "lib-name"):
		c.client = strings.Clone(l.Args[3][:min(len(l.Args[3]), 64)])
	case name == "ping":
		c.marks.set(pings)
	case name == "mget" && slices.Equal(l.Args[1:], probeKeys):
		c.speaks = true
		c.marks.set(probesMGET)
	}
}

// sent notes a script and the command it was sent with.
func (c *conn) sent(name string, s *script) {
	c.speaks = true
	if s.known == nil {
		c.client = "dq"
		return
	}
	c.marks.set(s.sentBy)
	switch name {
	case "eval", "eval_ro":
		c.marks.set(sendsTexts)
		return
	case "evalsha_ro":
		c.marks.set(readsBySHA)
	}
	c.marks.set(canCacheScripts)
	c.marks.set(cachesScripts)
}

// listeners are the subscribers of a channel.
type listeners struct {
	count        int
	joined, left int64
}

func (a *Analysis) listenersOf(channel string) *listeners {
	l := a.listeners[channel]
	if l == nil {
		l = &listeners{}
		if len(a.listeners) < 2*maxQueues && len(channel) <= maxKeySize {
			a.listeners[strings.Clone(channel)] = l
		}
	}
	return l
}

func (a *Analysis) subscribe(c *conn, l monitor.Line) {
	for _, name := range l.Args[1:] {
		if strings.HasPrefix(name, prefix) && len(c.channels) < 64 && !slices.Contains(c.channels, name) {
			c.channels = append(c.channels, strings.Clone(name))
			of := a.listenersOf(name)
			if of.count++; of.count == 1 {
				of.joined = l.Time
			}
		}
	}
}

func (a *Analysis) unsubscribe(c *conn, from []string, at int64) {
	c.channels = slices.DeleteFunc(c.channels, func(name string) bool {
		if len(from) > 0 && !slices.Contains(from, name) {
			return false
		}
		of := a.listenersOf(name)
		if of.count--; of.count == 0 {
			of.left = at
		}
		return true
	})
}

func (a *Analysis) block(c *conn, name string, l monitor.Line) {
	if len(l.Args) < 3 {
		return
	}
	last := len(l.Args) - 1
	seconds, err := strconv.ParseFloat(l.Args[last], 64)
	if err != nil {
		return
	}
	if seconds < 0 {
		c.marks.set(negativeWaits)
		return
	}
	keys := l.Args[1:last]
	if name == "brpoplpush" || name == "blmove" {
		keys = keys[:1]
	}
	for _, key := range keys {
		ref, ok := a.keys[dbKey{l.DB, key}]
		if ok && ref.role == destination && ref.queue.take(c.host, l.Time) {
			return
		}
	}
	if keys[0] == "" {
		return
	}
	c.waits, c.deadline = dbKey{l.DB, strings.Clone(keys[0])}, 0
	if seconds > 0 {
		c.deadline = l.Time + int64(min(seconds, 1e9)*1e6)
	}
	a.waiters[c.waits] = append(a.waiters[c.waits], c)
}

// unblock says that a client waits no longer.
func (a *Analysis) unblock(c *conn) {
	if c.waits.name != "" {
		a.waiters[c.waits] = slices.DeleteFunc(a.waiters[c.waits], func(x *conn) bool { return x == c })
		c.waits.name = ""
	}
}

// serve gives elements to the clients that wait for them, the first one first.
func (a *Analysis) serve(q *queue, at int64) {
	key := dbKey{q.db, q.name}
	for len(q.ready) > 0 && len(a.waiters[key]) > 0 {
		first := a.waiters[key][0]
		a.unblock(first)
		if first.deadline == 0 || first.deadline >= at {
			q.take(first.host, at)
		}
	}
}

// mark is something that only some releases do: the first 64 are the scripts of the catalogue.
type mark int

// marks is a set of marks.
type marks [2]uint64

const (
	canCacheScripts mark = 64 + iota
	readsBySHA           // EVALSHA_RO
	negativeWaits
	probesMGET
	probesFaulty
	probesGet
	packsDLc0
	packsBc0Lc0
	pings // this and the following: with default settings
	cachesScripts
	sendsTexts
)

var (
	releases  = wire.Releases()
	catalogue = wire.Scripts()
	doneBy    = map[mark]func(wire.Release) bool{
		canCacheScripts: func(r wire.Release) bool { return ops.Between("2.14.0", "2.15.2")(r) || ops.Between("3.9.0", "")(r) },
		readsBySHA:      ops.Between("3.17.0", ""), negativeWaits: ops.Between("2.7.0", "3.17.7"), pings: ops.Between("3.13.6", ""),
		probesMGET: ops.Between("4.0.0", "4.3.0"), probesFaulty: ops.Between("4.3.1", "4.3.1"), probesGet: ops.Between("4.4.0", ""),
		packsDLc0:     func(r wire.Release) bool { return r.Layout() == wire.LayoutDLc0 },
		packsBc0Lc0:   func(r wire.Release) bool { return r.Layout() == wire.LayoutBc0Lc0 },
		cachesScripts: wire.Release.CachesScripts,
		sendsTexts:    func(r wire.Release) bool { return !r.CachesScripts() },
	}
)

func (s *marks) set(m mark) { s[m/64] |= 1 << (m % 64) }

func (s marks) or(o marks) marks { return marks{s[0] | o[0], s[1] | o[1]} }

// releaseSet has a byte for each of releases: 1 for a member.
type releaseSet string

// doneBy are the releases that show all marks, with any settings or by default.
func (s marks) doneBy(byDefault bool) releaseSet {
	var wanted []func(wire.Release) bool
	for m := range mark(128) {
		switch {
		case s[m/64]&(1<<(m%64)) == 0 || !byDefault && m >= pings:
		case m < 64:
			wanted = append(wanted, catalogue[m].SentBy)
		default:
			wanted = append(wanted, doneBy[m])
		}
	}
	set := make([]byte, len(releases))
	for i, r := range releases {
		if !slices.ContainsFunc(wanted, func(does func(wire.Release) bool) bool { return !does(r) }) {
			set[i] = 1
		}
	}
	return releaseSet(set)
}

// Range is a run of releases.
type Range struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Span is from the oldest release of a set to the newest; Ranges are its runs, if it has gaps.
type Span struct {
	Range
	Ranges []Range `json:"ranges,omitempty"`
}

func (s releaseSet) span() *Span {
	runs := s.ranges()
	if len(runs) == 0 {
		return nil
	}
	span := &Span{Range: Range{runs[0].From, runs[len(runs)-1].To}}
	if strings.Contains(strings.Trim(string(s), "\x00"), "\x00") {
		span.Ranges = runs
	}
	return span
}

// ranges are the runs without a gap; 2.x and 3.x are lines of their own.
func (s releaseSet) ranges() []Range {
	runs := []Range{}
	for i, r := range releases {
		switch {
		case s[i] == 0:
		case i > 0 && s[i-1] == 1 && (r.Major > 2) == (releases[i-1].Major > 2):
			runs[len(runs)-1].To = r.String()
		default:
			runs = append(runs, Range{r.String(), r.String()})
		}
	}
	return runs
}

// Group are connections that the same releases can have made. Of another client, the releases are the ones whose format it speaks.
type Group struct {
	Client      string   `json:"client,omitempty"`
	Ranges      []Range  `json:"ranges"`
	Usual       []Range  `json:"usual"` // with default settings
	Connections int64    `json:"connections"`
	Hosts       []string `json:"hosts"`
	Peers       []string `json:"peers"`

	marks marks
	can   int // how many releases
}

// client is a kind of connection.
type client struct {
	name  string
	marks marks
}

// note keeps the evidence of a connection.
func (a *Analysis) note(c *conn) {
	key := client{c.client, c.marks}
	if c.speaks && a.clients[key] == nil && len(a.clients) < maxClients {
		a.clients[key] = &Group{Client: c.client, marks: c.marks}
	}
	if g := a.clients[key]; c.speaks && g != nil {
		g.join(&Group{Connections: 1, Hosts: []string{c.host.name}, Peers: []string{c.peer}})
	}
}

func (g *Group) join(other *Group) {
	g.marks = g.marks.or(other.marks)
	g.Connections += other.Connections
	add := func(to *[]string, names []string) {
		for _, name := range names {
			if len(*to) < maxNamed && !slices.Contains(*to, name) {
				*to = append(*to, name)
			}
		}
	}
	add(&g.Hosts, other.Hosts)
	add(&g.Peers, other.Peers)
}

// groups puts connections together that one release can have made, the most telling first. One that fits several
// groups proves nothing about any, and is left out.
func (a *Analysis) groups() (found []*Group) {
	for _, g := range a.clients {
		g.can = strings.Count(string(g.marks.doneBy(false)), "\x01")
	}
	for _, g := range slices.SortedFunc(maps.Values(a.clients), func(x, y *Group) int {
		return cmp.Or(strings.Compare(x.Client, y.Client), cmp.Compare(x.can, y.can), cmp.Compare(y.Connections, x.Connections), strings.Compare(x.Peers[0], y.Peers[0]))
	}) {
		var fits []*Group
		for _, other := range found {
			if other.Client == g.Client && other.marks.or(g.marks).doneBy(false).span() != nil {
				fits = append(fits, other)
			}
		}
		switch len(fits) {
		case 0:
			found = append(found, g)
		case 1:
			fits[0].join(g)
		}
	}
	for _, g := range found {
		g.Ranges, g.Usual = g.marks.doneBy(false).ranges(), g.marks.doneBy(true).ranges()
	}
	return found
}
