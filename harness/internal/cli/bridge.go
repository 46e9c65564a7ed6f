package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/harness/internal/forensics/bridge"
	"github.com/dq-bench/dq-bench/harness/internal/metrics"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// bridgeFlags are the flags of bridge.
type bridgeFlags struct {
	redis, to, metricsAddr string
	all, asJSON            bool
	lead, interval, length time.Duration
}

func newBridgeCmd() *cobra.Command {
	var flags bridgeFlags
	cmd := &cobra.Command{
		Use:   "bridge QUEUE... | --all",
		Short: "Deliver messages of both layouts while services cross Redisson 3.21.1",
		Long: `Delivers messages of queues that services of both sides of Redisson 3.21.1 share. Without it, the first
due member that a service cannot read stops its deliveries.

Takes each member out of the queue --lead before it is due, holds it in the ZSET
redisson_delay_queue_bridge:{QUEUE}, and delivers it when it is due. --to also rewrites the members
that are due later, for services of one side only. Two bridges can run at a time. Held messages cannot
be removed, and are late if the only bridge is killed. A service whose clock is further ahead than
--lead, or that offers without delay, can still stall. The first interrupt delivers the held messages,
which takes up to --lead.

Exit code 99: members were set aside because no client can read them, or calls failed to the end.`,
		Example: `  dq-bench bridge --all --redis redis://:secret@10.0.0.5:6379/0
  dq-bench bridge orders refunds --lead 500ms --listen :9122
  dq-bench bridge orders --to 4.7.0`,
		RunE: func(cmd *cobra.Command, queues []string) error {
			flags.all = allOf(cmd.Flags(), flags.all, queues)
			options, err := flags.options(queues)
			if err != nil {
				return usageError(err)
			}
			ctx := cmd.Context()
			srv, err := startLive(ctx, flags.redis)
			if err != nil {
				return err
			}
			conn := srv.Conn()
			defer conn.Close()
			options.Cluster = srv.Cluster()
			done, err := flags.run(ctx, conn, options, cmd.ErrOrStderr())
			if err != nil {
				return bridgeError(err)
			}
			if err := printBridge(cmd.OutOrStdout(), flags.asJSON, done); err != nil {
				return err
			}
			if n := done.Total().Held; n > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "dq-bench: %d messages are still held, and come when a bridge runs: unless another one does, run dq-bench bridge again with the same queues\n", n)
			}
			return bridgeVerdict(done)
		},
	}
	f := flagsOf(cmd)
	liveServerVar(f, &flags.redis)
	f.yes(&flags.all, "all")
	f.span(&flags.lead, "lead", 100*time.Millisecond)
	f.str(&flags.to, "to", "")
	f.span(&flags.interval, "interval", 10*time.Second)
	f.span(&flags.length, "for", 0)
	f.str(&flags.metricsAddr, "listen", "")
	f.yes(&flags.asJSON, "json")
	return cmd
}

// options reads the flags; an error is wrong usage.
func (f bridgeFlags) options(queues []string) (bridge.Options, error) {
	const maxLead = time.Minute
	options := bridge.Options{Queues: queues, Lead: f.lead, Interval: f.interval}
	switch {
	case f.all == (len(queues) > 0):
		return options, errors.New("expected the names of queues, or --all and none")
	case f.lead < time.Millisecond || f.lead > maxLead:
		return options, fmt.Errorf("--lead %v: expected 1ms to %v", f.lead, maxLead)
	case f.interval < minInterval:
		return options, fmt.Errorf("--interval %v: expected %v or more", f.interval, minInterval)
	case f.length < 0:
		return options, fmt.Errorf("--for %v: expected a time, or 0 to go on until interrupted", f.length)
	}
	for _, name := range queues {
		if name == "" {
			return options, errors.New("expected the names of queues, got an empty one")
		}
	}
	if f.to != "" {
		layout, err := parseLayout(f.to)
		if err != nil {
			return options, err
		}
		options.To = &layout
	}
	if f.metricsAddr != "" {
		if err := metrics.CheckAddr(f.metricsAddr); err != nil {
			return options, err
		}
	}
	return options, checkLiveServer(f.redis)
}

// run bridges until ctx ends.
func (f bridgeFlags) run(ctx context.Context, conn redis.Conn, options bridge.Options, stderr io.Writer) (*bridge.Summary, error) {
	if f.length > 0 {
		limited, cancel := context.WithTimeout(ctx, f.length)
		defer cancel()
		ctx = limited
	}
	var printing sync.Mutex
	say := func(line string) {
		printing.Lock()
		defer printing.Unlock()
		fmt.Fprintf(stderr, "%s  %s\n", time.Now().Format(time.TimeOnly), line)
	}
	options.Notice = say
	b, err := bridge.New(conn, options)
	if err != nil {
		return nil, err
	}
	if f.metricsAddr != "" {
		served, err := metrics.Serve(ctx, f.metricsAddr, tool(), metrics.Bridge{Bridge: b})
		if err != nil {
			return nil, err
		}
		defer served.Close()
		say("metrics at " + served.URL())
	}
	progress, end := context.WithCancel(ctx)
	var told sync.WaitGroup
	told.Go(func() { tellProgress(progress, f.interval, b, say) })
	err = b.Run(ctx)
	end()
	told.Wait()
	return b.Summary(), err
}

// tellProgress says how far it is, where something has changed.
func tellProgress(ctx context.Context, interval time.Duration, b *bridge.Bridge, say func(string)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for last := ""; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if now := b.Summary().Text(); now != last {
			say(now)
			last = now
		}
	}
}

// bridgeError says what a user who may not do something needs.
func bridgeError(err error) error {
	if redis.HasErrorPrefix(err, "READONLY") {
		return fmt.Errorf("%w; expected the master, which this server is a replica of", err)
	}
	return granted(err, bridgeRights)
}

func printBridge(w io.Writer, asJSON bool, done *bridge.Summary) error {
	if !asJSON {
		for _, q := range done.Queues {
			if _, err := fmt.Fprintln(w, q.Text()); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintln(w, done.Text())
		return err
	}
	return printJSON(w, done)
}

// bridgeVerdict is an error where something was left that needs a look.
func bridgeVerdict(done *bridge.Summary) error {
	for _, q := range done.Queues {
		if q.Failing != "" {
			return failure(errors.New(q.Failing))
		}
	}
	if n := done.Total().Quarantined; n > 0 {
		return failure(fmt.Errorf("members that nobody can read were set aside: %d", n))
	}
	return nil
}
