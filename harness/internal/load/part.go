package load

import (
	"context"
	"encoding/json"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// part is one share of a run under way. Its phases come one after the other.
type part interface {
	// begin starts a phase at an instant, which may have passed. Each second that ends
	// is told to the timeline.
	begin(ctx context.Context, phase plan.Phase, at time.Time, told func(second)) error
	// stop ends the offers of a phase; abandon also ends those under way, where that
	// can be done.
	stop(ctx context.Context, phase plan.Phase, abandon bool) error
	// counts tells how a phase stands.
	counts(ctx context.Context, phase plan.Phase) (counts, error)
	// end ends a phase, and the takes with the measured one. What was on its way is
	// accounted for.
	end(ctx context.Context, phase plan.Phase) (*outcome, error)
	// holding tells what the implementation still holds; nil if the part cannot.
	holding() holding
	// close ends the part.
	close() error
}

// counts is how a phase of a part stands. A message is awaited if it is due before
// the plan's horizon.
type counts struct {
	Attempted int64 `json:"attempted"`
	Confirmed int64 `json:"confirmed"`
	Failed    int64 `json:"failed"`
	// Delivered counts first deliveries, Duplicate those of this part beyond its first.
	Delivered int64 `json:"delivered"`
	Duplicate int64 `json:"duplicate"`
	Early     int64 `json:"early"`
	Foreign   int64 `json:"foreign"`
	Corrupt   int64 `json:"corrupt"`
	// TooLate counts removals that found nothing.
	TooLate      int64 `json:"too_late,omitempty"`
	RemoveErrors int64 `json:"remove_errors,omitempty"`
	TakeErrors   int64 `json:"take_errors,omitempty"`
	// Outstanding summed over all parts is how many awaited messages are missing.
	Outstanding int64 `json:"outstanding"`
	// LastDue and LastCame are Unix times in ns, 0 if there was none.
	LastDue  int64 `json:"last_due"`
	LastCame int64 `json:"last_came"`
	// Offering says that a message is still to be offered or answered.
	Offering bool `json:"offering"`
}

// unknown is how many offers have not been confirmed: answered by an error, or
// not answered (yet).
func (c counts) unknown() int64 { return c.Attempted - c.Confirmed }

// add joins the counts of two parts.
func (c counts) add(o counts) counts {
	return counts{
		Attempted: c.Attempted + o.Attempted, Confirmed: c.Confirmed + o.Confirmed, Failed: c.Failed + o.Failed,
		Delivered: c.Delivered + o.Delivered, Duplicate: c.Duplicate + o.Duplicate, Early: c.Early + o.Early,
		Foreign: c.Foreign + o.Foreign, Corrupt: c.Corrupt + o.Corrupt,
		TooLate: c.TooLate + o.TooLate, RemoveErrors: c.RemoveErrors + o.RemoveErrors, TakeErrors: c.TakeErrors + o.TakeErrors,
		Outstanding: c.Outstanding + o.Outstanding,
		LastDue:     max(c.LastDue, o.LastDue), LastCame: max(c.LastCame, o.LastCame), Offering: c.Offering || o.Offering,
	}
}

// second is what happened in a second of a phase. The last of a phase is shorter.
type second struct {
	// End is in seconds after the start.
	End         float64 `json:"second"`
	Offered     int64   `json:"offered"`
	Delivered   int64   `json:"delivered"`
	Failed      int64   `json:"failed"`
	Outstanding int64   `json:"outstanding"`
	// Lateness, PastDue and OfferRTT are of run.IntervalDigits; nil if nothing was.
	Lateness *run.Histogram `json:"lateness"`
	PastDue  *run.Histogram `json:"past_due"`
	OfferRTT *run.Histogram `json:"offer_rtt"`
	// ScheduleLag is told in this process only.
	ScheduleLag *run.Histogram `json:"schedule_lag,omitempty"`
}

// outcome is what came of a phase of a part.
type outcome struct {
	counts     counts
	histograms run.Histograms
	sets       run.Sets
	errs       failures
	latest     []arrival      // nil where a program does not tell
	seconds    []second       // those that were not told
	tool       *run.ToolUsage // of the process, nil in this one or where it does not tell
	process    *program.Process
	span       span // when the part was there
	notes      []string
}

// holding is what an implementation holds, seen from wherever it can be.
type holding interface {
	// held returns how many messages are held, due or not.
	held(ctx context.Context) (int64, error)
	// sets returns which messages of a phase are held, and which of these are not due
	// yet, as bitmaps.
	sets(ctx context.Context, phase plan.Phase) (held, notDue []byte, err error)
}

// failures are the first errors of a phase, empty where there was none.
type failures struct {
	Offer  string `json:"offer,omitempty"`
	Take   string `json:"take,omitempty"`
	Remove string `json:"remove,omitempty"`
}

// or keeps the first of each.
func (f failures) or(o failures) failures {
	pick := func(a, b string) string {
		if a == "" {
			return b
		}
		return a
	}
	return failures{pick(f.Offer, o.Offer), pick(f.Take, o.Take), pick(f.Remove, o.Remove)}
}

// answer is an outcome as PROTOCOL.md has it.
type answer struct {
	StartedUnixNs json.Number    `json:"started_unix_ns"`
	Counts        counts         `json:"counts"`
	Histograms    run.Histograms `json:"histograms"`
	Messages      struct {
		Confirmed run.MessageSet `json:"confirmed"`
		Delivered run.MessageSet `json:"delivered"`
		Removed   run.MessageSet `json:"removed,omitempty"`
	} `json:"messages"`
	Seconds []second        `json:"seconds"`
	Latest  [][2]plan.Whole `json:"latest"`
	Errors  failures        `json:"errors"`
	Notes   []string        `json:"notes,omitempty"`
	Tool    *run.ToolUsage  `json:"tool,omitempty"`
}
