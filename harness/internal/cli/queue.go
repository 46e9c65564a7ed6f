package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// queueDocument is the document of `queue list --json`.
type queueDocument struct {
	Schema   string     `json:"schema"`
	Messages []ops.Item `json:"messages"`
}

type queueCall struct {
	*call
	ops.Order
	where, of, to []string // one each: a second one would choose other messages
	out           string
	apply, redact bool
	java          javaFlags
}

func newQueueVerb(verb string) *call {
	q := &queueCall{call: newCall("queue "+verb, needs(1, many)), Order: ops.Order{Verb: verb}, of: []string{"waiting"}}
	switch verb {
	case "repair", "undo":
		q.Args = needs(1, 1)
	case "import":
		q.Args = needs(2, 2)
	default:
		q.list(&q.where, "where")
		q.list(&q.of, "of", q.of...)
		q.yes(&q.All, "all")
		q.java.add(q.call)
	}
	q.live(map[bool]string{true: doctorRights, false: changeRights}[q.reads()])
	if verb == "undo" || verb == "import" {
		q.yes(&q.Force, "force")
	}
	if verb == "reschedule" {
		q.list(&q.to, "to")
		q.Flag("to").Usage = "new due time: 10m from now, or 2026-11-24T18:00:00Z"
	}
	switch {
	case verb == "export": // of whole values
	case q.reads():
		q.yes(&q.redact, "redact")
		q.prints(false)
	default:
		q.yes(&q.apply, "yes")
		q.str(&q.out, "out", ".")
	}
	q.check = q.read
	return q.does(func([]string) error { return q.onServer(q.work) })
}

// reads reports whether the verb only reads. Another one prints its plan; --yes does it.
func (q *queueCall) reads() bool { return slices.Contains([]string{"list", "show", "export"}, q.Verb) }

func (q *queueCall) read(args []string) error {
	if redact, err := strconv.ParseBool(cmp.Or(os.Getenv("DQ_REDACT"), "false")); q.Verb == "export" && (redact || err != nil) {
		return errors.New("DQ_REDACT: an export has the values: expected it unset, or 'queue list --json'")
	}
	q.java.release = ifGiven(q.call, "release", q.java.release) // of the environment it is for other commands, and so are the three below
	q.All, q.where, q.of = ifGiven(q.call, "all", q.All), ifGiven(q.call, "where", q.where), ifGiven(q.call, "of", q.of)
	if max(len(q.where), len(q.of), len(q.to)) > 1 {
		return errors.New("--where, --of or --to is given twice")
	}
	q.Where, q.To, q.Of = strings.Join(q.where, ""), strings.Join(q.to, ""), strings.Split(cmp.Or(strings.Join(q.of, ""), "waiting"), ",")
	q.Queue, q.IDs, q.File = args[0], args[1:], args[len(args)-1]
	return q.Check()
}

func (q *queueCall) work(_ *redis.Server, conn redis.Conn) error {
	if q.Verb != "import" && q.Verb != "undo" {
		if err := ops.Exists(q.Context(), conn, q.Queue, q.redis); err != nil {
			return err
		}
	}
	q.Site = ops.Site{Address: q.redis, Flags: q.addressFlags(), Folder: q.out, Progress: ops.NewProgress(q.notice)}
	editor := ops.NewEditor(conn, q.Queue)
	editor.Redact, editor.Progress = q.redact, q.Site.Progress
	if q.java.given() {
		java, err := q.java.start(q.call, "", "")
		if err != nil {
			return err
		}
		defer java.Close()
		editor.Decode = func(ctx context.Context, codec string, value []byte) (string, error) {
			replies, err := java.Do(ctx, ops.JavaRequest{"verb": "decode", "codec": codec, "value": value})
			if err != nil || replies[0].Err() != nil {
				return "", err // a value that Java does not read matches nothing
			}
			return string(replies[0].JSON), nil
		}
	}
	if q.reads() {
		return q.print(editor)
	}
	if q.Lines = q.InOrStdin(); q.Verb == "import" && q.File != "-" {
		if info, err := os.Stat(q.File); err != nil || !info.Mode().IsRegular() {
			return cmp.Or(err, fmt.Errorf("%s: expected a file of queue export; - reads stdin", q.File))
		}
		file, err := os.Open(q.File)
		if err != nil {
			return err
		}
		defer file.Close()
		q.Lines = file
	}
	plan, err := q.Plan(q.Context(), editor)
	if err != nil {
		return err
	}
	return q.change(conn, plan)
}

func (q *queueCall) change(conn redis.Conn, plan *ops.Plan) error {
	fmt.Fprint(q.OutOrStdout(), plan.Text(false))
	done, err := nothingChanged, error(nil)
	if q.apply {
		signal.Ignore(syscall.SIGPIPE) // after that a write fails, and stderr has the name of the undo file
		err = plan.Apply(q.Context(), conn)
		done = plan.Result()
	}
	if _, unseen := fmt.Fprintln(q.OutOrStdout(), done); unseen != nil {
		q.notice("%s", done)
	}
	return err
}

func (q *queueCall) print(editor *ops.Editor) error {
	all, n, now := []ops.Item{}, 0, time.Now()
	out := json.NewEncoder(q.OutOrStdout())
	out.SetEscapeHTML(false)
	whole := q.Verb != "export" && (q.json || q.Verb == "show")
	err := q.Each(q.Context(), editor, func(i ops.Item) (err error) {
		switch n++; {
		case q.Verb == "export":
			return out.Encode(i.Export())
		case whole:
			all = append(all, i)
		default:
			_, err = fmt.Fprintln(q.OutOrStdout(), text.Inert(i.Line(now)))
		}
		return err
	})
	switch {
	case err != nil:
	case whole:
		return printJSON(q.OutOrStdout(), queueDocument{"dq-bench/messages/v1", all})
	case q.Verb == "list":
		found := fmt.Sprintf("%d in %s", n, strings.Join(q.Of, ","))
		if others := map[string]int{}; n == 0 { // a message may have moved on
			q.Of = ops.Parts
			err = q.Each(q.Context(), editor, func(i ops.Item) error { others[i.Of]++; return nil })
			for _, part := range ops.Parts {
				found += map[bool]string{true: fmt.Sprintf(", %d in %s", others[part], part)}[others[part] > 0]
			}
		}
		q.notice("messages: %s; --of names the parts: %s", found, strings.Join(ops.Parts, ", "))
	}
	return err
}
