package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// Schema is that of a Document.
const Schema = "dq-bench/analysis/v1"

// Document is what a log says.
type Document struct {
	Schema string `json:"schema"`
	// Commands are the lines of MONITOR, those of scripts too; Unparsed are lines that are
	// none.
	Commands int64 `json:"commands"`
	Unparsed int64 `json:"unparsed"`
	// Redisson is from the oldest to the newest release that can have sent all that clients
	// of queues sent; nil where no single one can, or there were none.
	Redisson *Span `json:"redisson"`
	// Usual is the same of the releases that do so with default settings.
	Usual     *Span      `json:"redisson_by_default"`
	Queues    []*Queue   `json:"queues"`
	Anomalies []*Anomaly `json:"anomalies"`

	// AnomalyCounts are those of all anomalies by kind; Anomalies has examples of each.
	AnomalyCounts map[Kind]int64 `json:"anomaly_counts"`
	// Groups are the clients that were told apart, and what each of them can be.
	Groups []*Group `json:"groups"`
	// Clocks are those of the clients' hosts by the server's; lateness is corrected by them.
	Clocks []Clock `json:"clocks"`
	// From and To are the instants of the first line and of the last.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Notices say what could not be told.
	Notices []string `json:"notices"`
}

// Queue is what was seen of a delayed queue.
type Queue struct {
	Name string `json:"name"`
	DB   int    `json:"db,omitempty"`
	// Layout is that of its members: dLc0, Bc0Lc0, mixed, or empty where none was seen.
	Layout string `json:"layout"`
	// Offers took effect; Added were put into the timeout set without a script.
	Offers int64 `json:"offers"`
	Added  int64 `json:"added,omitempty"`
	// Transfers ran, and moved Transferred elements to the destination, from where Taken
	// were taken. Removed left the queue in another way.
	Transfers    int64     `json:"transfers"`
	Transferred  int64     `json:"transferred"`
	Taken        int64     `json:"taken"`
	Removed      int64     `json:"removed"`
	StillPending int64     `json:"still_pending"`
	Lateness     *Lateness `json:"lateness_ms"`
	// Lives are those of some of the messages, in the order of their offers.
	Lives []Life `json:"-"`
}

// Lateness is the instant of the transfer minus the due time, by the server's clock, in
// ms.
type Lateness struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Document ends the log and returns what all logs say.
func (a *Analysis) Document() *Document {
	a.End()
	d := &Document{
		Schema: Schema, Commands: a.commands, Unparsed: a.unparsed,
		Queues: []*Queue{}, Anomalies: a.findings.list(), AnomalyCounts: a.findings.counts,
		Clocks: a.clocks.known(), Groups: []*Group{}, Notices: []string{},
	}
	if a.commands > 0 {
		d.From, d.To = timeText(a.first), timeText(a.latest)
	}
	for _, q := range a.queues {
		if of := q.document(); of != nil {
			d.Queues = append(d.Queues, of)
		}
	}
	slices.SortStableFunc(d.Queues, func(x, y *Queue) int { return cmp.Compare(y.Offers, x.Offers) })
	a.releases(d)
	a.notices(d)
	return d
}

func (q *queue) document() *Queue {
	c := &q.counts
	if c.offers+c.added+c.transfers+c.transferred+c.removed+c.pending == 0 {
		return nil
	}
	of := &Queue{
		Name: q.name, DB: q.db, Offers: c.offers, Added: c.added, Transfers: c.transfers, Transferred: c.transferred,
		Taken: c.taken, Removed: c.removed, StillPending: c.pending, Lives: q.lives.list(),
	}
	switch {
	case c.layouts[wire.LayoutDLc0] && c.layouts[wire.LayoutBc0Lc0]:
		of.Layout = "mixed"
	case c.layouts[wire.LayoutDLc0]:
		of.Layout = wire.LayoutDLc0.String()
	case c.layouts[wire.LayoutBc0Lc0]:
		of.Layout = wire.LayoutBc0Lc0.String()
	}
	if c.late.count > 0 {
		ms := func(us int64) float64 { return float64(us) / 1000 }
		of.Lateness = &Lateness{ms(c.late.quantile(0.5)), ms(c.late.quantile(0.99)), ms(c.late.max)}
	}
	return of
}

// releases says which the clients can be: those of Redisson, or, where there is none, the
// others by the wire format that they speak.
func (a *Analysis) releases(d *Document) {
	all := slices.Collect(maps.Values(a.evidence))
	both, usual, any := allReleases, allReleases, false
	for _, redisson := range []bool{true, false} {
		for _, e := range all {
			if (e.client == "") == redisson {
				any = true
				both, usual = both.and(e.releases), usual.and(e.usual)
			}
		}
		if any {
			break
		}
	}
	if any {
		d.Redisson, d.Usual = both.span(), usual.span()
	}
	if len(all) > 0 {
		d.Groups = groups(all)
	}
}

func (a *Analysis) notices(d *Document) {
	notice := func(when bool, format string, args ...any) {
		if when {
			d.Notices = append(d.Notices, fmt.Sprintf(format, args...))
		}
	}
	redissons := 0
	for _, g := range d.Groups {
		if g.Client == "" {
			redissons++
		}
		notice(len(g.Ranges) == 0, "what %s sent, no single release sends with any settings", g.Peers[0])
	}
	notice(redissons == 0 && len(d.Groups) > 0,
		"no connection was a Redisson's: the releases are those whose wire format others speak")
	notice(redissons > 1, "clients of %d releases or more", redissons)
	notice(a.calls > 0 && a.inner == 0,
		"the log has no command that a script made ([db lua]): offers and transfers cannot be counted; was it filtered?")
	notice(a.limits > 0, "%d transfers asked for another number of members than 100, which no release known does", a.limits)
	notice(a.leftOut, "more than %d queues: the others were left out", maxQueues)
	notice(a.logs > 1, "%d logs, of which each was judged alone", a.logs)
	for _, q := range a.queues {
		notice(q.unsureOf != "", "queue %q: what waits in it is not known after %s", q.name, q.unsureOf)
		if len(d.Notices) >= maxListed {
			return
		}
	}
}
