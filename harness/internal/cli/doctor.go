package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/harness/internal/web"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// doctorCall is a call of doctor.
type doctorCall struct {
	*call
	release, out                string
	all, redact, watch, changes bool
	length, interval            time.Duration
}

func newDoctor() *call {
	d := &doctorCall{call: newCall("doctor", nil), interval: 5 * time.Second}
	d.live()
	d.yes(&d.all, "all")
	d.str(&d.release, "release", "")
	d.yes(&d.redact, "redact")
	d.prints(true)
	d.yes(&d.watch, "watch")
	d.span(&d.length, "for", 0)
	d.str(&d.listen, "listen", "")
	d.yes(&d.changes, "allow-changes")
	d.str(&d.out, "out", ".")
	return d.does(func(queues []string) error {
		options, err := d.options(queues)
		if err != nil {
			return usageError(err)
		}
		if err := d.checkReports(); err != nil {
			return err
		}
		_, conn, err := d.connect()
		if err != nil {
			return err
		}
		defer conn.Close()
		defer context.AfterFunc(d.Context(), func() { _ = conn.Close() })() // else a read waits for its limit
		doctor := ops.NewDoctor(conn, options)
		if d.watch || d.listen != "" {
			return d.repeat(doctor, conn)
		}
		seen, err := doctor.Look(d.Context())
		if err != nil {
			return granted(err, doctorRights)
		}
		if err := seen.Missing(d.Context(), conn); err != nil {
			return err
		}
		if err := d.report(seen.Page()); err != nil {
			return err
		}
		return errors.Join(d.shows(seen, seen.WriteText), doctorVerdict(seen))
	})
}

// options reads the flags; an error is wrong usage. Defaults from the environment give way to given flags.
func (d *doctorCall) options(queues []string) (o ops.LookOptions, err error) {
	if d.given("json") || d.given("report") {
		d.watch = d.watch && d.given("watch")
		if !d.given("listen") {
			d.listen = ""
		}
	}
	repeats := d.watch || d.listen != ""
	if repeats {
		d.json = d.json && d.given("json")
		if !d.given("report") {
			d.reports = nil
		}
	}
	if err := d.checkQueues(&d.all, queues, false); err != nil {
		return o, err
	}
	slices.Sort(queues)
	o = ops.LookOptions{Queues: slices.Compact(queues), Redact: d.redact, Wait: 2 * time.Second, Flags: addressFlags(d.redis, d.given("redis")), Address: redis.Redact(d.redis)}
	switch {
	case repeats && (d.json || len(d.reports) > 0):
		return o, errors.New("--json and --report are for one look: they do not go with --watch or --listen")
	case d.changes && d.listen == "":
		return o, errors.New("--allow-changes: expected --listen")
	case d.given("for") && (!repeats || d.length <= 0):
		return o, errors.New("--for: expected a time, with --watch or --listen")
	case !d.given("for"):
		d.length = 0
	}
	if d.listen != "" {
		if err := web.CheckAddr(d.listen); err != nil {
			return o, err
		}
	}
	if d.release != "" {
		release, err := wire.LookupRelease(d.release)
		if err != nil {
			return o, named("--release", err)
		}
		o.Release = &release
	}
	return o, nil
}

// addressFlags are the flags of an address for a printed command, without its password; empty for the default, and for the
// address of DQ_REDIS, which the command reads too.
func addressFlags(address string, given bool) []string {
	spec, err := redis.Parse(address)
	if !given || address == localRedis || err != nil {
		return nil
	}
	shown := spec.Address.String()
	if shown == redis.Redact(shown) {
		return []string{"--redis", shown}
	}
	return []string{"--redis-password-file", "FILE", "--redis", strings.Replace(strings.Replace(redis.Redact(shown), ":***@", "@", 1), "://@", "://", 1)}
}

// doctorVerdict is an error if a finding is red.
func doctorVerdict(seen *ops.Look) error {
	if seen == nil || seen.Red == 0 {
		return nil
	}
	return failure(fmt.Errorf("red findings: %d, in %d queues", seen.Red, len(seen.Queues)))
}

// repeat looks until the context ends, on a screen, as metrics or both. Only the first failure ends it.
func (d *doctorCall) repeat(doctor *ops.Doctor, conn redis.Conn) (failed error) {
	ctx, stop := context.WithCancelCause(d.Context())
	defer stop(nil)
	if d.length > 0 {
		limited, cancel := context.WithTimeout(ctx, d.length)
		defer cancel()
		ctx = limited
	}
	gauges := ops.NewQueueMetrics()
	desk := ops.NewDesk(ops.DeskOptions{Conn: conn, Token: rand.Text(), Open: web.IsLocal(d.listen), Changes: d.changes, Redact: d.redact, Out: d.out})
	at, done, err := d.served(desk, gauges)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, done()) }()
	if at != "" {
		d.notice("metrics at %smetrics\npage at %s", at, ops.TokenURL(at, desk.Token))
	}
	var last *ops.Look
	doctor.Repeat(ctx, d.interval, func(seen *ops.Look, err error) {
		gauges.Set(seen, err)
		desk.Set(seen, err)
		switch {
		case err != nil && last == nil:
			stop(granted(err, doctorRights))
		case err != nil:
			d.notice("dq-bench: %v", err)
		default:
			if last = seen; d.watch {
				d.draw(seen)
			}
		}
	})
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return doctorVerdict(last)
}

// draw draws the look in place on a terminal, and writes lines elsewhere.
func (d *doctorCall) draw(seen *ops.Look) {
	out := d.OutOrStdout()
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		fmt.Fprint(out, seen.Lines())
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
	fmt.Fprint(out, home)
	for _, line := range lines {
		if runes := []rune(line); len(runes) > columns {
			line = string(runes[:max(0, columns-1)]) + "…"
		}
		fmt.Fprint(out, line, clearLine, "\n")
	}
	fmt.Fprint(out, clearBelow)
}
