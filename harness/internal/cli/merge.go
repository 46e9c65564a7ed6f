package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/page"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

func newMergeCmd() *cobra.Command {
	var out string
	var asJSON bool
	var slos []string
	cmd := &cobra.Command{
		Use:   "merge RUN...",
		Short: "Join the run files of the workers of one load",
		Long: `Joins the run files of workers (run --worker i/n) that loaded one server at the same time. All workers are
needed: lost, duplicate and pending messages can only be counted over all of them. Histograms are added
exactly. Each RUN is a run file, a folder with run.json files at any depth, or a quoted glob.

Exit codes: 1 a file cannot be read, or --out holds runs; 2 the runs are not parts of one load; 99 failed.`,
		Example: `  dq-bench merge --out out/all out/worker-1 out/worker-2`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, paths []string) error {
			merged, err := mergeRuns(paths, slos)
			if err != nil {
				return err
			}
			if out != "" {
				tidy, err := run.NewFolder(out)
				if err != nil {
					return err
				}
				defer tidy()
				if err := page.WriteFolder(out, merged, nil); err != nil {
					return err
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "run files in %s\n", out)
			}
			if err := printRun(merged, asJSON, nil, cmd.OutOrStdout()); err != nil {
				return err
			}
			return runVerdict(merged)
		},
	}
	flags := flagsOf(cmd)
	flags.str(&out, "out", "")
	flags.yes(&asJSON, "json")
	flags.list(&slos, "slo")
	return cmd
}

func mergeRuns(paths, slos []string) (*run.Document, error) {
	var objectives []run.SLO
	for _, text := range slos {
		slo, err := run.ParseSLO(text)
		if err != nil {
			return nil, usageError(err)
		}
		objectives = append(objectives, slo)
	}
	var runs []*run.Document
	for _, path := range paths {
		part, err := compare.ReadSide(path)
		if err != nil {
			return nil, err
		}
		runs = append(runs, part...)
	}
	merged, err := run.Merge(runs)
	if err != nil {
		return nil, usageError(err)
	}
	merged.Judge(objectives)
	return merged, nil
}
