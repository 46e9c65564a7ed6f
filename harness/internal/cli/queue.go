package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/harness/internal/values"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// queueFlags are the flags of queue's verbs.
type queueFlags struct {
	redis, where, of, to, out string
	all, yes, asJSON, redact  bool
	java                      javaFlags
}

// queueVerb is a verb of queue.
type queueVerb struct {
	name, args, short string
	changes           bool // it prints a plan; --yes does it
}

var queueVerbs = []queueVerb{
	{"list", "QUEUE [ID...]", "List messages", false},
	{"show", "QUEUE ID...", "Show messages with all their fields", false},
	{"export", "QUEUE [ID...]", "Write messages as lines of JSON", false},
	{"cancel", "QUEUE [ID...]", "Remove messages", true},
	{"deliver", "QUEUE [ID...]", "Deliver messages now", true},
	{"reschedule", "QUEUE [ID...] --to TIME", "Give waiting messages another due time", true},
	{"import", "QUEUE FILE", "Put exported messages into a queue", true},
	{"repair", "QUEUE", "Mend the difference between list and set, and set unreadable members aside", true},
	{"undo", "FILE", "Undo the changes of an undo file", true},
}

func newQueueCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "List, cancel, deliver or reschedule single messages",
		Long: `Works on messages of one queue: by their ids, as list prints them, by --where, or --all. --of names the parts
of the queue: waiting for their due time, ready in the destination, held or to be retried or dead with a
Worker of dq, set aside. A verb that changes prints its plan; --yes does it by one atomic script for each
batch, after it has written an undo file to --out.`,
		Example: `  dq-bench queue list orders --where '.orderId == 7'
  dq-bench queue deliver orders --of held,retry,dead --all --yes
  dq-bench queue undo dq-undo-orders-20261124T101500.jsonl --yes`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, v := range queueVerbs {
		cmd.AddCommand(newQueueVerb(v))
	}
	return cmd
}

func newQueueVerb(v queueVerb) *cobra.Command {
	var flags queueFlags
	cmd := &cobra.Command{
		Use:   v.name + " " + v.args,
		Short: v.short,
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkLiveServer(flags.redis); err != nil {
				return usageError(err)
			}
			return flags.run(cmd, v, args)
		},
	}
	f := flagsOf(cmd)
	liveServerVar(f, &flags.redis)
	if !slices.Contains([]string{"import", "repair", "undo"}, v.name) {
		f.str(&flags.where, "where", "")
		f.str(&flags.of, "of", "waiting")
		f.yes(&flags.all, "all")
		flags.java.add(f)
	}
	if v.name == "reschedule" {
		f.str(&flags.to, "to", "")
		f.Lookup("to").Usage = "new due time: 10m from now, or 2026-11-24T18:00:00Z"
	}
	if v.changes {
		f.yes(&flags.yes, "yes")
		f.str(&flags.out, "out", ".")
	} else {
		f.yes(&flags.redact, "redact")
		f.yes(&flags.asJSON, "json")
	}
	return cmd
}

func (f *queueFlags) run(cmd *cobra.Command, v queueVerb, args []string) error {
	ctx := cmd.Context()
	filter := ops.Filter{All: f.all || !v.changes && f.where == "" && len(args) == 1}
	if v.name != "import" && v.name != "undo" {
		filter.IDs = args[1:]
	}
	due, err := int64(0), filter.Where(f.where)
	if f.to != "" && err == nil {
		due, err = ops.ParseDue(f.to)
	}
	of := strings.Split(f.of, ",")
	for _, part := range of {
		if err == nil && f.of != "" && !slices.Contains(ops.Parts, part) {
			err = fmt.Errorf("--of %s: expected %s", part, strings.Join(ops.Parts, ", "))
		}
	}
	ways := 0
	for _, way := range []bool{f.all, f.where != "", len(filter.IDs) > 0} {
		if way {
			ways++
		}
	}
	selects := v.changes && v.name != "import" && v.name != "repair" && v.name != "undo"
	switch {
	case err != nil:
	case selects && ways != 1 || ways > 1:
		err = errors.New("expected ids, --where or --all, and one of them")
	case v.name == "reschedule" && f.to == "":
		err = errors.New("expected --to, such as --to 10m")
	case (v.name == "import") != (len(args) == 2) && v.name == "import", len(args) > 1 && (v.name == "undo" || v.name == "repair"):
		err = fmt.Errorf("expected %s", v.args)
	}
	if err != nil {
		return usageError(err)
	}
	srv, err := startLive(ctx, f.redis)
	if err != nil {
		return err
	}
	conn := srv.Conn()
	defer conn.Close()
	if v.name == "undo" {
		return f.undo(cmd, conn, args[0])
	}
	if v.name != "import" {
		if err := ops.Exists(ctx, conn, args[0]); err != nil {
			return granted(err, queueRights)
		}
	}
	editor := ops.NewEditor(conn, args[0])
	editor.Redact = f.redact
	if f.java.given() {
		java, err := f.java.start(ctx, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		defer java.Close()
		editor.Decode = func(ctx context.Context, codec string, value []byte) (string, error) {
			replies, err := java.Do(ctx, values.Request{"verb": "decode", "codec": codec, "value": value})
			if err != nil || replies[0].Err() != nil {
				return "", err // a value that Java does not read matches nothing
			}
			return string(replies[0].JSON), nil
		}
	}
	if !v.changes {
		return granted(f.print(cmd, v, editor, of, filter), queueRights)
	}
	var changes []ops.Change
	switch v.name {
	case "repair":
		changes, err = editor.Repairs(ctx)
	case "import":
		changes, err = f.imported(cmd, editor, args[1])
	default:
		changes, err = editor.Plan(ctx, v.name, of, filter, due)
		if wrong := (*ops.PartError)(nil); errors.As(err, &wrong) {
			return usageError(err)
		}
	}
	if err != nil {
		return granted(err, queueRights)
	}
	return granted(f.apply(cmd, map[string][]ops.Change{args[0]: changes}, conn, v.name), queueRights)
}

// print lists messages.
func (f *queueFlags) print(cmd *cobra.Command, v queueVerb, editor *ops.Editor, of []string, filter ops.Filter) error {
	var all []ops.Item
	out, n, now := json.NewEncoder(cmd.OutOrStdout()), 0, time.Now()
	out.SetEscapeHTML(false)
	for _, part := range of {
		err := editor.Each(cmd.Context(), part, filter, func(i ops.Item) error {
			n++
			switch {
			case v.name == "export":
				return out.Encode(i.Export())
			case f.asJSON || v.name == "show":
				all = append(all, i)
				return nil
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), text.Inert(i.Line(now)))
			return err
		})
		if err != nil {
			return err
		}
	}
	switch {
	case f.asJSON || v.name == "show":
		return printJSON(cmd.OutOrStdout(), queueDocument{"dq-bench/messages/v1", append([]ops.Item{}, all...)})
	case v.name == "list":
		fmt.Fprintf(cmd.ErrOrStderr(), "messages: %d\n", n)
	}
	return nil
}

// queueDocument is the document of `queue list --json`.
type queueDocument struct {
	Schema   string     `json:"schema"`
	Messages []ops.Item `json:"messages"`
}

func (f *queueFlags) imported(cmd *cobra.Command, editor *ops.Editor, name string) ([]ops.Change, error) {
	if name == "-" {
		return editor.Import(cmd.InOrStdin())
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return editor.Import(file)
}

// undo undoes an undo file.
func (f *queueFlags) undo(cmd *cobra.Command, conn redis.Conn, name string) error {
	changes, unsure, err := ops.ReadUndoFile(name)
	if err != nil {
		return err
	}
	if unsure > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "dq-bench: the last %d changes of %s have no result: they were interrupted, and are left as they are\n", unsure, name)
	}
	return granted(f.apply(cmd, changes, conn, "undo"), queueRights)
}

// apply prints the plan, and does it with --yes.
func (f *queueFlags) apply(cmd *cobra.Command, byQueue map[string][]ops.Change, conn redis.Conn, verb string) error {
	const shown = 10
	for queue, changes := range byQueue {
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %s %d messages\n", text.Line(queue), verb, len(changes))
		for i, c := range changes {
			if i == shown {
				fmt.Fprintf(cmd.OutOrStdout(), "  … and %d more\n", len(changes)-shown)
				break
			}
			fmt.Fprintf(cmd.OutOrStdout(), "  %s %s %s\n", c.Action, c.Of, text.Inert(c.Shown()))
		}
	}
	if !f.yes {
		fmt.Fprintln(cmd.OutOrStdout(), "Nothing was changed. The same command with --yes does it.")
		return nil
	}
	for queue, changes := range byQueue {
		if len(changes) == 0 {
			continue
		}
		made, name, err := ops.NewEditor(conn, queue).ApplyWithUndo(cmd.Context(), changes, f.out)
		if name == "" {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %d of %d changed; to undo: dq-bench queue undo %s\n", text.Line(queue), made, len(changes), text.Shell(name))
		if err != nil {
			return err
		}
	}
	return nil
}
