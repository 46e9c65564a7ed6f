package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteMarkdown prints the comparison as a table that a pull request shows.
func (c *Comparison) WriteMarkdown(w io.Writer) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "**%s**\n\n", c.Text)
	fmt.Fprintf(&out, "| | OLD | NEW | shift | change | 95 %% interval | p | |\n|---|---:|---:|---:|---:|---:|---:|---|\n")
	for _, row := range c.Rows {
		fmt.Fprintf(&out, "| %s %s | %s | %s | %s | %s | %s | %s | %s |\n", strings.ReplaceAll(row.Histogram, "_", " "), row.Stat,
			FormatNs(int64(row.Old)), FormatNs(int64(row.New)), signed(row.Shift), row.changeText(),
			row.intervalText(), row.chanceText(), row.Outcome)
	}
	if c.Old.Bands != nil || c.New.Bands != nil {
		fmt.Fprintf(&out, "\n%s\n\n| | OLD | NEW |\n|---|---:|---:|\n", bandsNote)
		for _, q := range Quantiles {
			fmt.Fprintf(&out, "| lateness %s | %s | %s |\n", QuantileName(q), c.Old.Bands.text(QuantileName(q)), c.New.Bands.text(QuantileName(q)))
		}
	}
	for _, side := range []struct {
		name string
		s    ComparisonSide
	}{{"OLD", c.Old}, {"NEW", c.New}} {
		n := side.s.Counts
		fmt.Fprintf(&out, "\n%s: %s on %s, %s; offered %d, delivered %d, lost %d, duplicate %d, early %d, pending %d",
			side.name, side.s.Driver, side.s.Server, runs(side.s.Runs), n.Offered, n.Delivered, n.Lost, n.Duplicate, n.Early, n.Pending)
		if side.s.Calls != nil {
			fmt.Fprintf(&out, ", %s transfer calls per message", trimFloat(*side.s.Calls))
		}
		out.WriteString(".\n")
	}
	for _, d := range c.Differences {
		fmt.Fprintf(&out, "\ndifferent: %s\n", d)
	}
	_, err := w.Write(out.Bytes())
	return err
}

// WriteBenchfmt prints the runs of both sides in Go's benchmark format, one line a
// run, for 'benchstat -col side'. Quantiles that a run has too few messages for
// are left out. What the sides are is a key only where they have it in common:
// benchstat never sets runs that differ in another key beside each other.
func WriteBenchfmt(w io.Writer, old, new []*Run) error {
	var out bytes.Buffer
	common := commonKeys(old, new)
	for _, side := range []struct {
		name string
		runs []*Run
	}{{"old", old}, {"new", new}} {
		fmt.Fprintf(&out, "# %s is %s on %s\n", side.name, side.runs[0].Driver, side.runs[0].ServerText())
		for _, r := range side.runs {
			fmt.Fprintf(&out, "goos: %s\ngoarch: %s\n%sside: %s\n", r.Environment.OS, r.Environment.Arch, common, side.name)
			fmt.Fprintf(&out, "BenchmarkDelayQueue/%s 1", benchName(r.Scenario.Name))
			for _, row := range r.Histograms.rows() {
				unit := strings.ReplaceAll(strings.ToLower(row.name), " ", "-")
				for _, q := range Quantiles {
					if Bears(row.h.Count(), q) {
						fmt.Fprintf(&out, " %.9g %s-%s-sec", float64(row.h.Quantile(q))/1e9, unit, QuantileName(q))
					}
				}
			}
			if r.ServerStats != nil {
				fmt.Fprintf(&out, " %.6g transfers/msg", r.ServerStats.TransferCallsPerMessage)
			}
			out.WriteByte('\n')
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}

// commonKeys are the lines of driver and server, each if all runs have the same.
func commonKeys(old, new []*Run) string {
	lines := ""
	for _, key := range []struct {
		name string
		of   func(*Run) string
	}{{"driver", func(r *Run) string { return r.Driver.String() }}, {"server", (*Run).ServerText}} {
		value := key.of(old[0])
		if !slices.ContainsFunc(slices.Concat(old, new), func(r *Run) bool { return key.of(r) != value }) {
			lines += key.name + ": " + value + "\n"
		}
	}
	return lines
}

// benchName is a name that a benchmark can have.
func benchName(scenario string) string {
	if scenario == "" {
		return "run"
	}
	return strings.ReplaceAll(scenario, " ", "_")
}
