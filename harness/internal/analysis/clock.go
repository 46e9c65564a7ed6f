package analysis

import (
	"cmp"
	"slices"
	"strings"
)

// A transfer names the clock of its client, in ms, just before the server runs it. The
// largest difference to the server's clock is the truest: all others were on their way
// for longer. It is taken over the latest minute or two, for clocks are set and drift.

const (
	clockWindow = 60_000_000 // µs
	// clockSet is by how many ms a host's clock must rise to have been set, or to have been
	// lied about; a smaller rise only corrects an estimate that was made from slow transfers.
	clockSet = 1_000
	maxHosts = 10_000
)

// host is a machine that clients connect from, by its address without the port.
type host struct {
	name      string
	index     int32 // in clocks.list
	of        *clocks
	transfers int64
	log       int64 // that the rest is of
	began     int64 // of the present window, µs of the server
	recent    int64 // largest client − server of the window, ms
	before    int64 // of the window before
}

// saw notes that a client of the host said now, in Unix ms, at the server's instant at.
func (h *host) saw(now, at int64) {
	ahead := now - at/1000
	switch {
	case h.transfers == 0 || h.log != h.of.log:
		h.log, h.began, h.recent, h.before = h.of.log, at, ahead, ahead
	case at-h.began > clockWindow:
		h.began, h.before, h.recent = at, h.recent, ahead
	default:
		h.recent = max(h.recent, ahead)
	}
	h.transfers++
}

// ahead is how far the host's clock is ahead of the server's, in ms, and whether the log
// has shown it.
func (h *host) ahead() (ms int64, known bool) {
	if h.transfers == 0 || h.log != h.of.log {
		return 0, false
	}
	return max(h.recent, h.before), true
}

// clocks are the hosts of a log.
type clocks struct {
	byName map[string]*host
	list   []*host
	log    int64 // number of the log: the next one may be of another server
}

// of returns the host of a peer; all that are too many to be kept share one.
func (c *clocks) of(peer string) *host {
	name := hostOf(peer)
	if len(c.list) >= maxHosts {
		name = "others"
	}
	h := c.byName[name]
	if h == nil {
		h = &host{name: strings.Clone(name), index: int32(len(c.list)), of: c}
		c.byName[h.name] = h
		c.list = append(c.list, h)
	}
	return h
}

// aheadOf is by how many ms the clock that m's due time is of was ahead of the server's
// when m was offered. A host that has not shown its clock is taken to have that of the
// host that transfers m.
func (c *clocks) aheadOf(m *message, by *host) int64 {
	var now int64
	var known bool
	if m.host >= 0 {
		now, known = c.list[m.host].ahead()
	}
	switch {
	case m.is(clockKnown) && known && now > int64(m.ahead) && now-int64(m.ahead) < clockSet:
		return now
	case m.is(clockKnown):
		return int64(m.ahead)
	case known:
		return now
	case by != nil:
		now, _ = by.ahead()
	}
	return now
}

// hostOf is ip of ip:port and [ip]:port, and "unix" of a socket of the server's machine.
func hostOf(peer string) string {
	if strings.HasPrefix(peer, "unix:") {
		return "unix"
	}
	if i := strings.LastIndexByte(peer, ':'); i >= 0 {
		peer = peer[:i]
	}
	return strings.Trim(peer, "[]")
}

// Clock is a host's clock by the server's.
type Clock struct {
	Host string `json:"host"`
	// AheadMs is how far it is ahead, in ms; negative where it is behind.
	AheadMs int64 `json:"ahead_ms"`
	// Transfers is how many said so.
	Transfers int64 `json:"transfers"`
}

// known returns the clocks that the most transfers tell of.
func (c *clocks) known() []Clock {
	all := []Clock{}
	for _, h := range c.list {
		if h.transfers > 0 {
			all = append(all, Clock{Host: h.name, AheadMs: max(h.recent, h.before), Transfers: h.transfers})
		}
	}
	slices.SortFunc(all, func(a, b Clock) int {
		return cmp.Or(cmp.Compare(b.Transfers, a.Transfers), strings.Compare(a.Host, b.Host))
	})
	return all[:min(len(all), maxListed)]
}
