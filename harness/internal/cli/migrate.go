package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// migrationDocument is the document of `migrate --json`.
type migrationDocument struct {
	Schema string           `json:"schema"`
	Yes    bool             `json:"yes"`
	Queues []*ops.Migration `json:"queues"`
}

func newMigrate() *call {
	c := newCall("migrate", nil)
	var java javaFlags
	var o ops.MigrateOptions
	var all bool
	var to, codec string
	c.live(changeRights)
	c.yes(&all, "all")
	c.str(&to, "to", "")
	c.str(&codec, "codec", "")
	java.add(c)
	c.str(&o.Class, "class", "")
	c.yes(&o.Yes, "yes")
	c.yes(&o.Force, "force")
	c.prints(false)
	c.check = func(queues []string) (err error) {
		if c.given("to") { // else a default for codec decode
			codec = ifGiven(c, "codec", codec)
		}
		if to != "" {
			if o.To, o.Reads, err = parseLayout(to); err != nil {
				return err
			}
		}
		var two bool
		o.From, o.As, two = strings.Cut(codec, ":")
		switch {
		case to == "" && codec == "":
			return errors.New("expected --to dLc0, --to Bc0Lc0, or a release: --to 4.7.0; or --codec, such as --codec marshalling:kryo5")
		case codec == "" && (c.given("classpath") || c.given("release") || c.given("class")):
			return errors.New("--classpath, --class and --release are for --codec")
		case codec == "":
		case !two:
			return fmt.Errorf("--codec: expected two codecs, FROM:TO, such as marshalling:kryo5, got %q", codec)
		case o.From == o.As:
			return fmt.Errorf("--codec: %s is the same codec twice; leave out --codec", o.From)
		case o.Class == "" && strings.Contains(codec, "typed-json"):
			return errors.New("--codec: the bytes of typed-json do not name the class of the value: --class names it")
		}
		return c.checkQueues(&all, queues, true)
	}
	return c.does(func(queues []string) (err error) {
		if codec != "" {
			client, err := java.start(c, o.From, o.As)
			if err != nil {
				return err
			}
			defer client.Close()
			if err := cmp.Or(lacks(o.From, client.Hello.Old, client.Hello.OldCodecs), lacks(o.As, client.Hello.New, client.Hello.NewCodecs)); err != nil {
				return err
			}
			o.Java = client
		}
		return c.onServer(func(srv *redis.Server, conn redis.Conn) error {
			o.Flags = c.addressFlags()
			return c.migrate(conn, queues, o)
		})
	})
}

// parseLayout reads --to: a layout, or a release that writes it.
func parseLayout(to string) (*wire.Layout, *wire.Release, error) {
	for _, l := range []wire.Layout{wire.LayoutDLc0, wire.LayoutBc0Lc0} {
		if to == l.String() {
			return &l, nil, nil
		}
	}
	release, err := wire.LookupRelease(to)
	if err != nil {
		return nil, nil, fmt.Errorf("--to: expected dLc0, Bc0Lc0 or a release: %w", err)
	}
	return new(release.Layout()), &release, nil
}

func (c *call) migrate(conn redis.Conn, queues []string, o ops.MigrateOptions) error {
	ctx := c.Context()
	for _, name := range queues {
		if err := ops.Exists(ctx, conn, name, c.redis); err != nil {
			return err
		}
	}
	if len(queues) == 0 {
		var err error
		if queues, err = ops.Queues(ctx, conn); err != nil {
			return err
		}
		if len(queues) == 0 {
			c.notice("dq-bench: other databases: %s", ops.Command("doctor", "", append(c.addressFlags(), "--all")...))
		}
	}
	o.Progress = ops.NewProgress(c.notice)
	all := []*ops.Migration{}
	var last error
	for _, name := range queues {
		if last != nil && !errors.As(last, new(redis.Error)) { // not the answer about one queue: the others would fail too
			all = append(all, &ops.Migration{Name: name, Queue: text.Valid(name), Refusal: "not begun"})
			continue
		}
		m, err := ops.Migrate(ctx, conn, name, o)
		all, last = append(all, m), cmp.Or(err, last)
	}
	document := migrationDocument{ops.MigrationSchema, o.Yes, all}
	return errors.Join(c.says(document, form("migrate.tmpl", document)), migrationVerdict(all))
}

// migrationVerdict is an error if something is left, as it was or in part.
func migrationVerdict(all []*ops.Migration) error {
	var first error
	var done, wrong int64
	for _, m := range all {
		done += m.Count()
	}
	for _, m := range all {
		var err error
		switch {
		case m.Refusal != "" && done == 0:
			err = fmt.Errorf("queue %q: nothing was changed: %s", m.Name, m.Refusal)
		case m.Refusal != "":
			err = fmt.Errorf("queue %q: it is as it was: %s", m.Name, m.Refusal)
		case m.Partial != "":
			err = fmt.Errorf("queue %q: ended after %d messages or more were rewritten, which stay so: %s; the same command goes on", m.Name, m.Count(), m.Partial)
		case m.Left > 0:
			err = fmt.Errorf("queue %q: left: %s, of these %d refused values%s", m.Name, text.Plural(m.Left, "message"), len(m.Refused), map[bool]string{true: "; queue export and queue cancel set them aside by their ids"}[len(m.Refused) > 0])
		default:
			continue
		}
		wrong++
		first = cmp.Or(first, err)
	}
	if wrong > 1 {
		first = fmt.Errorf("%w (and %s more)", first, text.Plural(wrong-1, "queue"))
	}
	changed := done > 0 || slices.ContainsFunc(all, func(m *ops.Migration) bool { return m.Refusal == "" && m.Left > 0 })
	return cmp.Or(failed(first != nil && changed, "%w", first), first)
}

const nothingChanged = "Nothing was changed. The same command with --yes does it."

func parts(counts map[string]int64) string {
	var all []string
	for _, of := range slices.Sorted(maps.Keys(counts)) {
		if counts[of] > 0 {
			all = append(all, fmt.Sprintf("%d %s", counts[of], of))
		}
	}
	return cmp.Or(strings.Join(all, ", "), "nothing")
}

func newChanges() *call {
	c := newCall("changes", needs(2, 2))
	c.prints(false)
	var from, to wire.Release
	c.check = func(args []string) (err error) {
		if from, err = wire.LookupRelease(args[0]); err != nil {
			return err
		}
		if to, err = wire.LookupRelease(args[1]); err == nil && from == to {
			err = fmt.Errorf("expected two different releases, got %s twice", from)
		}
		return err
	}
	return c.does(func([]string) error {
		changes := ops.ChangesBetween(from, to)
		return c.says(changes, changes.Text())
	})
}
