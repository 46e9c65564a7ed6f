// Package inspect answers: what is in this queue, who wrote it, and what will a running
// Redisson do with it?
//
// Queue looks at one queue, without writing anything; docs/inspection.md describes the
// document that dq-bench inspect makes of it.
package inspect

import (
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/forensics"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Schema names the form of an Inspection.
const Schema = "dq-bench/inspection/v1"

// Inspection is what was seen on one server or cluster.
type Inspection struct {
	Schema string    `json:"schema"`
	At     time.Time `json:"at"`
	Server Server    `json:"server"`
	// Release is the Redisson release that the queues are meant for, "" for none.
	Release string `json:"release,omitempty"`
	// Scripts are those of Redisson that the server has in its cache.
	Scripts []Script `json:"scripts"`
	Queues  []Queue  `json:"queues"`
	// Anomalies is how many findings are one.
	Anomalies int `json:"anomalies"`
	// Uncertain says what could not be looked at.
	Uncertain []string `json:"uncertain,omitempty"`
}

// Server is what was asked.
type Server struct {
	Product string `json:"product"`
	Version string `json:"version"`
	Address string `json:"address"`
	Cluster bool   `json:"cluster,omitempty"`
}

// Script is a script of Redisson that somebody ran on the server.
type Script struct {
	Variant string `json:"variant"`
	SHA1    string `json:"sha1"`
	Sent    string `json:"sent_by"`
}

// Queue is what one queue holds.
type Queue struct {
	Name string    `json:"name"` // of the destination queue; any bytes, see MarshalJSON
	At   time.Time `json:"at"`   // by the server's clock

	Counts  Counts   `json:"counts"`
	Head    *Member  `json:"head,omitempty"`
	Overdue Overdue  `json:"overdue"`
	Due     []Bucket `json:"due"`
	Layouts []Layout `json:"layouts"`
	Values  []Value  `json:"values"`
	// Samples are the first members, in order of due time, of each layout, codec and class.
	Samples []Member `json:"samples"`

	Redisson    []Side      `json:"redisson"`
	Subscribers Subscribers `json:"subscribers"`
	Memory      Memory      `json:"memory"`
	Transfer    Transfer    `json:"transfer"`

	Findings []Finding `json:"findings"`
	// Uncertain says what could not be looked at or was changing too fast.
	Uncertain []string `json:"uncertain,omitempty"`
	Reading   Reading  `json:"reading"`
}

// MarshalJSON writes a name that JSON cannot have, or that could be taken for one, as text.Valid, and
// its bytes in base64 beside it, as name_base64.
func (q Queue) MarshalJSON() ([]byte, error) {
	type fields Queue
	valid := text.Valid(q.Name)
	if valid == q.Name {
		return forensics.JSON(fields(q))
	}
	return forensics.JSON(struct {
		Name  string `json:"name"`
		Bytes []byte `json:"name_base64"`
		fields
	}{valid, []byte(q.Name), fields(q)})
}

// Counts are numbers of elements.
type Counts struct {
	TimeoutSet  int64 `json:"timeout_set"`
	PendingList int64 `json:"pending_list"`
	Destination int64 `json:"destination"`
	Quarantine  int64 `json:"quarantine"`
	Held        int64 `json:"held"` // by a guard, until they are due
	// Reserved are messages that a dq.Worker holds, and Dead its dead letters.
	Reserved int64 `json:"reserved"`
	Dead     int64 `json:"dead"`
	// Unlisted are members of the set that a dq client has taken out of the list, for they are
	// due soon: no orphans.
	Unlisted   int64 `json:"unlisted"`
	Ghosts     int   `json:"ghosts"`
	Orphans    int   `json:"orphans"`
	Again      int   `json:"listed_again"` // entries beyond the first of their member
	Foreign    int   `json:"foreign"`
	Unreadable int   `json:"unreadable"`
}

// Member is one element of the timeout set or the pending list.
type Member struct {
	// DueMS is the score, in Unix ms; absent for one that is in the list alone.
	DueMS  *float64 `json:"due_ms,omitempty"`
	Layout string   `json:"layout"`
	// Bytes is the length of the member, packing included.
	Bytes int    `json:"bytes"`
	Codec string `json:"codec,omitempty"`
	Class string `json:"class,omitempty"`
	// Value is shown as text, absent under --redact.
	Value     string `json:"value,omitempty"`
	Shortened bool   `json:"shortened,omitempty"`
	// Start is the first bytes, in hex: of the packing, of what is unreadable also the value's.
	Start string `json:"start"`
}

// Overdue is what should have been transferred.
type Overdue struct {
	Count   int64    `json:"count"`
	SinceMS *float64 `json:"since_ms,omitempty"` // the oldest due time, Unix ms
}

// Bucket counts the members due within a span of time from now.
type Bucket struct {
	Name string `json:"name"`
	// FromMS and ToMS are relative to At, the end excluded; absent for no bound.
	FromMS *int64 `json:"from_ms,omitempty"`
	ToMS   *int64 `json:"to_ms,omitempty"`
	Count  int64  `json:"count"`
}

// Layout counts the members of one form.
type Layout struct {
	Layout    string `json:"layout"`
	WrittenBy string `json:"written_by"`
	Count     int    `json:"count"`
}

// Value counts the values of one kind.
type Value struct {
	Codec string `json:"codec"`
	Class string `json:"class,omitempty"`
	Count int    `json:"count"`
}

// Side is what Redisson of one side of 3.21.1 does with the queue as it is.
type Side struct {
	Releases string `json:"releases"`
	Layout   string `json:"layout"`
	// Delivers is how many members come before its transfer fails for good.
	Delivers int `json:"delivers"`
	// ReadsWrong is how many of these come as something else than was offered.
	ReadsWrong int `json:"reads_wrong"`
	// StopsAt is the first member that its transfer fails at.
	StopsAt *Member `json:"stops_at,omitempty"`
	// Never is how many do not come: StopsAt and all behind it, and those that are never due.
	Never int `json:"never"`
	// Repeats is how many are delivered again every 5 s, if StopsAt is overdue.
	Repeats int    `json:"repeats"`
	Text    string `json:"text"`
}

// Subscribers are who hears of a new head.
type Subscribers struct {
	Count int `json:"count"` // null where that is unknown
	// Unknown says why Count could not be asked; empty where it could.
	Unknown string `json:"unknown,omitempty"`
	// Clients are all with a subscription to any channel: the server does not tell which
	// of them listen to this one.
	Clients []forensics.Client `json:"clients,omitempty"`
}

// MarshalJSON writes no number where none is known.
func (s Subscribers) MarshalJSON() ([]byte, error) {
	type fields Subscribers
	if s.Unknown == "" {
		return forensics.JSON(fields(s))
	}
	return forensics.JSON(struct {
		fields
		Count *int `json:"count"`
	}{fields: fields(s)})
}

// Memory is in bytes, by MEMORY USAGE with 5 samples.
type Memory struct {
	TimeoutSet  int64 `json:"timeout_set"`
	PendingList int64 `json:"pending_list"`
	Destination int64 `json:"destination"`
}

// Transfer is what the next transfer of Redisson's costs the server, that of the up to
// 100 members due first.
type Transfer struct {
	Members int `json:"members"`
	// Entries of the pending list that its LREMs pass.
	Entries   int64   `json:"entries"`
	EntryNS   float64 `json:"entry_ns"`
	Measured  bool    `json:"measured"` // EntryNS was, on this server
	BlockedMS float64 `json:"blocked_ms"`
}

// Finding is something to know about a queue.
type Finding struct {
	Kind    string `json:"kind"`
	Anomaly bool   `json:"anomaly"`
	Count   int64  `json:"count"`
	What    string `json:"what"`
	// Old and New are what a running Redisson of either side does.
	Old     string   `json:"to_3_21_0"`
	New     string   `json:"from_3_21_1"`
	Do      string   `json:"do"`
	Members []Member `json:"members,omitempty"`
}

// Reading is what the look has cost.
type Reading struct {
	Calls     int     `json:"calls"`
	LongestMS float64 `json:"longest_ms"` // with the way there and back
	Bytes     int64   `json:"bytes"`
	TookMS    float64 `json:"took_ms"`
}
