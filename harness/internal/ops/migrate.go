package ops

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dq-bench/dq-bench/dq/codec/java"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// MigrationSchema names the form of a list of Migrations.
const MigrationSchema = "dq-bench/migration/v1"

// JournalKey returns the name of the SET of messages whose value a migration has rewritten and could rewrite again, for 30 days: the length of the
// value, a space, the value, and m and the id of a member, l and the id of a Worker's message, or v and the change of a delivered one.
func JournalKey(dest, from, to string) string {
	return wire.PrefixName("redisson_delay_queue_recoded", dest) + ":" + from + ":" + to
}

// noted is the element of the journal for a message with an id.
func noted(i Item) string {
	id, kind := i.key, "l"
	if i.Layout != "value" {
		bytes, _ := hex.DecodeString(i.ID)
		id, kind = string(bytes), "m"
	}
	return fmt.Sprintf("%d %s%s%s", len(i.value), i.value, kind, id)
}

// valueOf is the value in an element of the journal.
func valueOf(element string) string {
	size, rest, _ := strings.Cut(element, " ")
	n, _ := strconv.Atoi(size)
	return rest[:min(len(rest), max(n, 0))]
}

// MigrateOptions set a migration: of the layout, of the codec, or of both.
type MigrateOptions struct {
	To       *wire.Layout  // nil leaves the layout
	Reads    *wire.Release // that will read the values; nil if unknown
	From, As string        // codecs; empty leaves the values
	Class    string        // of the values of typed-json
	Yes      bool          // else only the plan is made
	Force    bool          // although clients listen
	Flags    []string      // of the address, for printed commands
	Progress *Progress
	// Java recodes values, as a *JavaClient does; nil without a codec.
	Java interface {
		Do(ctx context.Context, requests ...JavaRequest) ([]JavaReply, error)
	}
}

// Migration is the plan or the result for one queue.
type Migration struct {
	Name      string           `json:"-"`
	Queue     string           `json:"queue"` // Name as UTF-8
	To        string           `json:"to,omitempty"`
	Codec     string           `json:"codec,omitempty"` // FROM:TO
	Listeners int64            `json:"listeners"`       // -1 if unknown
	Guarded   bool             `json:"guarded"`         // a guard takes members out ahead
	Planned   map[string]int64 `json:"planned"`         // by part of the queue
	Rewritten map[string]int64 `json:"rewritten"`
	Examples  []string         `json:"examples,omitempty"`
	Refused   []Refused        `json:"refused,omitempty"` // values that stay as they are
	Left      int64            `json:"left"`              // refused, and offered meanwhile
	Partial   string           `json:"partial,omitempty"` // why it ended early; the same command goes on
	Refusal   string           `json:"refusal,omitempty"` // why nothing is done
	Note      string           `json:"note,omitempty"`    // on the codecs of the values
}

// Refused is a value that cannot be rewritten.
type Refused struct {
	Of     string `json:"of"`
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

const (
	maxPasses  = 10 // more are needed only while clients offer the old form
	maxRefused = 100
	complete   = "complete" // element of a journal: its migration has reached its end
)

// Migrate rewrites the messages of a queue. Each batch is one script, so that a migration that was killed goes on when it runs
// again, and others may offer, transfer and remove meanwhile. The Migration has the work that was done, also with an error.
func Migrate(ctx context.Context, conn redis.Conn, dest string, o MigrateOptions) (m *Migration, err error) {
	m = &Migration{Name: dest, Queue: text.Valid(dest), Planned: map[string]int64{}, Rewritten: map[string]int64{}, Listeners: -1}
	w := &rewriter{MigrateOptions: o, editor: NewEditor(conn, dest), result: m, refused: map[string]bool{}, done: map[string]bool{}, made: map[string]bool{}, optional: map[string]int64{}, twins: map[string]bool{}}
	w.editor.Progress = o.Progress
	defer func() {
		why := map[bool]*string{true: &m.Partial, false: &m.Refusal}[m.Count() > 0 || w.unsure]
		if err != nil {
			*why = map[bool]string{true: "interrupted", false: err.Error()}[errors.Is(err, context.Canceled)]
		}
		if o.Yes && m.Refusal+m.Partial != "" {
			m.Left = max(m.Left, sum(m.Planned)-m.Count())
		}
	}()
	if o.To != nil {
		m.To = o.To.String()
	}
	if o.From != "" {
		m.Codec = o.From + ":" + o.As
		w.editor.journal = [2]string{JournalKey(dest, o.From, o.As), JournalKey(dest, o.As, o.From)}
	}
	if err := cmp.Or(w.listeners(ctx), w.begun(ctx)); err != nil {
		return m, err
	}
	planned, err := w.pass(ctx, false)
	if err != nil {
		return m, err // a part of it is no plan
	}
	m.Planned = planned
	for codec, n := range w.optional {
		why, instead := fmt.Sprintf("%s written by %s, which Redisson %s ", messages(n), codec, o.Reads), or(codec, wrote(codec), *o.Reads)
		if m.Note = why + "uses only if the code names it" + instead; !java.Has(*o.Reads, codec) {
			m.Note, m.Refusal = "", cmp.Or(m.Refusal, why+"lacks"+strings.Replace(instead, "; or", ":", 1))
		}
	}
	if w.again && !w.old && len(w.done)+len(w.made) == 0 {
		m.Refusal = cmp.Or(m.Refusal, fmt.Sprintf("all values may be of %s already: --force rewrites them", o.As))
	}
	if w.other != "" && !w.named {
		m.Refusal = cmp.Or(m.Refusal, fmt.Sprintf("no value seems to be written by %s; the first is %s: --codec names the codec that wrote it, --force goes on", o.From, w.other))
	}
	if o.Force {
		m.Refusal = ""
	}
	if m.Refusal != "" || !o.Yes {
		return m, nil
	}
	if o.To != nil { // an empty queue has a layout, too
		if _, err := conn.Pipe(ctx, []any{"HSET", FormKey(dest), "layout", m.To, "members", w.editor.run}, []any{"EXPIRE", FormKey(dest), 30 * 24 * 3600}); err != nil {
			return m, fmt.Errorf("HSET, EXPIRE: %w", err)
		}
	}
	for passes, before := 0, int64(-1); passes < maxPasses && before < m.Count(); passes++ {
		before = m.Count()
		if _, err := w.pass(ctx, true); err != nil {
			return m, err
		}
	}
	conn.Do(ctx, "DEL", FatesKey(dest, w.editor.run)) // a byte for each message
	left, err := w.pass(ctx, false)
	if m.Left = sum(left) + w.stay; err == nil && w.From != "" && sum(left) == 0 && m.Count() > 0 {
		there, back := w.editor.journal[0], w.editor.journal[1]
		_, err = conn.Pipe(ctx, []any{"SADD", there, complete}, []any{"EXPIRE", there, 30 * 24 * 3600}, []any{"SREM", back, complete})
	}
	return m, err
}

// Count is how many messages were rewritten.
func (m *Migration) Count() int64 { return sum(m.Rewritten) }

func sum(counts map[string]int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// rewriter is a migration under way.
type rewriter struct {
	MigrateOptions
	editor        *Editor
	result        *Migration
	stay          int64            // refused messages that the last pass met
	refused, done map[string]bool  // keys of messages that stay; elements of the journal
	made          map[string]bool  // elements of the journal of the way back, and their values behind "=": of From, whatever they look like
	whole         bool             // the migration was complete once: what may be of either codec is new
	away          map[string]int   // values of the journal whose message has no id any more, at the beginning of a pass
	twins         map[string]bool  // keys of members that are there in both layouts
	again, old    bool             // a value could be rewritten again; one is not of As
	unsure        bool             // the server may have rewritten a batch
	optional      map[string]int64 // messages by codecs that Reads does not use by default
	other         string           // codec of a value that seems to be of neither codec of the migration
	named         bool             // a value seems to be of one of them
}

// listeners refuses while clients listen: a Redisson of the other side stalls at a rewritten member, and another codec loses values.
func (w *rewriter) listeners(ctx context.Context) error {
	m, n, conn := w.result, w.editor.names, w.editor.conn
	d, q := &Doctor{conn: conn}, &Queue{names: n, Listeners: -1}
	if err := d.listeners(ctx, &Look{}, []*Queue{q}); err != nil {
		return err
	}
	guards, err := conn.Do(ctx, "EXISTS", GuardingKey(n.Destination)).Int64()
	if err != nil {
		return fmt.Errorf("EXISTS: %w", err)
	}
	m.Listeners, m.Guarded = q.Listeners, guards > 0
	who := fmt.Sprintf("%s on %s", text.Plural(m.Listeners, "listener"), n.Channel)
	if m.Listeners < 0 {
		who = "who listens is unknown: PUBSUB NUMSUB was refused (+pubsub|numsub), or had no answer"
	}
	switch {
	case m.Listeners == 0 || w.Force:
	case w.From != "":
		m.Refusal = who + ": stop all clients, or they lose values; --force goes on"
	case !m.Guarded:
		m.Refusal = who + ": stop them, or run this beside them: " + Command("guard", n.Destination, slices.Concat([]string{"--ahead", "5s"}, w.Flags)...)
	}
	return nil
}

// begun reads the journals of the migration, which may have been killed, and of the way back: of values whose bytes do not say that they are new.
func (w *rewriter) begun(ctx context.Context) (err error) {
	if w.From == "" {
		return nil
	}
	for i, into := range []map[string]bool{w.done, w.made} {
		key := w.editor.journal[i]
		err = cmp.Or(err, scan(ctx, w.editor.conn, "SSCAN "+key, []any{"SSCAN", key}, nil, func(elements []string) error {
			for _, element := range elements {
				into[element] = true
				w.made["="+valueOf(element)] = w.made["="+valueOf(element)] || i == 1
			}
			return nil
		}))
	}
	w.whole = w.done[complete]
	delete(w.done, complete)
	return err
}

// isMade reports whether the way back wrote a value: one that is delivered has no id.
func (w *rewriter) isMade(i Item) bool {
	return w.made[noted(i)] || i.Of == "ready" && w.made["="+string(i.value)]
}

// delivered counts the values of the journal that are not at their id any more: they were delivered, and as many equal ones are done.
func (w *rewriter) delivered(ctx context.Context) error {
	w.away = map[string]int{}
	for element := range w.done {
		w.away[valueOf(element)]++
	}
	return (&Order{Of: Parts}).Each(ctx, w.editor, func(i Item) error {
		if w.done[noted(i)] {
			w.away[string(i.value)]--
		}
		return nil
	})
}

// isDone reports whether a value was rewritten. It counts down a delivered one, so ask once in a pass.
func (w *rewriter) isDone(i Item) bool {
	done := w.done[noted(i)]
	if value := string(i.value); !done && i.Layout == "value" && w.away[value] > 0 {
		w.away[value]--
		return true
	}
	return done
}

// pass visits all parts once, in the order in which messages move, rewrites messages if it may, and returns how many need it.
func (w *rewriter) pass(ctx context.Context, write bool) (found map[string]int64, err error) {
	found, w.stay = map[string]int64{}, 0
	if len(w.done) > 0 {
		if err := w.delivered(ctx); err != nil {
			return nil, err
		}
	}
	if write { // the list, from its tail, with the index of each entry; then the members that it lacks
		err = walk(ctx, w.editor.conn, w.editor.names.Pending, func(first int64, entries []string) error {
			var batch []Item
			for _, e := range entries {
				i := memberOf("waiting", e, 0)
				i.done = w.done[noted(i)]
				batch = append(batch, i)
			}
			return w.rewrite(ctx, slices.DeleteFunc(batch, func(i Item) bool { return !w.needs(i) }), first, first+int64(len(entries))-1, true)
		})
	}
	for _, of := range Parts[:map[bool]int{true: 2, false: 6}[w.From == ""]] {
		var batch []Item
		if err == nil {
			err = w.editor.Each(ctx, of, nil, func(i Item) (err error) {
				i.done = w.isDone(i)
				if w.meet(i); w.needs(i) {
					found[of]++
					batch = append(batch, i)
				} else if w.refused[i.key] {
					w.stay++
				}
				if len(batch) == maxBatch {
					err, batch = w.rewrite(ctx, batch, 0, -1, write), nil
				}
				return err
			})
			err = errors.Join(err, w.rewrite(ctx, batch, 0, -1, write))
		}
	}
	return found, err
}

// meet notes properties of the queue that a message shows.
func (w *rewriter) meet(i Item) {
	switch {
	case i.Layout == "unreadable":
		w.refuse(i, "a member of neither layout; "+Command("queue repair", w.editor.names.Destination, w.Flags...)+" sets it aside")
	case w.From == "":
	case i.done || w.isMade(i):
		w.named = true
	case looksLike(w.As, i.value) && (w.mayBeText(i.value) && !looksLike(w.From, i.value) || w.whole && looksLike(w.From, i.value)):
		w.named = true
		w.refuse(i, "it may be of "+w.From+", or of "+w.As+" already")
	case looksLike(w.From, i.value) || looksLike(w.As, i.value):
		w.named = true
		w.old = w.old || !looksLike(w.As, i.value)
	default:
		w.other = cmp.Or(w.other, i.Codec)
		w.refuse(i, "it seems to be written by "+i.Codec)
	}
	if w.From == "" && w.Reads != nil && w.repacks(i) && slices.Contains(java.Optional(), i.Codec) && i.Codec != java.Default(*w.Reads) {
		w.optional[i.Codec]++
	}
}

// needs reports whether a message has the old layout, or seems to have the old codec.
func (w *rewriter) needs(i Item) bool { return w.repacks(i) || w.recodes(i) }

func (w *rewriter) repacks(i Item) bool {
	return w.To != nil && !w.twins[i.key] && i.Layout != "value" && i.Layout != "unreadable" && i.Layout != w.To.String()
}

func (w *rewriter) recodes(i Item) bool {
	return w.From != "" && i.Layout != "unreadable" && !w.refused[i.key] && !i.done && (looksLike(w.From, i.value) || w.isMade(i))
}

// mayBeText reports whether a migration from text may have met a value as text, though its bytes look like another codec's.
func (w *rewriter) mayBeText(value []byte) bool { return w.From == "string" && utf8.Valid(value) }

// refuse notes a message that stays as it is.
func (w *rewriter) refuse(i Item, why string) {
	if !w.refused[i.key] && len(w.result.Refused) < maxRefused {
		w.result.Refused = append(w.result.Refused, Refused{i.Of, i.ID, why})
	}
	w.refused[i.key] = true
}

// rewrite rewrites some items; first and last are as of Editor.Apply.
func (w *rewriter) rewrite(ctx context.Context, items []Item, first, last int64, write bool) error {
	values, err := w.recode(ctx, items)
	if err != nil || !write {
		return err
	}
	var changes []Change
	var at []int // their items
	for k, i := range items {
		value, same := values[k], string(values[k]) == string(i.value)
		if same && !w.repacks(i) {
			continue // refused
		}
		c := w.editor.Change(i, "replace", 0)
		if c.New = value; i.Layout != "value" {
			u, _ := wire.LayoutBc0Lc0.UnpackAny([]byte(i.key)) // it was read
			if w.To != nil {
				u.Layout = *w.To
			}
			c.New = u.Layout.Pack(u.ID, value)
		}
		if w.From != "" && !same && (looksLike(w.From, value) || !looksLike(w.As, value) || w.mayBeText(value)) { // its bytes do not say that it is rewritten
			c.Due, c.Count = "journal", "journal"
		}
		changes, at = append(changes, c), append(at, k)
	}
	results, err := w.editor.Apply(ctx, changes, first, last, nil)
	w.unsure = err != nil && !errors.As(err, new(redis.Error))
	for k, r := range results {
		c := changes[k]
		if r == '1' {
			w.result.Rewritten[c.Of]++
			if w.refused[string(c.Key)] { // its layout is new
				w.refused[string(c.New)] = true
			}
		}
		is := items[at[k]]
		switch is.value = values[at[k]]; {
		case r == '1' && c.Count == "journal" && c.Of == "ready":
			w.done[fmt.Sprintf("%d %sv%d", len(is.value), is.value, len(w.done))] = true
		case r == '1' && c.Count == "journal":
			w.done[noted(is)] = true
		case r == '2':
			w.twins[string(c.Key)] = true
			w.refuse(is, "its id and value are there in the other layout, or another migration has rewritten it: if both wait, cancel one")
		}
	}
	return err
}

// recode returns the new value of each item, or its own if it stays.
func (w *rewriter) recode(ctx context.Context, items []Item) (values [][]byte, err error) {
	var requests []JavaRequest
	var of []int
	for k, i := range items {
		if values = append(values, i.value); w.recodes(i) {
			of = append(of, k)
			requests = append(requests, JavaRequest{"verb": "recode", "codec": w.From, "to": w.As, "class": w.Class, "value": i.value})
		}
	}
	if len(requests) == 0 {
		return values, nil
	}
	replies, err := w.Java.Do(ctx, requests...)
	for n, r := range replies {
		if r.Was != r.Becomes {
			if m := w.result; len(m.Examples) < 3 {
				m.Examples = append(m.Examples, fmt.Sprintf("%.200s becomes %.200s", r.Was, r.Becomes))
			}
			r.Was, r.Becomes = "", ""
		}
		if refused := r.Err(); refused != nil {
			w.refuse(items[of[n]], refused.Error())
		} else {
			values[of[n]] = r.Value
			w.again = w.again || looksLike(w.From, r.Value)
		}
	}
	return values, err
}

// looksLike reports whether a codec may have written a value. A codec that leaves no mark may have.
func looksLike(name string, value []byte) bool {
	name = strings.ReplaceAll(name, "json3", "json") // the same form
	kinds := strings.Split(strings.ReplaceAll(DetectValue(value).Codec, "json3", "json"), "|")
	switch {
	case name == "long", name == "string" && kinds[0] == UnknownValue: // with control characters
		_, err := ShowValue(name, value)
		return err == nil
	case name == "marshalling" && kinds[0] == UnknownValue:
		return len(value) > 0 && value[0] == 4 // its version; Java knows
	}
	marked := []string{"string", "json", "typed-json", "kryo5", "marshalling", "serialization"}
	return slices.Contains(kinds, name) || !slices.Contains(marked, name[strings.LastIndex(name, "/")+1:])
}
