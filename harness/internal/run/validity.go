package run

import (
	"fmt"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

// Validity says whether the load that was asked for was made, as far as that is up to the tool and its
// machine. Figures of a run in which it was not say nothing about the implementation at that load: such
// a run is neither passed nor compared. Where the system under test held the load up, the run is valid
// and failed.
type Validity struct {
	Valid bool `json:"valid"`
	// Reasons say what was not as asked for, the cause first; empty where the run is valid.
	Reasons []string `json:"reasons"`
}

// Valid reports whether the load was made, as far as the file tells.
func (r *Document) Valid() bool { return r.Validity == nil || r.Validity.Valid }

// onTime is the share of the offers that must be on time.
const onTime = .99

// maxLag is how late an offer may leave.
func (r *Document) maxLag() time.Duration {
	limit, err := time.ParseDuration(r.Scenario.MaxScheduleLag)
	if err != nil {
		return plan.DefaultMaxScheduleLag
	}
	return limit
}

// many reports whether so many offers are more than may fail to be on time.
func (r *Document) many(offers int64) bool {
	return float64(offers) > (1-onTime)*float64(max(r.Scenario.Messages, r.attempts()))
}

// validate judges the load itself.
func (r *Document) validate() *Validity {
	if r.ServerGone != "" { // of which all else is a consequence
		return &Validity{Reasons: []string{r.ServerGone}}
	}
	v := &Validity{Reasons: append([]string{}, r.Faults.broken()...)}
	limits := r.bottlenecks()
	v.Reasons = append(v.Reasons, limits...)
	late := r.lateForUs()
	if late != "" && len(limits) == 0 {
		if text := r.elsewhere(); text != "" {
			v.Reasons = append(v.Reasons, text)
		}
	}
	if late != "" {
		v.Reasons = append(v.Reasons, late)
	}
	v.Valid = len(v.Reasons) == 0
	return v
}

// lateForUs says that too many offers left late, or not at all, and not for the system under test. It is
// empty if they did not.
func (r *Document) lateForUs() string {
	if r.Offers == nil { // by a file of before that was told apart
		if lag := r.Histograms.ScheduleLag; lag != nil && lag.Count() > 0 && lag.Quantile(onTime) > int64(r.maxLag()) {
			return fmt.Sprintf("only %s of the offers left within %s of their time (schedule lag p50 %s, p99 %s)%s",
				percent(lag.ShareUpTo(int64(r.maxLag()))), r.maxLag(), FormatNs(lag.Quantile(.5)), FormatNs(lag.Quantile(onTime)), r.reached())
		}
	} else if n := r.Offers.LateForTool + r.Offers.LateForMachine; r.many(n) {
		whose := "dq-bench"
		if r.Offers.LateForMachine > r.Offers.LateForTool {
			whose = "the machine, which stood still,"
		}
		return fmt.Sprintf("%s sent %d of %d offers more than %s late%s", whose, n, r.Scenario.Messages, r.maxLag(), r.reached())
	}
	if text := r.othersTook(); text != "" && r.heldUp() {
		return text
	}
	if made := r.attempts(); made > 0 && !r.Interrupted && !r.heldUp() && len(r.AgentFaults) == 0 && r.many(r.Scenario.Messages-made) {
		return fmt.Sprintf("%d of %d offers were made", made, r.Scenario.Messages)
	}
	return ""
}

// heldUp reports whether the system under test held up more offers than may be late. Where something was made to
// break, that is what was asked for.
func (r *Document) heldUp() bool {
	return r.Offers != nil && r.Faults == nil && r.many(r.Offers.LateForSystem+r.Offers.Unsent) && r.Offers.LateForSystem > 0
}

// heldUpText says what of the load the system under test held up, judged from the intended instants; empty
// if it held up none, or no more than may be.
func (r *Document) heldUpText() string {
	if !r.heldUp() {
		return ""
	}
	text := fmt.Sprintf("the system under test held up %d of %d offers by more than %s", r.Offers.LateForSystem, r.Scenario.Messages, r.maxLag())
	if r.Offers.Unsent > 0 {
		text += fmt.Sprintf(" and %d were dropped", r.Offers.Unsent)
	}
	if h := r.Histograms.ResponseTime; h != nil && h.Count() > 0 {
		text += ": response time " + TailText(h)
	}
	return text
}

// attempts is how many offers ended, one way or another.
func (r *Document) attempts() int64 {
	if h := r.Histograms.OfferRTT; h != nil {
		return h.Count()
	}
	return 0
}

// reached says which rate came about, where the run tells: in the seconds in which
// offers were made.
func (r *Document) reached() string {
	var offered int64
	for _, i := range r.Intervals {
		offered += i.Offered
	}
	last := r.offeredFor()
	if last < 1 || r.Scenario.Rate <= 0 {
		return ""
	}
	return fmt.Sprintf("; of %s offers a second about %.0f were made", FormatFloat(r.Scenario.Rate), float64(offered)/last)
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }
