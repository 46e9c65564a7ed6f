package ops

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// maxScans bounds the calls of SCAN: a server whose cursors never end has 100,000,000 keys or is broken.
const maxScans = 100_000

// otherPrefixes are of the channel, and of keys that can outlast the others: members that a guard has taken ahead, members set aside, and
// messages of a Worker of dq.
var otherPrefixes = []string{"redisson_delay_queue_channel", "redisson_delay_queue_guard", "redisson_delay_queue_quarantine", "dq_leases", "dq_dead"}

// Queues are the destinations of all delayed queues, in order: of queues with keys, and of queues that a client has open.
func Queues(ctx context.Context, conn redis.Conn) ([]string, error) {
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
		all, err := Queues(ctx, conn) // without the right, no name is proposed
		hint := text.DidYouMean(q.Name, all)
		if err == nil && len(all) == 0 && len(l.Server.Databases) > 0 {
			hint = fmt.Sprintf("; these databases hold keys: %s (--redis redis://…/N)", strings.Join(l.Server.Databases, ", "))
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
