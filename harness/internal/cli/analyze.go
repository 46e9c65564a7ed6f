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
	"github.com/dq-bench/dq-bench/harness/internal/page"
	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/internal/redisurl"
	"github.com/dq-bench/dq-bench/internal/text"
)

// analyzeFlags are what `analyze` was called with.
type analyzeFlags struct {
	asJSON   bool
	html     string
	redis    string
	listens  bool // to the server at redis
	duration time.Duration
}

func newAnalyzeCmd() *cobra.Command {
	var f analyzeFlags
	cmd := &cobra.Command{
		Use:   "analyze [FILE... | -]",
		Short: "Explain any MONITOR log: which Redisson releases, every message's life, anomalies",
		Long: `Analyze reads what MONITOR printed ('redis-cli monitor > x.monitor'), of any size,
from anywhere in it, damaged or mixed from several servers: a line that is none is
counted and passed over. Of several files, or the *.monitor files of a folder, one that
begins after the one before it has ended is its continuation; else it is another log.

--redis listens to a server instead. MONITOR is a load on it: an offer, which is four
lines of MONITOR, cost the server 27 µs of its processor without and 72 µs with it
(Redis 7.0.15 on a busy machine of two cores). Keep it short in production.

It tells which Redisson releases can have sent all of it, what became of the messages,
how late they were by the server's clock, corrected by how far the clients' clocks are
ahead, and what is wrong, with the lines that show it.`,
		Example: `  redis-cli monitor | dq-bench analyze -
  dq-bench analyze recordings/redisson/3.21.0/*.monitor --json | jq .redisson
  dq-bench analyze monitor.log --html lives.html
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
					return errors.New("expected files, or - alone for standard input")
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
			if _, err := redisurl.Parse(f.redis); f.listens && err != nil {
				return usageError(fmt.Errorf("--redis: %w; expected the URL of one server, redis://host:port, rediss://host:port or unix:///path (of a cluster, each node by itself)", err))
			}
			if err := checkWritable("--html", f.html); err != nil {
				return err
			}
			return runAnalyze(cmd, &f, args)
		},
	}
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON document on stdout and nothing else")
	cmd.Flags().StringVar(&f.html, "html", "", "also write a page with the timeline of the messages' lives to this file")
	liveServerVar(cmd.Flags(), &f.redis)
	cmd.Flags().DurationVar(&f.duration, "for", 30*time.Second, "how long to listen to --redis")
	return cmd
}

func runAnalyze(cmd *cobra.Command, f *analyzeFlags, args []string) error {
	reader := &analysis.Reader{Analysis: analysis.New(), Report: progressOn(cmd.ErrOrStderr())}
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
	case err != nil: // what came before it is printed
		return err
	case reader.Read() == 0 && !f.listens:
		return errors.New("expected lines as MONITOR prints them; the log is empty")
	case d.Commands == 0 && d.Unparsed > 0:
		return fmt.Errorf("expected lines as MONITOR prints them; none of %d is one", d.Unparsed)
	case len(d.Anomalies) > 0:
		return failure(errors.New(page.AnomaliesText(d)))
	}
	return nil
}

func listen(ctx context.Context, reader *analysis.Reader, f *analyzeFlags) error {
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
	if f.html != "" {
		if err := page.WriteAnalysis(f.html, d); err != nil {
			return err
		}
	}
	if f.asJSON {
		return printJSON(w, d)
	}
	var out strings.Builder
	if err := page.AnalysisText(&out, d); err != nil {
		return err
	}
	_, err := io.WriteString(w, text.Inert(out.String()))
	return err
}

// progressOn returns what tells, on a stream for people, how far a log is read that takes
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
