package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/harness/report"
)

func newCompareCmd() *cobra.Command {
	var asJSON bool
	var page string
	options := report.CompareOptions{}
	cmd := &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "Judge two sets of run files: better, worse, no difference, inconclusive",
		Long: fmt.Sprintf(`Compare sets NEW against OLD. Each is a run file, a folder that holds run.json
files at any depth, or a quoted glob.

It judges lateness across runs, with the exact Mann-Whitney test: the seconds of
one run are not independent, so fewer than %d runs a side are always
inconclusive. Runs of different configurations are refused.

Exit codes: 0 better, no difference or inconclusive; 1 a run file cannot be
read; 2 wrong usage, or different configurations; 99 NEW is worse.`, report.MinRuns),
		Example: `  dq-bench compare out/old/run.json out/new/run.json
  dq-bench compare --html report.html out/redisson-4.7.0 out/dq
  dq-bench compare 'out/monday-*' 'out/tuesday-*'`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !(options.MinEffect >= 0 && options.MinEffect < 1) {
				return usageError(fmt.Errorf("min-effect: expected a share from 0 to below 1 such as 0.05, got %v", options.MinEffect))
			}
			return compareSides(cmd.OutOrStdout(), args[0], args[1], options, asJSON, page)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document on stdout and nothing else")
	cmd.Flags().StringVar(&page, "html", "", "file to write a page for the browser to, with charts of both sides")
	cmd.Flags().BoolVar(&options.Force, "force", false, "compare runs of different configurations")
	cmd.Flags().Float64Var(&options.MinEffect, "min-effect", .05, "smallest change that matters, as a share of OLD")
	return cmd
}

func compareSides(w io.Writer, oldPath, newPath string, options report.CompareOptions, asJSON bool, page string) error {
	oldRuns, errOld := report.ReadSide(oldPath)
	newRuns, errNew := report.ReadSide(newPath)
	if err := errors.Join(errOld, errNew); err != nil {
		return err
	}
	c, err := report.Compare(oldRuns, newRuns, options)
	if err != nil {
		var different *report.DifferenceError
		if errors.As(err, &different) {
			return usageError(fmt.Errorf("%w; compare them all the same with --force", err))
		}
		return err
	}
	if page != "" {
		if err := report.ComparisonPage(oldRuns, newRuns, c).WriteHTMLFile(page); err != nil {
			return err
		}
	}
	if err := printComparison(w, c, asJSON); err != nil {
		return err
	}
	if c.Outcome == report.Worse {
		return failure(errors.New(c.Text))
	}
	return nil
}

func printComparison(w io.Writer, c *report.Comparison, asJSON bool) error {
	if !asJSON {
		return c.WriteText(w)
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(c)
}
