package ops

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Site is the server and the folder of an order.
type Site struct {
	Address  string   // of the server
	Flags    []string // of the address, for printed commands
	Folder   string   // of undo files
	Progress *Progress
}

func (s Site) server() string {
	spec, _ := redis.Parse(s.Address) // a server was reached by it
	return fmt.Sprintf("%s, database %d", strings.TrimSuffix(strings.Join(spec.Address.Hosts, ",")+"/"+spec.Address.Master, "/"), spec.Address.Database)
}

// Order is a verb of 'dq-bench queue', and the messages that it is for.
type Order struct {
	Verb, Queue string
	Of, IDs     []string
	All         bool
	Where, To   string
	Lines       io.Reader // of an export
	File        string    // an undo file
	Claims      bool      // an undo file, by its plan: see claim
	Site        Site

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
		case o.Verb == "reschedule" && !isPacked(part):
			return fmt.Errorf("--of %s: only waiting messages have a due time", part)
		}
	}
	if o.Queue == "" && o.Verb != "undo" { // whose file names the queue
		return errors.New("expected the name of a queue, got an empty one")
	}
	ways := len(slices.DeleteFunc([]bool{o.All, o.Where != "", len(o.IDs) > 0}, func(way bool) bool { return !way }))
	chooses := slices.Contains([]string{"cancel", "deliver", "reschedule"}, o.Verb)
	switch {
	case ways > 1:
		return errors.New("messages are chosen twice: expected one of ids, --where and --all")
	case ways == 0 && chooses:
		return errors.New("no message is chosen: expected ids, --where or --all")
	case o.Verb == "reschedule":
		if o.due, err = parseDue(o.To); err != nil {
			return err
		}
	}
	if o.Where != "" {
		o.match, err = Where(o.Where)
	} else if len(o.IDs) > 0 {
		o.match = func(_ context.Context, _ *Editor, i *Item) (bool, error) { return slices.Contains(o.IDs, i.ID), nil }
	}
	return err
}

// Each visits the chosen messages. An id that no message has is an error.
func (o *Order) Each(ctx context.Context, e *Editor, visit func(Item) error) error {
	met := map[string]bool{}
	for _, part := range o.Of {
		if err := e.Each(ctx, part, o.match, func(i Item) error { met[i.ID] = true; return visit(i) }); err != nil {
			return err
		}
	}
	for _, id := range o.IDs {
		if !met[id] {
			return fmt.Errorf("no message %s: expected the id of one that is %s, as list prints it", id, strings.Join(o.Of, " or "))
		}
	}
	return nil
}

// Plan has the changes of an order.
type Plan struct {
	*Order
	Changes []Change

	Made int    // changes, by Apply
	Undo string // the file that undoes them; empty if nothing was changed

	undo   *Undo
	marks  *os.File // the undo file, once it is claimed
	run    string   // of an undo
	leased int64    // messages whose lease runs: only ids choose them
	failed bool     // more may be made
	rest   string   // why more may be left than the plan has
}

// Plan returns the changes that an order makes.
func (o *Order) Plan(ctx context.Context, e *Editor) (p *Plan, err error) {
	p = &Plan{Order: o, run: rand.Text()}
	switch o.Verb {
	case "undo":
		if err = p.read(ctx, e.conn); err != nil {
			err = fmt.Errorf("%s: %w", o.File, err)
		}
	case "repair":
		p.Changes, p.rest, err = e.Repairs(ctx)
	case "import":
		p.Changes, err = e.Import(o.Lines)
	default:
		now := time.Now()
		if slices.Contains(o.Of, "held") {
			if now, err = redis.Time(ctx, e.conn); err != nil {
				return nil, fmt.Errorf("TIME: %w", err)
			}
		}
		err = o.Each(ctx, e, func(i Item) error {
			if i.Of == "held" && i.DueMS > float64(now.UnixMilli()) {
				if p.leased++; len(o.IDs) == 0 {
					return nil
				}
			}
			p.Changes = append(p.Changes, e.Change(i, map[bool]string{true: "aside", false: o.Verb}[o.Verb == "deliver" && i.Layout == "unreadable"], o.due))
			return nil
		})
		if err == nil && o.Where != "" && len(p.Changes) == 0 && p.leased == 0 {
			err = fmt.Errorf("no message in %s matches %q", strings.Join(o.Of, " or "), o.Where)
		}
		// In the order in which they are due: consumers expect it, and the pending list mostly has it.
		slices.SortStableFunc(p.Changes, func(a, b Change) int {
			return cmp.Or(slices.Index(o.Of, a.Of)-slices.Index(o.Of, b.Of), cmp.Compare(a.due, b.due))
		})
	}
	return p, err
}

// read plans to undo a file.
func (p *Plan) read(ctx context.Context, conn redis.Conn) error {
	if info, err := os.Stat(p.File); err != nil || !info.Mode().IsRegular() {
		return cmp.Or(err, errors.New("expected an undo file, got a folder, a pipe or a device"))
	}
	data, err := os.ReadFile(p.File)
	if err != nil {
		return err
	}
	if p.undo, err = ReadUndo(data); err != nil {
		return err
	}
	switch is := p.Site.server(); {
	case p.undo.server == "":
		return errors.New("expected a first line that names the server, as undo files have: the file was cut off")
	case p.undo.server != is:
		return fmt.Errorf("expected the server of its changes, %s, got %s: name it by --redis", p.undo.server, is)
	}
	if !p.undo.ended {
		p.rest = "the file has no last line, since its run was killed or the file was cut off. Changes that it lacks stay"
	}
	p.Queue = p.undo.queue
	if p.Claims && p.undo.run != "" {
		return p.claim(ctx, conn)
	}
	p.Changes, err = p.undo.Plan(ctx, conn)
	return err
}

// claim has the server refuse the calls of all others that make or undo the changes of the file, such as calls on their way, and plans
// again. It fails if the file is a copy, and the server knows of an undo that the copy does not.
func (p *Plan) claim(ctx context.Context, conn redis.Conn) (err error) {
	if p.marks, err = os.OpenFile(p.File, os.O_WRONLY|os.O_APPEND, 0); err == nil && p.undo.cut {
		_, err = p.marks.WriteString("\n")
	}
	if err == nil {
		err = write(p.marks, Change{Claim: p.run})
	}
	if err != nil {
		return fmt.Errorf("it cannot be marked as undone, and nothing was changed: %w", err)
	}
	e := NewEditor(conn, p.undo.queue)
	e.run = p.undo.run
	if err = conn.Run(ctx, loose, e.looseKeys(), "claim", p.run, strings.Join(p.undo.claims, " ")).Err(); err != nil {
		return err
	}
	data, err := os.ReadFile(p.File)
	if err == nil {
		p.undo, err = ReadUndo(data)
	}
	if err != nil {
		return err
	}
	for _, run := range p.undo.claims {
		if batch, _, failed := lastCall(ctx, conn, p.undo.queue, run); failed != nil || batch > p.undo.marked[run] {
			return cmp.Or(failed, errors.New("another undo of these changes went on after this copy of the file was made"))
		}
	}
	p.Changes, err = p.undo.Plan(ctx, conn)
	return errors.Join(err, write(p.marks, Change{Claimed: p.run})) // marks behind it that others write are of refused calls
}

// Text shows the first changes, redacted without the values.
func (p *Plan) Text(redact bool) string {
	return form("plan.tmpl", map[string]any{"Plan": p, "Shown": p.Changes[:min(10, len(p.Changes))], "Redact": redact, "All": messages(int64(len(p.Changes))), "More": max(0, len(p.Changes)-10), "Leased": p.leased, "Rest": p.rest})
}

// Result says what Apply has done.
func (p *Plan) Result() string {
	s := fmt.Sprintf("%s: %s%d of %d changed%s", text.Line(p.Queue), map[bool]string{true: "at least "}[p.failed], p.Made, len(p.Changes),
		map[bool]string{true: "; the others are there already"}[p.Verb == "import" && p.Made < len(p.Changes) && !p.failed])
	if p.Undo != "" {
		s += "; to undo: " + Command("queue undo", p.Undo, p.Site.Flags...)
	}
	return s
}

// Apply makes the changes of a plan behind an undo file. A file that it undoes gets marks, so that it does so once.
func (p *Plan) Apply(ctx context.Context, conn redis.Conn) error {
	if len(p.Changes) == 0 {
		return nil
	}
	editor := NewEditor(conn, p.Queue)
	editor.Progress = p.Site.Progress
	if p.undo != nil {
		defer p.marks.Close()
		editor.marks, editor.run, editor.claimed = p.marks, p.run, []string{ResultKey(p.Queue, p.undo.run)}
	}
	if err := os.MkdirAll(p.Site.Folder, 0o755); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	at := fmt.Sprintf("dq-undo-%.100s-%s-%s.jsonl", url.QueryEscape(p.Queue), time.Now().UTC().Format("20060102T150405"), rand.Text()[:8])
	file, err := os.OpenFile(filepath.Join(p.Site.Folder, at), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600) // an undo may mark it while this run goes on
	if err != nil {
		return fmt.Errorf("--out: the undo file cannot be written, and nothing was changed: %w", err)
	}
	name, results := file.Name(), ""
	if err = write(file, Change{Server: p.Site.server()}); err == nil {
		if results, err = editor.applyAll(ctx, p.Changes, file); err == nil {
			err = write(file, Change{End: true})
		}
	}
	if p.undo != nil && errors.As(err, new(*os.PathError)) {
		err = fmt.Errorf("%w; a copy of the file on a disk with room can be undone", err)
	}
	p.Made = strings.Count(results, "1")
	// A call without an answer may run yet, and an error may be the answer to its second try.
	if err = errors.Join(err, file.Close()); p.Made == 0 && (err == nil || errors.As(err, new(*os.PathError)) && conn.Do(ctx, "EXISTS", ResultKey(p.Queue, editor.run)).Val() == int64(0)) {
		name, err = "", errors.Join(os.Remove(name), err)
	}
	p.Undo, p.failed = name, err != nil && name != ""
	switch missed := int64(len(p.Changes) - p.Made); {
	case err != nil || missed == 0:
	case p.undo != nil && p.Made == 0:
		err = errors.New("nothing was undone: the messages are back already, or gone")
	case p.Verb == "cancel" || p.Verb == "reschedule" || p.undo != nil:
		err = fmt.Errorf("queue %q: not changed: %s, taken or changed by others meanwhile", p.Queue, messages(missed))
	}
	return err
}

// parseDue reads a due time in Unix ms: 10m from now, or 2026-11-24T18:00:00Z.
func parseDue(text string) (int64, error) {
	at, err := time.Parse(time.RFC3339, text)
	if in, err2 := time.ParseDuration(text); err2 == nil {
		at, err = time.Now().Add(in), nil
	}
	if err != nil || at.UnixMilli() < 0 { // Redisson transfers such a one without a pause
		return 0, fmt.Errorf("--to %s: expected a time from now such as 10m, or 2026-11-24T18:00:00Z, not before 1970", text)
	}
	return at.UnixMilli(), nil
}

// opposite is the action that undoes another.
var opposite = map[string]string{
	"cancel": "restore", "deliver": "takeback", "reschedule": "reschedule", "aside": "unaside", "ghost": "unghost", "once": "again", "list": "unlist",
	"restore": "cancel", "takeback": "deliver", "put": "cancel", "unaside": "aside", "unghost": "ghost", "again": "once", "unlist": "list",
}

// undone is the change that undoes c.
func (c Change) undone() Change {
	back := map[bool]string{true: c.Score}[c.Action == "reschedule"]
	c.Action, c.Score, c.Due = opposite[c.Action], cmp.Or(c.Due, c.Score), back
	if !isPacked(c.Of) && c.Action == "restore" {
		c.Action = "put"
	}
	return c
}

// write writes lines of an undo file, which are on the disk when it returns; nil is no file.
func write(file io.Writer, lines ...Change) error {
	out := json.NewEncoder(cmp.Or(file, io.Discard))
	for _, line := range lines {
		if err := out.Encode(line); err != nil {
			return err
		}
	}
	if s, ok := file.(interface{ Sync() error }); ok {
		return s.Sync()
	}
	return nil
}

// Undo is an undo file of one queue.
type Undo struct {
	server, queue string
	run           string         // that made the changes
	claims        []string       // runs of undoes
	marked        map[string]int // the last batch of each
	owner         string         // the run whose marks count
	changes       []*Change
	used          bool // some changes were undone
	ended         bool // it has all lines
	cut           bool // its last line is not whole
}

// ReadUndo reads an undo file. A line that was cut off, the last one or one before a claim, is left out: its change had not begun.
func ReadUndo(data []byte) (*Undo, error) {
	whole := bytes.LastIndexByte(data, '\n') + 1
	u, byLine, begun, broken := &Undo{cut: whole < len(data), marked: map[string]int{}}, map[int]*Change{}, call{}, 0
	for n, line := range bytes.SplitAfter(data[:max(0, whole-1)], []byte("\n")) {
		c := &Change{line: n}
		from := len(u.changes)
		switch known := json.Unmarshal(line, c) == nil; {
		case known && c.Claim != "":
			u.claims, broken = append(u.claims, c.Claim), 0
		case broken > 0:
		case known && opposite[c.Action] != "" && slices.Contains(Parts, c.Of) && (from == 0 || string(c.Queue) == u.queue):
			c.by = begun
			begun.at++
			u.queue, u.changes, byLine[n] = string(c.Queue), append(u.changes, c), c
		case known && c.Done != "" && len(c.Done) <= from:
			for i := range c.Done {
				if of := u.changes[from-len(c.Done)+i]; !of.undoes {
					of.made = c.Done[i]
				}
			}
		case known && (c.Server != "" || c.End):
			u.server, u.ended = cmp.Or(c.Server, u.server), c.End
		case known && len(c.Undoing)+len(c.Undone) > 0 && (u.owner == "" || c.Run == u.owner):
			u.used = true
			u.marked[c.Run] = max(u.marked[c.Run], c.Batch)
			for at, line := range slices.Concat(c.Undoing, c.Undone) {
				if of := byLine[line]; of != nil {
					if !of.undoes {
						*of = of.undone()
					}
					of.made, of.undoes, of.by = map[bool]byte{true: '1'}[c.Undone != nil], true, call{c.Run, c.Batch, at}
				}
			}
		case known && len(c.Undoing)+len(c.Undone) > 0: // the server has refused it
		case known && c.Claimed != "":
			u.owner = c.Claimed
		case known && c.Run != "":
			begun, u.run = call{c.Run, c.Batch, 0}, c.Run
		default:
			broken = n + 1
		}
	}
	if broken > 0 {
		return nil, fmt.Errorf("line %d: expected a line of an undo file", broken)
	}
	return u, nil
}

// Plan returns changes that undo the file's, the last one first, without the undone ones. It asks the server for the results that the
// file lacks.
func (u *Undo) Plan(ctx context.Context, conn redis.Conn) (undone []Change, err error) {
	for _, c := range slices.Backward(u.changes) {
		if c.made == 0 {
			if c.made, err = c.by.made(ctx, conn, u.queue); err != nil {
				return nil, err
			}
		}
		if c.undoes && c.made != '1' {
			undone = append(undone, *c)
		} else if !c.undoes && c.made == '1' {
			undone = append(undone, c.undone())
		}
	}
	for from, to := 0, 0; from < len(undone); from = to { // changes of one kind keep their order: a list is filled from its head
		for to = from; to < len(undone) && undone[to].Action == undone[from].Action; to++ {
		}
		slices.Reverse(undone[from:to])
	}
	if len(undone) == 0 {
		why := map[bool]string{true: "its changes were undone already", false: "its changes were not made"}[u.used]
		return nil, errors.New(why + map[bool]string{true: " so far; a call may be on its way, which --yes stops"}[!u.ended && len(u.claims) == 0])
	}
	return undone, nil
}

// made returns the digit of a change. A later call means that this one was made.
func (c call) made(ctx context.Context, conn redis.Conn, queue string) (byte, error) {
	batch, digits, err := lastCall(ctx, conn, queue, c.run)
	if batch > c.batch {
		return '1', err
	} else if batch == c.batch && c.at < len(digits) {
		return digits[c.at], err
	}
	return '0', err
}

// lastCall has the number of the last call of a run, and its digits; 0 without one.
func lastCall(ctx context.Context, conn redis.Conn, queue, run string) (batch int, digits string, err error) {
	result, err := conn.Do(ctx, "GET", ResultKey(queue, run)).Text()
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, "", fmt.Errorf("GET: %w", err)
	}
	_, _ = fmt.Sscan(result, &batch, &digits)
	return batch, digits, nil
}
