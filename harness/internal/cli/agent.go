package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"

	driverserve "github.com/dq-bench/dq-bench/harness/driver/serve"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/load"
)

func newAgentCmd() *cobra.Command {
	var join, tokenFile string
	cmd := &cobra.Command{
		Use:   "agent --join HOST:PORT --token-file FILE",
		Short: "Generate load on another host, for 'dq-bench run --agents'",
		Long: `Makes load for 'dq-bench run --listen HOST:PORT --agents N --token-file FILE', which knows the plan, counts
and judges. The agent reaches Redis by the --redis of the run. It ends with the last run.

Exit codes: 1 no load is run there; 2 wrong usage.`,
		Example: `  dq-bench agent --join load.example:8080 --token-file token`,
		Args:    onlyFlags,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if join == "" || tokenFile == "" {
				return usageError(errors.New("expected --join and --token-file"))
			}
			token, err := readPassword(cmd.Context(), tokenFile)
			if err != nil {
				return fmt.Errorf("--token-file: %w", err)
			}
			if _, _, err := net.SplitHostPort(join); err != nil && !strings.Contains(join, "://") {
				return usageError(fmt.Errorf("--join %s: expected HOST:PORT", join))
			}
			return beAgent(cmd.Context(), join, token, cmd.ErrOrStderr())
		},
	}
	flags := flagsOf(cmd)
	flags.str(&join, "join", "")
	flags.str(&tokenFile, "token-file", "")
	return cmd
}

// An agent waits for the first run to listen, and for the next one to follow.
const firstRun, nextRun = 2 * time.Minute, time.Second

// beAgent serves one run after the other, until nobody runs any.
func beAgent(ctx context.Context, addr, token string, stderr io.Writer) error {
	patience := firstRun
	fmt.Fprintf(stderr, "joining %s; waits up to %v for a run\n", addr, firstRun)
	for served := false; ; served = true {
		err := load.Join(ctx, addr, token, patience, func(name string, conn io.ReadWriter) error {
			fmt.Fprintf(stderr, "serving %s for %s\n", name, addr)
			return serveFor(ctx, name, conn, stderr)
		})
		patience = nextRun
		if served && errors.Is(err, load.ErrNoDoor) || ctx.Err() != nil {
			return nil //nolint:nilerr // the last run has ended
		}
		if err != nil {
			return err
		}
	}
}

// serveFor serves a driver on a connection. Who runs the load names it: a command line is not taken from there.
func serveFor(ctx context.Context, name string, conn io.ReadWriter, stderr io.Writer) error {
	d, err := spec.Parse(name)
	if err != nil {
		return err
	}
	s, isProgram := d.(spec.Program)
	if !isProgram {
		return driverserve.Serve(conn, conn, d)
	}
	command, err := s.Command(ctx, func(line string) { fmt.Fprintln(stderr, line) })
	if err != nil {
		return err
	}
	return program.Pipe(ctx, command, conn, stderr)
}
