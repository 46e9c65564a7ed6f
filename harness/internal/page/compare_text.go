package page

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// WriteComparison prints a comparison as a table for a person.
func WriteComparison(w io.Writer, c *compare.Comparison) error {
	var out bytes.Buffer
	for _, side := range []struct {
		name string
		s    compare.Side
	}{{"OLD", c.Old}, {"NEW", c.New}} {
		fmt.Fprintf(&out, "%s  %s on %s, %s\n", side.name, side.s.Driver, side.s.Server, compare.CountRuns(side.s.Runs))
	}
	if c.Paired {
		out.WriteString("in pairs, each at the same time on two servers\n")
	}
	for _, d := range c.Differences {
		fmt.Fprintf(&out, "different: %s\n", d)
	}
	out.WriteByte('\n')
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	writeComparedCounts(t, c)
	fmt.Fprintln(t, "\tOLD\tNEW\tshift\tchange\t95 % interval\tp\t\t")
	for _, row := range c.Rows {
		writeRow(t, row)
	}
	_ = t.Flush()
	writeBands(&out, c)
	fmt.Fprintf(&out, "\n%s\n", c.Text)
	for _, warning := range c.Warnings {
		fmt.Fprintf(&out, "warning: %s\n", warning)
	}
	return writeTrimmed(w, out.Bytes())
}

// writeTrimmed writes text without the blanks that tables leave at line ends.
func writeTrimmed(w io.Writer, text []byte) error {
	var out bytes.Buffer
	for line := range bytes.Lines(text) {
		out.Write(bytes.TrimRight(line, " \n"))
		out.WriteByte('\n')
	}
	_, err := w.Write(out.Bytes())
	return err
}

func writeComparedCounts(t io.Writer, c *compare.Comparison) {
	fmt.Fprintln(t, "\tOLD\tNEW\tshift\t\t\t\t\t")
	for _, count := range run.AllCounts {
		if !count.Rare {
			old, new := count.Of(c.Old.Counts), count.Of(c.New.Counts)
			fmt.Fprintf(t, "%s\t%d\t%d\t%+d\t\t\t\t\t\n", count.Title, old, new, new-old)
		}
	}
	if old, new := c.Old.Calls, c.New.Calls; old != nil && new != nil {
		fmt.Fprintf(t, "transfer calls per message\t%s\t%s\t%+.3g\t\t\t\t\t\n", run.FormatFloat(*old), run.FormatFloat(*new), *new-*old)
	}
	fmt.Fprintln(t, "\t\t\t\t\t\t\t\t")
}

// bandsNote says what bands are not.
const bandsNote = "within-run only: 95 % bands of the seconds of one run, resampled in blocks; they say nothing about the next run"

// writeBands prints where the quantiles of a side of one run lie.
func writeBands(out io.Writer, c *compare.Comparison) {
	if c.Old.Bands == nil && c.New.Bands == nil {
		return
	}
	fmt.Fprintf(out, "\n%s\n", bandsNote)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tOLD\tNEW\t")
	for _, q := range run.Quantiles {
		name := run.QuantileName(q)
		old, new := bandText(c.Old.Bands, name), bandText(c.New.Bands, name)
		if old != "-" || new != "-" {
			fmt.Fprintf(t, "lateness %s\t%s\t%s\t\n", name, old, new)
		}
	}
	_ = t.Flush()
}

// bandText is the band of a quantile, - if there is none.
func bandText(b compare.Bands, quantile string) string {
	band, ok := b[quantile]
	if !ok {
		return "-"
	}
	return run.FormatNs(int64(band.Low)) + " … " + run.FormatNs(int64(band.High))
}

func writeRow(w io.Writer, row compare.Row) {
	fmt.Fprintf(w, "%s %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", strings.ReplaceAll(row.Histogram, "_", " "), row.Stat,
		run.FormatNs(int64(row.Old)), run.FormatNs(int64(row.New)), signed(row.Shift), changeText(row), intervalText(row), ChanceText(row), row.Outcome)
}

// intervalText is the confidence interval of the shift, - if there is none.
func intervalText(row compare.Row) string {
	if row.Low == nil || row.High == nil {
		return "-"
	}
	return signed(*row.Low) + " … " + signed(*row.High)
}

// ChanceText is the p-value of a row, - in a row that is not judged.
func ChanceText(row compare.Row) string {
	switch {
	case row.P == nil:
		return "-"
	case *row.P < .001:
		return "<0.001"
	default:
		return fmt.Sprintf("%.3f", *row.P)
	}
}

func signed(ns float64) string {
	if ns > 0 {
		return "+" + run.FormatNs(int64(ns))
	}
	return run.FormatNs(int64(ns))
}

// changeText is the relative change with its 95 % interval, - where a figure is not above 0.
func changeText(row compare.Row) string {
	switch {
	case row.Ratio == nil:
		return "-"
	case row.RatioLow == nil:
		return percentText(*row.Ratio)
	}
	return fmt.Sprintf("%s (%s … %s)", percentText(*row.Ratio), percentText(*row.RatioLow), percentText(*row.RatioHigh))
}

func percentText(ratio float64) string { return fmt.Sprintf("%+.1f %%", 100*(ratio-1)) }

// WriteSelf prints what comparing runs with themselves came to, for a person.
func WriteSelf(w io.Writer, a *compare.AA) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%d of %d comparisons of %s with each other see a difference, %.1f %%; at most %.0f %% may.\n\nnoise floor\n",
		a.Alarms, a.Comparisons, compare.CountRuns(a.Runs), 100*float64(a.Alarms)/float64(a.Comparisons), 100*compare.MaxAlarms)
	for _, name := range slices.Sorted(maps.Keys(a.Noise.Floors)) {
		fmt.Fprintf(&out, "  %-24s ±%s\n", strings.ReplaceAll(name, "_", " "), run.FormatNs(int64(a.Noise.Floors[name])))
	}
	if a.Drifts() {
		fmt.Fprintf(&out, "\nThe runs drift: the later half as NEW against the earlier half as OLD: %s\n", a.DriftText)
	}
	for _, warning := range a.Warnings {
		fmt.Fprintf(&out, "\nwarning: %s\n", warning)
	}
	_, err := w.Write(out.Bytes())
	return err
}
