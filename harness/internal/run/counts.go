package run

// Count is one row of the table of counts. From it derive the merge, the verdict, the names in objectives, the text, the page
// and the metrics.
type Count struct {
	// Name is the name in the run file, in objectives and, with _total behind a Total, in metrics: "offer_errors".
	Name string
	// Title heads a column that people read, and Help is a sentence for a monitoring system.
	Title, Help string
	// Kind says how the count moves while a run goes on.
	Kind Kind
	// Effect is the verdict's reading of a value above 0; the verdict prints Fault after the number.
	Effect Effect
	Fault  string
	// Rare ones are shown only where they are not 0.
	Rare bool
	// In points to the count.
	In func(*Counts) *int64
}

// Of reads the count.
func (c Count) Of(counts Counts) int64 { return *c.In(&counts) }

// Kind is how a count moves.
type Kind int

// A Total only grows, a Level rises and falls, and a Part is contained in another count and known at the end.
const (
	Total Kind = iota
	Level
	Part
)

// Effect is what a count means for the verdict.
type Effect int

// With a Harmless count the run passes, with an Odd one too, which is shown as wrong. A Refused count fails the run unless an
// objective says how many may be, a Wrong one unless it is expected.
const (
	Harmless Effect = iota
	Odd
	Refused
	Wrong
)

// Wrong reports whether a value above 0 is to be shown as wrong.
func (e Effect) Wrong() bool { return e != Harmless }

// AllCounts is the table of counts, in the order that they are shown in. Whether pending messages fail a run depends on how it
// ended: Document.Judge.
var AllCounts = []Count{
	{
		Name: "offered", Title: "offered", In: func(c *Counts) *int64 { return &c.Offered },
		Help: "Messages that the implementation took over.",
	},
	{
		Name: "delivered", Title: "delivered", In: func(c *Counts) *int64 { return &c.Delivered },
		Help: "Messages that came at least once.",
	},
	{
		Name: "lost", Title: "lost", In: func(c *Counts) *int64 { return &c.Lost }, Effect: Wrong, Fault: "lost",
		Help: "Messages that were accepted, never came and are nowhere; known at the end of the run.",
	},
	{
		Name: "unknown", Title: "unknown", In: func(c *Counts) *int64 { return &c.Unknown }, Effect: Wrong, Fault: "of unknown fate", Rare: true,
		Help: "Messages that were accepted and did not come, while the server could not be asked what it holds; known at the end of the run.",
	},
	{
		Name: "duplicate", Title: "duplicate", In: func(c *Counts) *int64 { return &c.Duplicate }, Effect: Wrong, Fault: "delivered more than once",
		Help: "Deliveries beyond the first of a message.",
	},
	{
		Name: "early", Title: "early", In: func(c *Counts) *int64 { return &c.Early }, Effect: Wrong, Fault: "delivered early",
		Help: "Messages that came more than 1 ms before they were due.",
	},
	{
		Name: "pending", Title: "pending", In: func(c *Counts) *int64 { return &c.Pending }, Kind: Level,
		Help: "Messages that were offered and have not been delivered.",
	},
	{
		Name: "not_due", Title: "of it not due", In: func(c *Counts) *int64 { return &c.NotDue }, Kind: Part, Rare: true,
		Help: "Pending messages that were not due at the end of a run that does not wait for all.",
	},
	{
		Name: "removed", Title: "removed", In: func(c *Counts) *int64 { return &c.Removed }, Rare: true,
		Help: "Messages that were cancelled and never came; known at the end of the run.",
	},
	{
		Name: "revived", Title: "revived", In: func(c *Counts) *int64 { return &c.Revived }, Effect: Wrong, Fault: "delivered although cancelled", Rare: true,
		Help: "Messages that came although they had been cancelled.",
	},
	{
		Name: "offer_errors", Title: "offer errors", In: func(c *Counts) *int64 { return &c.OfferErrors }, Effect: Refused, Fault: "offers failed", Rare: true,
		Help: "Offers that failed.",
	},
	{
		Name: "corrupt", Title: "corrupt", In: func(c *Counts) *int64 { return &c.Corrupt }, Effect: Wrong, Fault: "delivered with other bytes than were offered", Rare: true,
		Help: "Deliveries of a message of this run with other bytes than were offered.",
	},
	{
		Name: "foreign", Title: "foreign", In: func(c *Counts) *int64 { return &c.Foreign }, Effect: Odd, Rare: true,
		Help: "Deliveries that this run did not offer.",
	},
}

// Counts is the exact accounting of the measured phase, as AllCounts explains it. At its end
// Offered = Delivered + Pending + Lost + Unknown + Removed.
type Counts struct {
	// Offered counts messages whose offer was confirmed, or that came, or are still held.
	Offered   int64 `json:"offered"`
	Delivered int64 `json:"delivered"`
	Lost      int64 `json:"lost"`
	// Unknown counts messages that never came, where what is held could not be read at the end.
	Unknown   int64 `json:"unknown,omitempty"`
	Duplicate int64 `json:"duplicate"`
	// Early counts messages that came more than EarlyTolerance before they were due.
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
