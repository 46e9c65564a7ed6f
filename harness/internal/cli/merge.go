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
		Short: "Join run files of several workers into one, histograms added exactly",
		Long: `Merge joins the run files of workers that loaded one server at the same time.
Each RUN is a run file, a folder that holds run.json files at any depth, or a
quoted glob. Counts and histograms are added exactly, objectives are judged on
the whole.

Of the workers of one load (run --worker i/n), all are needed: what each offered
and took is joined message by message, and what is lost, duplicate or pending
shows only there. The whole is judged by the objectives that they were given.

Exit codes: 0 fine; 1 a run file cannot be read, or --out holds runs already; 2
wrong usage, or runs that are not parts of one load; 99 the merged run failed.`,
		Example: `  dq-bench merge --out out/all out/worker-1 out/worker-2
  dq-bench merge --slo 'lateness.p99<=20ms' --out out/all out/w`,
		Args: cobra.MinimumNArgs(1),
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
	cmd.Flags().StringVar(&out, "out", "", "folder to write the merged run files to, which holds none yet")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the run file on stdout and nothing else")
	cmd.Flags().StringArrayVar(&slos, "slo", nil, "one more objective to judge the whole by; may be repeated")
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
