package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// migrateFlags are the flags of migrate.
type migrateFlags struct {
	redis, to, codec, class string
	all, yes, force, asJSON bool
	java                    javaFlags
}

func newMigrateCmd() *cobra.Command {
	var flags migrateFlags
	cmd := &cobra.Command{
		Use:   "migrate QUEUE... | --all",
		Short: "Rewrite waiting messages for another release or codec",
		Long: `Prints the plan; --yes does it. Each batch is atomic, and others may offer, transfer and remove meanwhile.
A migration that was killed goes on when it runs again. The way back is the other release or codec.

--to rewrites the members for another release: dLc0 is the layout to 3.21.0, Bc0Lc0 from 3.21.1. Due time,
order, id and value stay. It refuses while clients listen, unless a guard takes members out ahead.

--codec rewrites the values: waiting, delivered, held, retried, dead, or taken ahead. Stop all clients
first: a consumer with the other codec loses values. Redisson's own codecs read and write them, with the
classes of --classpath: its Redisson, or --release OLD:NEW. It needs Java 17. A value that would be read as
another one is refused, stays as it is, and is listed. --force goes on although clients listen.

Exit codes: 1 refused, nothing was changed, or no such queue; 99 something is left.`,
		Example: `  dq-bench migrate orders --to 4.7.0
  dq-bench migrate --all --to 3.16.6 --yes               # and back
  dq-bench migrate orders --codec marshalling:kryo5 --classpath app.jar --to 4.7.0`,
		RunE: func(cmd *cobra.Command, queues []string) error {
			flags.all = allOf(cmd.Flags(), flags.all, queues)
			given := cmd.Flags().Changed
			if !given("codec") && given("to") { // a default for codec decode
				flags.codec = ""
			}
			if flags.codec == "" {
				flags.java = javaFlags{classPath: ifGiven(given("classpath"), flags.java.classPath), release: ifGiven(given("release"), flags.java.release)}
				flags.class = ifGiven(given("class"), flags.class)
			}
			options, err := flags.options(queues)
			if err != nil {
				return usageError(err)
			}
			return flags.run(cmd, queues, options)
		},
	}
	f := flagsOf(cmd)
	liveServerVar(f, &flags.redis)
	f.yes(&flags.all, "all")
	f.str(&flags.to, "to", "")
	f.str(&flags.codec, "codec", "")
	flags.java.add(f)
	f.str(&flags.class, "class", "")
	f.yes(&flags.yes, "yes")
	f.yes(&flags.force, "force")
	f.yes(&flags.asJSON, "json")
	return cmd
}

// ifGiven is a value that a flag has, and not the environment.
func ifGiven[T any](given bool, value T) (zero T) {
	if given {
		return value
	}
	return zero
}

// options reads the flags; an error is wrong usage.
func (f *migrateFlags) options(queues []string) (ops.MigrateOptions, error) {
	options := ops.MigrateOptions{Yes: f.yes, Force: f.force, Class: f.class}
	switch {
	case f.all == (len(queues) > 0):
		return options, errors.New("expected the names of queues, or --all")
	case slices.Contains(queues, ""):
		return options, errors.New("expected the names of queues, got an empty name")
	case f.to == "" && f.codec == "":
		return options, errors.New("expected --to dLc0, --to Bc0Lc0, or a release: --to 4.7.0; or --codec, such as --codec marshalling:kryo5")
	case f.codec == "" && (f.java.given() || f.class != ""):
		return options, errors.New("--classpath, --class and --release are for --codec")
	}
	if f.to != "" {
		layout, err := parseLayout(f.to)
		if err != nil {
			return options, err
		}
		options.To = &layout
	}
	if f.codec != "" {
		from, to, two := strings.Cut(f.codec, ":")
		switch {
		case !two:
			return options, fmt.Errorf("--codec: expected two codecs, FROM:TO, such as marshalling:kryo5, got %q", f.codec)
		case from == to:
			return options, fmt.Errorf("--codec: %s is the same codec twice: there is nothing to do", from)
		case f.class == "" && strings.Contains(f.codec, "typed-json"):
			return options, errors.New("--codec: the bytes of typed-json do not name the class of the value: --class names it")
		}
		options.From, options.As = from, to
	}
	return options, checkLiveServer(f.redis)
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

// run migrates each queue.
func (f *migrateFlags) run(cmd *cobra.Command, queues []string, options ops.MigrateOptions) error {
	ctx := cmd.Context()
	if options.From != "" {
		java, err := f.java.start(ctx, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		defer java.Close()
		if err = lacks(options.From, java.Old, java.OldCodecs); err == nil {
			err = lacks(options.As, java.New, java.NewCodecs)
		}
		if err != nil {
			return err
		}
		options.Java = java
	}
	srv, err := startLive(ctx, f.redis)
	if err != nil {
		return err
	}
	conn := srv.Conn()
	defer conn.Close()
	if queues, err = namedOrAll(ctx, conn, queues); err != nil {
		return granted(err, migrateRights)
	}
	options.Cluster = srv.Cluster()
	last := time.Now()
	options.Progress = func(queue string, done int) {
		if time.Since(last) >= 2*time.Second {
			last = time.Now()
			fmt.Fprintf(cmd.ErrOrStderr(), "queue %q: %d rewritten\n", queue, done)
		}
	}
	var all []*ops.Migration
	for _, name := range queues {
		m, err := ops.Migrate(ctx, conn, name, options)
		if err != nil {
			return migrateError(name, m, granted(err, migrateRights))
		}
		all = append(all, m)
	}
	if f.asJSON {
		err = printJSON(cmd.OutOrStdout(), migrationDocument{ops.MigrationSchema, f.yes, all})
	} else {
		err = f.write(cmd.OutOrStdout(), all)
	}
	return errors.Join(err, f.verdict(all))
}

// migrationDocument is the document of `migrate --json`.
type migrationDocument struct {
	Schema string           `json:"schema"`
	Yes    bool             `json:"yes"`
	Queues []*ops.Migration `json:"queues"`
}

// namedOrAll returns the queues that were named, if each exists, or all.
func namedOrAll(ctx context.Context, conn redis.Conn, queues []string) ([]string, error) {
	if len(queues) == 0 {
		return ops.Queues(ctx, conn)
	}
	for _, name := range queues {
		if err := ops.Exists(ctx, conn, name); err != nil {
			return nil, err
		}
	}
	return queues, nil
}

// migrateError explains why a migration ended early.
func migrateError(queue string, m *ops.Migration, err error) error {
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	var n int64
	if m != nil {
		for _, part := range m.Rewritten {
			n += part
		}
	}
	if n == 0 {
		return fmt.Errorf("queue %q: nothing was changed: %w", queue, err)
	}
	return fmt.Errorf("queue %q: ended after %d messages were rewritten, which stay so: %w; the same command goes on", queue, n, err)
}

func (f *migrateFlags) write(w io.Writer, all []*ops.Migration) error {
	var b strings.Builder
	for _, m := range all {
		fmt.Fprintf(&b, "%s to %s\n", text.Line(m.Queue), strings.TrimSpace(m.To+" "+m.Codec))
		row := func(label, format string, args ...any) {
			fmt.Fprintf(&b, "  %-11s%s\n", label, fmt.Sprintf(format, args...))
		}
		if m.Listeners > 0 {
			row("listeners", "%d", m.Listeners)
		}
		row("plan", "rewrite %s", parts(m.Planned))
		for _, e := range m.Examples {
			row("example", "%s", e)
		}
		if f.yes && m.Refusal == "" {
			row("rewritten", "%s", parts(m.Rewritten))
			row("left", "%d", m.Left)
		}
		for _, r := range m.Refused {
			row("refused", "%s %s: %s", r.Of, r.ID, r.Reason)
		}
		if m.Refusal != "" {
			row("refusal", "%s", m.Refusal)
		}
	}
	if !f.yes {
		fmt.Fprintln(&b, "Nothing was changed. The same command with --yes does it.")
	}
	_, err := io.WriteString(w, text.Inert(b.String()))
	return err
}

// parts shows how many messages of each part.
func parts(counts map[string]int64) string {
	var all []string
	for _, of := range slices.Sorted(maps.Keys(counts)) {
		if counts[of] > 0 {
			all = append(all, fmt.Sprintf("%d %s", counts[of], of))
		}
	}
	return cmp.Or(strings.Join(all, ", "), "nothing")
}

// verdict is an error if a queue was refused, or something is left.
func (f *migrateFlags) verdict(all []*ops.Migration) error {
	for _, m := range all {
		if m.Refusal != "" && f.yes {
			return fmt.Errorf("queue %q: nothing was changed: %s", m.Queue, m.Refusal)
		}
	}
	for _, m := range all {
		if m.Left > 0 && f.yes {
			return failure(fmt.Errorf("queue %q: left: %d messages, of these %d refused values", m.Queue, m.Left, len(m.Refused)))
		}
	}
	return nil
}
