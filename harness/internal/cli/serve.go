package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	driverserve "github.com/dq-bench/dq-bench/harness/driver/serve"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/web"
)

func newServeCmd() *cobra.Command {
	addr := ""
	cmd := &cobra.Command{
		Use:   "serve DIR",
		Short: "Show stored runs in a browser",
		Long: `Serves the runs below a folder until interrupted: a list of them, the page of each, and two or more sides
as 'dq-bench compare' judges them. Reads the run files at each request and writes nothing. Listens on
localhost unless --listen names another interface. Anyone who can connect can read the runs.`,
		Example: `  dq-bench serve out
  dq-bench serve --listen 127.0.0.1:8080 out`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := web.CheckAddr(addr); err != nil {
				return usageError(err)
			}
			stored, err := web.NewStored(args[0])
			if err != nil {
				return err
			}
			server, err := web.Serve(cmd.Context(), addr, stored, nil, nil)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "runs of %s at %s\n", args[0], server.URL())
			<-cmd.Context().Done()
			return server.Close()
		},
	}
	flagsOf(cmd).str(&addr, "listen", "127.0.0.1:0")
	return cmd
}

// newServeDriverCmd is what 'dq-bench run' starts for a member of a fleet: an implementation in a process of its own, which
// speaks the driver protocol.
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
