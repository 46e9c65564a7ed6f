package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics/migrate"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// migrateFlags are the flags of migrate.
type migrateFlags struct {
	redis, to             string
	dryRun, repair, force bool
	asJSON                bool
	recoding              recodeFlags
}

func newMigrateCmd() *cobra.Command {
	var flags migrateFlags
	cmd := &cobra.Command{
		Use:   "migrate QUEUE",
		Short: "Rewrite waiting messages for another release or codec",
		Long: `--to rewrites the members of a delayed queue for another release: dLc0 is the layout to 3.21.0, Bc0Lc0
from 3.21.1. Due time, order, id and value stay, so the way back restores every byte. Each batch is
atomic; if interrupted, run the command again. Offers, transfers and removals may continue meanwhile.
Refuses while a client subscribes to the channel, because an older Redisson would stall at the first
rewritten member; --force continues. --repair moves ghosts to redisson_delay_queue_ghosts:{QUEUE}, lists
orphans, and moves unreadable members to redisson_delay_queue_quarantine:{QUEUE}. Nothing is deleted.

--codec rewrites the values, waiting and delivered. Stop all clients first: a consumer with the other codec
loses values. Redisson's own codecs read and write them, with the classes of --classpath: its Redisson, or
--release OLD:NEW. It needs Java 17 here, or in a service: see 'dq-bench codec decode --help'. What would be read
as another value is refused, stays as it is, and is listed. Values of typed-json need --class.

Exit codes: 1 refused, nothing was changed; 99 something is left.`,
		Example: `  dq-bench migrate orders --to 4.7.0 --dry-run
  dq-bench migrate orders --to 3.16.6 --repair --json    # and back
  dq-bench migrate orders --codec marshalling:kryo5 --classpath app.jar --dry-run`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, queues []string) error {
			if queues[0] == "" {
				return usageError(errors.New("expected the name of a queue, got an empty one"))
			}
			flags.chosen(cmd.Flags().Changed)
			if flags.recoding.codec != "" {
				return flags.recode(cmd, queues[0])
			}
			options, err := flags.options()
			if err != nil {
				return usageError(err)
			}
			srv, err := startLive(cmd.Context(), flags.redis)
			if err != nil {
				return err
			}
			conn := srv.Conn()
			defer conn.Close()
			options.Cluster = srv.Cluster()
			options.Progress = everyTwoSeconds(cmd.ErrOrStderr())
			done, err := migrate.Run(cmd.Context(), conn, queues[0], options)
			if err != nil {
				return migrateError(done, err)
			}
			if err := printMigration(cmd.OutOrStdout(), flags.asJSON, done); err != nil {
				return err
			}
			return migrateVerdict(done)
		},
	}
	f := flagsOf(cmd)
	liveServerVar(f, &flags.redis)
	f.str(&flags.to, "to", "")
	flags.recoding.add(f)
	f.yes(&flags.dryRun, "dry-run")
	f.yes(&flags.repair, "repair")
	f.yes(&flags.force, "force")
	f.yes(&flags.asJSON, "json")
	return cmd
}

// chosen drops defaults from the environment that the given flags exclude: --to and --codec exclude each other.
func (f *migrateFlags) chosen(given func(string) bool) {
	if f.recoding.codec != "" && !given("codec") && (given("to") || f.to != "") {
		f.recoding.codec = ""
	}
	if f.recoding.codec == "" {
		f.recoding = f.recoding.given(given)
		return
	}
	if !given("to") {
		f.to = ""
	}
	f.repair = f.repair && given("repair")
}

// options reads the flags; an error is wrong usage.
func (f migrateFlags) options() (migrate.Options, error) {
	options := migrate.Options{Repair: f.repair, DryRun: f.dryRun, Force: f.force}
	if f.to == "" {
		return options, errors.New("expected --to dLc0, --to Bc0Lc0, or a release: --to 4.7.0; or --codec, such as --codec marshalling:kryo5")
	}
	if err := f.recoding.unused(); err != nil {
		return options, err
	}
	var err error
	if options.To, err = parseLayout(f.to); err != nil {
		return options, err
	}
	if err := checkLiveServer(f.redis); err != nil {
		return options, err
	}
	return options, nil
}

// parseLayout reads --to: a layout, or a release that writes it.
func parseLayout(to string) (wire.Layout, error) {
	for _, l := range []wire.Layout{wire.LayoutDLc0, wire.LayoutBc0Lc0} {
		if to == l.String() {
			return l, nil
		}
	}
	release, err := wire.LookupRelease(to)
	if err != nil {
		return 0, fmt.Errorf("--to: expected dLc0, Bc0Lc0 or a release: %w", err)
	}
	return release.Layout(), nil
}

// everyTwoSeconds prints how far a migration is, once it has taken so long.
func everyTwoSeconds(w io.Writer) func(pass, done, total int) {
	last := time.Now()
	return func(pass, done, total int) {
		if time.Since(last) >= 2*time.Second {
			last = time.Now()
			fmt.Fprintf(w, "pass %d: %d of %d entries\n", pass, done, total)
		}
	}
}

// migrateError explains why a migration ended early.
func migrateError(done *migrate.Migration, err error) error {
	err = granted(err, migrateRights)
	// What the server has refused changed nothing; of what it did not answer nobody knows.
	var refused redis.Error
	none := done.Done.Passes == 0 || done.Done.Batches == 0 && errors.As(err, &refused)
	interrupted := errors.Is(err, context.Canceled)
	switch {
	case interrupted && none:
		return errors.New("interrupted: nothing was changed")
	case interrupted:
		return fmt.Errorf("interrupted after %d members and %d entries were rewritten, which stay so; the same command goes on from there",
			done.Done.Members, done.Done.Entries)
	case none:
		return fmt.Errorf("nothing was changed: %w", err)
	}
	return fmt.Errorf("ended after %d members and %d entries were rewritten, which stay so: %w; without what stopped it, the same command goes on from there",
		done.Done.Members, done.Done.Entries, err)
}

// migrateVerdict is an error if something is left.
func migrateVerdict(done *migrate.Migration) error {
	if done.After == nil || done.After.Left() == "" {
		return nil
	}
	return failure(fmt.Errorf("left: %s", done.After.Left()))
}

func printMigration(w io.Writer, asJSON bool, done *migrate.Migration) error {
	if !asJSON {
		return done.WriteText(w)
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(done)
}
