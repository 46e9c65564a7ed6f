package analysis

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// Range is a run of releases, the first and the last of them.
type Range struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Span is the Range from the oldest release of a set to the newest.
type Span struct {
	Range
	// Ranges are the runs of releases that the set has; none where it has all of Range.
	Ranges []Range `json:"ranges,omitempty"`
}

// releaseSet has a bit for each of wire.Releases.
type releaseSet [4]uint64

var (
	releases    = wire.Releases()
	allReleases = releasesThat(func(wire.Release) bool { return true })
	sentBy      = func() map[string]releaseSet {
		sets := map[string]releaseSet{}
		for _, s := range wire.Scripts() {
			sets[s.SHA1] = releasesThat(s.SentBy)
		}
		return sets
	}()
	ofLayout = [3]releaseSet{
		allReleases,
		releasesThat(func(r wire.Release) bool { return r.Layout() == wire.LayoutDLc0 }),
		releasesThat(func(r wire.Release) bool { return r.Layout() == wire.LayoutBc0Lc0 }),
	}
	cachesScripts = releasesThat(wire.Release.CachesScripts)
	sendsBodies   = releasesThat(func(r wire.Release) bool { return !r.CachesScripts() })
)

// What else tells a release, by the first release that does it, and the last.
var (
	// canCacheScripts: the setting useScriptCache came with 3.9.0, and in 2.14.0.
	canCacheScripts = between("2.14.0", "2.15.2").or(between("3.9.0", ""))
	readsBySHA      = between("3.17.0", "") // EVALSHA_RO
	negativeWaits   = between("2.7.0", "3.17.7")
	pings           = between("3.13.6", "") // with default settings
	// Probes for a cluster that a client sends when it starts.
	probesMGET   = between("4.0.0", "4.3.0")
	probesFaulty = between("4.3.1", "4.3.1")
	probesGet    = between("4.4.0", "")
)

func releasesThat(do func(wire.Release) bool) (set releaseSet) {
	for i, r := range releases {
		if do(r) {
			set[i/64] |= 1 << (i % 64)
		}
	}
	return set
}

// between are the releases from one to another; "" is the newest.
func between(from, to string) releaseSet {
	first, err := wire.ParseRelease(from)
	last := wire.Newest()
	if err == nil && to != "" {
		last, err = wire.ParseRelease(to)
	}
	if err != nil {
		panic(err) // written above
	}
	return releasesThat(func(r wire.Release) bool { return r.AtLeast(first) && last.AtLeast(r) })
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

func (s releaseSet) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

// span is from the oldest release to the newest; nil of the empty set.
func (s releaseSet) span() *Span {
	all := s.ranges()
	if len(all) == 0 {
		return nil
	}
	span := &Span{Range: Range{all[0].From, all[len(all)-1].To}}
	if s != between(span.From, span.To) {
		span.Ranges = all
	}
	return span
}

// ranges are the runs of releases without a gap; 2.x and 3.x are lines of their own.
func (s releaseSet) ranges() []Range {
	all := []Range{}
	open := false
	for i, r := range releases {
		switch {
		case !s.has(i):
			open = false
		case open && (r.Major > 2) == (releases[i-1].Major > 2):
			all[len(all)-1].To = r.String()
		default:
			open = true
			all = append(all, Range{r.String(), r.String()})
		}
	}
	return all
}

// evidence is what connections that sent the same kinds of things allow.
type evidence struct {
	// releases can send this; usual are those of them that do with default settings.
	releases, usual releaseSet
	client          string // empty for a Redisson
	connections     int64
	hosts, peers    []string
}

type evidenceKey struct {
	releases, usual releaseSet
	client          string
}

const (
	maxEvidence = 1_000
	maxNamed    = 5 // hosts and peers of a group
)

// note takes over what a connection has shown.
func (a *Analysis) note(c *conn) {
	if !c.speaks {
		return
	}
	key := evidenceKey{c.releases, c.usual, c.client}
	e := a.evidence[key]
	if e == nil {
		if len(a.evidence) == maxEvidence {
			return
		}
		e = &evidence{releases: c.releases, usual: c.usual, client: c.client}
		a.evidence[key] = e
	}
	e.connections++
	e.hosts, e.peers = named(e.hosts, c.host.name), named(e.peers, c.peer)
}

func named(list []string, name string) []string {
	if len(list) < maxNamed && !slices.Contains(list, name) {
		list = append(list, name)
	}
	return list
}

// Group are connections of clients that the same releases can be.
type Group struct {
	// Client is empty for a Redisson, else what another client says it is.
	Client string `json:"client,omitempty"`
	// Ranges are the releases; of another client those whose wire format it speaks. Usual
	// are those that do so with default settings. Empty if no single release does.
	Ranges      []Range  `json:"ranges"`
	Usual       []Range  `json:"usual"`
	Connections int64    `json:"connections"`
	Hosts       []string `json:"hosts"`
	Peers       []string `json:"peers"`

	releases, usual releaseSet
}

// groups puts connections together that one release can have made, the most telling
// first. One that fits several groups proves nothing about any, and is left out where
// there are several.
func groups(of []*evidence) []*Group {
	slices.SortFunc(of, func(a, b *evidence) int {
		return cmp.Or(strings.Compare(a.client, b.client), cmp.Compare(a.releases.size(), b.releases.size()), cmp.Compare(b.connections, a.connections), strings.Compare(a.peers[0], b.peers[0]))
	})
	var all []*Group
	for _, e := range of {
		var fits []*Group
		for _, g := range all {
			if g.Client == e.client && g.releases.and(e.releases).size() > 0 {
				fits = append(fits, g)
			}
		}
		switch len(fits) {
		case 0:
			all = append(all, &Group{
				Client: e.client, Connections: e.connections, releases: e.releases, usual: e.usual,
				Hosts: slices.Clone(e.hosts), Peers: slices.Clone(e.peers),
			})
		case 1:
			g := fits[0]
			g.releases, g.usual = g.releases.and(e.releases), g.usual.and(e.usual)
			g.Connections += e.connections
			for _, h := range e.hosts {
				g.Hosts = named(g.Hosts, h)
			}
			for _, p := range e.peers {
				g.Peers = named(g.Peers, p)
			}
		}
	}
	for _, g := range all {
		g.Ranges, g.Usual = g.releases.ranges(), g.usual.ranges()
	}
	return all
}
