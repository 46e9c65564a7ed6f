package series

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/compare/stats"
	"github.com/dq-bench/dq-bench/harness/run"
)

// WriteTable writes what several cases came to as a Markdown page: first how many
// times as late each side is as the first one, which another machine can repeat,
// then the figures of this machine.
func WriteTable(w io.Writer, results []*Result, at time.Time, label string) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Lateness\n\nMeasured on %s with %s on %s/%s, %d CPUs", at.UTC().Format("2006-01-02 15:04 UTC"),
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if label != "" {
		fmt.Fprintf(&out, "; %s", label)
	}
	out.WriteString(".\nThe ratios are what to look at: they compare sides that ran by turns on one machine. " +
		"Milliseconds are those of\nthis machine at that hour, the median over the runs. A ratio below 1 is less late than the first row. " +
		"Where lateness\nof the first row is below 1 ms, a whole millisecond of the wire format, no ratio is given.\n")
	for _, r := range results {
		r.writeTable(&out)
	}
	_, err := w.Write(out.Bytes())
	return err
}

func (r *Result) writeTable(out *bytes.Buffer) {
	first := r.Sides[0]
	s := first.Runs[0].Scenario
	fmt.Fprintf(out, "\n## %s\n\n%s msg/s for %s, delay %s, %d producers, %d consumers; %d run(s) a side.\n\n",
		orRun(r.Case), trim(s.Rate), s.Duration, strings.ReplaceAll(s.Delay, "|", " or "), s.Producers, s.Consumers, len(first.Runs))
	out.WriteString("| driver | server | p50 ratio | p99 ratio | p50 | p99 | max | transfers/msg | server CPU ms/1000 msg | not delivered right |\n")
	out.WriteString("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, side := range r.Sides {
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %d |\n", side.Spec, serverOf(side.Runs[0]),
			ratio(first, side, .5), ratio(first, side, .99), side.late(.5), side.late(.99),
			run.FormatNs(int64(side.median(func(r *run.Document) float64 { return float64(r.Histograms.Lateness.Max()) }))),
			side.served(func(s *run.ServerStats, _ float64) float64 { return s.TransferCallsPerMessage }),
			side.served(func(s *run.ServerStats, delivered float64) float64 { return 1e6 * s.CPUSeconds / delivered }),
			side.wrong())
	}
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

func trim(v float64) string { return fmt.Sprintf("%.4g", v) }

func (s SideResult) median(figure func(*run.Document) float64) float64 {
	values := make([]float64, len(s.Runs))
	for i, r := range s.Runs {
		values[i] = figure(r)
	}
	return stats.Median(values)
}

func (s SideResult) quantile(q float64) float64 {
	return s.median(func(r *run.Document) float64 { return float64(r.Histograms.Lateness.Quantile(q)) })
}

func (s SideResult) late(q float64) string { return run.FormatNs(int64(s.quantile(q))) }

func ratio(first, side SideResult, q float64) string {
	base := first.quantile(q)
	if base < float64(time.Millisecond) {
		return "-"
	}
	return fmt.Sprintf("%.2f", max(side.quantile(q), 0)/base)
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
