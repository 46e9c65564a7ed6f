package load

import (
	"fmt"
	"io"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// ProgressMode is how the progress of a run is written.
type ProgressMode string

// The progress modes.
const (
	// ProgressLine rewrites one line every second, for a terminal.
	ProgressLine ProgressMode = "line"
	// ProgressPlain writes a line every ten seconds and at the end of a phase.
	ProgressPlain ProgressMode = "plain"
	// ProgressNone writes nothing.
	ProgressNone ProgressMode = "none"
)

// plainEvery is how many reports of a second one plain line stands for.
const plainEvery = 10

// ProgressWriter returns the callback that writes progress to w.
func ProgressWriter(w io.Writer, mode ProgressMode) func(Progress) {
	switch mode {
	case ProgressLine:
		return func(p Progress) {
			// Erases what a longer line before left behind.
			fmt.Fprintf(w, "\r%s\x1b[K", p)
			if p.Last {
				fmt.Fprintln(w)
			}
		}
	case ProgressPlain:
		seconds := 0
		return func(p Progress) {
			seconds++
			if p.Last || seconds%plainEvery == 0 {
				fmt.Fprintln(w, p)
			}
			if p.Last {
				seconds = 0
			}
		}
	default:
		return func(Progress) {}
	}
}

// String is the progress in one line.
func (p Progress) String() string {
	phase, p99, failed := "load", "-", ""
	if p.Phase == plan.Warmup {
		phase = "warm-up"
	}
	if p.HasP99 {
		p99 = run.FormatNs(int64(p.P99))
	}
	if p.OfferErrors > 0 {
		failed = fmt.Sprintf("  failed %d", p.OfferErrors)
	}
	planned := ""
	if p.Planned > 0 {
		planned = fmt.Sprintf("/%d", p.Planned)
	}
	return fmt.Sprintf("%s  offered %d%s  delivered %d  pending %d%s  p99 %s  left %s",
		phase, p.Offered, planned, p.Delivered, p.Pending, failed, p99, p.Left.Round(time.Second))
}
