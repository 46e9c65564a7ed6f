package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/harness/internal/web"
)

func newServeCmd() *cobra.Command {
	addr := ""
	cmd := &cobra.Command{
		Use:   "serve DIR",
		Short: "Show stored runs in a browser: one, several side by side, their history",
		Long: `Serve shows the runs that lie below a folder, until it is interrupted: a list of them, page
by page (links are followed), the page of each, two or more sides beside each other as 'dq-bench compare' judges them, and
the history as 'dq-bench history' does. It looks at the run files at each request, reads those
that have changed, and writes nothing.

It is of this machine alone unless --web names another interface; whoever reaches that
reads what the run files say.

Exit codes: 0 interrupted; 1 the folder cannot be read, or the address is taken; 2 wrong
usage.`,
		Example: `  dq-bench serve out
  dq-bench serve --web 127.0.0.1:8080 out`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := web.CheckAddr(addr); err != nil {
				return usageError(fmt.Errorf("web: %w", err))
			}
			stored, err := web.NewStored(args[0])
			if err != nil {
				return err
			}
			server, err := web.Serve(cmd.Context(), addr, stored)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "runs of %s at %s\n", args[0], server.URL())
			<-cmd.Context().Done()
			return server.Close()
		},
	}
	cmd.Flags().StringVar(&addr, "web", "127.0.0.1:0", "HOST:PORT to serve at; :PORT for this machine only, port 0 takes a free one")
	return cmd
}
