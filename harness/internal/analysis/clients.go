package analysis

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

const (
	maxConns = 100_000
	maxNamed = 5 // hosts and peers of a group
)

// conn is a client's connection.
type conn struct {
	peer            string
	host            *host
	speaks          bool       // it sent what belongs to delayed queues
	releases, usual releaseSet // that send all it sent; with default settings
	client          string     // of another kind than Redisson
	channels        []string
	waiting         *waiter
}

func (c *conn) can(by releaseSet) { c.releases, c.usual = c.releases.and(by), c.usual.and(by) }

func (a *Analysis) connOf(peer string) *conn {
	c := a.conns[peer]
	if c == nil {
		if len(a.conns) == maxConns { // short connections: their evidence is kept
			for _, c := range a.conns {
				a.note(c)
			}
			a.conns, a.waiters = map[string]*conn{}, map[dbKey][]*waiter{}
		}
		peer = strings.Clone(peer[:min(len(peer), 256)])
		c = &conn{peer: peer, host: a.hostOf(peer), releases: all, usual: all}
		a.conns[peer] = c
	}
	return c
}

var probeKeys = []string{"test1", "test2"}

// setUp notes the evidence of a command about its connection. Redisson writes commands in capitals.
func (a *Analysis) setUp(c *conn, name string, l monitor.Line) {
	if first := l.Args[0]; c.client == "" && first != "" && first[0] >= 'a' && first[0] <= 'z' {
		c.client = "another client"
	}
	switch {
	case name == "client" && len(l.Args) == 4 && strings.EqualFold(l.Args[1], "setinfo") && strings.EqualFold(l.Args[2], "lib-name"):
		c.client = strings.Clone(l.Args[3][:min(len(l.Args[3]), 64)])
	case name == "ping":
		c.usual = c.usual.and(pings)
	case name == "mget" && slices.Equal(l.Args[1:], probeKeys):
		c.speaks = true
		c.can(probesMGET)
	}
}

// sent narrows the releases by a script and the command it was sent with.
func (c *conn) sent(name string, s *script) {
	if s.ours != "" {
		c.speaks, c.client = true, "dq"
	}
	if s.known == nil {
		return
	}
	c.speaks = true
	c.can(s.sentBy)
	switch name {
	case "eval", "eval_ro":
		c.usual = c.usual.and(sendsBodies)
		return
	case "evalsha_ro":
		c.can(readsBySHA)
	}
	c.can(canCacheScripts)
	c.usual = c.usual.and(cachesScripts)
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
			if of := a.listenersOf(name); of.count == 0 {
				of.count, of.joined = 1, l.Time
			} else {
				of.count++
			}
		}
	}
}

func (a *Analysis) unsubscribe(c *conn, from []string, at int64) {
	c.channels = slices.DeleteFunc(c.channels, func(name string) bool {
		if len(from) > 0 && !slices.Contains(from, name) {
			return false
		}
		if of := a.listenersOf(name); of.count == 1 {
			of.count, of.left = 0, at
		} else {
			of.count--
		}
		return true
	})
}

// waiter is a client that waits at the first of its keys; which client got an element MONITOR does not show.
type waiter struct {
	conn     *conn
	key      dbKey
	deadline int64 // µs; 0: no deadline
}

func (a *Analysis) block(c *conn, name string, l monitor.Line) {
	if len(l.Args) < 3 {
		return
	}
	wait := l.Args[len(l.Args)-1]
	seconds, err := strconv.ParseFloat(wait, 64)
	if err != nil {
		return
	}
	if seconds < 0 {
		c.can(negativeWaits)
		return
	}
	keys := l.Args[1 : len(l.Args)-1]
	if name == "brpoplpush" || name == "blmove" {
		keys = keys[:1]
	}
	w := &waiter{conn: c}
	if seconds > 0 {
		w.deadline = l.Time + int64(min(seconds, 1e9)*1e6)
	}
	for _, key := range keys {
		ref, ok := a.keys[dbKey{l.DB, key}]
		if ok && ref.role == destination && a.take(ref.queue, c.host, l.Time) {
			return
		}
	}
	w.key = dbKey{l.DB, strings.Clone(keys[0])}
	c.waiting = w
	a.waiters[w.key] = append(a.waiters[w.key], w)
}

// unblock says that a client waits no longer.
func (a *Analysis) unblock(c *conn) {
	if w := c.waiting; w != nil {
		a.waiters[w.key] = slices.DeleteFunc(a.waiters[w.key], func(x *waiter) bool { return x == w })
		c.waiting = nil
	}
}

// serve gives elements to the clients that wait for them, the first one first.
func (a *Analysis) serve(q *queue, at int64) {
	key := dbKey{q.db, q.name}
	for len(q.ready) > 0 && len(a.waiters[key]) > 0 {
		w := a.waiters[key][0]
		a.unblock(w.conn)
		if w.deadline == 0 || w.deadline >= at {
			a.take(q, w.conn.host, at)
		}
	}
}

// releaseSet has a bit for each of wire.Releases.
type releaseSet [4]uint64

var (
	releases = wire.Releases()
	all      = that(func(wire.Release) bool { return true })
	ofLayout = [3]releaseSet{
		all,
		that(func(r wire.Release) bool { return r.Layout() == wire.LayoutDLc0 }),
		that(func(r wire.Release) bool { return r.Layout() == wire.LayoutBc0Lc0 }),
	}
	cachesScripts = that(wire.Release.CachesScripts)
	sendsBodies   = that(func(r wire.Release) bool { return !r.CachesScripts() })
	// Marks of releases, by the first release with the mark and the last.
	canCacheScripts = between("2.14.0", "2.15.2").or(between("3.9.0", ""))
	readsBySHA      = between("3.17.0", "") // EVALSHA_RO
	negativeWaits   = between("2.7.0", "3.17.7")
	pings           = between("3.13.6", "") // with default settings
	probesMGET      = between("4.0.0", "4.3.0")
	probesFaulty    = between("4.3.1", "4.3.1")
	probesGet       = between("4.4.0", "")
)

func that(do func(wire.Release) bool) (set releaseSet) {
	for i, r := range releases {
		if do(r) {
			set[i/64] |= 1 << (i % 64)
		}
	}
	return set
}

func between(from, to string) releaseSet {
	parse := func(s string) wire.Release {
		if s == "" {
			return wire.Newest()
		}
		r, err := wire.ParseRelease(s)
		if err != nil {
			panic(err) // written above
		}
		return r
	}
	first, last := parse(from), parse(to)
	return that(func(r wire.Release) bool { return r.AtLeast(first) && last.AtLeast(r) })
}

func (s releaseSet) and(o releaseSet) releaseSet {
	for i := range s {
		s[i] &= o[i]
	}
	return s
}

func (s releaseSet) or(o releaseSet) releaseSet {
	for i := range s {
		s[i] |= o[i]
	}
	return s
}

func (s releaseSet) size() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
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
	if s != between(span.From, span.To) {
		span.Ranges = runs
	}
	return span
}

// ranges are the runs without a gap; 2.x and 3.x are lines of their own.
func (s releaseSet) ranges() []Range {
	runs, open := []Range{}, false
	for i, r := range releases {
		switch has := s[i/64]&(1<<(i%64)) != 0; {
		case !has:
			open = false
		case open && (r.Major > 2) == (releases[i-1].Major > 2):
			runs[len(runs)-1].To = r.String()
		default:
			open = true
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

	releases, usual releaseSet
}

type evidenceKey struct {
	releases, usual releaseSet
	client          string
}

type evidence = Group

// note keeps the evidence of a connection.
func (a *Analysis) note(c *conn) {
	if !c.speaks {
		return
	}
	key := evidenceKey{c.releases, c.usual, c.client}
	e := a.evidence[key]
	if e == nil {
		if len(a.evidence) == 1000 {
			return
		}
		e = &evidence{releases: c.releases, usual: c.usual, Client: c.client}
		a.evidence[key] = e
	}
	e.join(1, []string{c.host.name}, []string{c.peer})
}

func (g *Group) join(connections int64, hosts, peers []string) {
	g.Connections += connections
	add := func(to *[]string, names []string) {
		for _, name := range names {
			if len(*to) < maxNamed && !slices.Contains(*to, name) {
				*to = append(*to, name)
			}
		}
	}
	add(&g.Hosts, hosts)
	add(&g.Peers, peers)
}

// groups puts connections together that one release can have made, the most telling first. One that fits several
// groups proves nothing about any, and is left out.
func groups(of []*evidence) []*Group {
	slices.SortFunc(of, func(a, b *evidence) int {
		return cmp.Or(strings.Compare(a.Client, b.Client), cmp.Compare(a.releases.size(), b.releases.size()),
			cmp.Compare(b.Connections, a.Connections), strings.Compare(a.Peers[0], b.Peers[0]))
	})
	var found []*Group
	for _, e := range of {
		var fits []*Group
		for _, g := range found {
			if g.Client == e.Client && g.releases.and(e.releases).size() > 0 {
				fits = append(fits, g)
			}
		}
		switch len(fits) {
		case 0:
			found = append(found, e)
		case 1:
			g := fits[0]
			g.releases, g.usual = g.releases.and(e.releases), g.usual.and(e.usual)
			g.join(e.Connections, e.Hosts, e.Peers)
		}
	}
	for _, g := range found {
		g.Ranges, g.Usual = g.releases.ranges(), g.usual.ranges()
	}
	return found
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
