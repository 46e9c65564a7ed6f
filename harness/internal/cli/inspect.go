package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics/inspect"
	"github.com/dq-bench/dq-bench/harness/internal/metrics"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// inspectFlags are the flags of inspect.
type inspectFlags struct {
	redis, release string
	all, asJSON    bool
	redact, watch  bool
	reports        []string
	interval       time.Duration
	metricsAddr    string
}

func newInspectCmd() *cobra.Command {
	var flags inspectFlags
	cmd := &cobra.Command{
		Use:   "inspect QUEUE... | --all",
		Short: "Look into live queues, and at what a running Redisson does with them",
		Long: `Reads delayed queues of a running Redis, and says how a Redisson of either side of 3.21.1 treats them:
counts, due times, overdue messages, layout, codec and class of each member, ghosts (only in the pending
list), orphans (only in the timeout set), subscribers, memory, and the cost of the next transfer.

Writes nothing. Reads every member, in calls of about half a millisecond, and needs 8 bytes of memory for
each. Members that change during the scan are rechecked before they are reported as ghosts or orphans.
--watch and --listen repeat until interrupted; --listen serves the figures at /metrics.

Exit code 99: an anomaly was found, by the last look.`,
		Example: `  dq-bench inspect --redis redis://:secret@10.0.0.5:6379/0 orders
  dq-bench inspect --release 4.7.0 --json orders | jq '.queues[].findings'
  dq-bench inspect --all --listen :9121`,
		RunE: func(cmd *cobra.Command, queues []string) error {
			flags.all = allOf(cmd.Flags(), flags.all, queues)
			flags.chosen(cmd.Flags().Changed)
			options, err := flags.options(queues)
			if err != nil {
				return usageError(err)
			}
			if err := reports(flags.reports).check(); err != nil {
				return err
			}
			target, err := flags.connect(cmd.Context(), queues, options)
			if err != nil {
				return err
			}
			defer target.close()
			if flags.watch || flags.metricsAddr != "" {
				return flags.repeat(cmd.Context(), target, cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			seen, err := target.look(cmd.Context())
			if err != nil {
				return err
			}
			if err := reports(flags.reports).write(inspectionPage(seen)); err != nil {
				return err
			}
			if err := printInspection(cmd.OutOrStdout(), flags.asJSON, seen); err != nil {
				return err
			}
			return inspectVerdict(seen)
		},
	}
	f := flagsOf(cmd)
	liveServerVar(f, &flags.redis)
	f.str(&flags.release, "release", "")
	f.yes(&flags.all, "all")
	f.yes(&flags.redact, "redact")
	f.yes(&flags.asJSON, "json")
	f.reported(&flags.reports)
	f.yes(&flags.watch, "watch")
	f.str(&flags.metricsAddr, "listen", "")
	flags.interval = 5 * time.Second
	return cmd
}

// chosen drops defaults from the environment that the given flags exclude: one look excludes many.
func (f *inspectFlags) chosen(given func(string) bool) {
	if given("json") || given("report") {
		f.watch = f.watch && given("watch")
		if !given("listen") {
			f.metricsAddr = ""
		}
	}
	if f.watch || f.metricsAddr != "" {
		f.asJSON = f.asJSON && given("json")
		if !given("report") {
			f.reports = nil
		}
	}
}

// options reads the flags; an error is wrong usage.
func (f inspectFlags) options(queues []string) (inspect.Options, error) {
	options := inspect.Options{Redact: f.redact, Samples: samples}
	switch {
	case f.all == (len(queues) > 0):
		return options, errors.New("expected the names of queues, or --all and none")
	case slices.Contains(queues, ""):
		return options, errors.New("expected the names of queues, got an empty one")
	case f.asJSON && (f.watch || f.metricsAddr != ""):
		return options, errors.New("--json prints one document: it does not go with --watch or --listen")
	case len(f.reports) > 0 && (f.watch || f.metricsAddr != ""):
		return options, errors.New("--report is for one look: it does not go with --watch or --listen")
	}
	if err := checkLiveServer(f.redis); err != nil {
		return options, err
	}
	if f.metricsAddr != "" {
		if err := metrics.CheckAddr(f.metricsAddr); err != nil {
			return options, err
		}
	}
	if f.release != "" {
		release, err := wire.LookupRelease(f.release)
		if err != nil {
			return options, fmt.Errorf("--release: %w", err)
		}
		options.Release = &release
	}
	return options, nil
}

// samples is how many members are shown of each layout, codec and class.
const samples = 2

// inspected is a server that is looked at.
type inspected struct {
	about   inspect.Server
	client  redis.Conn
	queues  []string // none for all
	options inspect.Options
}

func (f inspectFlags) connect(ctx context.Context, queues []string, options inspect.Options) (*inspected, error) {
	srv, err := startLive(ctx, f.redis)
	if err != nil {
		return nil, err
	}
	slices.Sort(queues)
	return &inspected{
		about:   inspect.Server{Product: srv.Product, Version: srv.Version, Address: srv.Addr, Cluster: srv.Cluster()},
		client:  srv.Conn(), // of a server that is not ours to close
		queues:  slices.Compact(queues),
		options: options,
	}, nil
}

func (i *inspected) close() { _ = i.client.Close() }

// look inspects the queues once.
func (i *inspected) look(ctx context.Context) (*inspect.Inspection, error) {
	seen, err := inspect.Look(ctx, i.client, i.about, i.queues, i.options)
	return seen, granted(err, inspectRights)
}

// inspectVerdict is an error if anything is wrong with the queues.
func inspectVerdict(seen *inspect.Inspection) error {
	if seen == nil || seen.Anomalies == 0 {
		return nil
	}
	return failure(fmt.Errorf("anomalies found: %d, in %d queues looked at", seen.Anomalies, len(seen.Queues)))
}

func printInspection(w io.Writer, asJSON bool, seen *inspect.Inspection) error {
	if !asJSON {
		var b strings.Builder
		if err := seen.WriteText(&b); err != nil {
			return err
		}
		_, err := io.WriteString(w, text.Inert(b.String()))
		return err
	}
	return printJSON(w, seen)
}
