package analysis

import (
	"container/list"
	"maps"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/internal/monitor"
)

// What is kept of connections and of each of them.
const (
	maxConns    = 50_000
	maxPeerSize = 256 // bytes of an address
	maxChannels = 64
	maxWaitKeys = 16
)

// conn is a client's connection.
type conn struct {
	peer string
	host *host
	// speaks says that it has sent what belongs to delayed queues, or what only a Redisson
	// sends; releases are those that send all that it sent, usual those with default settings.
	speaks          bool
	releases, usual releaseSet
	client          string // of another kind than Redisson, such as "go-redis"
	waiter          *waiter
	channels        []string
}

// sent narrows the releases that the connection can be of.
func (c *conn) sent(by releaseSet) { c.releases, c.usual = c.releases.and(by), c.usual.and(by) }

// connections are those seen lately: when recent is full it becomes old, and what was old
// is forgotten.
type connections struct {
	recent, old map[string]*conn
}

// connOf returns the connection of a peer; nil for an address that no peer has.
func (a *Analysis) connOf(peer string) *conn {
	if c := a.conns.recent[peer]; c != nil {
		return c
	}
	if len(peer) > maxPeerSize {
		return nil
	}
	c := a.conns.old[peer]
	if c == nil {
		c = &conn{peer: strings.Clone(peer), host: a.clocks.of(peer), releases: allReleases, usual: allReleases}
	} else {
		delete(a.conns.old, peer)
	}
	if len(a.conns.recent) == maxConns {
		a.forget(a.conns.old)
		a.conns.old, a.conns.recent = a.conns.recent, map[string]*conn{}
	}
	a.conns.recent[c.peer] = c
	return c
}

// forget takes leave of connections, in an order that is the same each time.
func (a *Analysis) forget(of map[string]*conn) {
	for _, peer := range slices.Sorted(maps.Keys(of)) {
		a.note(of[peer])
		a.wake(of[peer])
	}
}

// setUp notes what a command tells about its connection.
func (a *Analysis) setUp(c *conn, cmd command, l monitor.Line) {
	switch {
	case c.client == "" && isLower(l.Args[0]):
		// Redisson's names of commands are capitals, all of them.
		c.client = "another client"
		fallthrough
	case cmd == clientCommand:
		if len(l.Args) == 4 && strings.EqualFold(l.Args[1], "setinfo") && strings.EqualFold(l.Args[2], "lib-name") {
			c.client = clipName(l.Args[3])
		}
	case cmd == ping:
		c.usual = c.usual.and(pings)
	case cmd == mget && slices.Equal(l.Args[1:], probeKeys):
		c.speaks = true
		c.sent(probesMGET)
	}
}

var probeKeys = []string{"test1", "test2"}

func isLower(name string) bool { return name != "" && name[0] >= 'a' && name[0] <= 'z' }

func clipName(name string) string {
	const longest = 64
	return strings.Clone(name[:min(len(name), longest)])
}

// subscribe and unsubscribe keep who listens to the channels of queues.
func (a *Analysis) subscribe(c *conn, l monitor.Line) {
	for _, name := range l.Args[1:] {
		if strings.HasPrefix(name, commonPrefix) && len(name) <= maxKeySize && len(c.channels) < maxChannels && !slices.Contains(c.channels, name) {
			c.channels = append(c.channels, strings.Clone(name))
			a.channelOf(name).join(l.Time)
		}
	}
}

func (a *Analysis) unsubscribe(c *conn, from []string, at int64) {
	c.channels = slices.DeleteFunc(c.channels, func(name string) bool {
		if len(from) > 0 && !slices.Contains(from, name) {
			return false
		}
		a.channelOf(name).leave(at)
		return true
	})
}

// waiter is a client that waits for an element.
type waiter struct {
	conn     *conn
	back     bool
	deadline int64 // µs; 0 for none
	to       *dbKey
	places   []waiting
}

type waiting struct {
	key     dbKey
	at      *list.List
	element *list.Element
}

// wait lets a client wait at keys.
func (a *Analysis) wait(w *waiter, db int, keys []string) {
	w.conn.waiter = w
	for _, name := range keys[:min(len(keys), maxWaitKeys)] {
		if len(name) > maxKeySize {
			continue
		}
		key := dbKey{db, strings.Clone(name)}
		at := a.waiting[key]
		if at == nil {
			at = list.New()
			a.waiting[key] = at
		}
		w.places = append(w.places, waiting{key, at, at.PushBack(w)})
	}
}

// wake says that a client waits no longer.
func (a *Analysis) wake(c *conn) {
	if c.waiter == nil {
		return
	}
	for _, p := range c.waiter.places {
		p.at.Remove(p.element)
		if p.at.Len() == 0 && a.waiting[p.key] == p.at {
			delete(a.waiting, p.key)
		}
	}
	c.waiter = nil
}
