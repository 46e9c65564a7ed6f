package page

import (
	"bytes"
	"fmt"
	"io"
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
