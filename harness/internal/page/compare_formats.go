package page

import (
	"bytes"
	"fmt"
	"io"
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
