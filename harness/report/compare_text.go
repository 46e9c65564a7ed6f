package report

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"
)

// WriteText prints the comparison as a table for a person.
func (c *Comparison) WriteText(w io.Writer) error {
	var out bytes.Buffer
	for _, side := range []struct {
		name string
		s    ComparisonSide
	}{{"OLD", c.Old}, {"NEW", c.New}} {
		fmt.Fprintf(&out, "%s  %s on %s, %s\n", side.name, side.s.Driver, side.s.Server, runs(side.s.Runs))
	}
	for _, d := range c.Differences {
		fmt.Fprintf(&out, "different: %s\n", d)
	}
	out.WriteByte('\n')
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	c.writeCounts(t)
	fmt.Fprintln(t, "\tOLD\tNEW\tshift\tchange\t95 % interval\tp\t\t")
	for _, row := range c.Rows {
		row.write(t)
	}
	_ = t.Flush()
	c.writeBands(&out)
	fmt.Fprintf(&out, "\n%s\n", c.Text)
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

func (c *Comparison) writeCounts(t io.Writer) {
	fmt.Fprintln(t, "\tOLD\tNEW\tshift\t\t\t\t\t")
	a, b := c.Old.Counts, c.New.Counts
	for _, row := range []struct {
		name     string
		old, new int64
	}{
		{"offered", a.Offered, b.Offered}, {"delivered", a.Delivered, b.Delivered}, {"lost", a.Lost, b.Lost},
		{"duplicate", a.Duplicate, b.Duplicate}, {"early", a.Early, b.Early}, {"pending", a.Pending, b.Pending},
	} {
		fmt.Fprintf(t, "%s\t%d\t%d\t%+d\t\t\t\t\t\n", row.name, row.old, row.new, row.new-row.old)
	}
	if old, new := c.Old.Calls, c.New.Calls; old != nil && new != nil {
		fmt.Fprintf(t, "transfer calls per message\t%s\t%s\t%+.3g\t\t\t\t\t\n", trimFloat(*old), trimFloat(*new), *new-*old)
	}
	fmt.Fprintln(t, "\t\t\t\t\t\t\t\t")
}

// bandsNote says what bands are not.
const bandsNote = "within-run only: 95 % bands of the seconds of one run, resampled in blocks; they say nothing about the next run"

// writeBands prints where the quantiles of a side of one run lie.
func (c *Comparison) writeBands(out io.Writer) {
	if c.Old.Bands == nil && c.New.Bands == nil {
		return
	}
	fmt.Fprintf(out, "\n%s\n", bandsNote)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tOLD\tNEW\t")
	for _, q := range Quantiles {
		name := QuantileName(q)
		old, new := c.Old.Bands.text(name), c.New.Bands.text(name)
		if old != "-" || new != "-" {
			fmt.Fprintf(t, "lateness %s\t%s\t%s\t\n", name, old, new)
		}
	}
	_ = t.Flush()
}

// text is the band of a quantile, - if there is none.
func (b Bands) text(quantile string) string {
	band, ok := b[quantile]
	if !ok {
		return "-"
	}
	return FormatNs(int64(band.Low)) + " … " + FormatNs(int64(band.High))
}

func (row ComparisonRow) write(w io.Writer) {
	fmt.Fprintf(w, "%s %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", strings.ReplaceAll(row.Histogram, "_", " "), row.Stat,
		FormatNs(int64(row.Old)), FormatNs(int64(row.New)), signed(row.Shift), row.changeText(), row.intervalText(), row.chanceText(), row.Outcome)
}

// intervalText is the confidence interval of the shift, - if there is none.
func (row ComparisonRow) intervalText() string {
	if row.Low == nil || row.High == nil {
		return "-"
	}
	return signed(*row.Low) + " … " + signed(*row.High)
}

// chanceText is the p-value, - in a row that is not judged.
func (row ComparisonRow) chanceText() string {
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
		return "+" + FormatNs(int64(ns))
	}
	return FormatNs(int64(ns))
}

// minRelative is the least lateness that a share is taken of, a tenth of the
// resolution of due times: medians of lateness are about 0, of which a share says
// nothing.
const minRelative = float64(100 * time.Microsecond)

// changeText is the relative change, - where it says nothing.
func (row ComparisonRow) changeText() string {
	if row.Old <= 0 || row.Histogram == "lateness" && row.Old < minRelative || math.IsNaN(row.New) {
		return "-"
	}
	return fmt.Sprintf("%+.1f %%", 100*(row.New-row.Old)/row.Old)
}

// runs counts in words.
func runs(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", n)
}
