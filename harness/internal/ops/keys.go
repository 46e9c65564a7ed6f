package ops

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// maxScans bounds the calls of SCAN: a server whose cursors never end has 100,000,000 keys or is broken.
const maxScans = 100_000

// otherPrefixes are of the channel, and of keys that can outlast the others: members that a guard has taken ahead, members set aside, and
// messages of a Worker of dq.
var otherPrefixes = []string{"redisson_delay_queue_channel", "redisson_delay_queue_guard", "redisson_delay_queue_quarantine", "dq_leases", "dq_dead"}

// Queues are the destinations of all delayed queues, in order: of queues with keys, that a client has open, or that were seen before.
func Queues(ctx context.Context, conn redis.Conn, seen ...string) ([]string, error) {
	var mu sync.Mutex
	found := map[string]bool{}
	add := func(names []string) error {
		mu.Lock()
		defer mu.Unlock()
		for _, key := range names {
			if prefix, rest, _ := strings.Cut(key, ":"); slices.Contains(otherPrefixes, prefix) {
				key = "redisson_delay_queue:" + rest
			}
			if name, ok := wire.DestinationOf(key); ok {
				found[name] = true
			}
		}
		return nil
	}
	for _, name := range seen {
		_ = add([]string{wire.NamesOf(name).Pending})
	}
	err := conn.EachMaster(ctx, func(ctx context.Context, _ string, server redis.Conn) error {
		open, err := server.Do(ctx, "PUBSUB", "CHANNELS", "redisson_delay_queue_channel:*").StringSlice()
		if refused := redis.Error(nil); err != nil && !errors.As(err, &refused) { // a user without the right sees fewer
			return fmt.Errorf("PUBSUB: %w", err)
		}
		_ = add(open)
		return scan(ctx, server, "SCAN", []any{"SCAN"}, []any{"MATCH", "[rd][eq][d_]*"}, add)
	})
	return byLists(ctx, conn, slices.Sorted(maps.Keys(found))), err
}

// twin is the other name with the same keys but for the list, "{orders}" of "orders"; empty without one.
func twin(name string) string {
	inner, _ := wire.DestinationOf(wire.NamesOf(name).Pending)
	switch {
	case inner != name:
		return inner
	case strings.Contains(name, "{"):
		return ""
	}
	return "{" + name + "}"
}

// byLists names a queue "{orders}" instead of "orders", which has the same keys, if only that list exists; if both do, by both names.
func byLists(ctx context.Context, conn redis.Conn, names []string) (all []string) {
	for part := range slices.Chunk(names, atOnce) {
		var calls [][]any
		for _, name := range part {
			calls = append(calls, []any{"LLEN", twin(name)}, []any{"LLEN", name})
		}
		replies, _ := conn.Pipe(ctx, calls...)
		exists := func(i int) bool { return i < len(replies) && replies[i].Err() == nil && replies[i].Val() != int64(0) }
		for i, name := range part {
			other := twin(name) != "" && exists(2*i)
			if other {
				all = append(all, twin(name))
			}
			if !other || exists(2*i+1) {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return all
}

// Command is a command of dq-bench, to be pasted into a shell: words in front of the queue, flags behind it.
func Command(verb, queue string, flags ...string) string {
	words := slices.Concat([]string{"dq-bench", verb}, flags)
	switch {
	case strings.Contains(queue, "\x00"):
		return "no shell can name this queue; the page of dq-bench doctor --listen --allow-changes can"
	case strings.HasPrefix(queue, "-"): // else taken for a flag
		words = append(words, "--", text.Shell(queue))
	case queue != "":
		words = slices.Insert(words, 2, text.Shell(queue))
	}
	return strings.Join(words, " ")
}

// Missing is an error if a queue that was named is nowhere, with the name that may be meant.
func (l *Look) Missing(ctx context.Context, conn redis.Conn) error {
	for _, q := range l.Queues {
		if q.known {
			continue
		}
		all, _ := Queues(ctx, conn) // without the right, no name is proposed
		hint := text.DidYouMean(q.Name, all)
		if hint == "" && len(l.Server.Databases) > 0 {
			hint = fmt.Sprintf("; these databases hold keys: %s; %s", strings.Join(l.Server.Databases, ", "), l.elsewhere(q.Name))
		}
		return fmt.Errorf("queue %q: no key of it is in database %d, and no client has it open: it is empty, or has another name%s", q.Name, l.Server.Database, hint)
	}
	return nil
}

// Exists is an error if no key of a queue is there, and no client has it open.
func Exists(ctx context.Context, conn redis.Conn, name, address string) error {
	d := NewDoctor(conn, LookOptions{})
	l := &Look{At: time.Now(), slow: map[string]time.Duration{}}
	if err := d.glances(ctx, l, []string{name}); err != nil {
		return err
	}
	l.server(ctx, d.conn, address)
	return l.Missing(ctx, conn)
}

var (
	//go:embed guard.lua
	guardBody string
	//go:embed fate.lua
	fateBody string
	//go:embed change.lua
	changeBody string
	//go:embed loose.lua
	looseBody string

	// guardStep takes members out of a queue that are due before the horizon, and delivers the due ones.
	//
	//	KEYS    D, T, Q, H (AheadKey), X, U1, U2, V (see scripts.Unlisting), GuardingKey
	//	ARGV    now and horizon in Unix ms, -1 takes no member out; limit
	//	returns [score of the first member left in T with a possible due time, or nil; of the first in H, or nil; how many are in H;
	//	        taken out; of these delivered before, by a transfer that failed; delivered of dLc0; of Bc0Lc0; set aside in X]
	//	cost    O(limit × length of Q), as Redisson's: one LREM for each member
	guardStep = redis.NewScript(scripts.Prelude() + guardBody)

	// change does one thing to some members.
	//
	//	KEYS    T, Q, D, X, G (GhostsKey), U1, U2, P, H, JournalKey, JournalKey of the way back, FormKey, R (FatesKey), R of the run that
	//	        this one undoes, or the same R
	//	ARGV    action; the indexes in Q of the first and the last entry among which the members were seen, or 0 and -1; channel; the
	//	        number of the first change in its run; the Form when the members were seen; for each
	//	        member: the member, its new bytes or its value, a due time, the number of the change that is undone, or 0
	//	returns a digit for each: 1 changed, 0 not there any more, 2 the new member is there already
	//	cost    O(members × log n), and O(nodes of Q) for each that is listed
	change = redis.NewScript(scripts.Prelude() + fateBody + changeBody)

	// loose does one thing to values in the destination, to messages of Workers, or to members that were set aside.
	//
	//	KEYS    D, X, L, V, N, dead letters (see scripts.LeaseNames), and the last five of change
	//	ARGV    action; ready, held, retry, dead or aside; the number of the first change in its run; the stamp of Form's values; for each:
	//	        its id, or the value; a value; a score, or the index in D; the count of hand-outs; the last that failed; the reason of a dead
	//	        letter; the number of the change that is undone, or 0
	//	returns as change
	loose = redis.NewScript(fateBody + looseBody)
)

// ChangeArgs is how many arguments of the script change come before the members.
const ChangeArgs = 8

// NoMember is the member by which these scripts, and package dq's, find out before their first write if the server refuses one.
const NoMember = "dq: no such member"

// Scripts are the texts that this package sends, for the analysis of logs.
func Scripts() []scripts.Script {
	return []scripts.Script{
		{Name: "guard-step", Body: scripts.Prelude() + guardBody, SHA1: guardStep.Hash()},
		{Name: "change", Body: scripts.Prelude() + fateBody + changeBody, SHA1: change.Hash()},
		{Name: "loose", Body: fateBody + looseBody, SHA1: loose.Hash()},
	}
}

// AheadKey returns the name of the ZSET of members that a guard has taken out of the queue with the destination dest, and
// delivers when they are due. Like the key of GhostsKey it is in the slot of the other keys.
func AheadKey(dest string) string { return wire.PrefixName("redisson_delay_queue_guard", dest) }

// GhostsKey returns the name of the LIST that keeps the ghosts that were removed.
func GhostsKey(dest string) string { return wire.PrefixName("redisson_delay_queue_ghosts", dest) }

// FatesKey returns the name of the key with the fates of the changes of a run, for 30 days: see fate.lua.
func FatesKey(dest, run string) string {
	return wire.PrefixName("redisson_delay_queue_changed", dest) + ":" + run
}

// FormKey returns the name of the HASH with a Form, and under layout the one that the queue was migrated to. It expires after 30 days without a
// migration or a run that changed messages.
func FormKey(dest string) string { return wire.PrefixName("redisson_delay_queue_form", dest) }

// Form is how a queue was when its messages were read. A stamp is the run of the last migration, and the number of its last change; it is empty for a
// queue that was not migrated, or more than 30 days ago. Members and Layout are * for messages of unknown origin.
type Form struct {
	Members string `json:"members,omitempty"` // stamp of the layout
	Values  string `json:"values,omitempty"`  // stamp of the values
	Layout  string `json:"layout,omitempty"`  // of the members at both ends; empty if these differ, and for an empty queue
}

func formOf(ctx context.Context, conn redis.Conn, dest string) (f Form, err error) {
	set := wire.NamesOf(dest).TimeoutSet
	r, err := conn.Pipe(ctx, []any{"HMGET", FormKey(dest), "members", "values"}, []any{"ZRANGE", set, 0, 0}, []any{"ZRANGE", set, -1, -1})
	if err != nil {
		return f, fmt.Errorf("HMGET, ZRANGE: %w", err)
	}
	if stamps, _ := r[0].Slice(); len(stamps) == 2 {
		f.Members, _ = stamps[0].(string) // nil without one
		f.Values, _ = stamps[1].(string)
	}
	first, _ := r[1].StringSlice()
	last, _ := r[2].StringSlice()
	if len(first) == 1 && len(last) == 1 && layoutOf(first[0]) == layoutOf(last[0]) && layoutOf(first[0]) != 0 {
		f.Layout = layoutOf(first[0]).String()
	}
	return f, nil
}

// GuardingKey returns the name of a key that is there while a guard takes members out ahead, and for 3 s if it was killed.
func GuardingKey(dest string) string { return wire.PrefixName("redisson_delay_queue_guarding", dest) }
