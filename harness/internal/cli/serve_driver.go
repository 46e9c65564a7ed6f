package cli

import (
	"github.com/spf13/cobra"

	driverserve "github.com/dq-bench/dq-bench/harness/driver/serve"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
)

// newServeDriverCmd is what 'dq-bench run' starts for a member of a fleet that is to be killed,
// or whose clock is to be wrong: an implementation in a process of its own, which speaks the
// driver protocol.
func newServeDriverCmd() *cobra.Command {
	return &cobra.Command{
		Use:    "serve-driver DRIVER",
		Short:  "Serve an implementation as a program of the driver protocol",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := spec.Parse(args[0])
			if err != nil {
				return usageError(err)
			}
			return driverserve.Serve(cmd.InOrStdin(), cmd.OutOrStdout(), d)
		},
	}
}
