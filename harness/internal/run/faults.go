package run

import (
	"fmt"
	"time"
)

// Faults is what became of the messages of a run in which something was made to break, each of
// them accounted for.
type Faults struct {
	// Events are what broke, in the order it did.
	Events []FaultEvent `json:"events"`
	// Offered counts the offers that were made, Acknowledged those of them that were confirmed,
	// Refused those that were answered by an error which says that nothing was queued, so that
	// they may be made again. Uncertain are the others: answered by another error or not at all.
	// Whoever offered them cannot know what became of them, and UncertainCame were delivered.
	Offered       int64 `json:"offered"`
	Acknowledged  int64 `json:"acknowledged"`
	Refused       int64 `json:"refused"`
	Uncertain     int64 `json:"uncertain"`
	UncertainCame int64 `json:"uncertain_came"`
	// Lost were acknowledged, never came, and are nowhere. LostBeyond are those of them that no
	// event accounts for.
	Lost       int64 `json:"lost"`
	LostBeyond int64 `json:"lost_beyond"`
	// Duplicate counts deliveries beyond the first of a message.
	Duplicate int64 `json:"duplicate"`
	// Early came more than EarlyTolerance before they were due. EarlyBeyond are those of them
	// that no clock which was wrong accounts for.
	Early       int64 `json:"early,omitempty"`
	EarlyBeyond int64 `json:"early_beyond,omitempty"`
	// Postponed are still held at the end, for they were offered while a clock was ahead.
	Postponed int64 `json:"postponed,omitempty"`
}

// FaultEvent is one thing that broke.
type FaultEvent struct {
	// Kind is the word of the scenario for it, Text what was asked for.
	Kind string `json:"kind"`
	Text string `json:"text"`
	// From and To are when it began and ended, in seconds after Document.Started.
	From float64 `json:"from"`
	To   float64 `json:"to"`
	// Times is how often it happened, as far as that is counted.
	Times int `json:"times,omitempty"`
	// MayLose says which acknowledged messages no client could have kept.
	MayLose string `json:"may_lose"`
	// ResumedNs is how long after its end the next message came on time, within OnTime after its
	// due instant, and not early; missing if none did.
	ResumedNs *int64 `json:"resumed_ns,omitempty"`
	// Error says why it did not happen as asked for; empty if it did.
	Error string `json:"error,omitempty"`
}

// OnTime is how late a delivery may be that shows that deliveries have resumed.
const OnTime = 100 * time.Millisecond

// Resumed is the longest time from an event's end to the next delivery on time; ok is false if
// none came after one of them.
func (f *Faults) Resumed() (longest time.Duration, ok bool) {
	for _, e := range f.Events {
		if e.ResumedNs == nil {
			return 0, false
		}
		longest = max(longest, time.Duration(*e.ResumedNs))
	}
	return longest, true
}

// ResumedText is "within 12 ms", or "never".
func (e FaultEvent) ResumedText() string {
	if e.ResumedNs == nil {
		return "never"
	}
	return "after " + FormatNs(*e.ResumedNs)
}

// broken says which faults did not happen as they were asked for: then the run shows nothing.
func (f *Faults) broken() (reasons []string) {
	if f == nil {
		return nil
	}
	for _, e := range f.Events {
		if e.Error != "" {
			reasons = append(reasons, fmt.Sprintf("the fault %q was not made: %s", e.Text, e.Error))
		}
	}
	return reasons
}
