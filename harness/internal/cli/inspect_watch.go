package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/dq-bench/dq-bench/harness/internal/forensics/inspect"
	"github.com/dq-bench/dq-bench/harness/internal/metrics"
)

// repeat looks at the queues until ctx ends, on a screen, as metrics or both. That the
// server cannot be looked at ends it only the first time.
func (f inspectFlags) repeat(ctx context.Context, target *inspected, stdout, stderr io.Writer) (failed error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var gauges *metrics.Queues
	if f.metricsAddr != "" {
		gauges = metrics.NewQueues()
		served, err := metrics.Serve(ctx, f.metricsAddr, tool(), gauges)
		if err != nil {
			return err
		}
		defer func() { failed = errors.Join(failed, served.Close()) }()
		fmt.Fprintf(stderr, "metrics at %s\n", served.URL())
	}
	screen := newScreen(stdout)
	var last *inspect.Inspection
	inspect.Repeat(ctx, f.interval, target.look, func(seen *inspect.Inspection, err error) {
		if gauges != nil {
			gauges.Set(seen, err)
		}
		switch {
		case err != nil && last == nil:
			stop(err)
		case err != nil:
			fmt.Fprintln(stderr, "dq-bench:", err)
		default:
			last = seen
			if f.watch {
				screen.draw(seen)
			}
		}
	})
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return inspectVerdict(last)
}

// screen draws a table in place on a terminal, and writes lines elsewhere.
type screen struct {
	w        io.Writer
	terminal int // its file descriptor, or -1
}

func newScreen(w io.Writer) *screen {
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return &screen{w, int(file.Fd())}
	}
	return &screen{w, -1}
}

func (s *screen) draw(seen *inspect.Inspection) {
	if s.terminal < 0 {
		fmt.Fprint(s.w, seen.Lines())
		return
	}
	columns, rows, err := term.GetSize(s.terminal)
	if err != nil {
		columns, rows = 80, 24
	}
	const home, clearLine, clearBelow = "\x1b[H", "\x1b[K", "\x1b[J"
	fmt.Fprint(s.w, home+strings.ReplaceAll(seen.Table(columns, rows), "\n", clearLine+"\n")+clearBelow)
}
