package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/dq-bench/dq-bench/harness/internal/analysis"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/redis"
)

func newAnalyze() *call {
	var listens bool // to the server at --redis; DQ_REDIS does not start MONITOR, which is a load on the server
	var length time.Duration
	var rules string // of the release that a log is held against
	reader := analysis.New()
	c := newCall("analyze", func(cmd *cobra.Command, args []string) error {
		if listens = cmd.Flags().Changed("redis") || cmd.Flags().Changed("for"); !listens {
			cmd.Flag("redis").Annotations, cmd.PreRunE = nil, nil // DQ_REDIS and its password do not matter
		} else if len(args) > 0 {
			return errors.New("expected files, which are read to their end, or --redis and --for, got both")
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
	})
	c.prints(true)
	c.str(&reader.Where, "where", "")
	c.yes(&reader.Redact, "redact")
	c.str(&rules, "release", "")
	c.live("")
	c.span(&length, "for", 30*time.Second)
	c.check = func([]string) (err error) {
		if reader.Rules, err = conformance.Rules(rules); err != nil {
			return err
		}
		if reader.Match, err = ops.Match(reader.Where); err != nil || !listens {
			return err
		}
		if spec, err := redis.Parse(c.redis); err != nil {
			return err
		} else if spec.Kind != redis.External || spec.Address.Topology != redis.Single {
			return fmt.Errorf("--redis %s: expected the URL of one server, redis://host:port, rediss://host:port or unix:///path (of a cluster, each node by itself)", redis.Redact(c.redis))
		}
		if length <= 0 {
			return fmt.Errorf("--for %v: expected more than zero", length)
		}
		return nil
	}
	return c.unpacks(func(files []string) (err error) {
		// Most memory is garbage at once: fewer collections, within a bound.
		defer debug.SetGCPercent(debug.SetGCPercent(400))
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(128 << 20))
		switch {
		case len(files) > 0 && files[0] != "-":
			err = reader.Files(c.Context(), files)
		case listens:
			c.notice("dq-bench: listening to MONITOR for %v, which is a load on the server", length)
			err = c.listenTo(reader, length)
		case len(files) == 0 && term.IsTerminal(int(os.Stdin.Fd())):
			return usageError(errors.New("expected a FILE, '-' for the standard input, or --redis URL or --for TIME to listen to a server; see 'dq-bench analyze --help'"))
		default:
			err = trace.ReadLog(c.Context(), func() (io.ReadCloser, error) { return io.NopCloser(c.InOrStdin()), nil }, reader.Line)
		}
		return c.analyzed(reader, err, listens)
	})
}

// analyzed prints the document, also of what was read before an error, and judges it.
func (c *call) analyzed(reader *analysis.Analysis, err error, listened bool) error {
	d := reader.Document()
	if errors.Is(err, context.Canceled) {
		err = fmt.Errorf("interrupted after %d commands", d.Commands)
	}
	switch {
	case d.Commands > 0, listened && err == nil && d.Unparsed == 0:
	case err == nil && d.Unparsed == 0:
		return errors.New("expected lines as MONITOR prints them; the log is empty")
	default:
		return cmp.Or(err, fmt.Errorf("expected lines as MONITOR prints them, uncompressed; got %d in another form", d.Unparsed))
	}
	shown := c.shows(d, func(w io.Writer) error {
		if reader.Where != "" {
			return d.WriteStories(w, reader.Where)
		}
		return d.WriteText(w)
	})
	err = cmp.Or(errors.Join(shown, c.report(d.Page())), err)
	if err == nil && len(d.Anomalies) > 0 {
		err = failed(true, "%s", d.AnomaliesText())
	}
	return err
}

func (c *call) listenTo(reader *analysis.Analysis, length time.Duration) error {
	ctx := c.Context()
	if _, err := redis.Start(ctx, c.redis, nil); err != nil && !strings.Contains(err.Error(), "NOPERM") { // the right to MONITOR is enough
		return err
	}
	conn, err := trace.Dial(ctx, c.redis)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	return reader.Live(ctx, conn)
}
