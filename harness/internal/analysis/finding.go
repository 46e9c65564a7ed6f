package analysis

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is the kind of an anomaly.
type Kind string

// The kinds of anomalies.
const (
	// ForeignMember is a member in a queue whose transfers, by their script, do not read
	// its layout.
	ForeignMember Kind = "foreign-member"
	// PoisonLoop is a transfer that delivers members again and again, for it fails at a
	// later one before it takes them out of the timeout set.
	PoisonLoop Kind = "poison-loop"
	// Stall is a time of more than stallAfter in which a message was due and no transfer
	// moved one, though the queue had a client that transfers.
	Stall Kind = "stall"
	// Early is a message that was moved more than earlyBy before it was due.
	Early Kind = "early"
	// Overdue is a message that was moved, or still waits, more than overdueBy after it was
	// due.
	Overdue Kind = "overdue"
	// Ghost is a member of the pending list that is not in the timeout set.
	Ghost Kind = "ghost"
	// Orphan is a member of the timeout set that is not in the pending list.
	Orphan Kind = "orphan"
	// NoSubscriber is a Stall of a queue that no client of the log transfers or subscribes to.
	NoSubscriber Kind = "no-subscriber"
	// DuplicateOffer is an offer of a value that waits in the queue already.
	DuplicateOffer Kind = "duplicate-offer"
	// ResentOffer is an offer of a member, its random id included, that waits already: a
	// client has sent it again.
	ResentOffer Kind = "resent-offer"
	// UnknownScript is a script on the keys of a queue that no Redisson sends, nor dq.
	UnknownScript Kind = "unknown-script"
)

// Bounds of what is anomalous, in µs.
const (
	stallAfter = int64(5 * time.Second / time.Microsecond)
	overdueBy  = int64(time.Second / time.Microsecond)
	// earlyBy is how well the clock of another machine is known from its transfers.
	earlyBy = int64(100 * time.Millisecond / time.Microsecond)
)

// What is kept of findings: of each kind in a queue the examples that weigh most, and no
// more than so many in all.
const (
	maxExamples = 10
	maxFindings = 2_000
	maxListed   = 50
	maxText     = 400 // bytes of a line
)

// Anomaly is a finding.
type Anomaly struct {
	Kind  Kind   `json:"kind"`
	Queue string `json:"queue"`
	// At is the server's time, RFC 3339 with microseconds.
	At     string `json:"at"`
	Detail string `json:"detail"`
	// Lines are those that show it.
	Lines []LineOf `json:"lines"`

	at     int64
	weight int64
}

// LineOf is a line of the log.
type LineOf struct {
	File   string `json:"file,omitempty"`
	Number int64  `json:"number"`
	// Text is cut where it is long; empty where the log cannot be read again.
	Text string `json:"text"`

	at place
}

// findings are the anomalies of a log.
type findings struct {
	counts map[Kind]int64
	kept   map[findingKey][]*Anomaly
	size   int
}

type findingKey struct {
	kind  Kind
	queue *queue
}

// add counts an anomaly, and keeps it where it is among the first, or among those that
// weigh most. describe is called for one that is kept.
func (f *findings) add(kind Kind, q *queue, at, weight int64, describe func() (detail string, lines []LineOf)) {
	f.counts[kind]++
	key := findingKey{kind, q}
	kept := f.kept[key]
	switch {
	case f.size >= maxFindings && len(kept) == 0:
		return
	case len(kept) < maxExamples && f.size < maxFindings:
		f.size++
		kept = append(kept, nil)
	default:
		lightest := slices.MinFunc(kept, func(a, b *Anomaly) int { return cmp.Compare(a.weight, b.weight) })
		if weight <= lightest.weight {
			return
		}
		kept[slices.Index(kept, lightest)] = nil
	}
	detail, lines := describe()
	kept[slices.Index(kept, nil)] = &Anomaly{
		Kind: kind, Queue: q.name, At: timeText(at), Detail: detail, Lines: lines, at: at, weight: weight,
	}
	f.kept[key] = kept
}

// list returns what is kept in the order of time.
func (f *findings) list() []*Anomaly {
	all := []*Anomaly{}
	for _, kept := range f.kept {
		all = append(all, kept...)
	}
	slices.SortFunc(all, func(a, b *Anomaly) int {
		return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind), cmp.Compare(b.weight, a.weight))
	})
	return all
}

func timeText(us int64) string {
	return time.UnixMicro(us).UTC().Format("2006-01-02T15:04:05.000000Z")
}

// shown is a line that is at hand.
func shown(at place, text string) LineOf {
	return LineOf{Number: at.number, Text: cut(text), at: at}
}

// earlier is a line whose text was not kept.
func earlier(at place) LineOf { return LineOf{Number: at.number, at: at} }

// cut leaves out the middle of a long line: the command is at its beginning, the member or
// value at its end.
func cut(text string) string {
	if len(text) > maxText {
		return text[:maxText/2] + "…" + text[len(text)-maxText/2:]
	}
	return strings.Clone(text)
}

// some is a number of things.
func some(n int64, one string) string {
	if n != 1 {
		one += "s"
	}
	return strconv.FormatInt(n, 10) + " " + one
}
