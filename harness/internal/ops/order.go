package ops

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
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
	Force       bool      // values come back as they were before a migration
	Site        Site

	match Filter
	unmet []string // ids that no message has
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
		o.due, err = parseDue(o.To)
	}
	if err == nil && o.Where != "" {
		o.match, err = Where(o.Where)
	} else if len(o.IDs) > 0 {
		o.unmet = slices.Clone(o.IDs)
		o.match = func(_ context.Context, _ *Editor, i *Item) (bool, error) {
			o.unmet = slices.DeleteFunc(o.unmet, func(id string) bool { return id == i.ID })
			return slices.Contains(o.IDs, i.ID), nil
		}
	}
	return err
}

// Each visits the chosen messages. An id that no message has is an error.
func (o *Order) Each(ctx context.Context, e *Editor, visit func(Item) error) (err error) {
	if o.Verb == "export" {
		if e.since, err = formOf(ctx, e.conn, o.Queue); err != nil {
			return err
		}
	}
	for _, part := range o.Of {
		if err := e.Each(ctx, part, o.match, visit); err != nil {
			return err
		}
	}
	if len(o.unmet) > 0 {
		return fmt.Errorf("no message %s: expected the id of one that is %s, as list prints it", o.unmet[0], strings.Join(o.Of, " or "))
	}
	return nil
}

// Filter chooses messages; a nil one chooses all.
type Filter func(ctx context.Context, e *Editor, i *Item) (bool, error)

// Where reads --where: due=never, due<5m and due>1h from now, or a condition of Match.
func Where(text string) (Filter, error) {
	if text == "due=never" {
		return func(_ context.Context, _ *Editor, i *Item) (bool, error) {
			return isPacked(i.Of) && isNever(i.DueMS), nil
		}, nil
	}
	d, err := time.ParseDuration(text[min(4, len(text)):])
	if before := strings.HasPrefix(text, "due<"); err == nil && (before || strings.HasPrefix(text, "due>")) {
		at := float64(time.Now().Add(d).UnixMilli())
		return func(_ context.Context, _ *Editor, i *Item) (bool, error) { return (i.DueMS < at) == before, nil }, nil
	}
	match, err := Match(text)
	return func(ctx context.Context, e *Editor, i *Item) (bool, error) {
		if !field.MatchString(text) {
			return match(i.value, i.Value), nil
		}
		shown, err := e.show(ctx, i)
		return err == nil && match(i.value, shown), err
	}, err
}

var (
	field   = regexp.MustCompile(`(?s)^\s*\.([^=<>!\s][^=<>!]*?)\s*(==|!=)\s*([^=\s].*?)\s*$`)
	half    = regexp.MustCompile(`^\s*(\.[^=<>!]*|due\s*)[=<>!]`) // of a condition: not meant as a part of a value
	several = regexp.MustCompile(`^'|&&|\|\||==`)                 // conditions, or the quotes of another language
)

// Match reads a condition for a value and the JSON that shows it: .field == value, .field != value, or a part of either. Numbers are
// compared exactly. An unfinished condition is an error.
func Match(text string) (func(value []byte, shown string) bool, error) {
	m := field.FindStringSubmatch(text)
	switch {
	case m == nil && half.MatchString(text), m != nil && strings.ContainsAny(m[1], "[]"):
		return nil, fmt.Errorf("--where %s: expected .field == value, .a.b != value without [], a part of the value, or, of queue, due=never, due<5m, due>1h", text)
	case m == nil:
		return func(value []byte, shown string) bool {
			return strings.Contains(string(value), text) || strings.Contains(shown, text)
		}, nil
	}
	want, err := decode(m[3])
	if err != nil && several.MatchString(m[3]) {
		return nil, fmt.Errorf("--where %s: expected one condition, got %s; put literal text in double quotes", text, m[3])
	} else if err != nil {
		want = m[3]
	}
	return func(_ []byte, shown string) bool {
		object, err := decode(shown)
		for name := range strings.SplitSeq(m[1], ".") {
			fields, ok := object.(map[string]any)
			if !ok {
				return false
			}
			object = fields[name]
		}
		return err == nil && same(object, want) == (m[2] == "==")
	}, nil
}

// show is the value as JSON; empty if nothing here reads it.
func (e *Editor) show(ctx context.Context, i *Item) (string, error) {
	shown, err := ShowValue(ValueKind{Codec: i.Codec}.Likeliest(), i.value)
	if err == nil || e.Decode == nil {
		return shown, nil
	}
	return e.Decode(ctx, ValueKind{Codec: i.Codec}.Likeliest(), i.value)
}

// decode reads JSON; its numbers keep their digits.
func decode(text string) (value any, err error) {
	if !json.Valid([]byte(text)) {
		return nil, errors.New("no JSON")
	}
	in := json.NewDecoder(strings.NewReader(text))
	in.UseNumber()
	err = in.Decode(&value)
	return value, err
}

func same(a, b any) bool {
	m, isM := a.(json.Number)
	n, isN := b.(json.Number)
	if isM && isN {
		x, okX := new(big.Rat).SetString(m.String())
		y, okY := new(big.Rat).SetString(n.String())
		if okX && okY {
			return x.Cmp(y) == 0
		}
	}
	return fmt.Sprint(a) == fmt.Sprint(b)
}

// Plan has the changes of an order.
type Plan struct {
	*Order
	Changes []Change
	Made    int    // changes, by Apply
	Undo    string // the file that undoes them; empty if nothing was changed

	form   Form // when the messages were read
	undo   *Undo
	leased int64  // messages whose lease runs: only ids choose them
	failed bool   // more may be made
	whole  bool   // each change was tried
	rest   string // why more may be left than the plan has
}

// Plan returns the changes that an order makes.
func (o *Order) Plan(ctx context.Context, e *Editor) (p *Plan, err error) {
	p = &Plan{Order: o}
	if o.Verb == "undo" {
		if err = p.read(ctx, e.conn); err != nil {
			err = fmt.Errorf("%s: %w", o.File, err)
		}
		return p, err
	}
	if p.form, err = formOf(ctx, e.conn, o.Queue); err != nil {
		return nil, err
	}
	switch o.Verb {
	case "repair":
		p.Changes, p.rest, err = e.Repairs(ctx)
	case "import":
		if !o.Force {
			e.since = p.form
		}
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
	p.Queue = p.undo.queue
	fates, err := conn.Do(ctx, "GET", FatesKey(p.Queue, p.undo.Run)).Text()
	if err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("GET: %w", err)
	}
	if p.form, err = formOf(ctx, conn, p.Queue); err != nil {
		return err
	}
	if now := p.form.Values; now != "" && now != p.undo.Values && !p.Force {
		return errors.New("the values of the queue were migrated since: --force brings back the messages with their old values")
	}
	p.Changes, p.rest, err = p.undo.Plan(fates)
	return err
}

// Text shows the first changes, redacted without the values.
func (p *Plan) Text(redact bool) string {
	return form("plan.tmpl", map[string]any{"Plan": p, "Shown": p.Changes[:min(10, len(p.Changes))], "Redact": redact, "All": messages(int64(len(p.Changes))), "More": max(0, len(p.Changes)-10), "Leased": p.leased, "Rest": p.rest})
}

// Result says what Apply has done.
func (p *Plan) Result() string {
	s := fmt.Sprintf("%s: %s%d of %d changed%s", text.Line(p.Queue), map[bool]string{true: "at least "}[p.failed], p.Made, len(p.Changes),
		map[bool]string{true: "; the others are there already"}[p.Verb == "import" && p.Made < len(p.Changes) && p.whole])
	if p.Undo != "" {
		s += "; to undo: " + Command("queue undo", p.Undo, p.Site.Flags...)
	}
	return s
}

// Apply makes the changes of a plan behind an undo file. Before an undo the server ends the run that is undone.
func (p *Plan) Apply(ctx context.Context, conn redis.Conn) (err error) {
	editor, rest := NewEditor(conn, p.Queue), ""
	editor.Progress, editor.since = p.Site.Progress, p.form
	if p.Verb == "import" {
		editor.since.Members, editor.since.Layout = "*", "*"
	}
	if p.undo != nil {
		editor.undoes = p.undo.Run
		if _, err := editor.end(ctx, p.undo.Run); err != nil {
			return err
		}
		if err := p.read(ctx, conn); err != nil { // again: the command may have gone on since
			return err
		}
		editor.since = Form{Members: p.undo.Members, Values: p.form.Values, Layout: p.undo.Layout}
		if rest = p.rest; p.undo.Run != editor.undoes {
			return fmt.Errorf("%s: expected the file that was planned to be undone, got another: undo again", p.File)
		}
	}
	if len(p.Changes) == 0 {
		return nil
	}
	_ = os.MkdirAll(p.Site.Folder, 0o755) // or the file cannot be made
	at := fmt.Sprintf("dq-undo-%.100s-%s-%s.jsonl", url.QueryEscape(p.Queue), time.Now().UTC().Format("20060102T150405"), rand.Text()[:8])
	file, err := os.OpenFile(filepath.Join(p.Site.Folder, at), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("--out: the undo file cannot be written, and nothing was changed: %w", err)
	}
	results := ""
	if err = json.NewEncoder(file).Encode(undoHead{p.Site.server(), editor.run, editor.since}); err == nil {
		results, err = editor.applyAll(ctx, p.Changes, file)
	}
	err = errors.Join(err, file.Close())
	soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	fates, unknown := editor.end(soon, editor.run)
	cancel()
	p.whole, p.failed = err == nil, err != nil && unknown != nil // a call without an answer may be on its way
	told, known := strings.Count(results, "1"), strings.Count(fates, "1")+strings.Count(fates, "u")
	p.Made, p.Undo = max(told, known), file.Name()
	if p.Made == 0 && !p.failed {
		p.Undo, err = "", errors.Join(os.Remove(file.Name()), err)
	}
	switch missed := int64(len(p.Changes) - p.Made); {
	case err != nil:
	case rest != "":
		err = errors.New(rest)
	case known < told && unknown == nil:
		err = fmt.Errorf("the server has lost what became of %s: undo leaves them", messages(int64(told-known)))
	case missed == 0:
	case p.undo != nil && p.Made == 0:
		err = errors.New("nothing was undone: the messages are back already, or taken or changed by others")
	case p.Verb == "cancel" || p.Verb == "reschedule" || p.undo != nil:
		err = fmt.Errorf("queue %q: not changed: %s, taken or changed by others meanwhile", p.Queue, messages(missed))
	}
	return err
}

// endWithin is how long it may take to end a run, and to learn what it has changed.
const endWithin = 400 * time.Millisecond

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
