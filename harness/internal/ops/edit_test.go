package ops_test

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func (b *bench) items(of string, f ops.Filter) (all []ops.Item) {
	b.t.Helper()
	require.NoError(b.t, ops.NewEditor(b.conn, "orders").Each(b.ctx, of, f, func(i ops.Item) error {
		all = append(all, i)
		return nil
	}))
	return all
}

func TestFilters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.offer(bc0Lc0, time.Minute, `{"@class":"demo.Order","id":7,"of":{"name":"Ada"}}`)
	b.offer(dLc0, time.Hour, `{"id":8}`)
	b.do("ZADD", b.names.TimeoutSet, -1, b.member(bc0Lc0, "text 7"))
	b.offer(bc0Lc0, time.Hour, `{"long":9223000000000000001}`)
	b.offer(bc0Lc0, time.Hour, `{"long":9223000000000000002}`) // a double is the same
	for text, want := range map[string]int{
		".long == 9223000000000000001": 1, ".long == 9223000000000000001.0": 1, ".id == 7": 1, ".id==8": 1, ".id != 7": 3, ".id == 7.0": 1, ".of.name == Ada": 1, `.of.name == "Ada"`: 1, "text 7": 1, "7": 2, "due=never": 1, "due<10m": 2, "due>10m": 3, "nothing": 0,
	} {
		match, err := ops.Where(text)
		require.NoError(t, err)
		require.Len(t, b.items("waiting", match), want, text)
	}
	for half := range strings.SplitSeq("due<soon,due=7,due == never,.id = 7,.id > 7,.id ==,. == 7,.id === 7,.ids[0] == 7", ",") {
		_, err := ops.Where(half)
		require.ErrorContains(t, err, "--where "+half+": expected")
	}
}

func FuzzReadUndo(f *testing.F) {
	f.Add(`{"server":"x","run":"y"}` + "\n" + `{"n":1,"queue":"b3JkZXJz","of":"waiting","action":"cancel","key":"eA=="}`)
	f.Fuzz(func(t *testing.T, text string) {
		if u, err := ops.ReadUndo([]byte(text)); err == nil {
			_, _, _ = u.Plan("c1u")
		}
		_, _ = ops.NewEditor(nil, "orders").Import(strings.NewReader(text))
		_, _ = ops.Where(text)
	})
}

func (b *bench) content() string {
	b.t.Helper()
	l := scripts.LeaseNamesOf("orders")
	var all []string
	for command, keys := range map[string][]string{
		"ZRANGE": {b.names.TimeoutSet, scripts.Quarantine("orders"), l.Leases, l.Dead}, "LRANGE": {b.names.Pending, "orders", ops.GhostsKey("orders")}, "HGETALL": {l.Bodies, l.Counts},
	} {
		for _, key := range keys {
			call := []any{command, key, 0, -1, "WITHSCORES"}
			items, err := b.conn.Do(b.ctx, call[:map[string]int{"ZRANGE": 5, "LRANGE": 4, "HGETALL": 2}[command]]...).StringSlice()
			require.NoError(b.t, err)
			if command != "ZRANGE" {
				slices.Sort(items)
			}
			all = append(all, key+strings.Join(items, ","))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// undo undoes what an undo file says, and returns how many changes it undid.
func (b *bench) undo(file string) int {
	b.t.Helper()
	return b.done(network{b.conn, twice}, &ops.Order{Verb: "undo", File: file, Site: ops.Site{Address: b.srv.URL(), Folder: b.t.TempDir()}}).Made
}

// Every action is undone by its undo file. Members that a guard takes, also after the plan, wait again after their undo.
func TestActionsAndTheirUndo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := ops.NewEditor(b.conn, "orders")
	l := scripts.LeaseNamesOf("orders")
	b.offer(bc0Lc0, time.Hour, "a")
	b.offer(dLc0, time.Hour, "b")
	b.do("RPUSH", "orders", "r1", "r2")
	for id, set := range map[string]string{"held1": l.Leases, "retry1": l.Leases, "dead1": l.Dead} {
		b.do("ZADD", set, time.Now().UnixMilli(), id)
		b.do("HSET", l.Bodies, id, "value of "+id)
		b.do("HSET", l.Counts, id, "2")
	}
	b.do("HSET", l.Counts, "fretry1", "2")
	b.do("HSET", l.Bodies, "rdead1", "why")
	b.do("ZADD", scripts.Quarantine("orders"), "inf", "unreadable")
	counts := map[string]int{"waiting": 2, "ready": 2, "held": 1, "retry": 1, "dead": 1, "aside": 1}
	for of, n := range counts {
		require.Len(t, b.items(of, nil), n, of)
	}
	counts["ahead"] = 2
	take := func() {
		z, err := redis.Scores(b.conn.Do(b.ctx, "ZRANGE", b.names.TimeoutSet, 0, -1, "WITHSCORES"))
		require.NoError(t, err)
		for _, z := range z {
			b.do("ZADD", ops.AheadKey("orders"), z.Score, z.Member)
		}
		b.do("DEL", b.names.TimeoutSet, b.names.Pending)
	}
	for _, c := range []struct{ of, action, taken string }{
		{"waiting", "cancel", ""}, {"waiting", "deliver", ""}, {"waiting", "reschedule", ""}, {"ahead", "cancel", "before"}, {"ahead", "deliver", "before"}, {"ahead", "reschedule", "before"},
		{"waiting", "cancel", "after"}, {"waiting", "deliver", "after"}, {"waiting", "reschedule", "after"},
		{"ready", "cancel", ""}, {"held", "deliver", ""}, {"retry", "cancel", ""}, {"dead", "deliver", ""}, {"dead", "cancel", ""}, {"aside", "cancel", ""},
	} {
		before := b.content()
		if c.taken == "before" {
			take()
		}
		var changes []ops.Change
		for _, i := range b.items(c.of, nil) {
			changes = append(changes, e.Change(i, c.action, time.Now().Add(2*time.Hour).UnixMilli()))
		}
		if c.taken == "after" {
			take()
		}
		made, undo := b.apply(changes)
		require.Equal(t, counts[c.of], made, "%v", c)
		require.NotEqual(t, before, b.content(), "%v", c)
		require.Zero(t, b.count("ZCARD", ops.AheadKey("orders")), "%v", c)
		require.Equal(t, counts[c.of], b.undo(undo), "%v", c)
		require.Equal(t, before, b.content(), "%v", c)
	}
	b.do("RENAME", l.Bodies, "bodies")
	b.do("SET", l.Bodies, "of another type")
	require.ErrorContains(t, e.Each(b.ctx, "held", nil, func(ops.Item) error { return nil }), "HGET dq_", "a value that was not read is not empty")
}

// Many messages are delivered in the order of their due times, and undone in it. LPOS would hold up the server for minutes.
func TestManyInTheirOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var values, told []string
	for i := range 300 {
		values = append(values, strconv.Itoa(i))
		b.offer(dLc0, time.Hour+time.Duration(i)*time.Second, values[i])
	}
	before := b.list(b.names.Pending)
	o := &ops.Order{Verb: "deliver", Queue: "orders", Of: []string{"waiting"}, All: true, Site: ops.Site{Folder: t.TempDir()}}
	plan, err := o.Plan(b.ctx, ops.NewEditor(b.conn, "orders"))
	require.NoError(t, err)
	plan.Site.Progress = ops.NewProgress(func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) })
	plan.Site.Progress.Every = 0
	require.NoError(t, plan.Apply(b.ctx, b.conn))
	require.Equal(t, values, b.list("orders"))
	require.Contains(t, told, `queue "orders": 300 changed`)
	b.done(b.conn, &ops.Order{Verb: "undo", File: plan.Undo, Site: o.Site})
	require.Equal(t, before, b.list(b.names.Pending))
	b.do("CONFIG", "RESETSTAT")
	cancel := b.done(b.conn, &ops.Order{Verb: "cancel", Queue: "orders", Of: o.Of, Where: "2", Site: o.Site})
	require.Equal(t, 138, cancel.Made)
	b.done(b.conn, &ops.Order{Verb: "undo", File: cancel.Undo, Site: o.Site})
	b.do("RPUSH", b.names.Pending, b.list(b.names.Pending)[7]) // twice
	require.EqualValues(t, 300, b.migrate(ops.MigrateOptions{To: new(bc0Lc0), Yes: true}).Count())
	require.False(t, slices.ContainsFunc(b.list(b.names.Pending), func(e string) bool { _, err := bc0Lc0.Unpack([]byte(e)); return err != nil }))
	require.NotContains(t, b.do("INFO", "commandstats"), "cmdstat_lpos")
}

func TestRepair(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := ops.NewEditor(b.conn, "orders")
	ok := b.offer(bc0Lc0, time.Hour, "ok")
	b.do("RPUSH", b.names.Pending, b.member(bc0Lc0, "ghost"), ok)
	b.do("ZADD", b.names.TimeoutSet, fmt.Sprintf("%d.25", time.Now().UnixMilli()+9e6), b.member(bc0Lc0, "orphan"))
	b.do("ZADD", b.names.TimeoutSet, time.Now().UnixMilli()+9e6, "unreadable")
	b.do("RPUSH", b.names.Pending, "unreadable", "unreadable")
	before := b.content()
	changes, rest, err := e.Repairs(b.ctx)
	require.NoError(t, err)
	require.Empty(t, rest)
	made, undo := b.apply(changes)
	require.Equal(t, 6, made)
	l := b.look(ops.LookOptions{Queues: []string{"orders"}})
	require.Equal(t, []string{"yellow:no-subscriber", "yellow:set-aside"}, kinds(l.Queues[0]))
	require.Equal(t, 6, b.undo(undo))
	require.Equal(t, before, b.content())

	for range 1001 { // more than a look asks for
		b.do("RPUSH", b.names.Pending, b.member(bc0Lc0, "ghost"))
	}
	b.done(b.conn, &ops.Order{Verb: "repair", Queue: "orders", Site: ops.Site{Folder: t.TempDir()}})
	require.Equal(t, int64(2), b.do("LLEN", b.names.Pending)) // ok and the orphan
}

// An undo file undoes its changes once, on their server.
func TestUndoFiles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	site := ops.Site{Address: b.srv.URL(), Folder: t.TempDir()}
	do := func(o *ops.Order) (p *ops.Plan, err error) {
		o.Queue, o.Site = "orders", site
		return b.order(b.conn, o)
	}
	cancelled := func() (file, text string) {
		b.do("FLUSHALL")
		for i := range 3 {
			b.offer(bc0Lc0, time.Hour+time.Duration(i)*time.Second, "a")
		}
		done, err := do(&ops.Order{Verb: "cancel", Of: []string{"waiting"}, All: true})
		require.NoError(t, err)
		data, _ := os.ReadFile(done.Undo)
		return done.Undo, string(data)
	}
	undo := func(file string) error {
		_, err := do(&ops.Order{Verb: "undo", File: file})
		return err
	}
	file, _ := cancelled()
	require.NoError(t, undo(file))
	inOrder := b.list(b.names.Pending)
	for i, member := range b.items("waiting", nil) {
		require.Equal(t, member.ID, hex.EncodeToString([]byte(inOrder[i])[1:9]), "the pending list has the order of the offers again")
	}
	b.do("DEL", b.names.TimeoutSet, b.names.Pending) // delivered, and taken
	require.ErrorContains(t, undo(file), "undone already")

	gone := b.offer(bc0Lc0, time.Hour, "gone")
	raced := network{b.conn, func(call func() *goredis.Cmd) *goredis.Cmd { b.do("ZREM", b.names.TimeoutSet, gone); return call() }}
	all := &ops.Order{Verb: "cancel", Queue: "orders", Of: []string{"waiting"}, All: true, To: "10m", Site: site}
	_, err := b.order(raced, all)
	require.ErrorContains(t, err, `queue "orders": not changed: 1 message, taken or changed by others meanwhile`)

	file, text := cancelled()
	overwrite := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	overwrite(text[:strings.Index(text, `{"n":3`)+10]) // killed before its call, or a copy
	p, err := do(&ops.Order{Verb: "undo", File: file})
	require.Contains(t, p.Text(false), "the file lacks 1 message that its command changed")
	require.ErrorContains(t, err, "Not all")
	require.ErrorContains(t, undo(file), "gone by then; Not all")
	overwrite(text)
	require.NoError(t, undo(file), "what the copy lacked")
	all.Verb = "reschedule"
	p, _ = do(all)
	b.do("ZADD", b.names.TimeoutSet, 5, b.list(b.names.Pending)[0])
	require.ErrorContains(t, undo(p.Undo), "not changed: 1 message")

	file, _ = cancelled()
	var late func() *goredis.Cmd
	holdUp := func(call func() *goredis.Cmd) *goredis.Cmd { late = call; return &goredis.Cmd{} }
	p, _ = b.order(network{b.conn, holdUp}, &ops.Order{Verb: "undo", File: file, Site: site})
	require.Empty(t, p.Undo, "nothing is made yet, nor will be")
	require.NoError(t, undo(file))
	require.ErrorContains(t, late().Err(), "their command has given up")
	// A message is taken, and a copy of the file undone, while the command is at the first of its two calls.
	b.do("FLUSHALL")
	for i := range 40 {
		b.offer(bc0Lc0, time.Hour, strconv.Itoa(i))
	}
	all.Verb, all.Site.Folder, file = "cancel", t.TempDir(), ""
	during := network{b.conn, func(call func() *goredis.Cmd) *goredis.Cmd {
		if file == "" {
			files, _ := filepath.Glob(filepath.Join(all.Site.Folder, "*"))
			data, _ := os.ReadFile(files[0])
			file = filepath.Join(site.Folder, "copy")
			overwrite(string(data))
			b.do("ZPOPMIN", b.names.TimeoutSet)
			defer func() { require.NoError(t, undo(file)) }()
		}
		return call()
	}}
	_, err = b.order(during, all)
	require.ErrorContains(t, err, "these changes are being undone")
	require.EqualValues(t, 39, b.count("ZCARD", b.names.TimeoutSet), "not the taken one")
	b.do("FLUSHALL")
	require.ErrorContains(t, undo(file), "the server knows of no change of it")
	file, text = cancelled()
	b.migrate(ops.MigrateOptions{To: new(dLc0), Yes: true})
	require.NoError(t, undo(file))
	require.Equal(t, "dLc0", b.items("waiting", nil)[0].Layout, "of the queue now")
	for _, bad := range []string{"", "{}\n", strings.Replace(text, `"n":2`, `"n":3`, 1), `{"of":"waiting","id":"x","value":"eA=="}` + "\n", text + "{}\n", text + text} {
		overwrite(bad)
		require.ErrorContains(t, undo(file), "an undo file")
	}
}

// An undo after a migration, or without one, brings a message back once, as the queue has it now.
func TestUndoAfterAMigration(t *testing.T) {
	t.Parallel()
	b := setup(t)
	folder := t.TempDir()
	of := func(o ops.Order) *ops.Order {
		o.Queue, o.Of, o.All, o.Site.Folder = "orders", []string{"waiting"}, o.Verb == "cancel", folder
		return &o
	}
	do := func(o ops.Order) *ops.Plan { return b.done(b.conn, of(o)) }
	cancel := func() string { return do(ops.Order{Verb: "cancel"}).Undo }
	values := ops.MigrateOptions{From: "string", As: "json", Yes: true, Java: &quoting{left: 1000}}
	waiting := func() (all []string) {
		for _, i := range b.items("waiting", nil) {
			all = append(all, i.Layout+" "+i.Value)
		}
		return all
	}
	id := "\x08 seven "
	windows := id + "\x01\x00\x00\x00w"
	b.do("ZADD", b.names.TimeoutSet, "9e12", windows)
	b.do("RPUSH", b.names.Pending, windows)
	require.Equal(t, []string{`dLc0-windows "w"`}, waiting())
	exported := string(must(json.Marshal(b.items("waiting", nil)[0].Export())))
	for _, to := range []wire.Layout{dLc0, bc0Lc0} {
		file := cancel()
		b.migrate(ops.MigrateOptions{To: &to, Yes: true})
		do(ops.Order{Verb: "undo", File: file})
		require.Equal(t, []string{to.String() + ` "w"`}, waiting())
		require.Contains(t, do(ops.Order{Verb: "import", Lines: strings.NewReader(exported)}).Result(), "0 of 1 changed; the others are there already")
	}
	never := strings.Replace(exported, `"due":"9000000000000"`, `"due":"+Inf"`, 1)
	do(ops.Order{Verb: "import", Lines: strings.NewReader(never)})
	require.Zero(t, b.count("ZCARD", scripts.Quarantine("orders")), "it waits, in another layout")
	// The file of an undo that changed a layout.
	file := cancel()
	for _, to := range []wire.Layout{dLc0, bc0Lc0, dLc0, dLc0, bc0Lc0} {
		b.migrate(ops.MigrateOptions{To: &to, Yes: true, Force: true})
		file = do(ops.Order{Verb: "undo", File: file}).Undo
	}
	require.Equal(t, []string{`Bc0Lc0 "w"`}, waiting())

	// Without a migration: the old release has ended with an empty queue, and the new one offers.
	file = cancel()
	next := b.offer(dLc0, time.Hour, "next")
	do(ops.Order{Verb: "undo", File: file})
	require.ElementsMatch(t, []string{`dLc0 "w"`, `dLc0 "next"`}, waiting())
	b.do("ZREM", b.names.TimeoutSet, next)
	do(ops.Order{Verb: "undo", File: cancel()}) // of an emptied queue, whose last migration was to the other layout
	require.Equal(t, []string{`dLc0 "w"`}, waiting())
	// Equal ids in both layouts are two messages.
	b.do("DEL", b.names.TimeoutSet, b.names.Pending)
	for _, layout := range []wire.Layout{dLc0, bc0Lc0} {
		member := string(layout.Pack([8]byte([]byte(id)), []byte("w")))
		b.do("ZADD", b.names.TimeoutSet, "9e12", member)
		b.do("RPUSH", b.names.Pending, member)
	}
	before := b.content()
	do(ops.Order{Verb: "undo", File: cancel()})
	require.Equal(t, before, b.content())

	// A migration of values refuses undoes of earlier commands; one that rewrote nothing does not.
	first := cancel()
	b.migrate(values)
	do(ops.Order{Verb: "undo", File: first})
	for range 2 { // the same migration, of new messages
		first = cancel()
		b.offer(bc0Lc0, time.Hour, "new")
		b.migrate(values)
		_, err := b.order(b.conn, of(ops.Order{Verb: "undo", File: first}))
		require.ErrorContains(t, err, "the values of the queue were migrated since: --force brings back")
		require.Equal(t, []string{`Bc0Lc0 "new"`}, waiting())
		do(ops.Order{Verb: "undo", File: first, Force: true})
		do(ops.Order{Verb: "undo", File: cancel()}) // of after the migration
	}
}

func TestExportIntoImport(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := ops.NewEditor(b.conn, "orders")
	b.offer(bc0Lc0, time.Hour, "a")
	b.offer(dLc0, time.Minute, "b")
	b.do("RPUSH", "orders", "ready", "")
	var lines strings.Builder
	for _, of := range []string{"waiting", "ready"} {
		for _, i := range b.items(of, nil) {
			lines.Write(append(must(json.Marshal(i.Export())), '\n'))
		}
	}
	before := b.content()
	b.do("FLUSHALL")
	changes, err := e.Import(strings.NewReader(lines.String()))
	require.NoError(t, err)
	made, _ := b.apply(changes)
	require.Equal(t, 4, made)
	require.Equal(t, before, b.content())

	// A line that export does not write changes nothing.
	for _, due := range []string{"", "2026-11-27T10:00:00Z", "nan", "1e400", " 5", "0x10", strings.Repeat("9", 400)} {
		_, err := e.Import(strings.NewReader(lines.String() + string(must(json.Marshal(ops.Exported{Of: "waiting", Member: changes[0].Key, Due: due})))))
		require.ErrorContains(t, err, "line 5: expected a line of queue export: ")
	}
	for line, want := range map[string]string{
		`{"of":"waitng","due":"1995799939479","value":"djE="}`: `line 1: expected a line of queue export: got of "waitng"`, `{"of":"aside","value":"djE="}`: `got a member of 0 bytes, and due ""`,
		string(must(json.Marshal(ops.Exported{Of: "waiting", Member: changes[0].Key, Due: "5", Value: []byte("other")}))): `a line of "ready" without a member`,
		`{"of":"ready"}`: "neither a member nor a value", `{"of":`: "line 1: ", "": "got none", "\x00\x00": "line 1: ", `[]`: "line 1: ",
	} {
		_, err := e.Import(strings.NewReader(line))
		require.ErrorContains(t, err, want, line)
	}
	// What no Redisson delivers is set aside, so that a backup with such a member comes back whole. Redisson writes no fractions of a ms.
	for _, x := range []ops.Exported{{Of: "waiting", Member: []byte("gb"), Due: "5"}, {Of: "waiting", Member: changes[0].Key, Due: "+Inf"}} {
		aside, err := e.Import(strings.NewReader(string(must(json.Marshal(x)))))
		require.NoError(t, err)
		require.Equal(t, "hold", aside[0].Action)
	}
	whole, err := e.Import(strings.NewReader(string(must(json.Marshal(ops.Exported{Of: "waiting", Member: changes[0].Key, Due: "1995799939479.5"})))))
	require.NoError(t, err)
	require.Equal(t, "1995799939480", whole[0].Score)
	b.do("FLUSHALL")
	changes[1].Score = "nan"
	_, err = e.Apply(b.ctx, changes, 0, -1, nil)
	require.ErrorContains(t, err, "not a valid float")
	require.Empty(t, b.do("KEYS", "*"))
}

// Random changes while Redisson's scripts offer and transfer, and others take: set = list after each, nothing is lost or comes twice.
func TestRandomChanges(t *testing.T) {
	t.Parallel()
	b := setup(t)
	many := 500
	if redistest.Thorough() {
		many = 10_000
	}
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	offer, _ := release("4.7.0").Script(wire.ScriptOffer)
	send := redis.NewScript(offer.Body)
	e := ops.NewEditor(b.conn, "orders")
	both := redis.NewScript(`local set, list = redis.call('zrange', KEYS[1], 0, -1), redis.call('lrange', KEYS[2], 0, -1) table.sort(set) table.sort(list) return {set, list}`)
	var others sync.WaitGroup
	var offered atomic.Int64
	came := map[string]int{}
	again := func(pause time.Duration, do func() error) {
		others.Go(func() {
			for ctx.Err() == nil {
				if err := do(); err != nil && !errors.Is(err, redis.Nil) && ctx.Err() == nil {
					t.Error(err)
				}
				time.Sleep(pause)
			}
		})
	}
	for range 2 {
		again(3*time.Millisecond, func() error { return b.transfer("4.7.0") })
		again(2*time.Millisecond, func() error {
			id, v := binary.BigEndian.AppendUint64(nil, rand.Uint64()), fmt.Sprintf("v%d", offered.Add(1))
			return b.conn.Run(b.ctx, send, []string{"orders", b.names.TimeoutSet, b.names.Pending, b.names.Channel}, time.Now().UnixMilli()+rand.Int64N(3000), id, v).Err()
		})
	}
	take := func(wait string) bool {
		got, err := b.conn.Do(b.ctx, "BLPOP", "orders", wait).StringSlice()
		if err == nil {
			came[strings.TrimRight(got[1], "'")]++
		}
		return err == nil
	}
	again(0, func() error { take("0.05"); return nil })
	cancelled := map[string]bool{}
	for changed := 0; changed < many; {
		var changes []ops.Change
		var values []string
		action := []string{"cancel", "deliver", "reschedule", "replace"}[rand.IntN(4)]
		require.NoError(t, e.Each(b.ctx, "waiting", nil, func(i ops.Item) error {
			if rand.IntN(10) > 0 || len(changes) == 8 {
				return nil
			}
			c := e.Change(i, action, time.Now().UnixMilli()+rand.Int64N(4000)-500)
			values = append(values, strings.TrimRight(string(c.New), "'"))
			if action == "replace" {
				m, _ := bc0Lc0.UnpackAny(c.Key)
				c.New = bc0Lc0.Pack(m.ID, append(m.Value, '\''))
			}
			changes = append(changes, c)
			return nil
		}))
		if len(changes) == 0 {
			continue
		}
		results, err := ops.NewEditor(network{b.conn, twice}, "orders").Apply(b.ctx, changes, 0, -1, nil)
		require.NoError(t, err)
		changed += strings.Count(results, "1")
		for i, r := range results {
			if action == "cancel" && r == '1' {
				cancelled[values[i]] = true
			}
		}
		reply, err := b.conn.Run(b.ctx, both, []string{b.names.TimeoutSet, b.names.Pending}).Slice()
		require.NoError(t, err)
		require.Equal(t, reply[0], reply[1], "after %s", action)
	}
	cancel()
	others.Wait()
	for b.count("ZCARD", b.names.TimeoutSet) > 0 {
		require.NoError(t, b.transfer("4.7.0"))
		time.Sleep(10 * time.Millisecond)
	}
	for b.count("LLEN", "orders") > 0 && take("0.05") {
	}
	for i := range offered.Load() {
		v := "v" + strconv.FormatInt(i+1, 10)
		require.Equal(t, map[bool]int{false: 1}[cancelled[v]], came[v], v)
	}
}

// quoting recodes a string as JSON, or back, and refuses "no"; it fails after some values.
type quoting struct{ left int }

func (q *quoting) Do(_ context.Context, requests ...ops.JavaRequest) (all []ops.JavaReply, err error) {
	for _, r := range requests {
		if q.left--; q.left < 0 {
			return nil, fmt.Errorf("killed")
		}
		value := string(r["value"].([]byte))
		recoded, err := strconv.Quote(value), error(nil)
		if r["to"] == "string" {
			recoded, err = strconv.Unquote(value)
		}
		all = append(all, ops.JavaReply{OK: err == nil && value != "no", Reason: "cannot be", Value: []byte(recoded)})
	}
	return all, nil
}

func (b *bench) migrate(o ops.MigrateOptions) *ops.Migration {
	b.t.Helper()
	m, err := ops.Migrate(b.ctx, b.conn, "orders", o)
	require.NoError(b.t, err)
	return m
}

// Members go to the other layout and back, and no byte tells.
func TestMigrateThereAndBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 300 {
		b.offer(dLc0, time.Hour+time.Duration(i*7919%1000)*time.Second, strconv.Itoa(i))
	}
	b.do("LREM", b.names.Pending, 1, b.list(b.names.Pending)[5]) // an orphan
	unlisted := b.list(b.names.Pending)[7]
	b.do("LREM", b.names.Pending, 1, unlisted)
	b.do("SADD", scripts.UnlistingOf("orders").Unlisted[0], unlisted)
	b.do("ZADD", ops.AheadKey("orders"), time.Now().Add(time.Hour).UnixMilli(), b.member(dLc0, "held"))
	before, order := b.content(), fmt.Sprint(b.list(b.names.Pending))
	plan := b.migrate(ops.MigrateOptions{To: new(bc0Lc0)})
	require.Equal(t, map[string]int64{"waiting": 300, "ahead": 1}, plan.Planned)
	require.Equal(t, before, b.content(), "a plan changes nothing")
	done := b.migrate(ops.MigrateOptions{To: new(bc0Lc0), Yes: true})
	require.Equal(t, plan.Planned, done.Rewritten)
	require.Zero(t, done.Left)
	require.EqualValues(t, 1, b.count("SCARD", scripts.UnlistingOf("orders").Unlisted[0]))
	require.Equal(t, map[string]int64{"Bc0Lc0": 300}, b.look(ops.LookOptions{Queues: []string{"orders"}}).Queues[0].Layouts)
	b.migrate(ops.MigrateOptions{To: new(dLc0), Yes: true})
	require.Equal(t, before, b.content())
	require.Equal(t, order, fmt.Sprint(b.list(b.names.Pending)))
}

func TestMigrateRefusesWhileClientsListen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.offer(dLc0, time.Hour, "a")
	b.listen()
	done := b.migrate(ops.MigrateOptions{To: new(bc0Lc0), Yes: true})
	require.Contains(t, done.Refusal, "dq-bench guard orders --ahead 5s")
	require.Empty(t, done.Rewritten)
	_, _, end := b.guard(ops.GuardOptions{Queues: []string{"orders"}, AlwaysAhead: true})
	b.eventually(func() bool { return b.count("EXISTS", ops.GuardingKey("orders")) == 1 }, "the guard says so")
	require.EqualValues(t, 1, b.migrate(ops.MigrateOptions{To: new(bc0Lc0), Yes: true}).Rewritten["waiting"])
	end()
	require.Less(t, b.count("PTTL", ops.GuardingKey("orders")), int64(2), "it is over at once")
	require.EqualValues(t, 1, b.migrate(ops.MigrateOptions{To: new(dLc0), Yes: true, Force: true}).Rewritten["waiting"])
	b.do("SET", ops.AheadKey("orders"), "of another type")
	done, err := ops.Migrate(b.ctx, b.conn, "orders", ops.MigrateOptions{To: new(bc0Lc0), Force: true})
	require.ErrorContains(t, err, "WRONGTYPE")
	require.Empty(t, done.Planned, "a part of it is no plan")
}

// Values that the new release cannot read are not left to it, unless somebody insists.
func TestMigrateRefusesValuesThatTheReleaseLacks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.offer(dLc0, time.Hour, "\x04>\x05hello") // of Marshalling
	b.offer(dLc0, time.Hour, "text")
	b.do("RPUSH", "orders", "a value") // not of this migration
	reads := release("4.7.0")
	before := b.content()
	for _, yes := range []bool{false, true} {
		plan := b.migrate(ops.MigrateOptions{To: new(reads.Layout()), Reads: &reads, Yes: yes})
		require.Equal(t, "1 message written by marshalling, which Redisson 4.7.0 lacks: stop all clients and rewrite the values: dq-bench migrate QUEUE --codec marshalling:kryo5 --release 3.18.1:4.7.0, and with --yes to do it", plan.Refusal)
		require.Equal(t, before, b.content())
	}
	require.EqualValues(t, 2, b.migrate(ops.MigrateOptions{To: new(reads.Layout()), Reads: &reads, Yes: true, Force: true}).Rewritten["waiting"])
	reads = release("3.16.6") // which has both codecs
	require.EqualValues(t, 2, b.migrate(ops.MigrateOptions{To: new(reads.Layout()), Reads: &reads, Yes: true}).Rewritten["waiting"])
}

// Layout and codec at once, in every part; refused values stay; a migration that was killed goes on, and rewrites no value twice.
func TestMigrateCodec(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 40 {
		b.offer(dLc0, time.Hour, strconv.Itoa(i)) // text, and JSON
	}
	b.do("RPUSH", "orders", "7", "text", "no", "no")
	l := scripts.LeaseNamesOf("orders")
	b.do("ZADD", l.Leases, 1, "id1")
	b.do("HSET", l.Bodies, "id1", "42")
	o := ops.MigrateOptions{To: new(bc0Lc0), From: "string", As: "json", Yes: true, Java: &quoting{left: 60}}
	_, err := ops.Migrate(b.ctx, b.conn, "orders", o)
	require.ErrorContains(t, err, "killed")
	b.offer(dLc0, time.Hour, "no") // gets the new layout
	o.Java = &quoting{left: 1000}
	require.Equal(t, int64(3), b.migrate(o).Left, "each is refused")
	require.Empty(t, b.migrate(o).Rewritten)
	require.ElementsMatch(t, []string{`"7"`, `"text"`, "no", "no"}, b.list("orders"))
	require.Equal(t, `"42"`, b.do("HGET", l.Bodies, "id1"))
	seen := map[string]bool{}
	for _, m := range b.list(b.names.Pending) {
		u, err := bc0Lc0.UnpackAny([]byte(m))
		require.NoError(t, err)
		require.Equal(t, bc0Lc0, u.Layout)
		seen[string(u.Value)] = true
	}
	require.Len(t, seen, 41)
	require.True(t, seen[`"39"`] && seen["no"])
	o.From, o.As = "marshalling", "serialization"
	require.Contains(t, b.migrate(o).Refusal, "no value seems to be written by marshalling")
}

// No value is rewritten twice, although the result could be a string again: whatever happens between a killed migration and the next.
func TestMigrateCodecOnce(t *testing.T) {
	t.Parallel()
	there := ops.MigrateOptions{From: "string", As: "json", Yes: true}
	for name, between := range map[string]func(*bench){
		"nothing": func(*bench) {},
		"layout":  func(b *bench) { b.migrate(ops.MigrateOptions{To: new(bc0Lc0), Yes: true}) },
		"delivered": func(b *bench) {
			b.done(b.conn, &ops.Order{Verb: "deliver", Queue: "orders", Of: []string{"waiting"}, All: true, Site: ops.Site{Folder: b.t.TempDir()}})
		},
		"way back killed": func(b *bench) {
			o := there
			o.Java = &quoting{left: 1000}
			b.migrate(o)
			back := ops.MigrateOptions{From: "json", As: "string", Yes: true, Java: &quoting{left: 450}}
			m, err := ops.Migrate(b.ctx, b.conn, "orders", back)
			require.ErrorContains(b.t, err, "killed")
			require.NotZero(b.t, m.Count())
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			for i := range 300 {
				b.offer(dLc0, time.Hour, fmt.Sprintf("v%d", i))
			}
			o := there
			o.Java = &quoting{left: 450} // for a plan, and a half
			m, err := ops.Migrate(b.ctx, b.conn, "orders", o)
			require.ErrorContains(t, err, "killed")
			require.NotZero(t, m.Count())
			between(b)
			o.Java, o.To = &quoting{left: 1000}, new(bc0Lc0)
			require.Zero(t, b.migrate(o).Left)
			seen := map[string]bool{}
			for _, i := range append(b.items("waiting", nil), b.items("ready", nil)...) {
				seen[i.Value] = true
			}
			for i := range 300 {
				require.True(t, seen[fmt.Sprintf("%q", fmt.Sprintf("v%d", i))], "%d in %v", i, seen)
			}
		})
	}
	// A quoted text beside the same text without quotes, and a Worker's message that is delivered between.
	b := setup(t)
	b.offer(dLc0, time.Hour, `"one"`)
	there.Java = &quoting{left: 1000}
	require.Contains(t, b.migrate(there).Refusal, "all values may be of json already")
	b.do("RPUSH", "orders", "one", `"one"`)
	l := scripts.LeaseNamesOf("orders")
	b.do("ZADD", l.Leases, 1, "id1")
	b.do("HSET", l.Bodies, "id1", "held")
	require.EqualValues(t, 4, b.migrate(there).Count())
	b.done(b.conn, &ops.Order{Verb: "deliver", Queue: "orders", Of: []string{"held"}, All: true, Site: ops.Site{Folder: t.TempDir()}})
	require.Zero(t, b.migrate(there).Count())
	require.Equal(t, []string{`"one"`, `"\"one\""`, `"held"`}, b.list("orders"))

	// Text that looks like an object of json stays, unless a migration has written it.
	b.do("DEL", "orders")
	b.offer(dLc0, time.Hour, `{"@class":"acme.Order"}`)
	require.Contains(t, b.migrate(there).Refused[0].Reason, "it may be of string, or of json already")
	b.offer(dLc0, time.Hour, `"{\"@class\":\"acme.Refund\"}"`)
	for _, codecs := range [][]string{{"json", "string"}, {"json", "string"}, {"string", "json"}, {"string", "json"}} {
		there.From, there.As = codecs[0], codecs[1]
		require.Len(t, b.migrate(there).Refused, 1, "%q, and not the other", codecs)
	}
	require.Contains(t, strings.Join(b.list(b.names.Pending), ""), `"{\"@class\":\"acme.Refund\"}"`)
	b.offer(dLc0, time.Hour, "7") // by a new client
	require.Len(t, b.migrate(there).Refused, 2)
}
