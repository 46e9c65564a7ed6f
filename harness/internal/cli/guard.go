package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/harness/internal/metrics"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/harness/internal/web"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// guardFlags are the flags of guard.
type guardFlags struct {
	redis, listen          string
	all, asJSON            bool
	ahead, stalled, length time.Duration
}

func newGuardCmd() *cobra.Command {
	var flags guardFlags
	cmd := &cobra.Command{
		Use:   "guard QUEUE... | --all",
		Short: "Deliver for queues without working transfers",
		Long: `Looks at each queue twice a second, and decides:

  members of both layouts wait   takes each out --ahead before it is due, holds it in the ZSET
                                 redisson_delay_queue_guard:{QUEUE}, and delivers it when it is due
  otherwise                      once messages are overdue by --when-stalled: wakes a Redisson that
                                 listens, and delivers them itself a second later

--ahead on the command line has it always take members out ahead. Any number of guards may run at a time; run two. A message that a failed transfer of
Redisson's has delivered is not delivered again. While no guard runs for longer than --ahead, held messages are late, and messages of both
layouts can come twice. Held messages cannot be cancelled by Redisson. The first interrupt delivers held
messages, which takes up to --ahead. Each thing done is a line of JSON on stderr; --listen serves /metrics.

Exit code 99: members were set aside because no client can read them, or calls failed to the end.`,
		Example: `  dq-bench guard --all --redis redis://10.0.0.5:6379/0 --listen 0.0.0.0:9122
  dq-bench guard orders --for 10s`,
		RunE: func(cmd *cobra.Command, queues []string) error {
			flags.all = allOf(cmd.Flags(), flags.all, queues)
			if err := flags.check(queues); err != nil {
				return usageError(err)
			}
			srv, err := startLive(cmd.Context(), flags.redis)
			if err != nil {
				return err
			}
			conn := srv.Conn()
			defer conn.Close()
			return flags.run(cmd, conn, queues)
		},
	}
	f := flagsOf(cmd)
	liveServerVar(f, &flags.redis)
	f.yes(&flags.all, "all")
	f.span(&flags.ahead, "ahead", 5*time.Second)
	f.span(&flags.stalled, "when-stalled", 5*time.Second)
	f.span(&flags.length, "for", 0)
	f.str(&flags.listen, "listen", "")
	f.yes(&flags.asJSON, "json")
	return cmd
}

// check is an error where the flags are wrong usage.
func (f guardFlags) check(queues []string) error {
	const most = 10 * time.Minute
	switch {
	case f.all == (len(queues) > 0):
		return errors.New("expected the names of queues, or --all")
	case slices.Contains(queues, ""):
		return errors.New("expected the names of queues, got an empty name")
	case f.ahead < 100*time.Millisecond || f.ahead > most:
		return fmt.Errorf("--ahead %v: expected 100ms to %v", f.ahead, most)
	case f.stalled < 0 || f.stalled > most:
		return fmt.Errorf("--when-stalled %v: expected 0s to %v", f.stalled, most)
	case f.length < 0:
		return fmt.Errorf("--for %v: expected a time, or 0 to go on until interrupted", f.length)
	}
	if f.listen != "" {
		if err := web.CheckAddr(f.listen); err != nil {
			return err
		}
	}
	return checkLiveServer(f.redis)
}

func (f guardFlags) run(cmd *cobra.Command, conn redis.Conn, queues []string) error {
	ctx := cmd.Context()
	if f.length > 0 {
		limited, cancel := context.WithTimeout(ctx, f.length)
		defer cancel()
		ctx = limited
	}
	guard := ops.NewGuard(conn, ops.GuardOptions{Queues: queues, Ahead: f.ahead, Stalled: f.stalled, AlwaysAhead: cmd.Flags().Changed("ahead"), Interval: 500 * time.Millisecond, Log: cmd.ErrOrStderr()})
	if f.listen != "" {
		served, err := web.Serve(ctx, f.listen, nil, metrics.Handler(tool(), guard), nil)
		if err != nil {
			return err
		}
		defer served.Close()
		fmt.Fprintf(cmd.ErrOrStderr(), `{"did":"serves metrics","at":%q}`+"\n", served.URL()+"metrics")
	}
	if err := guard.Run(ctx); err != nil {
		return granted(err, guardRights)
	}
	done := guard.Counts()
	if err := printGuard(cmd.OutOrStdout(), f.asJSON, done); err != nil {
		return err
	}
	for _, q := range done {
		switch {
		case redis.HasErrorPrefix(errors.New(q.Error), "READONLY"):
			return failure(fmt.Errorf("queue %q: %s; expected the master, which this server is a replica of", q.Queue, q.Error))
		case q.Error != "":
			return failure(granted(fmt.Errorf("queue %q: %s", q.Queue, q.Error), guardRights))
		case q.Aside > 0:
			return failure(fmt.Errorf("queue %q: unreadable members were set aside: %d", q.Queue, q.Aside))
		}
	}
	return nil
}

// guardDocument is the document of `guard --json`.
type guardDocument struct {
	Schema string            `json:"schema"`
	Queues []ops.GuardCounts `json:"queues"`
}

func printGuard(w io.Writer, asJSON bool, done []ops.GuardCounts) error {
	if asJSON {
		return printJSON(w, guardDocument{"dq-bench/guard/v1", done})
	}
	for _, q := range done {
		line := fmt.Sprintf("%q: %d delivered, %d held", q.Queue, q.Delivered, q.Held)
		if q.Before > 0 {
			line += fmt.Sprintf(", %d not delivered again", q.Before)
		}
		if q.Aside > 0 {
			line += fmt.Sprintf(", %d set aside", q.Aside)
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}
