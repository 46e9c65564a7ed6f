package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/metrics"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/harness/internal/web"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// doctorFlags are the flags of doctor.
type doctorFlags struct {
	redis, release, listen     string
	out                        string
	all, asJSON, redact, watch bool
	changes                    bool
	reports                    []string
	length, interval, wait     time.Duration
	given                      func(string) bool
	stdout, stderr             io.Writer
}

func newDoctorCmd() *cobra.Command {
	flags := doctorFlags{interval: 5 * time.Second, wait: 2 * time.Second}
	cmd := &cobra.Command{
		Use:   "doctor [QUEUE...]",
		Short: "Find stuck queues, and the next command for each",
		Long: `Looks at all delayed queues of a Redis, the gravest first, in a line each. Each red or yellow finding says
why, and names one command. With a QUEUE, reads all its members: layouts, codecs, due times, samples, and
the difference between the pending list and the timeout set.

Only reads. A refused command is named with the right that it needs, and the rest is told. Delivered values
are looked at twice, 2 s apart, to see if a consumer takes them; --watch and --listen look every 5 s, and
call a queue red if its first value has not moved for 30 s.

--listen serves /metrics and a page: the queues, their findings and messages. With --allow-changes the page
cancels, delivers, reschedules, imports, repairs and undoes, after a plan and a confirmation; undo files go
to --out. The token in the printed address is needed for changes, and off loopback for reading too.

Exit codes: 1 a named queue is nowhere; 99 a finding is red, at the last look.`,
		Example: `  dq-bench doctor --redis redis://10.0.0.5:6379/0
  dq-bench doctor orders --release 4.7.0 --json | jq '.queues[].findings'
  dq-bench doctor --all --listen 0.0.0.0:9121`,
		RunE: func(cmd *cobra.Command, queues []string) error {
			flags.all = allOf(cmd.Flags(), flags.all, queues)
			flags.given, flags.stdout, flags.stderr = cmd.Flags().Changed, cmd.OutOrStdout(), cmd.ErrOrStderr()
			options, err := flags.options(queues)
			if err != nil {
				return usageError(err)
			}
			if err := reports(flags.reports).check(); err != nil {
				return err
			}
			srv, err := startLive(cmd.Context(), flags.redis)
			if err != nil {
				return err
			}
			conn := srv.Conn()
			defer conn.Close()
			doctor := ops.NewDoctor(conn, options)
			if flags.watch || flags.listen != "" {
				return flags.repeat(cmd.Context(), doctor, conn)
			}
			return flags.once(cmd.Context(), doctor, conn)
		},
	}
	f := flagsOf(cmd)
	liveServerVar(f, &flags.redis)
	f.yes(&flags.all, "all")
	f.str(&flags.release, "release", "")
	f.yes(&flags.redact, "redact")
	f.yes(&flags.asJSON, "json")
	f.reported(&flags.reports)
	f.yes(&flags.watch, "watch")
	f.span(&flags.length, "for", 0)
	f.str(&flags.listen, "listen", "")
	f.yes(&flags.changes, "allow-changes")
	f.str(&flags.out, "out", ".")
	return cmd
}

// options reads the flags; an error is wrong usage. Defaults from the environment give way to given flags.
func (f *doctorFlags) options(queues []string) (ops.LookOptions, error) {
	if f.given("json") || f.given("report") {
		f.watch = f.watch && f.given("watch")
		if !f.given("listen") {
			f.listen = ""
		}
	}
	repeats := f.watch || f.listen != ""
	if repeats {
		f.asJSON = f.asJSON && f.given("json")
		if !f.given("report") {
			f.reports = nil
		}
	}
	slices.Sort(queues)
	options := ops.LookOptions{Queues: slices.Compact(queues), Redact: f.redact, Wait: f.wait, Flags: addressFlags(f.redis, f.given("redis")), Address: redis.Redact(f.redis)}
	switch {
	case f.all && len(queues) > 0:
		return options, errors.New("expected the names of queues or --all, got both")
	case slices.Contains(queues, ""):
		return options, errors.New("expected the names of queues, got an empty name")
	case repeats && (f.asJSON || len(f.reports) > 0):
		return options, errors.New("--json and --report are for one look: they do not go with --watch or --listen")
	case f.changes && f.listen == "":
		return options, errors.New("--allow-changes: expected --listen")
	case f.given("for") && (!repeats || f.length <= 0):
		return options, errors.New("--for: expected a time, with --watch or --listen")
	}
	if !repeats || !f.given("for") {
		f.length = 0
	}
	if f.listen != "" {
		if err := web.CheckAddr(f.listen); err != nil {
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
	return options, checkLiveServer(f.redis)
}

// addressFlags are the flags of an address for a printed command, without its password; empty for the default, and for the
// address of DQ_REDIS, which the command reads too.
func addressFlags(address string, given bool) []string {
	if !given || address == localRedis {
		return nil
	}
	spec, err := redis.Parse(address)
	if err != nil {
		return nil
	}
	shown := spec.Address.String()
	if shown == redis.Redact(shown) {
		return []string{"--redis", shown}
	}
	return []string{"--redis-password-file", "FILE", "--redis", strings.Replace(strings.Replace(redis.Redact(shown), ":***@", "@", 1), "://@", "://", 1)}
}

// once looks once.
func (f *doctorFlags) once(ctx context.Context, doctor *ops.Doctor, conn redis.Conn) error {
	seen, err := doctor.Look(ctx)
	if err != nil {
		return granted(err, doctorRights)
	}
	if err := seen.Missing(ctx, conn); err != nil {
		return err
	}
	if err := reports(f.reports).write(seen.Page()); err != nil {
		return err
	}
	if f.asJSON {
		err = printJSON(f.stdout, seen)
	} else {
		err = seen.WriteText(f.stdout)
	}
	return errors.Join(err, doctorVerdict(seen))
}

// doctorVerdict is an error if a finding is red.
func doctorVerdict(seen *ops.Look) error {
	if seen == nil || seen.Red == 0 {
		return nil
	}
	return failure(fmt.Errorf("red findings: %d, in %d queues", seen.Red, len(seen.Queues)))
}

// repeat looks until ctx ends, on a screen, as metrics or both. Only the first failure ends it.
func (f *doctorFlags) repeat(ctx context.Context, doctor *ops.Doctor, conn redis.Conn) (failed error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if f.length > 0 {
		limited, cancel := context.WithTimeout(ctx, f.length)
		defer cancel()
		ctx = limited
	}
	gauges := ops.NewQueueMetrics()
	desk := ops.NewDesk(ops.DeskOptions{Conn: conn, Token: rand.Text(), Open: web.IsLocal(f.listen), Changes: f.changes, Redact: f.redact, Out: f.out})
	if f.listen != "" {
		served, err := web.Serve(ctx, f.listen, desk, metrics.Handler(tool(), gauges), nil)
		if err != nil {
			return err
		}
		defer func() { failed = errors.Join(failed, served.Close()) }()
		fmt.Fprintf(f.stderr, "metrics at %smetrics\npage at %s\n", served.URL(), ops.TokenURL(served.URL(), desk.Token))
	}
	var last *ops.Look
	doctor.Repeat(ctx, f.interval, func(seen *ops.Look, err error) {
		gauges.Set(seen, err)
		desk.Set(seen, err)
		switch {
		case err != nil && last == nil:
			stop(granted(err, doctorRights))
		case err != nil:
			fmt.Fprintln(f.stderr, "dq-bench:", err)
		default:
			last = seen
			if f.watch {
				f.draw(seen)
			}
		}
	})
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return doctorVerdict(last)
}

// draw draws the look in place on a terminal, and writes lines elsewhere.
func (f *doctorFlags) draw(seen *ops.Look) {
	file, ok := f.stdout.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		fmt.Fprint(f.stdout, seen.Lines())
		return
	}
	columns, rows, err := term.GetSize(int(file.Fd()))
	if err != nil {
		columns, rows = 80, 24
	}
	var all strings.Builder
	_ = seen.WriteText(&all) // to memory
	lines := strings.Split(strings.TrimRight(all.String(), "\n"), "\n")
	if len(lines) >= rows && rows > 2 {
		lines = append(lines[:rows-2], fmt.Sprintf("… %d lines more", len(lines)-rows+2))
	}
	const home, clearLine, clearBelow = "\x1b[H", "\x1b[K", "\x1b[J"
	fmt.Fprint(f.stdout, home)
	for _, line := range lines {
		if runes := []rune(line); len(runes) > columns {
			line = string(runes[:max(0, columns-1)]) + "…"
		}
		fmt.Fprint(f.stdout, line, clearLine, "\n")
	}
	fmt.Fprint(f.stdout, clearBelow)
}
