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
	conn     redis.Conn
	names    wire.Names
	Decode   func(ctx context.Context, codec string, value []byte) (string, error) // if set, of a value that Go does not show
	Redact   bool
	journal  [2]string // of a migration of values, and of the way back
	Progress *Progress
	run      string // see FatesKey
	undoes   string // the run that this one undoes, or its own
	since    Form   // of the time when the changed messages were read

	read, tried, changed int
}

// NewEditor returns an Editor of the queue with that destination.
func NewEditor(conn redis.Conn, dest string) *Editor {
	run := rand.Text()
	return &Editor{conn: redis.Within(conn, lookLimit), names: wire.NamesOf(dest), journal: [2]string{JournalKey(dest, "", ""), JournalKey(dest, "", "")}, run: run, undoes: run}
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
		i.values = e.since.Values
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
	Sum    uint32 `json:"sum,omitempty"` // of the line and its run: an edited line is refused

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
	fates := []string{e.journal[0], e.journal[1], FormKey(dest), FatesKey(dest, e.run), FatesKey(dest, e.undoes)}
	if !isPacked(batch[0].Of) {
		l, args := scripts.LeaseNamesOf(dest), []any{batch[0].Action, batch[0].Of, batch[0].Number, e.since.Values}
		for _, c := range batch {
			args = append(args, c.Key, c.New, c.Score, c.Count, c.Failed, c.Reason, c.undoes)
		}
		return e.conn.Run(ctx, loose, append([]string{dest, scripts.Quarantine(dest), l.Leases, l.Bodies, l.Counts, l.Dead}, fates...), args...).Text()
	}
	args := []any{batch[0].Action, first, last, e.names.Channel, batch[0].Number, e.since.Members, e.since.Values, e.since.Layout}
	for _, c := range batch {
		args = append(args, c.Key, c.New, cmp.Or(c.Due, c.Score), c.undoes)
	}
	u := scripts.UnlistingOf(dest)
	keys := []string{e.names.TimeoutSet, e.names.Pending, dest, scripts.Quarantine(dest), GhostsKey(dest), u.Unlisted[0], u.Unlisted[1], u.Pass, AheadKey(dest)}
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
