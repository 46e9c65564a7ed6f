package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
)

func newChangesCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "changes FROM TO",
		Short: "Show the changes between two Redisson releases, and the steps to take",
		Long: `Prints what an upgrade, or a roll-back, from one Redisson release to another means for waiting messages,
code and jars, which scripts have another text, and the steps to take. It needs no server. Each change cites
statements of docs/spec.`,
		Example: `  dq-bench changes 3.16.6 4.7.0
  dq-bench changes 3.21.0 3.21.1 --json`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err1 := wire.LookupRelease(args[0])
			b, err2 := wire.LookupRelease(args[1])
			if err := errors.Join(err1, err2); err != nil {
				return usageError(err)
			}
			if a == b {
				return usageError(fmt.Errorf("expected two different releases, got %s twice", a))
			}
			changes := ops.ChangesBetween(a, b)
			if asJSON {
				return printJSON(cmd.OutOrStdout(), changes)
			}
			_, err := io.WriteString(cmd.OutOrStdout(), changes.Text())
			return err
		},
	}
	flagsOf(cmd).yes(&asJSON, "json")
	return cmd
}
