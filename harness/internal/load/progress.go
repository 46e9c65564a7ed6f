package load

import (
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Progress is the state of a run, once a second, over all its parts.
type Progress struct {
	Phase plan.Phase
	// Planned, Offered (confirmed), Delivered and Pending are messages of the phase.
	// Planned is 0 for a warm-up that ends by itself.
	Planned, Offered, Delivered, Pending int64
	OfferErrors                          int64
	// P99 is the 99th percentile of lateness in the last second, and in the last report
	// of the whole phase; HasP99 is false if nothing was delivered in it.
	P99    time.Duration
	HasP99 bool
	// Left is how long the phase will take still: to its last due instant.
	Left time.Duration
	// Last is true in the last report of the phase.
	Last bool
	// Interval is what happened since the report before.
	Interval run.Interval
	// Lateness, PastDue, OfferRTT and ScheduleLag are those of the interval; ScheduleLag is
	// nil from a part in a program.
	Lateness, PastDue, OfferRTT, ScheduleLag *run.Histogram
}
