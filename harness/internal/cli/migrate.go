package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics/migrate"
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
		Use:   "migrate QUEUE --to LAYOUT|RELEASE, or --codec FROM:TO",
		Short: "Rewrite the messages of a live queue for the other side of Redisson 3.21.1, or in another codec",
		Long: `With --to, migrate rewrites the members of a delayed queue in the layout of another release, where
they are: dLc0 is that of Redisson to 3.21.0, Bc0Lc0 that of 3.21.1 and newer. Due time,
order in the list, id and value stay, and so a migration back restores every byte, but
for members that a Redis for Windows has packed: these get a length of 8 bytes. Values
that are delivered already are not touched.

Each batch is one script: it happens or it does not, and who kills this at any instant
just runs it again. A batch has 256 entries or 64 KB at most, fewer if calls keep the
server busy for over 3 ms, the way there not counted. With --repair, a call may also walk
the list, about 16 ns for each entry. Offers in the new layout, transfers and removals may
go on meanwhile; all is walked until nothing is found, ten times at most.

A Redisson of the other side stands still at the first rewritten member, so migrate
refuses while anybody subscribes to the queue's channel. Whose layout a subscriber reads
cannot be told from outside, Redisson names no version in CLIENT LIST: if all that listen
are of the new side, --force goes on.

With --repair, entries of the list without a member (ghosts) are moved to a LIST
redisson_delay_queue_ghosts:{QUEUE}, members without an entry (orphans) get one at the
end, in order of due time, and members of neither layout are moved to the ZSET
redisson_delay_queue_quarantine:{QUEUE} with their due time, where dq puts them too.
Nothing is deleted that is not kept there. A transfer of Redisson's that failed leaves
orphans whose values it has delivered; they are delivered again, listed or not.

Bytes that fit both layouts count as migrated: only values of one zero byte (of five, from
Windows), one or two ids in 256.

With --codec, migrate rewrites the values: of what waits, and of what was delivered to
QUEUE and not taken; packing, ids, due times and order stay. marshalling:kryo5 is what the
default of Redisson did at 3.19.0; dq-bench inspect tells which codec values have. There are:

    ` + codecNames + `

Objects of your own classes need --jar, with their class files: the bytes do not tell the
declared types of fields, which decide what Kryo5 and JSON write. It may be given several
times, for a jar, or a folder, with classes at the top or as Spring Boot has them; what lies
in jars inside a jar must be unpacked. --class names the class of the values of typed-json
and typed-json3, which their bytes do not tell.

Objects that several fields share stay one between Marshalling and Serialization; the other
codecs hold a copy in each place, in Java too, and no object that is reached from itself.

A value comes out as what Java reads as the same value, in the bytes that Java would write but
for what FROM does not tell (the size of a table, what is one object), for the order of a
record's members in JSON of Jackson 3, and for a Float, Byte, Short, Character or enum by
itself in JSON, which Java writes without its class and reads as another; or it is refused: where the
other codec has no form for it, where a class is a collection of its own making or
has an array of a type parameter, where a field of a generic class holds a generic subclass of that, where JSON lacks a member
that a constructor gives a value to, or may, as it calls a method of the object, where a class writes itself, where its class file is of another version,
where it seems to be of another codec than FROM, where Jackson could not read the class (no
constructor without parameters; a map with keys that it does not read; a record, unless --release names a Redisson that was seen to
read them), or where it holds another collection than
ArrayList, LinkedList, HashSet, LinkedHashSet, TreeSet, HashMap, LinkedHashMap and TreeMap,
to which Kryo5 adds those of List.of, Arrays.asList and the like; JSON without classes has
ArrayList, and the maps that Jackson makes, alone. One refused value refuses
all, and nothing is changed; --partial leaves it, and rewrites the others. --dry-run lists
them.

Whoever takes with one codec a value of the other loses it, so stop all that offer or take:
migrate refuses while anybody subscribes to the channel, and --force says that all have TO.
A service that takes from QUEUE and has no delayed queue does not subscribe: nothing shows
it. What a bridge or a dq.ReliableQueue holds, and dead letters, are counted and left.

Killed at any instant, the same command goes on; run again, it does nothing. Where the bytes
of a value do not tell its codec, as text and JSON, redisson_delay_queue_recoded:{QUEUE}
keeps which are done for 30 days.

Exit codes: 0 fine; 1 the server cannot be reached or refuses, somebody subscribes, a value
is refused, or the keys are in different slots of a cluster: then nothing was changed; 2
wrong usage; 99 something is left: members of the other layout, what --repair is for, or
values that --partial left. --dry-run is 0 whatever it finds: dq-bench inspect judges.`,
		Example: `  dq-bench migrate orders --to 4.7.0 --dry-run
  dq-bench migrate orders --to Bc0Lc0 --redis redis://:secret@10.0.0.5:6379/0
  dq-bench migrate orders --to 3.16.6 --repair --json    # and back
  dq-bench migrate orders --codec marshalling:kryo5 --jar app.jar --dry-run
  dq-bench migrate orders --codec kryo5:lz4/kryo5`,
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
			client := srv.NewClient()
			defer client.Close()
			options.Cluster = srv.Cluster()
			options.Progress = everyTwoSeconds(cmd.ErrOrStderr())
			done, err := migrate.Run(cmd.Context(), client, queues[0], options)
			if err != nil {
				return migrateError(done, err)
			}
			if err := printMigration(cmd.OutOrStdout(), flags.asJSON, done); err != nil {
				return err
			}
			return migrateVerdict(done)
		},
	}
	f := cmd.Flags()
	liveServerVar(f, &flags.redis)
	f.StringVar(&flags.to, "to", "", "the layout, dLc0 or Bc0Lc0, or a Redisson release that is to read the queue")
	flags.recoding.add(f)
	f.BoolVar(&flags.dryRun, "dry-run", false, "print what would be done, and change nothing")
	f.BoolVar(&flags.repair, "repair", false, "also remove ghosts, list orphans, and set unreadable members aside")
	f.BoolVar(&flags.force, "force", false, "go on while clients subscribe to the queue's channel")
	f.BoolVar(&flags.asJSON, "json", false, "print one JSON document on stdout and nothing else")
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
