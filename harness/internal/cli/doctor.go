package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/term"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

type doctorCall struct {
	*call
	release, out        string
	all, watch, changes bool
	length, interval    time.Duration
	look                ops.LookOptions
}

func newDoctor() *call {
	d := &doctorCall{call: newCall("doctor", nil), interval: 5 * time.Second}
	d.live(doctorRights)
	d.yes(&d.all, "all")
	d.str(&d.release, "release", "")
	d.yes(&d.look.Redact, "redact")
	d.prints(true)
	d.yes(&d.watch, "watch")
	d.span(&d.length, "for", 0)
	d.str(&d.listen, "listen", "")
	d.yes(&d.changes, "allow-changes")
	d.str(&d.out, "out", ".")
	d.check = d.options
	return d.does(func([]string) error { return d.onServer(d.examine) })
}

// options reads the flags. Defaults from the environment give way to given flags.
func (d *doctorCall) options(queues []string) (err error) {
	if !d.watch || d.given("json") || d.given("report") { // DQ_LISTEN is for other commands, too
		d.watch, d.listen = ifGiven(d.call, "watch", d.watch), ifGiven(d.call, "listen", d.listen)
	}
	repeats := d.watch || d.listen != ""
	if repeats {
		d.json, d.reports = ifGiven(d.call, "json", d.json), ifGiven(d.call, "report", d.reports)
	}
	if err := d.checkQueues(&d.all, queues, false); err != nil {
		return err
	}
	switch {
	case repeats && (d.json || len(d.reports) > 0):
		return errors.New("--json and --report are for one look: they do not go with --watch or --listen")
	case d.changes && d.listen == "":
		return errors.New("--allow-changes: expected --listen")
	case d.given("for") && (!repeats || d.length <= 0):
		return errors.New("--for: expected a time, with --watch or --listen")
	}
	d.length = ifGiven(d.call, "for", d.length)
	if d.release != "" {
		release, err := wire.LookupRelease(d.release)
		if err != nil {
			return named("--release", err)
		}
		d.look.Release = &release
	}
	d.look.Queues, d.look.Wait = slices.Compact(slices.Sorted(slices.Values(queues))), 2*time.Second
	d.look.Flags, d.look.Address = d.addressFlags(), d.redis
	return d.checkListen()
}

// examine looks once, or again and again.
func (d *doctorCall) examine(_ *redis.Server, conn redis.Conn) error {
	defer context.AfterFunc(d.Context(), func() { _ = conn.Close() })() // else a read waits for its limit
	if d.watch || d.listen != "" {
		return d.repeat(ops.NewDoctor(conn, d.look), conn)
	}
	d.look.Progress = ops.NewProgress(d.notice)
	seen, err := ops.NewDoctor(conn, d.look).Look(d.Context())
	if err != nil {
		return err
	}
	if err := seen.Missing(d.Context(), conn); err != nil {
		return err
	}
	return cmp.Or(errors.Join(d.says(seen, seen.Text()), d.report(seen.Page())), doctorVerdict(seen))
}

// addressFlags are the flags of --redis for a printed command, without the password; empty for the default, and for the
// address of DQ_REDIS, which the command reads too.
func (c *call) addressFlags() []string {
	spec, err := redis.Parse(c.redis)
	if !c.given("redis") && !c.given(passwordFlag) || c.redis == localRedis || err != nil {
		return nil
	}
	return spec.Address.Flags(cmp.Or(c.Flag(passwordFlag).Value.String(), "FILE"))
}

// doctorVerdict is an error if a finding is red.
func doctorVerdict(seen *ops.Look) error {
	return failed(seen.Red > 0, "red findings: %d; examined: %s", seen.Red, text.Plural(int64(len(seen.Queues)), "queue"))
}

// repeat looks until the context ends, on a screen, as metrics or both. Only the first failure ends it.
func (d *doctorCall) repeat(doctor *ops.Doctor, conn redis.Conn) (failed error) {
	ctx, stop := context.WithCancel(d.Context())
	defer stop()
	desk := ops.NewDesk(ops.DeskOptions{Conn: conn, Token: rand.Text(), Open: d.at.IsLocal(), Changes: d.changes, Redact: d.look.Redact, Site: ops.Site{Address: d.redis, Flags: d.look.Flags, Folder: d.out}})
	at, done, err := d.served(desk, desk)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, done()) }()
	if at != "" {
		d.warnPlain()
		d.notice("metrics at %[1]smetrics\npage at %[1]s?token=%[2]s", at, desk.Token)
	}
	var last *ops.Look
	var lost error
	doctor.Repeat(ctx, d.interval, d.length, func(seen *ops.Look, err error) {
		desk.Set(seen, err)
		if err == nil && last == nil {
			err = seen.Missing(ctx, conn)
		}
		switch lost = err; {
		case err != nil && last == nil:
			stop()
		case err != nil:
			d.notice("dq-bench: %v", err)
		default:
			if last = seen; d.watch {
				if term.IsTerminal(int(os.Stdout.Fd())) {
					fmt.Fprint(d.OutOrStdout(), "\x1b[H\x1b[2J") // home, and clears the screen
				}
				fmt.Fprint(d.OutOrStdout(), seen.Text())
			}
		}
	})
	return errors.Join(lost, doctorVerdict(cmp.Or(last, &ops.Look{})))
}
