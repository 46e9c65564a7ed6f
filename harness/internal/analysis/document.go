package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// Schema names the form of a Document.
const Schema = "dq-bench/analysis/v1"

// Document is the content of a log.
type Document struct {
	Schema        string         `json:"schema"`
	Commands      int64          `json:"commands"` // of scripts too
	Unparsed      int64          `json:"unparsed"`
	Redisson      *Span          `json:"redisson"`            // the releases that can have sent all commands of the clients of queues
	Usual         *Span          `json:"redisson_by_default"` // the ones that do so with default settings
	Queues        []*Queue       `json:"queues"`
	Anomalies     []*Anomaly     `json:"anomalies"` // examples of each kind
	AnomalyCounts map[Kind]int64 `json:"anomaly_counts"`
	Groups        []*Group       `json:"groups"` // distinct clients
	Clocks        []Clock        `json:"clocks"`
	From          string         `json:"from,omitempty"`
	To            string         `json:"to,omitempty"`
	Notices       []string       `json:"notices"`
	Stories       []*Story       `json:"stories,omitempty"` // of the messages that were asked for
}

// Queue is a delayed queue as the log shows it. Offers took effect; Added were added without a script; Removed left otherwise
// than by a transfer.
type Queue struct {
	Name         string    `json:"name"`
	DB           int       `json:"db,omitempty"`
	Layout       string    `json:"layout"` // dLc0, Bc0Lc0, mixed or empty
	Offers       int64     `json:"offers"`
	Added        int64     `json:"added,omitempty"`
	Transfers    int64     `json:"transfers"`
	Transferred  int64     `json:"transferred"`
	Taken        int64     `json:"taken"`
	Removed      int64     `json:"removed"`
	StillPending int64     `json:"still_pending"`
	Lateness     *Lateness `json:"lateness_ms"`
}

// Lateness is the instant of the transfer minus the due time, by the server's clock, in ms.
type Lateness struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Clock is a host's clock by the server's, in ms.
type Clock struct {
	Host      string `json:"host"`
	AheadMs   int64  `json:"ahead_ms"`
	Transfers int64  `json:"transfers"`
}

// Story is the path of one message.
type Story struct {
	Queue  string  `json:"queue"`
	Value  string  `json:"value"`
	Events []Event `json:"events"`
}

// Event is a step of a message. MONITOR shows no line for a waiting client that was served.
type Event struct {
	At   string `json:"at"`
	What string `json:"what"`
	Line LineOf `json:"line"`
}

// Document ends the log and returns what all logs say.
func (a *Analysis) Document() *Document {
	a.End()
	d := &Document{
		Schema: Schema, Commands: a.commands, Unparsed: a.unparsed, Queues: []*Queue{}, Anomalies: a.anomalies(),
		AnomalyCounts: a.counts, Clocks: []Clock{}, Groups: []*Group{}, Notices: []string{}, Stories: a.stories,
	}
	if a.commands > 0 {
		d.From, d.To = timeText(a.first), timeText(a.latest)
	}
	for _, q := range a.queues {
		if q.Offers+q.Added+q.Transfers+q.Transferred+q.Removed+q.StillPending > 0 {
			d.Queues = append(d.Queues, q.document())
		}
	}
	slices.SortStableFunc(d.Queues, func(x, y *Queue) int { return cmp.Compare(y.Offers, x.Offers) })
	for _, h := range a.hosts {
		if h.Transfers > 0 {
			d.Clocks = append(d.Clocks, h.Clock)
		}
	}
	slices.SortFunc(d.Clocks, func(a, b Clock) int {
		return cmp.Or(cmp.Compare(b.Transfers, a.Transfers), strings.Compare(a.Host, b.Host))
	})
	d.Clocks = d.Clocks[:min(len(d.Clocks), 50)]
	if len(a.clients) > 0 {
		by, redisson := map[bool]senders{true: anyRelease, false: anyRelease}, false
		for key := range a.clients {
			is := key.Client == ""
			by[is], redisson = by[is].and(key.by), redisson || is
		}
		d.Redisson, d.Usual, d.Groups = by[redisson].any.span(), by[redisson].usual.span(), a.groups()
	}
	a.notices(d)
	return d
}

// document is the queue with its layout and lateness.
func (q *queue) document() *Queue {
	for _, l := range []wire.Layout{wire.LayoutDLc0, wire.LayoutBc0Lc0} {
		if q.layouts[l] {
			q.Layout = map[bool]string{true: l.String(), false: "mixed"}[q.Layout == ""]
		}
	}
	if n := len(q.late); n > 0 {
		slices.Sort(q.late)
		ms := func(rank int) float64 { return float64(q.late[max(0, rank-1)]) / 1000 }
		q.Lateness = &Lateness{ms((n + 1) / 2), ms((99*n + 99) / 100), ms(n)}
	}
	return &q.Queue
}

func (a *Analysis) notices(d *Document) {
	notice := func(when bool, format string, args ...any) {
		if when && len(d.Notices) < 50 {
			d.Notices = append(d.Notices, fmt.Sprintf(format, args...))
		}
	}
	for _, g := range d.Groups {
		notice(len(g.Ranges) == 0, "no single release sends what %s sent", g.Peers[0])
	}
	others := slices.IndexFunc(d.Groups, func(g *Group) bool { return g.Client == "" }) < 0
	notice(others && len(d.Groups) > 0, "no connection was a Redisson's: the releases are those whose wire format others speak")
	notice(a.scriptCalls > 0 && a.scriptLines == 0, "the log has no command that a script made ([db lua]): offers and transfers cannot be counted; was it filtered?")
	notice(a.leftOut, "more than %d queues: the others were left out", maxQueues)
	notice(a.logs > 1, "%d logs, of which each was judged alone", a.logs)
	for _, q := range a.queues {
		notice(q.also != "", "queue %q has the same keys as %q: messages went to either list", q.Name, q.also)
		notice(q.unsure != "", "queue %q: what waits in it is not known after %s", q.Name, q.unsure)
	}
}
