package series

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/compare/stats"
	"github.com/dq-bench/dq-bench/harness/internal/page"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// WriteTable writes what several cases came to as a Markdown page: first how many
// times as late each side is as the first one, which another machine can repeat,
// then the figures of this machine. A side that is the first one once more shows the
// noise.
func WriteTable(w io.Writer, results []*Result, at time.Time, label string) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Lateness\n\nMeasured on %s with %s on %s/%s, %d CPUs", at.UTC().Format("2006-01-02 15:04 UTC"),
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if label != "" {
		fmt.Fprintf(&out, "; %s", label)
	}
	out.WriteString(".\nThe ratios are what to look at: they compare sides that ran by turns, or at the same time, on one machine, with the\n" +
		"95 % interval over the runs and p of the exact test, adjusted for the figures of a comparison. Below 1 is less than the first\n" +
		"row. A row that repeats the first one is the noise of the machine. \"p99/s\" is the median of the p99 of each second\n" +
		"of a run in which the machine was calm. Times are those of this machine at that hour, the median over the runs.\n")
	for _, r := range results {
		r.writeTable(&out)
	}
	_, err := w.Write(out.Bytes())
	return err
}

func (r *Result) writeTable(out *bytes.Buffer) {
	first := r.compared(0)
	s, late := first.Runs[0].Scenario, r.late()
	fmt.Fprintf(out, "\n## %s\n\n%s msg/s for %s, delay %s, %d producers, %d consumers; %d run(s) a side.\n\n",
		orRun(r.Case), run.FormatFloat(s.Rate), s.Duration, strings.ReplaceAll(s.Delay, "|", " or "), s.Producers, s.Consumers, len(first.Runs))
	name := strings.ReplaceAll(late, "_", " ")
	fmt.Fprintf(out, "| driver | server | %s p50 | ratio | p | %s p99/s | ratio | p | p99 | max | response time p50 | ratio | p "+
		"| server CPU | ratio | p | transfers/msg | not delivered right |\n", name, name)
	out.WriteString("|---|---" + strings.Repeat("|---:", 16) + "|\n")
	for i := range r.Sides {
		side := r.compared(i)
		fmt.Fprintf(out, "| %s | %s |", side.Name, serverOf(side.Runs[0]))
		for _, f := range []struct{ histogram, stat string }{
			{late, "p50"}, {late, compare.PerSecond}, {late, "p99"}, {late, "max"}, {"response_time", "p50"}, {"server_cpu", "per message"},
		} {
			value, ratio, chance := r.figure(i, f.histogram, f.stat)
			fmt.Fprintf(out, " %s |", value)
			if f.stat != "max" && (f.stat != "p99" || f.histogram != late) {
				fmt.Fprintf(out, " %s | %s |", ratio, chance)
			}
		}
		fmt.Fprintf(out, " %s | %d |\n",
			side.served(func(s *run.ServerStats, _ float64) float64 { return s.TransferCallsPerMessage }), side.wrong())
	}
}

// compared is a side with the runs that were compared.
func (r *Result) compared(side int) SideResult {
	s := r.Sides[side]
	s.Runs, _ = compare.Compared(r.Comparisons, side, s.Runs)
	return s
}

// late names the histogram that all sides are shown by. Each is compared with the first
// alone, so that of two by past due, and a third that has none, all are shown by lateness.
func (r *Result) late() string {
	var runs []*run.Document
	for i := range r.Sides {
		runs = append(runs, r.compared(i).Runs...)
	}
	return run.LateOf(runs)
}

// figure is a figure of a side, and its ratio to the first one with interval and p; - where
// there is none.
func (r *Result) figure(side int, histogram, stat string) (value, ratio, chance string) {
	for i, c := range r.Comparisons {
		if i+1 != max(side, 1) {
			continue
		}
		for _, row := range c.Rows {
			switch {
			case row.Histogram != histogram || row.Stat != stat:
			case side == 0:
				return run.FormatNs(int64(row.Old)), "1", "-"
			default:
				return run.FormatNs(int64(row.New)), ratioText(row), page.ChanceText(row)
			}
		}
	}
	return "-", "-", "-"
}

// ratioText is "0.42 (0.38 … 0.47)".
func ratioText(row compare.Row) string {
	switch {
	case row.Ratio == nil:
		return "-"
	case row.RatioLow == nil:
		return fmt.Sprintf("%.3g", *row.Ratio)
	}
	return fmt.Sprintf("%.3g (%.3g … %.3g)", *row.Ratio, *row.RatioLow, *row.RatioHigh)
}

func orRun(name string) string {
	if name == "" {
		return "run"
	}
	return name
}

func serverOf(r *run.Document) string {
	if r.Server == nil {
		return "none"
	}
	return strings.TrimSpace(r.Server.Product + " " + r.Server.Version)
}

func (s SideResult) median(figure func(*run.Document) float64) float64 {
	values := make([]float64, len(s.Runs))
	for i, r := range s.Runs {
		values[i] = figure(r)
	}
	return stats.Median(values)
}

// served is a median of what the server did, - if it did not tell.
func (s SideResult) served(figure func(stats *run.ServerStats, delivered float64) float64) string {
	for _, r := range s.Runs {
		if r.ServerStats == nil || r.Counts.Delivered == 0 {
			return "-"
		}
	}
	return fmt.Sprintf("%.3g", s.median(func(r *run.Document) float64 { return figure(r.ServerStats, float64(r.Counts.Delivered)) }))
}

// wrong is how many messages of all runs were lost, came twice or early, or did
// not come although they were due.
func (s SideResult) wrong() int64 {
	n := int64(0)
	for _, r := range s.Runs {
		c := r.Counts
		n += c.Faults() + c.Pending - c.NotDue
	}
	return n
}
