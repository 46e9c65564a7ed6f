package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/page"
)

// compareFlags are the flags of 'dq-bench compare' as they were given.
type compareFlags struct {
	compare.Options
	reports []string
	json    bool
}

func newCompareCmd() *cobra.Command {
	f := &compareFlags{Options: compare.DefaultOptions()}
	cmd := &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "Judge two sets of run files: better, worse, no difference, inconclusive",
		Long: fmt.Sprintf(`Sets NEW against OLD: each a run file, a folder with run.json files at any depth, or a quoted glob. Judges past
due, response time and server time per message across runs by the exact Mann-Whitney test, adjusted by Holm; runs
of 'run --beside' in pairs. Needs %d runs a side (%d pairs). A change must be significant, and greater than
--min-effect and --min-delta. The verdict is "no difference" only if the whole interval of the change lies
within these bounds; otherwise it is "inconclusive", with the number of runs needed.

NEW is worse, however few the runs, if it lost, duplicated, delivered early, refused or never delivered messages
and OLD did not. Runs of different configurations or machines and invalid runs are refused; --force compares
them. A label (run --label host=a) tells hosts of one size apart.

Exit codes: 1 a run file cannot be read; 2 the runs cannot be compared; 99 NEW is worse.`, compare.MinRuns, compare.MinPairs),
		Example: `  dq-bench compare out/old/run.json out/new/run.json
  dq-bench compare --report report.html --report report.md out/redisson-4.7.0 out/dq
  dq-bench compare 'out/monday-*' 'out/tuesday-*' --json`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return f.compareSides(cmd.OutOrStdout(), args[0], args[1])
		},
	}
	flags := flagsOf(cmd)
	flags.reported(&f.reports, ".csv", ".html", ".md")
	flags.yes(&f.json, "json")
	flags.yes(&f.Force, "force")
	flags.share(&f.MinEffect, "min-effect", f.MinEffect)
	flags.span(&f.MinDelta, "min-delta", f.MinDelta)
	return cmd
}

func (f *compareFlags) check() error {
	if !(f.MinEffect >= 0 && f.MinEffect < 1) {
		return usageError(fmt.Errorf("min-effect: expected a share from 0 to below 1 such as 0.05, got %v", f.MinEffect))
	}
	if f.MinDelta < 0 {
		return usageError(fmt.Errorf("min-delta: expected a duration of 0s or more such as 20us, got %s", f.MinDelta))
	}
	return reports(f.reports).check(".csv", ".html", ".md")
}

func (f *compareFlags) compareSides(w io.Writer, oldPath, newPath string) error {
	oldRuns, errOld := compare.ReadSide(oldPath)
	newRuns, errNew := compare.ReadSide(newPath)
	err := errors.Join(errOld, errNew)
	if err != nil {
		return err
	}
	c, err := compare.Runs(oldRuns, newRuns, f.Options)
	if err != nil {
		return incomparable(err)
	}
	err = reports(f.reports).write(writers{
		".csv":  rowsAsCSV(comparedRows(c)),
		".html": page.OfComparison(oldRuns, newRuns, c).Write,
		".md":   func(w io.Writer) error { return page.WriteMarkdown(w, c) },
	})
	if f.json {
		err = errors.Join(err, printJSON(w, c))
	} else {
		err = errors.Join(err, page.WriteComparison(w, c))
	}
	if err != nil {
		return err
	}
	if c.Outcome == compare.Worse {
		return failure(errors.New(c.Text))
	}
	return nil
}

// comparedRows are the figures of a comparison by their names in its JSON document.
func comparedRows(c *compare.Comparison) [][]string {
	rows := [][]string{{"histogram", "stat", "old", "new", "shift", "low", "high", "ratio", "p", "outcome"}}
	number := func(at *float64) string {
		if at == nil {
			return ""
		}
		return strconv.FormatFloat(*at, 'g', -1, 64)
	}
	for _, r := range c.Rows {
		rows = append(rows, []string{r.Histogram, r.Stat, number(&r.Old), number(&r.New), number(&r.Shift), number(r.Low), number(r.High), number(r.Ratio), number(r.P), string(r.Outcome)})
	}
	return rows
}

// incomparable marks runs that cannot be compared as wrong usage.
func incomparable(err error) error {
	if compare.IsRefused(err) {
		return usageError(fmt.Errorf("%w; compare them all the same with --force", err))
	}
	return usageError(err)
}

func printJSON(w io.Writer, document any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(document)
}
