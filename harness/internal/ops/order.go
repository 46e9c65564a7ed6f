package ops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Order is a verb of 'dq-bench queue', and the messages that it is for.
type Order struct {
	Verb, Queue string
	Of, IDs     []string
	All         bool
	Where, To   string
	Lines       io.Reader // of an export
	File        string    // an undo file
	Unsure      int       // changes of the undo file without a result, which Plan leaves out

	match Filter
	due   int64
}

// Check reads the texts of an order. An error is wrong usage.
func (o *Order) Check() (err error) {
	for _, part := range o.Of {
		switch {
		case !slices.Contains(Parts, part):
			return fmt.Errorf("--of %s: expected %s", part, strings.Join(Parts, ", "))
		case o.Verb == "deliver" && (part == "ready" || part == "aside"):
			return fmt.Errorf("--of %s: messages there cannot be delivered", part)
		case o.Verb == "reschedule" && !packed(part):
			return fmt.Errorf("--of %s: only waiting messages have a due time", part)
		}
	}
	ways := len(slices.DeleteFunc([]bool{o.All, o.Where != "", len(o.IDs) > 0}, func(way bool) bool { return !way }))
	chooses := slices.Contains([]string{"cancel", "deliver", "reschedule"}, o.Verb)
	switch {
	case ways > 1 || ways == 0 && chooses:
		return errors.New("no message is chosen: expected ids, --where or --all, and one of them")
	case o.Verb == "reschedule" && o.To == "":
		return errors.New("expected --to, such as --to 10m")
	case o.Verb == "reschedule":
		if o.due, err = parseDue(o.To); err != nil {
			return err
		}
	}
	o.match = Filter{All: o.All || ways == 0, IDs: o.IDs}
	return o.match.Where(o.Where)
}

// Each visits the chosen messages.
func (o *Order) Each(ctx context.Context, e *Editor, visit func(Item) error) error {
	for _, part := range o.Of {
		if err := e.Each(ctx, part, o.match, visit); err != nil {
			return err
		}
	}
	return nil
}

// A Plan has the changes of an order, by queue.
type Plan map[string][]Change

// Plan returns the changes that an order makes.
func (o *Order) Plan(ctx context.Context, e *Editor) (p Plan, err error) {
	var all []Change
	switch o.Verb {
	case "undo":
		file, err := os.Open(o.File)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		if p, o.Unsure, err = ReadUndo(file); err != nil {
			err = fmt.Errorf("%s: %w", o.File, err)
		}
		return p, err
	case "repair":
		all, err = e.Repairs(ctx)
	case "import":
		all, err = e.Import(o.Lines)
	default:
		err = o.Each(ctx, e, func(i Item) error {
			all = append(all, e.Change(i, o.Verb, o.due))
			return nil
		})
	}
	return Plan{o.Queue: all}, err
}

// Count is how many changes a plan has.
func (p Plan) Count() (n int) {
	for _, all := range p {
		n += len(all)
	}
	return n
}

// Text shows the first changes of each queue, redacted without the values.
func (p Plan) Text(verb string, redact bool) string {
	const shown = 10
	var b strings.Builder
	for _, queue := range slices.Sorted(maps.Keys(p)) {
		all := p[queue]
		fmt.Fprintf(&b, "%s: %s %d messages\n", text.Line(queue), verb, len(all))
		for _, c := range all[:min(shown, len(all))] {
			value := ""
			if !redact {
				value = c.Shown()
			}
			fmt.Fprintf(&b, "  %s %s %s\n", c.Action, c.Of, text.Inert(value))
		}
		if more := len(all) - shown; more > 0 {
			fmt.Fprintf(&b, "  … and %d more\n", more)
		}
	}
	return b.String()
}

// Done is the result of a plan for a queue.
type Done struct {
	Queue, File string // File undoes it
	Made, Of    int
}

func (d Done) String() string {
	return fmt.Sprintf("%s: %d of %d changed; to undo: dq-bench queue undo %s", text.Line(d.Queue), d.Made, d.Of, text.Shell(d.File))
}

// Apply makes the changes of a plan. Before them it writes an undo file for each queue into a folder.
func (p Plan) Apply(ctx context.Context, conn redis.Conn, folder string) (all []Done, err error) {
	for _, queue := range slices.Sorted(maps.Keys(p)) {
		if len(p[queue]) == 0 {
			continue
		}
		name := filepath.Join(folder, fmt.Sprintf("dq-undo-%.100s-%s.jsonl", special.ReplaceAllString(queue, "_"), time.Now().UTC().Format("20060102T150405.000")))
		file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return all, fmt.Errorf("--out: the undo file cannot be written, and nothing was changed: %w", err)
		}
		made, _, err := NewEditor(conn, queue).Apply(ctx, p[queue], -1, file)
		all = append(all, Done{queue, name, made, len(p[queue])})
		if err := errors.Join(err, file.Close()); err != nil {
			return all, err
		}
	}
	return all, nil
}

// special are the characters that the name of an undo file does not have.
var special = regexp.MustCompile("[^A-Za-z0-9_-]")

// parseDue reads a due time in Unix ms: 10m from now, or 2026-11-24T18:00:00Z.
func parseDue(text string) (int64, error) {
	if in, err := time.ParseDuration(text); err == nil {
		return time.Now().Add(in).UnixMilli(), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, fmt.Errorf("--to %s: expected a time from now such as 10m, or 2026-11-24T18:00:00Z", text)
	}
	return at.UnixMilli(), nil
}
