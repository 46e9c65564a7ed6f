package page

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// WriteRun prints a run for a person. A quantile that fewer than ten samples
// are expected beyond is marked with ~: it says more about single messages than
// about the implementation. quantiles nil means Quantiles.
func WriteRun(w io.Writer, r *run.Document, quantiles []float64) error {
	if quantiles == nil {
		quantiles = run.Quantiles
	}
	var out bytes.Buffer
	writeHeading(&out, r)
	writeCounts(&out, r)
	writeTable(&out, r, quantiles)
	writeRamp(&out, r.RateSteps())
	writeBeside(&out, r)
	writeFaults(&out, r.Faults)
	for _, o := range r.SLO {
		state := "met"
		if !o.Met {
			state = "MISSED"
		}
		kind := "slo"
		if o.Expected {
			kind = "expected"
		}
		fmt.Fprintf(&out, "%s  %s  %s (%s)\n", kind, o.Expr, state, o.ActualText())
	}
	if len(r.SLO) > 0 {
		out.WriteByte('\n')
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&out, "note: %s\n", note)
	}
	fmt.Fprintf(&out, "%s\n", r.Verdict.Text)
	return writeTrimmed(w, out.Bytes())
}

func writeHeading(out *bytes.Buffer, r *run.Document) {
	s := r.Scenario
	fmt.Fprintf(out, "%s on %s\n", r.Driver, r.ServerText())
	fmt.Fprintf(out, "%d producers, %d consumers, %s msg/s for %s, delay %s, payload %d B, queue %q\n",
		s.Producers, s.Consumers, run.FormatFloat(s.Rate), s.Duration, s.Delay, s.PayloadSize, s.Queue)
	if more := more(s); more != "" {
		fmt.Fprintln(out, more)
	}
	if text := s.ScaleText(); text != "" {
		fmt.Fprintln(out, text)
	}
	if r.Measured == run.OverProtocol {
		fmt.Fprintln(out, "measured over the protocol: each figure holds the way to the program and back")
	}
	if r.Measured == run.InProgram {
		fmt.Fprintln(out, "measured in the program: no figure holds the way there")
	}
	if text := warmupText(r.Warmup); text != "" {
		fmt.Fprintln(out, text)
	}
	if r.Workers > 1 {
		fmt.Fprintf(out, "merged from %d workers\n", r.Workers)
	}
	for _, k := range slices.Sorted(maps.Keys(r.Labels)) {
		fmt.Fprintf(out, "%s=%s ", k, r.Labels[k])
	}
	if len(r.Labels) > 0 {
		out.WriteByte('\n')
	}
	out.WriteByte('\n')
}

// warmupText says how a warm-up that ended by itself went; one whose length was given
// is as it was asked for.
func warmupText(w *run.Warmup) string {
	switch {
	case w == nil || w.Fixed:
		return ""
	case w.Warm:
		return fmt.Sprintf("warm after %.0f s", w.Seconds)
	default:
		return fmt.Sprintf("not warm after %.0f s", w.Seconds)
	}
}

// more says what is not in every run, or nothing.
func more(s run.Scenario) string {
	var parts []string
	for _, part := range []struct {
		used bool
		text string
	}{
		{s.Name != "", "scenario " + s.Name},
		{s.Ramp != "", "rate " + s.Ramp},
		{s.Queues > 1, fmt.Sprintf("%d queues", s.Queues)},
		{s.Poll != "", "each consumer polls every " + s.Poll},
		{s.Work != "", "each message keeps its consumer busy for " + s.Work},
		{s.Cancel != "", "share cancelled: " + s.Cancel},
		{s.Horizon != "", "waits " + s.Horizon + " after the last offer"},
		{s.DrainLimit != "", "waits no longer than " + s.DrainLimit + " after the last is due"},
		{len(s.Fleet) > 0, "fleet: " + strings.Join(s.Fleet, ", ")},
	} {
		if part.used {
			parts = append(parts, part.text)
		}
	}
	return strings.Join(parts, "; ")
}

func writeCounts(out *bytes.Buffer, r *run.Document) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	var heads []string
	var values []int64
	for _, count := range run.AllCounts {
		if n := count.Of(r.Counts); n > 0 || !count.Rare {
			heads, values = append(heads, count.Title), append(values, n)
		}
	}
	fmt.Fprintln(t, strings.Join(heads, "\t")+"\t")
	for _, v := range values {
		fmt.Fprintf(t, "%d\t", v)
	}
	fmt.Fprint(t, "\n")
	_ = t.Flush()
	out.WriteByte('\n')
}

func writeTable(out *bytes.Buffer, r *run.Document, quantiles []float64) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\tmin\t")
	for _, q := range quantiles {
		fmt.Fprintf(t, "%s\t", run.QuantileName(q))
	}
	fmt.Fprint(t, "max\tmean\t\n")
	thin := false
	for _, row := range r.Histograms.Rows() {
		fmt.Fprintf(t, "%s\t%s\t", row.Name, orDash(row.H, row.H.Min()))
		for _, q := range quantiles {
			mark := ""
			if row.H.Count() > 0 && !run.Bears(row.H.Count(), q) {
				mark, thin = "~", true
			}
			fmt.Fprintf(t, "%s%s\t", mark, orDash(row.H, row.H.Quantile(q)))
		}
		fmt.Fprintf(t, "%s\t%s\t\n", orDash(row.H, row.H.Max()), orDash(row.H, int64(row.H.Mean())))
	}
	_ = t.Flush()
	if thin {
		fmt.Fprintf(out, "~ fewer than %d messages lie beyond this quantile\n", run.MinTail)
	}
	out.WriteByte('\n')
}

func orDash(h *run.Histogram, ns int64) string {
	if h.Count() == 0 {
		return "-"
	}
	return run.FormatNs(ns)
}

// writeRamp prints a row for each rate, and the one at which messages come later.
func writeRamp(out *bytes.Buffer, steps []run.RateStep) {
	if len(steps) == 0 {
		return
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "rate\toffered\tdropped\tpast due p50\tp99\tserver CPU\t\n")
	for _, s := range steps {
		fmt.Fprintf(t, "%s/s\t%.0f/s\t%d\t%s\t%s\t%.0f %%\t\n", run.FormatFloat(s.Rate), s.Offered, s.Dropped, run.FormatNs(s.PastDueP50),
			run.FormatNs(s.PastDueP99), 100*s.ServerCPU)
	}
	_ = t.Flush()
	if rate := run.RisesAt(steps); rate > 0 {
		fmt.Fprintf(out, "Past due rises at %s/s.\n\n", run.FormatFloat(rate))
	} else {
		out.WriteString("Past due rises at none of these rates.\n\n")
	}
}
