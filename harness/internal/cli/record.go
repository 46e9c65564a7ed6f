package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/harness/internal/conformance"
)

func newRecordCmd() *cobra.Command {
	var f conformanceFlags
	var out string
	cmd := &cobra.Command{
		Use:   "record",
		Short: "Run the conformance cases and record the commands that Redis saw",
		Long: `Runs the conformance cases and writes the commands that the server saw, as one MONITOR recording for each
section. Replies and keys are judged as 'dq-bench verify' does.

` + sharedServerHelp + `

Exit codes: 1 the folder has such a recording already; 99 a case failed, and its recording shows why.`,
		Example: `  dq-bench record --driver redisson:3.21.0 --out out/3.21.0`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return usageError(errors.New("--out: expected a folder for the recordings"))
			}
			plan, err := f.plan(cmd, "")
			if err != nil {
				return err
			}
			tidy, err := recordingsFolder(out, plan.Cases)
			if err != nil {
				return err
			}
			defer tidy()
			report, err := plan.Run(cmd.Context())
			if err != nil {
				return err
			}
			files, err := conformance.WriteRecordings(out, report)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s; %d recordings in %s\n", report.Driver, report.Counts, len(files), out)
			if report.StandsIn != "" {
				fmt.Fprintln(cmd.OutOrStdout(), report.StandsIn)
			}
			return conformanceVerdict(report)
		},
	}
	f.register(cmd)
	flagsOf(cmd).str(&out, "out", "")
	return cmd
}
