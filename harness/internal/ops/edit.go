package ops

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Parts are the parts of a queue that hold messages.
var Parts = []string{"waiting", "ahead", "ready", "held", "retry", "dead", "aside"}

// isPacked reports whether a part holds members of a delayed queue: waiting ones, and members that a guard has taken out ahead. A change
// finds a member in both parts, and its undo puts it back among the waiting ones.
func isPacked(of string) bool { return of == "waiting" || of == "ahead" }

// Editor changes messages of one queue.
type Editor struct {
	conn  redis.Conn
	names wire.Names
	// Decode, if set, shows a value that Go does not; it may ask Java.
	Decode         func(ctx context.Context, codec string, value []byte) (string, error)
	Redact   bool
	journal  string // of a migration of values
	Progress *Progress
	run      string // see FatesKey
	undoes   string // the run that this one undoes, or its own
	since    Form   // of the time when the changed messages were read

	read, tried, changed int
}

// NewEditor returns an Editor of the queue with that destination.
func NewEditor(conn redis.Conn, dest string) *Editor {
	run := rand.Text()
	return &Editor{conn: redis.Within(conn, lookLimit), names: wire.NamesOf(dest), journal: JournalKey(dest, ""), run: run, undoes: run}
}

// set is the ZSET of a part; empty for ready.
func (e *Editor) set(of string) string {
	dest, l := e.names.Destination, scripts.LeaseNamesOf(e.names.Destination)
	return map[string]string{"waiting": e.names.TimeoutSet, "ahead": AheadKey(dest), "aside": scripts.Quarantine(dest), "held": l.Leases, "retry": l.Leases, "dead": l.Dead}[of]
}

// Each visits the messages of a part that a Filter chooses, in the order of the key.
func (e *Editor) Each(ctx context.Context, of string, match Filter, visit func(Item) error) error {
	try := func(i Item) error {
		e.read++
		e.Progress.tell(e.names.Destination, e.read, "read")
		if match != nil {
			if ok, err := match(ctx, e, &i); err != nil || !ok {
				return err
			}
		}
		if e.Redact { // a class may be part of any value that looks like JSON
			i.Value, i.Class = "", ""
		}
		return visit(i)
	}
	if of == "ready" {
		return walk(ctx, e.conn, e.names.Destination, func(first int64, entries []string) error {
			for i, entry := range slices.Backward(entries) {
				at := first + int64(i)
				if err := try(Item{Of: of, ID: fmt.Sprintf("#%d-%08x", at, crc32.ChecksumIEEE([]byte(entry))), Layout: "value", Index: at, key: entry}.with([]byte(entry))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	leases := scripts.LeaseNamesOf(e.names.Destination)
	return zscan(ctx, e.conn, e.set(of), func(z redis.Z) error {
		if isPacked(of) || of == "aside" {
			return try(memberOf(of, z.Member, z.Score))
		}
		r, _ := e.conn.Pipe(ctx, []any{"HGET", leases.Bodies, z.Member}, []any{"HGET", leases.Counts, z.Member}, []any{"HGET", leases.Counts, "f" + z.Member}, []any{"HGET", leases.Bodies, "r" + z.Member})
		value, err := r[0].Text()
		if err != nil && !errors.Is(err, redis.Nil) {
			return fmt.Errorf("HGET %s: %w", leases.Bodies, err)
		}
		given, _ := r[1].Text()
		failed, _ := r[2].Text()
		reason, _ := r[3].Text()
		if of != "dead" && (of == "retry") != (failed != "" && failed == given) {
			return nil
		}
		return try(Item{Of: of, ID: z.Member, DueMS: z.Score, Layout: "value", key: z.Member, count: cmp.Or(given, "1"), failed: failed, reason: reason}.with([]byte(value)))
	})
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

// Change is one thing that is done to a message, and a line of an undo file.
type Change struct {
	Number int    `json:"n,omitempty"` // in its run, from 1
	Queue  []byte `json:"queue,omitempty"`
	Of     string `json:"of,omitempty"`
	Action string `json:"action,omitempty"`
	Key    []byte `json:"key,omitempty"`   // member, id or value
	New    []byte `json:"new,omitempty"`   // member or value
	Score  string `json:"score,omitempty"` // before
	Due    string `json:"due,omitempty"`   // after
	Count  string `json:"count,omitempty"`
	Failed string `json:"failed,omitempty"`
	Reason []byte `json:"reason,omitempty"`
	Sum    uint32 `json:"sum,omitempty"`    // of the line and its run: an edited line is refused

	due    float64
	undoes int // the number of another change
}

func (c Change) sum(run string) uint32 {
	c.Sum = 0
	line, _ := json.Marshal(c)
	return crc32.ChecksumIEEE(append(line, run...))
}

// scoreOf is the text of a score of zscan, which bounds infinite ones.
func scoreOf(ms float64) string {
	if math.Abs(ms) == math.MaxFloat64 {
		ms *= 2
	}
	return strconv.FormatFloat(ms, 'f', -1, 64)
}

// Change is an action's change to an item.
func (e *Editor) Change(i Item, action string, due int64) Change {
	c := Change{Queue: []byte(e.names.Destination), Of: i.Of, Action: action, Key: []byte(i.key), New: i.value, Score: scoreOf(i.DueMS), Count: i.count, Failed: i.failed, Reason: []byte(i.reason), due: i.DueMS}
	if i.Of == "ready" {
		c.Score = strconv.FormatInt(i.Index, 10)
	}
	if action == "reschedule" {
		c.Due = strconv.FormatInt(due, 10)
	}
	return c
}

// undoHead is the first line of an undo file.
type undoHead struct {
	Server string `json:"server"`
	Run    string `json:"run"`
	Form
}

// maxBatch is how many changes one call makes.
const maxBatch = 128

// Apply makes changes of one queue, each batch by one script. Before a batch its changes are written to undo. It returns a digit for
// each that was tried: 1 if it was made. Waiting members were seen in the pending list from index first to last; -1 is nowhere.
func (e *Editor) Apply(ctx context.Context, changes []Change, first, last int64, undo io.Writer) (results string, err error) {
	for most := 16; len(changes) > 0; {
		batch := slices.Clone(changes[:batchOf(changes, most)])
		changes = changes[len(batch):]
		for i := range batch {
			e.tried++
			batch[i].Number = e.tried
			batch[i].Sum = batch[i].sum(e.run)
		}
		if err := write(undo, batch...); err != nil {
			return results, err
		}
		began := time.Now()
		done, err := e.call(ctx, batch, first, last)
		if err != nil || len(done) != len(batch) {
			return results, cmp.Or(err, fmt.Errorf("expected %d digits from the script, got %.200q", len(batch), done))
		}
		if most = min(2*most, maxBatch); time.Since(began) > 20*time.Millisecond { // it holds up the server
			most = max(most/4, 1)
		}
		results += done
		e.changed += strings.Count(done, "1")
		e.Progress.tell(e.names.Destination, e.changed, "changed")
	}
	return results, nil
}

// applyAll makes changes. Many cancelled messages are taken in the order of the pending list: the server finds each at once.
func (e *Editor) applyAll(ctx context.Context, changes []Change, undo io.Writer) (results string, err error) {
	cancels, rest := map[string]Change{}, []Change{}
	for _, c := range changes {
		if c.Of == "waiting" && c.Action == "cancel" && len(changes) > maxBatch {
			cancels[string(c.Key)] = c
		} else {
			rest = append(rest, c)
		}
	}
	for from, part, entries := int64(0), 1, []string{""}; len(cancels) > 0 && len(entries) > 0; part = grown(part, maxBatch, entries) {
		last := from + int64(part) - 1
		if entries, err = e.conn.Do(ctx, "LRANGE", e.names.Pending, from, last).StringSlice(); err != nil {
			return results, err
		}
		var some []Change
		for _, entry := range entries {
			if c, ok := cancels[entry]; ok {
				some = append(some, c)
				delete(cancels, entry)
			}
		}
		done, err := e.Apply(ctx, some, from, last, undo)
		if results += done; err != nil {
			return results, err
		}
		from += int64(len(entries) - len(some))
	}
	done, err := e.Apply(ctx, slices.AppendSeq(rest, maps.Values(cancels)), 0, -1, undo)
	return results + done, err
}

// batchOf is how many changes go into the next call: of one part and one action, and of a bounded size.
func batchOf(changes []Change, most int) (n int) {
	first := changes[0]
	for bytes := 0; n < min(len(changes), most) && bytes < 256<<10 && changes[n].Of == first.Of && changes[n].Action == first.Action; n++ {
		bytes += len(changes[n].Key) + len(changes[n].New)
	}
	return n
}

func (e *Editor) call(ctx context.Context, batch []Change, first, last int64) (string, error) {
	dest := e.names.Destination
	fates := []string{FormKey(dest), FatesKey(dest, e.run), FatesKey(dest, e.undoes)}
	if !isPacked(batch[0].Of) {
		l, args := scripts.LeaseNamesOf(dest), []any{batch[0].Action, batch[0].Of, batch[0].Number, e.since.Values}
		for _, c := range batch {
			args = append(args, c.Key, c.New, c.Score, c.Count, c.Failed, c.Reason, c.undoes)
		}
		return e.conn.Run(ctx, loose, append([]string{dest, scripts.Quarantine(dest), l.Leases, l.Bodies, l.Counts, l.Dead, e.names.TimeoutSet, e.journal}, fates...), args...).Text()
	}
	args := []any{batch[0].Action, first, last, e.names.Channel, batch[0].Number, e.since.Members, e.since.Values}
	for _, c := range batch {
		args = append(args, c.Key, c.New, cmp.Or(c.Due, c.Score), c.undoes)
	}
	u := scripts.UnlistingOf(dest)
	keys := []string{e.names.TimeoutSet, e.names.Pending, dest, scripts.Quarantine(dest), GhostsKey(dest), u.Unlisted[0], u.Unlisted[1], u.Pass, AheadKey(dest), e.journal}
	return e.conn.Run(ctx, change, append(keys, fates...), args...).Text()
}

// end has the server refuse more changes of a run, such as a call on its way, and returns the fates of the others.
func (e *Editor) end(ctx context.Context, run string) (string, error) {
	key, month := FatesKey(e.names.Destination, run), 30*24*3600
	replies, err := e.conn.Pipe(ctx, []any{"SETRANGE", key, 0, "c"}, []any{"EXPIRE", key, month}, []any{"EXPIRE", FormKey(e.names.Destination), month}, []any{"GET", key})
	if err != nil {
		return "", fmt.Errorf("SETRANGE, EXPIRE, GET: %w", err)
	}
	return replies[3].Text()
}

// Repairs are the changes that mend a queue: ghosts go to a list of their own, orphans and lost entries are listed again,
// unreadable members are set aside, and due times get whole milliseconds. rest says why there may be more.
func (e *Editor) Repairs(ctx context.Context) (all []Change, rest string, err error) {
	add := func(action, member string, score float64, due int64) {
		all = append(all, e.Change(Item{Of: "waiting", DueMS: score, key: member}, action, due))
		e.Progress.tell(e.names.Destination, len(all), "to repair")
	}
	rest, err = differences(ctx, e.conn, e.names, maxCensus, func(z redis.Z) {
		if layoutOf(z.Member) == 0 {
			add("aside", z.Member, z.Score, 0)
		} else if !isNever(z.Score) && z.Score != math.Trunc(z.Score) {
			add("reschedule", z.Member, z.Score, int64(math.Ceil(z.Score)))
		}
	}, func(action, member string) { add(action, member, 0, 0) })
	slices.Reverse(all) // the list first: a member set aside leaves it
	return all, rest, err
}

// Exported is a line of queue export.
type Exported struct {
	Of     string `json:"of"`
	ID     string `json:"id"`
	Due    string `json:"due,omitempty"` // Unix ms
	Layout string `json:"layout"`
	Codec  string `json:"codec,omitempty"`
	Shown  string `json:"shown,omitempty"`
	Value  []byte `json:"value"` // in base64
	Member []byte `json:"member,omitempty"`
}

// Export is an item as a line of JSON.
func (i Item) Export() Exported {
	x := Exported{Of: i.Of, ID: i.ID, Layout: i.Layout, Codec: i.Codec, Shown: i.Value, Value: i.value}
	if i.Layout != "value" {
		x.Member, x.Due = []byte(i.key), scoreOf(i.DueMS)
	}
	return x
}

// Import reads lines of queue export, and returns the changes that put them into the queue: members keep their due time and id, values
// go to the destination. Unreadable members, and members that are never due, are set aside. One bad line is an error.
func (e *Editor) Import(r io.Reader) (all []Change, err error) {
	for in := json.NewDecoder(r); ; {
		var x Exported
		err := in.Decode(&x)
		if err == io.EOF && len(all) > 0 { //nolint:errorlint // this very value
			return all, nil
		}
		due, noDue := strconv.ParseFloat(cmp.Or(x.Due, "0"), 64)
		c := Change{Queue: []byte(e.names.Destination), Of: "waiting", Action: "restore", Key: x.Member, New: x.Value, Score: fmt.Sprintf("%.0f", math.Ceil(due))}
		switch {
		case err == io.EOF: //nolint:errorlint // this very value
			err = errors.New("got none")
		case err != nil:
		case !slices.Contains(Parts, x.Of):
			err = fmt.Errorf("got of %q, not one of %s", x.Of, strings.Join(Parts, ", "))
		case noDue != nil || math.IsNaN(due), (isPacked(x.Of) || x.Of == "aside") && (len(x.Member) == 0 || x.Due == ""):
			err = fmt.Errorf("got a member of %d bytes, and due %q", len(x.Member), x.Due)
		case len(x.Member) > 0 && x.Value != nil && string(memberOf("", string(x.Member), 0).value) != string(x.Value):
			err = errors.New("its member holds another value: a line of \"ready\" without a member is a new message, delivered at once")
		case x.Of == "aside" || len(x.Member) > 0 && (layoutOf(string(x.Member)) == 0 || isNever(due)):
			c.Of, c.Action = "aside", "put"
		case len(x.Member) > 0:
		case x.Value == nil:
			err = errors.New("it has neither a member nor a value")
		default:
			c.Of, c.Action, c.Key, c.Score = "ready", "put", x.Value, "0"
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: expected a line of queue export: %w", len(all)+1, err)
		}
		all = append(all, c)
	}
}

// Line shows an item.
func (i Item) Line(now time.Time) string { return fmt.Sprintf("%-7s %s", i.Of, i.line(now)) }

// Shown names the message of a change, redacted without its value.
func (c Change) Shown(redact bool) string {
	m := memberOf(c.Of, string(c.Key), 0)
	if !isPacked(c.Of) && c.Of != "aside" {
		m = Item{ID: string(c.Key)}.with(c.New)
	}
	shown := m.ID + " " + map[bool]string{false: m.Value}[redact]
	if c.Of == "ready" {
		shown = map[bool]string{true: fmt.Sprintf("of %d bytes", len(c.Key)), false: fmt.Sprintf("%.80q", c.Key)}[redact]
	}
	if ms, err := strconv.ParseInt(c.Due, 10, 64); err == nil {
		shown += " to " + time.UnixMilli(ms).UTC().Format(time.RFC3339)
	}
	return text.Inert(strings.TrimSpace(shown))
}
