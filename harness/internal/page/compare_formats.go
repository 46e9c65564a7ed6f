package page

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// WriteMarkdown prints a comparison as a table that a pull request shows.
func WriteMarkdown(w io.Writer, c *compare.Comparison) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "**%s**\n\n", c.Text)
	fmt.Fprintf(&out, "| | OLD | NEW | shift | change | 95 %% interval | p | |\n|---|---:|---:|---:|---:|---:|---:|---|\n")
	for _, row := range c.Rows {
		fmt.Fprintf(&out, "| %s %s | %s | %s | %s | %s | %s | %s | %s |\n", strings.ReplaceAll(row.Histogram, "_", " "), row.Stat,
			run.FormatNs(int64(row.Old)), run.FormatNs(int64(row.New)), signed(row.Shift), changeText(row),
			intervalText(row), ChanceText(row), row.Outcome)
	}
	if c.Old.Bands != nil || c.New.Bands != nil {
		fmt.Fprintf(&out, "\n%s\n\n| | OLD | NEW |\n|---|---:|---:|\n", bandsNote)
		for _, q := range run.Quantiles {
			fmt.Fprintf(&out, "| lateness %s | %s | %s |\n", run.QuantileName(q), bandText(c.Old.Bands, run.QuantileName(q)), bandText(c.New.Bands, run.QuantileName(q)))
		}
	}
	for _, side := range []struct {
		name string
		s    compare.Side
	}{{"OLD", c.Old}, {"NEW", c.New}} {
		var counts []string
		for _, count := range run.AllCounts {
			if !count.Rare {
				counts = append(counts, fmt.Sprintf("%s %d", count.Title, count.Of(side.s.Counts)))
			}
		}
		fmt.Fprintf(&out, "\n%s: %s on %s, %s; %s",
			side.name, side.s.Driver, side.s.Server, compare.CountRuns(side.s.Runs), strings.Join(counts, ", "))
		if side.s.Calls != nil {
			fmt.Fprintf(&out, ", %s transfer calls per message", run.FormatFloat(*side.s.Calls))
		}
		out.WriteString(".\n")
	}
	for _, d := range c.Differences {
		fmt.Fprintf(&out, "\ndifferent: %s\n", d)
	}
	for _, warning := range c.Warnings {
		fmt.Fprintf(&out, "\nwarning: %s\n", warning)
	}
	_, err := w.Write(out.Bytes())
	return err
}

// WriteBenchfmt prints the runs of both sides in Go's benchmark format, one line a
// run, for 'benchstat -col side'. Quantiles that a run has too few messages for
// are left out. What the sides are is a key only where they have it in common:
// benchstat never sets runs that differ in another key beside each other.
func WriteBenchfmt(w io.Writer, old, new []*run.Document) error {
	var out bytes.Buffer
	common := commonKeys(old, new)
	for _, side := range []struct {
		name string
		runs []*run.Document
	}{{"old", old}, {"new", new}} {
		fmt.Fprintf(&out, "# %s is %s on %s\n", side.name, side.runs[0].Driver, side.runs[0].ServerText())
		for _, r := range side.runs {
			fmt.Fprintf(&out, "goos: %s\ngoarch: %s\n%sside: %s\n", r.Environment.OS, r.Environment.Arch, common, side.name)
			fmt.Fprintf(&out, "BenchmarkDelayQueue/%s 1", benchName(r.Scenario.Name))
			for _, row := range r.Histograms.Rows() {
				unit := strings.ReplaceAll(strings.ToLower(row.Name), " ", "-")
				for _, q := range run.Quantiles {
					if run.Bears(row.H.Count(), q) {
						fmt.Fprintf(&out, " %.9g %s-%s-sec", float64(row.H.Quantile(q))/1e9, unit, run.QuantileName(q))
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
func commonKeys(old, new []*run.Document) string {
	lines := ""
	for _, key := range []struct {
		name string
		of   func(*run.Document) string
	}{{"driver", func(r *run.Document) string { return r.Driver.String() }}, {"server", (*run.Document).ServerText}} {
		value := key.of(old[0])
		if !slices.ContainsFunc(slices.Concat(old, new), func(r *run.Document) bool { return key.of(r) != value }) {
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
