package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/java"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// MigrationSchema names the form of a list of Migrations.
const MigrationSchema = "dq-bench/migration/v1"

// JournalKey returns the name of the SET of what a migration FROM:TO has rewritten and could rewrite again. It expires 30 days after its last change.
func JournalKey(dest, codecs string) string {
	return wire.PrefixName("redisson_delay_queue_recoded", dest) + ":" + codecs
}

// MigrateOptions set a migration: of the layout, of the codec, or of both.
type MigrateOptions struct {
	To       *wire.Layout  // nil leaves the layout
	Reads    *wire.Release // that will read the values; nil if unknown
	From, As string        // codecs; empty leaves the values
	Class    string        // of the values of typed-json
	Java     Asker         // recodes values; nil without a codec
	Yes      bool          // else only the plan is made
	Force    bool          // although clients listen
	Cluster  bool
	Flags    []string // of the address, for printed commands
	Progress func(queue string, done int)
}

// Asker asks Java about values: *values.Client.
type Asker interface {
	Do(ctx context.Context, requests ...JavaRequest) ([]JavaReply, error)
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

	unsure bool             // the server may have rewritten a batch
	lacked map[string]int64 // messages by the codec that MigrateOptions.Reads lacks
	other  string           // codec of a value that seems to be of neither codec of the migration
	named  bool             // a value seems to be of one of them
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
)

// Migrate rewrites the messages of a queue. Each batch is one script, so that a migration that was killed goes on when it runs
// again, and others may offer, transfer and remove meanwhile. The Migration says what was done, also beside an error.
func Migrate(ctx context.Context, conn redis.Conn, dest string, o MigrateOptions) (m *Migration, err error) {
	m = &Migration{Name: dest, Queue: text.Valid(dest), Planned: map[string]int64{}, Rewritten: map[string]int64{}, Listeners: -1, lacked: map[string]int64{}}
	defer func() {
		why := map[bool]*string{true: &m.Partial, false: &m.Refusal}[m.Count() > 0 || m.unsure]
		if err != nil {
			*why = map[bool]string{true: "interrupted", false: err.Error()}[errors.Is(err, context.Canceled)]
		}
		if o.Yes && m.Refusal+m.Partial != "" {
			m.Left = max(m.Left, sum(m.Planned)-m.Count())
		}
	}()
	w := &rewriter{editor: NewEditor(conn, dest), options: o, result: m, refused: map[string]bool{}}
	if o.To != nil {
		m.To = o.To.String()
	}
	if o.From != "" {
		m.Codec = o.From + ":" + o.As
		w.editor.journal = JournalKey(dest, m.Codec)
	}
	if n := w.editor.names; o.Cluster && wire.Slot(n.TimeoutSet) != wire.Slot(n.Pending) {
		m.Refusal = "its keys are in different slots: a cluster runs no script on them"
		return m, nil
	}
	if err := w.listeners(ctx); err != nil {
		return m, err
	}
	if err := w.pass(ctx, false); err != nil {
		clear(m.Planned) // a part of it is no plan
		return m, err
	}
	for lacked, n := range m.lacked {
		if m.Refusal = cmp.Or(m.Refusal, fmt.Sprintf("Redisson %s lacks the codec of %s: %s", o.Reads, messages(n), lacked)); o.Force {
			m.Refusal = ""
		} else if flags := recodes(lacked, wrote(lacked), *o.Reads); flags != nil {
			m.Refusal += "; add " + strings.Join(flags, " ")
		}
	}
	if m.other != "" && !m.named && !o.Force {
		m.Refusal = cmp.Or(m.Refusal, fmt.Sprintf("no value seems to be written by %s; the first is %s: --codec names the codec that wrote it, --force goes on", o.From, m.other))
	}
	if m.Refusal != "" || !o.Yes {
		return m, nil
	}
	if o.From != "" { // the way back begins anew
		if err := conn.Do(ctx, "DEL", JournalKey(dest, o.As+":"+o.From)).Err(); err != nil {
			return m, fmt.Errorf("DEL: %w", err)
		}
	}
	for range maxPasses {
		before := m.Count()
		if err := w.pass(ctx, true); err != nil {
			return m, err
		}
		if m.Count() == before {
			break
		}
	}
	planned := m.Planned
	m.Planned = map[string]int64{}
	err = w.pass(ctx, false)
	m.Left, m.Planned = sum(m.Planned)+int64(len(w.refused)), planned
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

// listeners refuses while clients listen: a Redisson of the other side stalls at a rewritten member, and another codec loses values.
func (w *rewriter) listeners(ctx context.Context) error {
	m, o := w.result, w.options
	d, q := &Doctor{conn: w.editor.conn}, &Queue{names: w.editor.names, Listeners: -1}
	if err := d.listeners(ctx, &Look{}, []*Queue{q}); err != nil {
		return err
	}
	m.Listeners = q.Listeners
	n, err := w.editor.conn.Do(ctx, "EXISTS", GuardingKey(w.editor.names.Destination)).Int64()
	if err != nil {
		return fmt.Errorf("EXISTS: %w", err)
	}
	m.Guarded = n > 0
	who := fmt.Sprintf("%s on %s", text.Plural(m.Listeners, "listener"), w.editor.names.Channel)
	if m.Listeners < 0 {
		who = "the user may not ask who listens (+pubsub|numsub)"
	}
	switch {
	case m.Listeners == 0 || o.Force:
	case o.From != "":
		m.Refusal = who + ": stop all clients, or they lose values; --force goes on"
	case !m.Guarded:
		m.Refusal = who + ": stop them, or run this beside them: " + Command("guard", w.editor.names.Destination, slices.Concat([]string{"--ahead", "5s"}, o.Flags)...)
	}
	return nil
}

// rewriter is a migration under way.
type rewriter struct {
	editor  *Editor
	options MigrateOptions
	result  *Migration
	refused map[string]bool // keys of values that stay
}

// pass visits all parts once, and rewrites what it finds if it may.
func (w *rewriter) pass(ctx context.Context, write bool) error {
	// The list first, from its tail, with the index of each entry; then the members that it lacks.
	if write {
		err := walk(ctx, w.editor.conn, w.editor.names.Pending, func(first int64, entries []string) error {
			items := make([]Item, len(entries))
			for i, e := range entries {
				items[i] = Item{Of: "waiting", Message: messageOf(e, 0, false), key: e}
			}
			_, err := w.rewrite(ctx, items, first, true)
			return err
		})
		if err != nil {
			return err
		}
	}
	parts := []string{"waiting", "ahead"}
	if w.options.From != "" {
		parts = []string{"waiting", "ready", "held", "retry", "dead", "ahead"}
	}
	for _, of := range parts {
		if err := w.each(ctx, of, write); err != nil {
			return err
		}
	}
	return nil
}

// each rewrites the messages of a part in batches.
func (w *rewriter) each(ctx context.Context, of string, write bool) error {
	var batch []Item
	flush := func() error {
		n, err := w.rewrite(ctx, batch, -1, write)
		if !write {
			w.result.Planned[of] += int64(n)
		}
		batch = nil
		return err
	}
	err := w.editor.Each(ctx, of, nil, func(i Item) error {
		if i.Layout == "unreadable" && !w.refused[i.key] {
			w.refuse(i, "a member of neither layout; "+Command("queue repair", w.editor.names.Destination, w.options.Flags...)+" sets it aside")
		}
		if o := w.options; o.From != "" && (looksLike(o.From, i.value) || looksLike(o.As, i.value)) {
			w.result.named = true
		} else if o.From != "" {
			w.result.other = cmp.Or(w.result.other, i.Codec)
		}
		if !w.needs(i) {
			return nil
		}
		if r := w.options.Reads; r != nil && w.options.From == "" && !java.Has(*r, i.Codec) {
			w.result.lacked[i.Codec]++
		}
		if batch = append(batch, i); len(batch) == maxBatch {
			return flush()
		}
		return nil
	})
	return errors.Join(err, flush())
}

// needs reports whether a message has the old layout, or seems to have the old codec.
func (w *rewriter) needs(i Item) bool {
	o := w.options
	return i.Layout != "unreadable" && (w.repacks(i) || o.From != "" && !w.refused[i.key] && looksLike(o.From, i.value))
}

// refuse notes a message that stays as it is.
func (w *rewriter) refuse(i Item, why string) {
	w.refused[i.key] = true
	if len(w.result.Refused) < maxRefused {
		w.result.Refused = append(w.result.Refused, Refused{i.Of, i.ID, why})
	}
}

// repacks reports whether a message has the old layout.
func (w *rewriter) repacks(i Item) bool {
	return w.options.To != nil && i.Layout != "value" && i.Layout != w.options.To.String()
}

// rewrite rewrites some items, which were seen from an index of the list on, and returns how many need it. A value that either
// codec may have written is noted in a journal, by the same script, so that it is rewritten once.
func (w *rewriter) rewrite(ctx context.Context, items []Item, first int64, write bool) (int, error) {
	o := w.options
	items = slices.DeleteFunc(items, func(i Item) bool { return !w.needs(i) })
	if o.From != "" && len(items) > 0 {
		asked := make([][]any, len(items))
		for k, i := range items {
			asked[k] = []any{"SISMEMBER", w.editor.journal, i.key}
		}
		r, err := w.editor.conn.Pipe(ctx, asked...)
		if err != nil {
			return 0, err
		}
		for k := range items {
			if is, _ := r[k].Bool(); is {
				items[k].count = "done" // it was rewritten before
			}
		}
		items = slices.DeleteFunc(items, func(i Item) bool { return i.count == "done" && !w.repacks(i) })
	}
	values, err := w.recode(ctx, items)
	if err != nil || !write {
		return len(items), err
	}
	var changes []Change
	for k, i := range items {
		value, same := values[k], string(values[k]) == string(i.value)
		if same && !w.repacks(i) {
			continue // refused
		}
		c := w.editor.Change(i, "replace", 0)
		if c.New = value; i.Layout != "value" {
			u, _ := wire.LayoutBc0Lc0.UnpackAny([]byte(i.key)) // it was read
			if o.To != nil {
				u.Layout = *o.To
			}
			c.New = u.Layout.Pack(u.ID, value)
		}
		if o.From != "" && !same && looksLike(o.From, value) { // it would be rewritten again
			c.Due, c.Count = "journal", "journal"
		}
		changes = append(changes, c)
	}
	results, err := w.editor.Apply(ctx, changes, first, nil)
	w.result.unsure = err != nil && !errors.As(err, new(redis.Error))
	for k, r := range results {
		if r == '1' {
			w.result.Rewritten[changes[k].Of]++
		}
	}
	if o.Progress != nil {
		o.Progress(w.result.Queue, int(w.result.Count()))
	}
	return len(items), err
}

// recode returns the new value of each item, or its own if it is refused.
func (w *rewriter) recode(ctx context.Context, items []Item) ([][]byte, error) {
	o, m := w.options, w.result
	all := make([][]byte, len(items))
	var requests []JavaRequest
	var of []int
	for k, i := range items {
		if all[k] = i.value; o.From != "" && !w.refused[i.key] && i.count != "done" && looksLike(o.From, i.value) {
			requests = append(requests, JavaRequest{"verb": "recode", "codec": o.From, "to": o.As, "class": o.Class, "value": i.value})
			of = append(of, k)
		}
	}
	if len(requests) == 0 {
		return all, nil
	}
	replies, err := o.Java.Do(ctx, requests...)
	if err != nil {
		return nil, err
	}
	for n, r := range replies {
		if r.Was != r.Becomes {
			if len(m.Examples) < 3 {
				m.Examples = append(m.Examples, fmt.Sprintf("%.200s becomes %.200s", r.Was, r.Becomes))
			}
			r.Was, r.Becomes = "", ""
		}
		if err := r.Err(); err != nil {
			w.refuse(items[of[n]], err.Error())
			continue
		}
		all[of[n]] = r.Value
	}
	return all, nil
}

// looksLike reports whether a codec may have written a value. A codec that leaves no mark may have.
func looksLike(name string, value []byte) bool {
	name = strings.ReplaceAll(name, "json3", "json") // the same form
	kinds := strings.Split(strings.ReplaceAll(DetectValue(value).Codec, "json3", "json"), "|")
	switch inner := name[strings.LastIndex(name, "/")+1:]; {
	case name == "long":
		_, err := codec.Long{}.Decode(value)
		return err == nil
	case name == "string" && kinds[0] == UnknownValue:
		return utf8.Valid(value) // with control characters
	case name == "marshalling" && kinds[0] == UnknownValue:
		return len(value) > 0 && value[0] == 4 // its version; Java knows
	case !slices.Contains([]string{"string", "json", "typed-json", "kryo5", "marshalling", "serialization"}, inner):
		return true
	}
	return slices.Contains(kinds, name)
}
