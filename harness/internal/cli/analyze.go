package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/harness/internal/analysis"
	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// analyzeFlags are what `analyze` was called with.
type analyzeFlags struct {
	asJSON   bool
	reports  []string
	redis    string
	where    string // the story of which messages
	redact   bool
	listens  bool // to the server at redis
	duration time.Duration
}

func newAnalyzeCmd() *cobra.Command {
	var f analyzeFlags
	cmd := &cobra.Command{
		Use:   "analyze [FILE... | -]",
		Short: "Explain a MONITOR log: releases, messages, anomalies",
		Long: `Reads the output of MONITOR, of any size, from any point, or damaged. Lines that are not MONITOR's
are counted and skipped. Files are read in the order of their first time stamps, so that a rotated log is
one. Prints the Redisson releases that can have sent all of it, the path of the messages, their lateness
by the server's clock, and the anomalies with the lines that show them. --where prints the path of each matching
message: offered, due, delivered, taken or removed, and by which client. --redact shows no values and no lines.

--redis or --for listens to a server instead. MONITOR is a load: an offer costs the server 72 µs instead
of 27 µs (Redis 7.0.15, 2 busy cores). Exit code 99: an anomaly.`,
		Example: `  redis-cli monitor | dq-bench analyze -
  dq-bench analyze monitor.log.1 monitor.log
  dq-bench analyze --redis redis://10.0.0.5:6379 --for 30s`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.Flags().Changed("redis") {
				return errors.New("expected files or --redis, got both")
			}
			if len(args) > 0 && cmd.Flags().Changed("for") {
				return errors.New("--for is how long to listen to --redis; a log is read to its end")
			}
			// DQ_REDIS alone does not start MONITOR, which is a load on the server.
			f.listens = cmd.Flags().Changed("redis") || cmd.Flags().Changed("for")
			if !f.listens {
				cmd.Flag("redis").Annotations = nil // DQ_REDIS does not matter, whatever it names
			}
			for i, name := range args {
				switch {
				case name == "-" && len(args) > 1:
					return errors.New("expected files, or - for standard input")
				case slices.Contains(args[:i], name):
					return fmt.Errorf("%s is named twice, and would be counted twice", name)
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.listens && f.duration <= 0 {
				return usageError(fmt.Errorf("--for %v: expected more than zero", f.duration))
			}
			spec, err := redis.Parse(f.redis)
			if f.listens && err != nil {
				return usageError(err)
			}
			if f.listens && (spec.Kind != redis.External || spec.Address.Topology != redis.Single) {
				return usageError(fmt.Errorf("--redis %s: expected the URL of one server, redis://host:port, rediss://host:port or unix:///path (of a cluster, each node by itself)", redis.Redact(f.redis)))
			}
			if err := reports(f.reports).check(); err != nil {
				return err
			}
			args, remove, err := unpackRecorded(args)
			if err != nil {
				return err
			}
			defer remove()
			return runAnalyze(cmd, &f, args)
		},
	}
	flags := flagsOf(cmd)
	flags.yes(&f.asJSON, "json")
	flags.reported(&f.reports)
	flags.str(&f.where, "where", "")
	flags.yes(&f.redact, "redact")
	liveServerVar(flags, &f.redis)
	flags.span(&f.duration, "for", 30*time.Second)
	return cmd
}

func runAnalyze(cmd *cobra.Command, f *analyzeFlags, args []string) error {
	reader := &analysis.Reader{Analysis: analysis.New(), Report: progressOn(cmd.ErrOrStderr()), Redact: f.redact}
	reader.Where = f.where
	var err error
	switch standardInput := len(args) == 1 && args[0] == "-"; {
	case len(args) > 0 && !standardInput:
		err = reader.Files(cmd.Context(), args)
	case f.listens:
		fmt.Fprintf(cmd.ErrOrStderr(), "dq-bench: listening to MONITOR for %v, which is a load on the server\n", f.duration)
		err = listen(cmd.Context(), reader, f)
	case len(args) == 0 && isTerminal(os.Stdin):
		return usageError(errors.New("expected a FILE, '-' for the standard input, or --redis URL; see 'dq-bench analyze --help'"))
	default:
		err = reader.Log(cmd.Context(), cmd.InOrStdin())
	}
	d := reader.Document()
	if errors.Is(err, context.Canceled) {
		err = fmt.Errorf("interrupted after %d commands", d.Commands)
	}
	if err != nil && d.Commands == 0 {
		return err
	}
	if printErr := printAnalysis(cmd.OutOrStdout(), f, d); printErr != nil {
		return printErr
	}
	switch {
	case err != nil: // the part before it is printed
		return err
	case reader.Read() == 0 && !f.listens:
		return errors.New("expected lines as MONITOR prints them; the log is empty")
	case d.Commands == 0 && d.Unparsed > 0:
		return fmt.Errorf("expected lines as MONITOR prints them; got %d other lines", d.Unparsed)
	case len(d.Anomalies) > 0:
		return failure(errors.New(d.AnomaliesText()))
	}
	return nil
}

func listen(ctx context.Context, reader *analysis.Reader, f *analyzeFlags) error {
	// A user that may run nothing but MONITOR is not kept from it.
	if _, err := redis.Start(ctx, f.redis, nil); err != nil && !strings.Contains(err.Error(), "NOPERM") {
		return err
	}
	conn, err := monitor.Dial(ctx, f.redis)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, f.duration)
	defer cancel()
	return reader.Live(ctx, conn)
}

func printAnalysis(w io.Writer, f *analyzeFlags, d *analysis.Document) error {
	if err := reports(f.reports).write(d.Page()); err != nil {
		return err
	}
	if f.asJSON {
		return printJSON(w, d)
	}
	var out strings.Builder
	if f.where != "" {
		err := d.WriteStories(&out, f.where)
		_, printErr := io.WriteString(w, text.Inert(out.String()))
		return errors.Join(err, printErr)
	}
	err := d.WriteText(&out)
	_, printErr := io.WriteString(w, text.Inert(out.String()))
	return errors.Join(err, printErr)
}

// progressOn reports, on a stream for people, the progress of a log that takes
// more than two seconds.
func progressOn(w io.Writer) func(analysis.Progress) {
	began := time.Now()
	next := began.Add(2 * time.Second)
	return func(p analysis.Progress) {
		now := time.Now()
		if now.Before(next) {
			return
		}
		next = now.Add(time.Second)
		const mb = 1e6
		read := float64(p.Read) / mb
		of := ""
		if p.Of > 0 {
			of = fmt.Sprintf(" of %.0f", float64(p.Of)/mb)
		}
		fmt.Fprintf(w, "dq-bench: %.0f%s MB read, %.0f MB/s\n", read, of, read/now.Sub(began).Seconds())
	}
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
