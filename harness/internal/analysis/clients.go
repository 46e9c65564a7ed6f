package analysis

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
)

const (
	maxConns   = 100_000
	maxClients = 1000
	maxPeers   = 5 // of a group
)

// conn is a client's connection.
type conn struct {
	Group    // of this connection alone
	host     *host
	speaks   bool // it sent what belongs to delayed queues
	channels []string
	waits    trace.Key // the first of the keys that it waits at; MONITOR does not show which client got an element
	deadline int64     // of the wait, in µs; 0: no deadline
}

func (a *Analysis) connOf(peer string) *conn {
	c := a.conns[peer]
	if c == nil {
		if len(a.conns) == maxConns { // short connections: their evidence is kept
			for _, c := range a.conns {
				a.note(c)
			}
			a.conns, a.waiters = map[string]*conn{}, map[trace.Key][]*conn{}
		}
		peer = strings.Clone(peer[:min(len(peer), 256)])
		c = &conn{host: a.hostOf(peer), Group: Group{Connections: 1, Peers: []string{peer}, client: client{by: anyRelease}}}
		a.conns[peer] = c
	}
	return c
}

var probeKeys = []string{"test1", "test2"}

// setUp notes the evidence of a command about its connection. Redisson writes commands in capitals.
func (c *conn) setUp(name string, l trace.Line) {
	if first := l.Args[0]; c.Client == "" && first != "" && first[0] >= 'a' && first[0] <= 'z' {
		c.Client = "another client"
	}
	if name == "client" && len(l.Args) == 4 && strings.EqualFold(l.Args[1], "setinfo") && strings.EqualFold(l.Args[2], "lib-name") {
		c.Client = strings.Clone(l.Args[3][:min(len(l.Args[3]), 64)])
	} else if name == "mget" && slices.Equal(l.Args[1:], probeKeys) {
		c.speaks = true
		c.by = c.by.and(probesMGET)
	}
}

// sent notes a script and the command it was sent with.
func (c *conn) sent(name string, s script) {
	c.speaks = true
	if s.known == nil {
		c.Client = "dq"
		return
	}
	c.by = c.by.and(s.sentBy).and(sentBy[name])
}

// listeners are the subscribers of a channel.
type listeners struct {
	count        int
	joined, left int64
}

func (a *Analysis) subscribe(c *conn, l trace.Line) {
	for _, name := range l.Args[1:] {
		of := a.listeners[name]
		if !strings.HasPrefix(name, prefix) || len(c.channels) == 64 || slices.Contains(c.channels, name) || of == nil && len(a.listeners) == 2*maxQueues || len(name) > maxKeySize {
			continue
		}
		name = strings.Clone(name)
		of = cmp.Or(of, &listeners{})
		if of.count++; of.count == 1 {
			of.joined = l.Time
		}
		c.channels, a.listeners[name] = append(c.channels, name), of
	}
}

func (a *Analysis) unsubscribe(c *conn, from []string, at int64) {
	c.channels = slices.DeleteFunc(c.channels, func(name string) bool {
		if len(from) > 0 && !slices.Contains(from, name) {
			return false
		}
		of := a.listeners[name]
		if of.count--; of.count == 0 {
			of.left = at
		}
		return true
	})
}

func (a *Analysis) block(c *conn, name string, l trace.Line) {
	seconds, err := strconv.ParseFloat(l.Args[len(l.Args)-1], 64)
	if err != nil || len(l.Args) < 3 {
		return
	}
	if seconds < 0 {
		c.by = c.by.and(negativeWaits)
		return
	}
	keys := affected(name, l)
	for _, key := range keys {
		ref, ok := a.keys[trace.Key{DB: l.DB, Name: key}]
		if ok && ref.role == destination && len(ref.queue.ready) > 0 {
			ref.queue.take(c.host, l.Time)
			return
		}
	}
	if keys[0] == "" {
		return
	}
	c.waits, c.deadline = trace.Key{DB: l.DB, Name: strings.Clone(keys[0])}, 0
	if seconds > 0 {
		c.deadline = l.Time + int64(min(seconds, 1e9)*1e6)
	}
	a.waiters[c.waits] = append(a.waiters[c.waits], c)
}

// unblock says that a client waits no longer.
func (a *Analysis) unblock(c *conn) {
	if c.waits.Name != "" {
		a.waiters[c.waits] = slices.DeleteFunc(a.waiters[c.waits], func(x *conn) bool { return x == c })
		c.waits.Name = ""
	}
}

// serve gives elements to the clients that wait for them, the first one first.
func (a *Analysis) serve(q *queue, at int64) {
	key := trace.Key{DB: q.DB, Name: q.Name}
	for len(q.ready) > 0 && len(a.waiters[key]) > 0 {
		first := a.waiters[key][0]
		a.unblock(first)
		if first.deadline == 0 || first.deadline >= at {
			q.take(first.host, at)
		}
	}
}

// releaseSet has a bit for each of releases.
type releaseSet [4]uint64

func (s releaseSet) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

func (s releaseSet) and(o releaseSet) releaseSet {
	for i := range s {
		s[i] &= o[i]
	}
	return s
}

// by are the releases that do something, with some settings.
func by(does func(wire.Release) bool) (s releaseSet) {
	for i, r := range releases {
		if does(r) {
			s[i/64] |= 1 << (i % 64)
		}
	}
	return s
}

// What only some releases do.
var (
	releases      = wire.Releases()
	anyRelease    = by(ops.Between("", ""))
	cachesScripts = by(func(r wire.Release) bool { return r.Minor >= map[int]int{2: 14, 3: 9}[r.Major] })
	sentBy        = map[string]releaseSet{"eval": anyRelease, "eval_ro": anyRelease, "evalsha": cachesScripts, "evalsha_ro": by(ops.Between("3.17.0", ""))}
	negativeWaits = by(ops.Between("2.7.0", "3.17.7"))
	probesMGET    = by(ops.Between("4.0.0", "4.3.0"))
	probesFaulty  = by(ops.Between("4.3.1", "4.3.1"))
	probesGet     = by(ops.Between("4.4.0", ""))
	packedBy      = map[wire.Layout]releaseSet{wire.LayoutDLc0: by(ops.Between("", "3.21.0")), wire.LayoutBc0Lc0: by(ops.Between("3.21.1", ""))}
)

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

// span is nil for an empty set.
func (s releaseSet) span() *Span {
	runs := s.ranges()
	if len(runs) == 0 {
		return nil
	}
	span := &Span{Range: Range{runs[0].From, runs[len(runs)-1].To}}
	if by(ops.Between(span.From, span.To)) != s {
		span.Ranges = runs
	}
	return span
}

// ranges are the runs without a gap; 2.x and 3.x are lines of their own.
func (s releaseSet) ranges() []Range {
	runs := []Range{}
	for i, r := range releases {
		switch {
		case !s.has(i):
		case i > 0 && s.has(i-1) && (r.Major > 2) == (releases[i-1].Major > 2):
			runs[len(runs)-1].To = r.String()
		default:
			runs = append(runs, Range{r.String(), r.String()})
		}
	}
	return runs
}

// Group are connections that the same releases can have made. Of another client, the releases are the ones whose format it speaks.
type Group struct {
	client
	Ranges      []Range  `json:"ranges"`
	Connections int64    `json:"connections"`
	Peers       []string `json:"peers"`
}

// client is a kind of connection.
type client struct {
	Client string `json:"client,omitempty"`
	by     releaseSet
}

// note keeps the evidence of a connection.
func (a *Analysis) note(c *conn) {
	switch g := a.clients[c.client]; {
	case !c.speaks:
	case g != nil:
		g.join(c.Group)
	case len(a.clients) < maxClients:
		a.clients[c.client] = new(c.Group)
	}
}

func (g *Group) join(other Group) {
	g.by = g.by.and(other.by)
	g.Connections += other.Connections
	for _, peer := range other.Peers {
		if len(g.Peers) < maxPeers && !slices.Contains(g.Peers, peer) {
			g.Peers = append(g.Peers, peer)
		}
	}
}

// groups puts connections together that one release can have made, the most telling first. One that fits several
// groups proves nothing about any, and is left out.
func (a *Analysis) groups() (found []*Group) {
	can := func(g *Group) (n int) {
		for _, some := range g.by {
			n += bits.OnesCount64(some)
		}
		return n
	}
	for _, g := range slices.SortedFunc(maps.Values(a.clients), func(x, y *Group) int {
		return cmp.Or(strings.Compare(x.Client, y.Client), cmp.Compare(can(x), can(y)), cmp.Compare(y.Connections, x.Connections), strings.Compare(x.Peers[0], y.Peers[0]))
	}) {
		var fits []*Group
		for _, other := range found {
			if other.Client == g.Client && other.by.and(g.by) != (releaseSet{}) {
				fits = append(fits, other)
			}
		}
		switch len(fits) {
		case 0:
			found = append(found, g)
		case 1:
			fits[0].join(*g)
		}
	}
	for _, g := range found {
		g.Ranges = g.by.ranges()
	}
	return found
}
