package run

// Count is one row of the table of counts. From it derive the merge, the verdict, the
// names in objectives, the text, the page and the metrics.
type Count struct {
	// Name is that of the run file, of objectives and, with _total behind a Total, of
	// the metric: "offer_errors".
	Name string
	// Title heads a column that people read.
	Title string
	// Help is one sentence for a monitoring system.
	Help string
	// Kind says how the count moves while a run goes on.
	Kind Kind
	// Effect is what a value above 0 means for the verdict; Fault says it in a
	// sentence after the number, empty where the verdict does not.
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

// The kinds.
const (
	// Total only grows.
	Total Kind = iota
	// Level rises and falls.
	Level
	// Part is contained in another count, and known at the end.
	Part
)

// Effect is what a count means for the verdict.
type Effect int

// The effects.
const (
	// Harmless: the run passes.
	Harmless Effect = iota
	// Odd is shown as wrong; the run passes.
	Odd
	// Refused fails the run, unless an objective says how many may.
	Refused
	// Wrong fails the run: messages were treated as none may be, unless that is
	// expected.
	Wrong
)

// Wrong reports whether a value above 0 is to be shown as wrong.
func (e Effect) Wrong() bool { return e != Harmless }

// AllCounts is the table of counts, in the order that they are shown in.
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
		Name: "lost", Title: "lost", In: func(c *Counts) *int64 { return &c.Lost },
		Help:   "Messages that were accepted, never came and are nowhere; known at the end of the run.",
		Effect: Wrong, Fault: "lost",
	},
	{
		Name: "unknown", Title: "unknown", In: func(c *Counts) *int64 { return &c.Unknown },
		Help:   "Messages that were accepted and did not come, while the server could not be asked what it holds; known at the end of the run.",
		Effect: Wrong, Fault: "of unknown fate", Rare: true,
	},
	{
		Name: "duplicate", Title: "duplicate", In: func(c *Counts) *int64 { return &c.Duplicate },
		Help:   "Deliveries beyond the first of a message.",
		Effect: Wrong, Fault: "delivered more than once",
	},
	{
		Name: "early", Title: "early", In: func(c *Counts) *int64 { return &c.Early },
		Help:   "Messages that came more than 1 ms before they were due.",
		Effect: Wrong, Fault: "delivered early",
	},
	{
		// Whether what is pending fails a run depends on how it ended: Document.Judge.
		Name: "pending", Title: "pending", In: func(c *Counts) *int64 { return &c.Pending },
		Help: "Messages that were offered and have not been delivered.",
		Kind: Level,
	},
	{
		Name: "not_due", Title: "of it not due", In: func(c *Counts) *int64 { return &c.NotDue },
		Help: "Pending messages that were not due at the end of a run that does not wait for all.",
		Kind: Part, Rare: true,
	},
	{
		Name: "removed", Title: "removed", In: func(c *Counts) *int64 { return &c.Removed },
		Help: "Messages that were cancelled and never came; known at the end of the run.",
		Rare: true,
	},
	{
		Name: "revived", Title: "revived", In: func(c *Counts) *int64 { return &c.Revived },
		Help:   "Messages that came although they had been cancelled.",
		Effect: Wrong, Fault: "delivered although cancelled", Rare: true,
	},
	{
		Name: "offer_errors", Title: "offer errors", In: func(c *Counts) *int64 { return &c.OfferErrors },
		Help:   "Offers that failed.",
		Effect: Refused, Fault: "offers failed", Rare: true,
	},
	{
		Name: "corrupt", Title: "corrupt", In: func(c *Counts) *int64 { return &c.Corrupt },
		Help:   "Deliveries of a message of this run with other bytes than were offered.",
		Effect: Wrong, Fault: "delivered with other bytes than were offered", Rare: true,
	},
	{
		Name: "foreign", Title: "foreign", In: func(c *Counts) *int64 { return &c.Foreign },
		Help:   "Deliveries that this run did not offer.",
		Effect: Odd, Rare: true,
	},
}

// Counts is the exact accounting of the measured phase. At its end
// Offered = Delivered + Pending + Lost + Unknown + Removed. AllCounts says what each means.
type Counts struct {
	// Offered counts messages the implementation took over: it confirmed the
	// offer, or delivered the message, or still holds it.
	Offered int64 `json:"offered"`
	// Delivered counts messages that came at least once.
	Delivered int64 `json:"delivered"`
	// Lost counts messages that were accepted, never came and are nowhere.
	Lost int64 `json:"lost"`
	// Unknown counts messages that were accepted and never came, where what is held could not be
	// read at the end.
	Unknown int64 `json:"unknown,omitempty"`
	// Duplicate counts deliveries beyond the first of a message.
	Duplicate int64 `json:"duplicate"`
	// Early counts messages that came more than EarlyTolerance before they were due.
	Early int64 `json:"early"`
	// Pending counts messages still held at the end.
	Pending int64 `json:"pending"`
	// NotDue counts those of Pending that were not due at the end, in a run that
	// does not wait for all.
	NotDue int64 `json:"not_due,omitempty"`
	// Removed counts messages that were cancelled and never came.
	Removed int64 `json:"removed,omitempty"`
	// Revived counts messages that came although they had been cancelled.
	Revived int64 `json:"revived,omitempty"`
	// OfferErrors counts offers that were answered by an error or not at all,
	// whatever became of the message.
	OfferErrors int64 `json:"offer_errors"`
	// Corrupt counts deliveries of messages whose checksum was wrong.
	Corrupt int64 `json:"corrupt,omitempty"`
	// Foreign counts deliveries that this run did not offer.
	Foreign int64 `json:"foreign"`
}

// Faults is how many messages were treated wrongly.
func (c Counts) Faults() int64 {
	n := int64(0)
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

// beyond reports whether a count is above a limit.
func (c Counts) beyond(limit int64) bool {
	for _, count := range AllCounts {
		if count.Of(c) > limit {
			return true
		}
	}
	return false
}

// negative reports whether a count is below 0, which none can be.
func (c Counts) negative() bool {
	for _, count := range AllCounts {
		if count.Of(c) < 0 {
			return true
		}
	}
	return false
}
