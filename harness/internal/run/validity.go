package run

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

// Validity says whether the load that was asked for was made. Figures of a run in which
// it was not say nothing about the implementation at that load: such a run is neither
// passed nor compared.
type Validity struct {
	Valid bool `json:"valid"`
	// Reasons say what was not as asked for; empty where the run is valid.
	Reasons []string `json:"reasons"`
}

// Valid reports whether the load was made, as far as the file tells.
func (r *Document) Valid() bool { return r.Validity == nil || r.Validity.Valid }

// onTime is the share of the offers that must be on time.
const onTime = .99

// validate judges the load itself.
func (r *Document) validate() *Validity {
	if r.ServerGone != "" { // of which all else is a consequence
		return &Validity{Reasons: []string{r.ServerGone}}
	}
	v := &Validity{Reasons: []string{}}
	limit, err := time.ParseDuration(r.Scenario.MaxScheduleLag)
	if err != nil {
		limit = plan.DefaultMaxScheduleLag
	}
	if lag := r.Histograms.ScheduleLag; lag != nil && lag.Count() > 0 {
		if late := lag.Quantile(onTime); late > int64(limit) {
			v.Reasons = append(v.Reasons, fmt.Sprintf("only %s of the offers left within %s of their time (schedule lag p50 %s, p99 %s)%s",
				percent(lag.ShareUpTo(int64(limit))), limit, FormatNs(lag.Quantile(.5)), FormatNs(late), r.reached()))
		}
	}
	if made := r.attempts(); made > 0 && !r.Interrupted && r.Scenario.Messages > 0 && float64(made) < onTime*float64(r.Scenario.Messages) {
		v.Reasons = append(v.Reasons, fmt.Sprintf("%d of %d offers were made", made, r.Scenario.Messages))
	}
	if text := r.backlog(limit); text != "" {
		v.Reasons = append(v.Reasons, text)
	}
	v.Reasons = append(v.Reasons, r.Faults.broken()...)
	limits := r.bottlenecks()
	if text := r.elsewhere(); text != "" && len(v.Reasons) > 0 && len(limits) == 0 {
		limits = append(limits, text)
	}
	v.Reasons = append(v.Reasons, limits...)
	v.Valid = len(v.Reasons) == 0
	return v
}

// steady is how many seconds of offers a backlog is looked for in, at least.
const steady = 8

// backlog says that messages came later and later to the end of the offers, empty if they
// did not: then lateness is a matter of how long the run was. Where consumers are slowed
// down, the rate rises, or all comes due at once, that is what the plan asks for.
func (r *Document) backlog(limit time.Duration) string {
	s := r.Scenario
	if s.Work != "" || s.Poll != "" || s.Ramp != "" || len(s.Fleet) > 0 || strings.HasPrefix(s.Delay, "@") {
		return ""
	}
	var late []int64
	for _, i := range r.Intervals {
		if i.Offered > 0 && i.Delivered > 0 {
			late = append(late, i.PastDueP50)
		}
	}
	if len(late) < steady {
		return ""
	}
	quarter := len(late) / 4
	before, after := median(late[quarter:2*quarter]), median(late[len(late)-quarter:])
	if after < int64(limit) || after < 2*before {
		return ""
	}
	return fmt.Sprintf("the backlog grew to the end: past due p50 rose from %s to %s while messages were offered", FormatNs(before), FormatNs(after))
}

func median(values []int64) int64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
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
