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

// queueDocument is the document of `queue list --json`.
type queueDocument struct {
	Schema   string     `json:"schema"`
	Messages []ops.Item `json:"messages"`
}

// queueCall is a call of a verb of queue.
type queueCall struct {
	*call
	verb               string
	where, of, to, out string
	all, apply, redact bool
	java               javaFlags
}

func newQueueVerb(verb string) *call {
	q := &queueCall{call: newCall("queue "+verb, cobra.MinimumNArgs(1)), verb: verb}
	q.live()
	if !slices.Contains([]string{"import", "repair", "undo"}, verb) {
		q.str(&q.where, "where", "")
		q.str(&q.of, "of", "waiting")
		q.yes(&q.all, "all")
		q.java.add(q.call)
	}
	if verb == "reschedule" {
		q.str(&q.to, "to", "")
		q.Flag("to").Usage = "new due time: 10m from now, or 2026-11-24T18:00:00Z"
	}
	if q.only() {
		q.yes(&q.redact, "redact")
		q.prints(false)
	} else {
		q.yes(&q.apply, "yes")
		q.str(&q.out, "out", ".")
	}
	return q.does(q.run)
}

// only reports whether the verb only reads. Another one prints its plan; --yes does it.
func (q *queueCall) only() bool { return slices.Contains([]string{"list", "show", "export"}, q.verb) }

func (q *queueCall) run(args []string) error {
	err := checkLiveServer(q.redis)
	filter := ops.Filter{All: q.all || q.only() && q.where == "" && len(args) == 1}
	if q.verb != "import" && q.verb != "undo" {
		filter.IDs = args[1:]
	}
	if err == nil {
		err = filter.Where(q.where)
	}
	var due int64
	if q.to != "" && err == nil {
		due, err = ops.ParseDue(q.to)
	}
	of := strings.Split(q.of, ",")
	for _, part := range of {
		if err == nil && q.of != "" && !slices.Contains(ops.Parts, part) {
			err = fmt.Errorf("--of %s: expected %s", part, strings.Join(ops.Parts, ", "))
		}
	}
	ways := 0
	for _, way := range []bool{q.all, q.where != "", len(filter.IDs) > 0} {
		if way {
			ways++
		}
	}
	fixed := map[string]int{"import": 2, "repair": 1, "undo": 1}[q.verb]
	switch {
	case err != nil:
	case !q.only() && fixed == 0 && ways != 1 || ways > 1:
		err = errors.New("expected ids, --where or --all, and one of them")
	case q.verb == "reschedule" && q.to == "":
		err = errors.New("expected --to, such as --to 10m")
	case fixed > 0 && len(args) != fixed:
		err = fmt.Errorf("expected %s", strings.TrimPrefix(q.Use, q.verb+" "))
	}
	if err != nil {
		return usageError(err)
	}
	_, conn, err := q.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	return granted(q.work(conn, args, of, filter, due), queueRights)
}

func (q *queueCall) work(conn redis.Conn, args, of []string, filter ops.Filter, due int64) error {
	ctx := q.Context()
	if q.verb == "undo" {
		return q.undo(conn, args[0])
	}
	if q.verb != "import" {
		if err := ops.Exists(ctx, conn, args[0]); err != nil {
			return err
		}
	}
	editor := ops.NewEditor(conn, args[0])
	editor.Redact = q.redact
	if q.java.given() {
		java, err := q.java.start(q.call)
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
	var changes []ops.Change
	var err error
	switch {
	case q.only():
		return q.print(editor, of, filter)
	case q.verb == "repair":
		changes, err = editor.Repairs(ctx)
	case q.verb == "import":
		from := q.InOrStdin()
		if args[1] != "-" {
			file, err := os.Open(args[1])
			if err != nil {
				return err
			}
			defer file.Close()
			from = file
		}
		changes, err = editor.Import(from)
	default:
		changes, err = editor.Plan(ctx, q.verb, of, filter, due)
		if wrong := (*ops.PartError)(nil); errors.As(err, &wrong) {
			return usageError(err)
		}
	}
	if err != nil {
		return err
	}
	return q.changes(conn, map[string][]ops.Change{args[0]: changes})
}

// print lists messages.
func (q *queueCall) print(editor *ops.Editor, of []string, filter ops.Filter) error {
	all, n, now := []ops.Item{}, 0, time.Now()
	out := json.NewEncoder(q.OutOrStdout())
	out.SetEscapeHTML(false)
	whole := q.verb != "export" && (q.json || q.verb == "show")
	for _, part := range of {
		if err := editor.Each(q.Context(), part, filter, func(i ops.Item) (err error) {
			switch n++; {
			case q.verb == "export":
				return out.Encode(i.Export())
			case whole:
				all = append(all, i)
			default:
				_, err = fmt.Fprintln(q.OutOrStdout(), text.Inert(i.Line(now)))
			}
			return err
		}); err != nil {
			return err
		}
	}
	switch {
	case q.json || whole:
		return printJSON(q.OutOrStdout(), queueDocument{"dq-bench/messages/v1", all})
	case q.verb == "list":
		q.notice("messages: %d", n)
	}
	return nil
}

// undo undoes an undo file.
func (q *queueCall) undo(conn redis.Conn, name string) error {
	changes, unsure, err := ops.ReadUndoFile(name)
	if err != nil {
		return err
	}
	if unsure > 0 {
		q.notice("dq-bench: the last %d changes of %s have no result: they were interrupted, and are left as they are", unsure, name)
	}
	return q.changes(conn, changes)
}

// changes prints the plan, and does it with --yes.
func (q *queueCall) changes(conn redis.Conn, byQueue map[string][]ops.Change) error {
	const shown = 10
	out := q.OutOrStdout()
	for queue, changes := range byQueue {
		fmt.Fprintf(out, "%s: %s %d messages\n", text.Line(queue), q.verb, len(changes))
		for _, c := range changes[:min(shown, len(changes))] {
			fmt.Fprintf(out, "  %s %s %s\n", c.Action, c.Of, text.Inert(c.Shown()))
		}
		if more := len(changes) - shown; more > 0 {
			fmt.Fprintf(out, "  … and %d more\n", more)
		}
	}
	if !q.apply {
		fmt.Fprintln(out, nothingChanged)
		return nil
	}
	for queue, changes := range byQueue {
		if len(changes) == 0 {
			continue
		}
		made, name, err := ops.NewEditor(conn, queue).ApplyWithUndo(q.Context(), changes, q.out)
		if name == "" {
			return err
		}
		fmt.Fprintf(out, "%s: %d of %d changed; to undo: dq-bench queue undo %s\n", text.Line(queue), made, len(changes), text.Shell(name))
		if err != nil {
			return err
		}
	}
	return nil
}
