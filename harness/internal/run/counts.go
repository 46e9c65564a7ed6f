package run

import "time"

// Count is one row of the table of counts, from which the verdict, objectives, text, page and metrics derive.
type Count struct {
	// In points to the count.
	In func(*Counts) *int64
	// Name is the name in the run file, in objectives and, with _total behind all that only grow, in metrics: "offer_errors".
	Name string
	// Title heads a column that people read, and Help is a sentence for a monitoring system.
	Title, Help string
	// Effect is the verdict's reading of a value above 0; the verdict prints Fault after the number.
	Effect Effect
	Fault  string
	// Rare ones are shown only if they are not 0.
	Rare bool
}

// Of reads the count.
func (c Count) Of(counts Counts) int64 { return *c.In(&counts) }

// Effect is a count's meaning for the verdict.
type Effect int

// With a Harmless count the run passes, with an Odd one too, which is shown as wrong. A Refused count fails the run unless an
// objective says how many may be, a Wrong one unless it is expected.
const (
	Harmless Effect = iota
	Odd
	Refused
	Wrong
)

// AllCounts is the table of counts, in the order of display. Document.Judge says when pending messages fail a run.
var AllCounts = []Count{
	{func(c *Counts) *int64 { return &c.Offered }, "offered", "offered", "Messages that the implementation took over.", Harmless, "", false},
	{func(c *Counts) *int64 { return &c.Delivered }, "delivered", "delivered", "Messages delivered at least once.", Harmless, "", false},
	{func(c *Counts) *int64 { return &c.Lost }, "lost", "lost", "Messages that were accepted, never delivered and are in no key; known at the end of the run.", Wrong, "lost", false},
	{func(c *Counts) *int64 { return &c.Unknown }, "unknown", "unknown",
		"Messages that were accepted and not delivered, while the server could not be asked for its messages; known at the end of the run.", Wrong, "of unknown fate", true},
	{func(c *Counts) *int64 { return &c.Duplicate }, "duplicate", "duplicate", "Deliveries beyond the first of a message.", Wrong, "delivered more than once", false},
	{func(c *Counts) *int64 { return &c.Early }, "early", "early", "Messages delivered more than 1 ms before they were due.", Wrong, "delivered early", false},
	{func(c *Counts) *int64 { return &c.Pending }, "pending", "pending", "Messages that were offered and have not been delivered.", Harmless, "", false},
	{func(c *Counts) *int64 { return &c.NotDue }, "not_due", "of it not due", "Pending messages that were not due at the end of a run that does not wait for all.", Harmless, "", true},
	{func(c *Counts) *int64 { return &c.Removed }, "removed", "removed", "Messages that were cancelled and not delivered; known at the end of the run.", Harmless, "", true},
	{func(c *Counts) *int64 { return &c.Revived }, "revived", "revived", "Messages delivered although they had been cancelled.", Wrong, "delivered although cancelled", true},
	{func(c *Counts) *int64 { return &c.OfferErrors }, "offer_errors", "offer errors", "Offers that failed.", Refused, "offers failed", true},
	{func(c *Counts) *int64 { return &c.Corrupt }, "corrupt", "corrupt",
		"Deliveries of a message of this run with other bytes than were offered.", Wrong, "delivered with other bytes than were offered", true},
	{func(c *Counts) *int64 { return &c.Foreign }, "foreign", "foreign", "Deliveries that this run did not offer.", Odd, "", true},
}

// Counts is the exact accounting of the measured phase, as AllCounts explains it. At its end
// Offered = Delivered + Pending + Lost + Unknown + Removed.
type Counts struct {
	// Offered counts messages whose offer was confirmed, or that were delivered, or are still held.
	Offered   int64 `json:"offered"`
	Delivered int64 `json:"delivered"`
	Lost      int64 `json:"lost"`
	// Unknown counts messages that were never delivered, if the held ones could not be read at the end.
	Unknown   int64 `json:"unknown,omitempty"`
	Duplicate int64 `json:"duplicate"`
	// Early counts messages delivered more than EarlyTolerance before they were due.
	Early   int64 `json:"early"`
	Pending int64 `json:"pending"`
	// NotDue counts pending messages that were not due at the end, in a run that does not wait for all.
	NotDue  int64 `json:"not_due,omitempty"`
	Removed int64 `json:"removed,omitempty"`
	Revived int64 `json:"revived,omitempty"`
	// OfferErrors counts offers that were answered by an error or not at all, whatever became of the message.
	OfferErrors int64 `json:"offer_errors"`
	Corrupt     int64 `json:"corrupt,omitempty"`
	Foreign     int64 `json:"foreign"`
}

// Faults is how many messages were treated wrongly.
func (c Counts) Faults() (n int64) {
	for _, count := range AllCounts {
		if count.Effect == Wrong {
			n += count.Of(c)
		}
	}
	return n
}

// Plus adds each count.
func (c Counts) Plus(p Counts) Counts {
	for _, count := range AllCounts {
		*count.In(&c) += count.Of(p)
	}
	return c
}

// Faults accounts for the messages of a run in which something was made to break.
type Faults struct {
	// Events are the faults, in their order.
	Events []FaultEvent `json:"events"`
	// Of the Offered, Acknowledged were confirmed, and Refused were answered by an error which says that nothing was
	// queued. The fate of the Uncertain is unknown to the producer; UncertainCame of them were delivered.
	Offered       int64 `json:"offered"`
	Acknowledged  int64 `json:"acknowledged"`
	Refused       int64 `json:"refused"`
	Uncertain     int64 `json:"uncertain"`
	UncertainCame int64 `json:"uncertain_came"`
	// Lost were acknowledged, never delivered, and are in no key. No event accounts for LostBeyond of them.
	Lost       int64 `json:"lost"`
	LostBeyond int64 `json:"lost_beyond"`
	// Duplicate counts deliveries beyond the first of a message.
	Duplicate int64 `json:"duplicate"`
	// Early were delivered more than EarlyTolerance before they were due. In older runs a wrong clock accounts for all but EarlyBeyond.
	Early       int64 `json:"early,omitempty"`
	EarlyBeyond int64 `json:"early_beyond,omitempty"`
	// Postponed, in older runs, are still held at the end: they were offered while a clock was ahead.
	Postponed int64 `json:"postponed,omitempty"`
}

// FaultEvent is one thing that broke.
type FaultEvent struct {
	// Kind is the word of the scenario for it, Text the fault as planned.
	Kind string `json:"kind"`
	Text string `json:"text"`
	// From and To are when it began and ended, in seconds after Document.Started.
	From float64 `json:"from"`
	To   float64 `json:"to"`
	// Times is how often it happened, as far as that is counted.
	Times int `json:"times,omitempty"`
	// MayLose says which acknowledged messages no client could have kept.
	MayLose string `json:"may_lose"`
	// ResumedNs is how long after its end the next message was delivered, within OnTime after its due instant and not early;
	// missing if there was no such message.
	ResumedNs *int64 `json:"resumed_ns,omitempty"`
	// Error says why it did not happen as asked for; empty if it did.
	Error string `json:"error,omitempty"`
}

// OnTime is how late a delivery may be that shows that deliveries have resumed.
const OnTime = 100 * time.Millisecond

// ResumedText is "after 12 ms", or "never".
func (e FaultEvent) ResumedText() string {
	if e.ResumedNs == nil {
		return "never"
	}
	return "after " + FormatNs(*e.ResumedNs)
}
