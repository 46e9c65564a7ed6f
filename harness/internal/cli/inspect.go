package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics/inspect"
	"github.com/dq-bench/dq-bench/harness/internal/metrics"
	"github.com/dq-bench/dq-bench/internal/text"
)

// inspectFlags are the flags of inspect.
type inspectFlags struct {
	redis, release string
	all, asJSON    bool
	redact, watch  bool
	samples        int
	interval       time.Duration
	metricsAddr    string
}

func newInspectCmd() *cobra.Command {
	var flags inspectFlags
	cmd := &cobra.Command{
		Use:   "inspect QUEUE... | --all",
		Short: "Look into live queues: who wrote them, and what a running Redisson does with them",
		Long: `Inspect reads what delayed queues of a running Redis hold, and says what a Redisson
of either side of 3.21.1 does with it: counts, what is due when and overdue since when,
the layout, codec and class of each member, entries of the pending list without a
member (ghosts) and members without an entry (orphans), subscribers, memory, and what
the next transfer costs the server.

It writes nothing. It reads every member, in calls that keep the server busy for about
half a millisecond each, and says how many these were and how long the longest took.
It takes 8 bytes of memory for each member, whatever its size. Others may go on
meanwhile: what moved while it was being read is looked at again before it is called a
ghost or an orphan.

Exit codes: 0 fine; 1 the server cannot be reached or refuses; 2 wrong usage; 99 an
anomaly was found. With --watch and --metrics-addr, which go on until they are
interrupted: as the last look would.`,
		Example: `  dq-bench inspect --redis redis://:secret@10.0.0.5:6379/0 orders
  dq-bench inspect --redis redis+cluster://10.0.0.5,10.0.0.6 --all --redact
  dq-bench inspect --release 4.7.0 --json orders | jq '.queues[].findings'
  dq-bench inspect --all --watch
  dq-bench inspect --all --metrics-addr :9121 --interval 15s`,
		RunE: func(cmd *cobra.Command, queues []string) error {
			flags.all = allOf(cmd.Flags(), flags.all, queues)
			flags.asJSON = flags.asJSON && (cmd.Flags().Changed("json") || !flags.watch && flags.metricsAddr == "")
			options, err := flags.options(queues)
			if err == nil && cmd.Flags().Changed("interval") && !flags.watch && flags.metricsAddr == "" {
				err = errors.New("--interval is for --watch and --metrics-addr; without them there is one look")
			}
			if err != nil {
				return usageError(err)
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
			if err := printInspection(cmd.OutOrStdout(), flags.asJSON, seen); err != nil {
				return err
			}
			return inspectVerdict(seen)
		},
	}
	f := cmd.Flags()
	liveServerVar(f, &flags.redis)
	f.StringVar(&flags.release, "release", "", "the Redisson release that the queues are meant for: members of the other layout are an anomaly then")
	f.BoolVar(&flags.all, "all", false, "all delayed queues of the server or cluster")
	f.BoolVar(&flags.redact, "redact", false, "show no values")
	f.IntVar(&flags.samples, "samples", 2, "how many members of each layout, codec and class are shown")
	f.BoolVar(&flags.asJSON, "json", false, "print one JSON document on stdout and nothing else")
	f.BoolVar(&flags.watch, "watch", false, "look again and again: a table that is drawn anew on a terminal, a line for each queue elsewhere")
	f.StringVar(&flags.metricsAddr, "metrics-addr", "", "look again and again, and serve what was seen as Prometheus metrics at HOST:PORT, without HOST for this machine alone; port 0 takes a free one")
	f.DurationVar(&flags.interval, "interval", 5*time.Second, "of --watch and --metrics-addr; longer where reading takes more than a tenth of it")
	return cmd
}

// options reads the flags; an error is wrong usage.
func (f inspectFlags) options(queues []string) (inspect.Options, error) {
	options := inspect.Options{Redact: f.redact, Samples: f.samples}
	switch {
	case f.all == (len(queues) > 0):
		return options, errors.New("expected the names of queues, or --all and none")
	case slices.Contains(queues, ""):
		return options, errors.New("expected the names of queues, got an empty one")
	case f.asJSON && (f.watch || f.metricsAddr != ""):
		return options, errors.New("--json prints one document: it does not go with --watch or --metrics-addr")
	case f.interval < minInterval:
		return options, fmt.Errorf("--interval %v: expected %v or more", f.interval, minInterval)
	case f.samples < 0 || f.samples > maxSamples:
		return options, fmt.Errorf("--samples %d: expected 0 to %d", f.samples, maxSamples)
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

const (
	// maxSamples bounds how many members are shown of each kind.
	maxSamples  = 1000
	minInterval = 100 * time.Millisecond
)

// inspected is a server that is looked at.
type inspected struct {
	about   inspect.Server
	client  redis.UniversalClient
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
		client:  srv.NewClient(), // of a server that is not ours to close
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
