package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Quantiles are what tables show and comparisons declare.
var Quantiles = []float64{.5, .9, .99, .999}

// QuantileName returns p50, p99, p99.9.
func QuantileName(q float64) string { return "p" + percentText(q) }

func percentText(q float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.4f", q*100), "0"), ".")
}

// WriteText prints the run for a person. A quantile that fewer than ten samples
// are expected beyond is marked with ~: it says more about single messages than
// about the implementation. quantiles nil means Quantiles.
func (r *Run) WriteText(w io.Writer, quantiles []float64) error {
	if quantiles == nil {
		quantiles = Quantiles
	}
	var out bytes.Buffer
	r.writeHeading(&out)
	r.writeCounts(&out)
	r.writeTable(&out, quantiles)
	r.writeServer(&out)
	for _, o := range r.SLO {
		state := "met"
		if !o.Met {
			state = "MISSED"
		}
		kind := "slo"
		if o.Expected {
			kind = "expected"
		}
		fmt.Fprintf(&out, "%s  %s  %s (%s)\n", kind, o.Expr, state, o.actualText())
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

func (r *Run) writeHeading(out *bytes.Buffer) {
	s := r.Scenario
	fmt.Fprintf(out, "%s on %s\n", r.Driver, r.ServerText())
	fmt.Fprintf(out, "%d producers, %d consumers, %s msg/s for %s, delay %s, payload %d B, queue %q\n",
		s.Producers, s.Consumers, trimFloat(s.Rate), s.Duration, s.Delay, s.PayloadSize, s.Queue)
	if more := s.more(); more != "" {
		fmt.Fprintln(out, more)
	}
	if r.Measured == OverProtocol {
		fmt.Fprintln(out, "measured over the protocol: each figure holds the way to the program and back")
	}
	if r.Workers > 1 {
		fmt.Fprintf(out, "merged from %d workers\n", r.Workers)
	}
	for _, k := range sortedKeys(r.Labels) {
		fmt.Fprintf(out, "%s=%s ", k, r.Labels[k])
	}
	if len(r.Labels) > 0 {
		out.WriteByte('\n')
	}
	out.WriteByte('\n')
}

// more says what is not in every run, or nothing.
func (s Scenario) more() string {
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
		{s.Cancel != "", "share called off: " + s.Cancel},
		{s.Horizon != "", "waits " + s.Horizon + " after the last offer"},
		{len(s.Fleet) > 0, "fleet: " + strings.Join(s.Fleet, ", ")},
	} {
		if part.used {
			parts = append(parts, part.text)
		}
	}
	return strings.Join(parts, "; ")
}

// ServerText names the server in a few words. The embedded one is marked: it is
// an imitation, and its figures say nothing about a real server.
func (r *Run) ServerText() string {
	switch s := r.Server; {
	case s == nil:
		return "no server"
	case s.Embedded:
		return fmt.Sprintf("%s %s (EMBEDDED: an imitation of Redis in this process, not a measurement of a real server)", s.Product, s.Version)
	default:
		return fmt.Sprintf("%s %s (%s)", s.Product, s.Version, s.How)
	}
}

func (r *Run) writeCounts(out *bytes.Buffer) {
	c := r.Counts
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	heads := []string{"offered", "delivered", "lost", "duplicate", "early", "pending"}
	values := []int64{c.Offered, c.Delivered, c.Lost, c.Duplicate, c.Early, c.Pending}
	for _, extra := range []struct {
		head  string
		value int64
	}{
		{"of it not due", c.NotDue}, {"removed", c.Removed}, {"revived", c.Revived},
		{"offer errors", c.OfferErrors}, {"foreign", c.Foreign},
	} {
		if extra.value > 0 {
			heads, values = append(heads, extra.head), append(values, extra.value)
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

func (r *Run) writeTable(out *bytes.Buffer, quantiles []float64) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\tmin\t")
	for _, q := range quantiles {
		fmt.Fprintf(t, "%s\t", QuantileName(q))
	}
	fmt.Fprint(t, "max\tmean\t\n")
	thin := false
	for _, row := range r.Histograms.rows() {
		fmt.Fprintf(t, "%s\t%s\t", row.name, orDash(row.h, row.h.Min()))
		for _, q := range quantiles {
			mark := ""
			if row.h.Count() > 0 && !Bears(row.h.Count(), q) {
				mark, thin = "~", true
			}
			fmt.Fprintf(t, "%s%s\t", mark, orDash(row.h, row.h.Quantile(q)))
		}
		fmt.Fprintf(t, "%s\t%s\t\n", orDash(row.h, row.h.Max()), orDash(row.h, int64(row.h.Mean())))
	}
	_ = t.Flush()
	if thin {
		fmt.Fprintf(out, "~ fewer than %d messages lie beyond this quantile\n", minTail)
	}
	out.WriteByte('\n')
}

type histogramRow struct {
	name string
	h    *Histogram
}

func (h Histograms) rows() []histogramRow {
	rows := []histogramRow{{"lateness", h.Lateness}, {"offer RTT", h.OfferRTT}, {"schedule lag", h.ScheduleLag}}
	if h.RemoveRTT != nil {
		rows = append(rows, histogramRow{"remove RTT", h.RemoveRTT})
	}
	return rows
}

func orDash(h *Histogram, ns int64) string {
	if h.Count() == 0 {
		return "-"
	}
	return FormatNs(ns)
}

func (r *Run) writeServer(out *bytes.Buffer) {
	s := r.ServerStats
	switch {
	case s == nil:
	case r.Worker != nil: // a part of the messages, and all of the calls
		fmt.Fprintf(out, "server, for all workers so far: %d transfer calls, %d commands, %s s CPU\n\n", s.TransferCalls, s.Commands, trimFloat(s.CPUSeconds))
	default:
		fmt.Fprintf(out, "server: %s transfer calls per message, %d commands, %s s CPU\n\n",
			trimFloat(s.TransferCallsPerMessage), s.Commands, trimFloat(s.CPUSeconds))
	}
}

func trimFloat(v float64) string { return fmt.Sprintf("%.4g", v) }

// ParseQuantiles reads percentiles such as "50,99,99.9".
func ParseQuantiles(text string) ([]float64, error) {
	var quantiles []float64
	for field := range strings.SplitSeq(text, ",") {
		q, err := parseQuantile("p" + strings.TrimSpace(field))
		if err != nil || strings.TrimSpace(field) == "" {
			return nil, fmt.Errorf("percentiles: expected numbers between 0 and 100 such as 50,99,99.9, got %q", text)
		}
		quantiles = append(quantiles, q)
	}
	slices.Sort(quantiles)
	return slices.Compact(quantiles), nil
}
