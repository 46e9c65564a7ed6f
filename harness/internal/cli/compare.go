package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/report"
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
		Use:   "compare BASE NEW...",
		Short: "Judge sets of runs: better, worse, no difference, inconclusive",
		Long: fmt.Sprintf(`Compares sets of runs: each a run file, a folder with run.json files at any depth, or a quoted glob; --by makes
the sets instead. Judges past due, response time and server time per message across runs by the exact
Mann-Whitney test, adjusted by Holm; runs of 'run --beside' in pairs. Needs %d runs a side (%d pairs). A change
must be significant, and greater than --min-effect and --min-delta.

Three sets and more: names the first worse set, if each run was made beside a run of one reference
implementation. Without a reference, lateness is shown and the last set is judged against the first.

A set is worse, however few its runs, if it lost, duplicated, delivered early, refused or never delivered
messages and the base did not. Invalid and interrupted runs are left out and named. Runs of different
configurations or machines are refused; --force shows them.

Exit codes: 1 a run file cannot be read; 2 the runs cannot be compared; 99 worse.`, compare.MinRuns, compare.MinPairs),
		Example: `  dq-bench compare out/r/redisson-4.7.0 out/r/dq --report report.html
  dq-bench compare 'out/monday-*' 'out/tuesday-*' --json
  dq-bench compare --by version out/nightly --report history.html`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(args); err != nil {
				return err
			}
			return f.compare(cmd.Context(), cmd.OutOrStdout(), args)
		},
	}
	flags := flagsOf(cmd)
	flags.str(&f.By, "by", "")
	flags.reported(&f.reports)
	flags.yes(&f.json, "json")
	flags.yes(&f.Force, "force")
	flags.share(&f.MinEffect, "min-effect", f.MinEffect)
	flags.span(&f.MinDelta, "min-delta", f.MinDelta)
	return cmd
}

func (f *compareFlags) check(args []string) error {
	if !(f.MinEffect >= 0 && f.MinEffect < 1) {
		return usageError(fmt.Errorf("min-effect: expected a share from 0 to below 1 such as 0.05, got %v", f.MinEffect))
	}
	if f.MinDelta < 0 {
		return usageError(fmt.Errorf("min-delta: expected a duration of 0s or more such as 20us, got %s", f.MinDelta))
	}
	if err := compare.CheckBy(f.By); err != nil {
		return usageError(err)
	}
	if f.By == "" && len(args) < 2 {
		return usageError(errors.New("expected BASE and NEW, or --by with the runs to tell apart"))
	}
	return reports(f.reports).check()
}

func (f *compareFlags) compare(ctx context.Context, w io.Writer, paths []string) error {
	var sets []compare.Set
	var errs []error
	for _, path := range paths {
		runs, err := compare.Read(ctx, path)
		sets, errs = append(sets, compare.Set{Name: path, Runs: runs}), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	c, err := compare.Sets(ctx, sets, f.Options)
	switch {
	case compare.IsRefused(err):
		return usageError(fmt.Errorf("%w; show them with --force", err))
	case err != nil:
		return usageError(err)
	}
	page := report.OfComparison(c)
	err = reports(f.reports).write(page)
	if f.json {
		err = errors.Join(err, printJSON(w, c))
	} else {
		err = errors.Join(err, page.Text(w))
	}
	if err == nil && c.Outcome == compare.Worse {
		err = failure(errors.New(c.Text))
	}
	return err
}

func printJSON(w io.Writer, document any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(document)
}
