package ops

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

// GuardOptions set a Guard.
type GuardOptions struct {
	Queues []string // empty: all queues of the server
	// Ahead is how long before they are due members are taken out while both layouts wait. It is the tolerated outage of
	// all guards. A member that was taken out cannot be cancelled. Stalled is how long after their due time it delivers elsewhere.
	Ahead, Stalled time.Duration
	AlwaysAhead    bool          // else only while both layouts wait
	Interval       time.Duration // between two looks at a queue
	Log            io.Writer     // gets a line of JSON for each thing done; nil: no log
}

// Guard delivers for queues without working transfers. Any number of them may run: each step is one script.
//
// It looks at each queue again and again. While members of both layouts wait, each Redisson fails at a member of the
// other layout. So the Guard takes each out before it is due and delivers it when it is:
//
//	timeout set + pending list ── Ahead before due ──► ahead ── due ──► destination
//
// Elsewhere it waits until members are overdue, publishes their due time, which wakes a Redisson that listens, and delivers
// them itself if they are still there a second later.
type Guard struct {
	conn    redis.Conn
	options GuardOptions
	offset  atomic.Int64 // of the server's clock, in ns
	empty   sync.Once
	mu      sync.Mutex          // guards what follows
	queues  map[string]*guarded // by the timeout set
	log     *json.Encoder
}

// guarded is a queue of a Guard.
type guarded struct {
	GuardCounts
	names wire.Names
	lists map[string]bool // that were seen, of this queue and its twin
	size  int             // of a member, in bytes

	mixed     atomic.Int64 // when both layouts were seen last, in Unix ms
	woken     time.Time    // when it was published that something is overdue
	refused   bool         // it was said that a command is refused
	leading   atomic.Bool  // a goroutine takes members out ahead
	listeners int64
}

// GuardCounts count the work of a Guard on a queue.
type GuardCounts struct {
	Queue       string `json:"queue"`
	Mode        string `json:"mode"` // "ahead" or "when-stalled"
	Delivered   int64  `json:"delivered"`
	Before      int64  `json:"delivered_before"` // by a transfer that failed: taken out, and not delivered again
	Aside       int64  `json:"set_aside"`
	Ahead       int64  `json:"ahead"` // taken ahead, and not due yet
	Woken       int64  `json:"woken"` // times a Redisson was woken
	Calls       int64  `json:"calls"`
	FailedCalls int64  `json:"failed_calls"`
	Error       string `json:"error,omitempty"` // why the last call failed
}

const (
	guardLimit = 100              // as a transfer of Redisson's, which keeps the server busy for as long
	wakeTime   = time.Second      // for a Redisson that was woken
	mixedTime  = 30 * time.Second // after the last member of one layout was seen
)

// NewGuard returns a Guard that does nothing yet.
func NewGuard(conn redis.Conn, o GuardOptions) *Guard {
	g := &Guard{conn: redis.Within(conn, lookLimit), options: o, queues: map[string]*guarded{}, log: json.NewEncoder(cmp.Or[io.Writer](o.Log, io.Discard))}
	g.log.SetEscapeHTML(false)
	return g
}

// say writes a line of JSON.
func (g *Guard) say(q *guarded, what string, fields map[string]any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	line := map[string]any{"at": time.Now().UTC().Format(time.RFC3339Nano), "queue": q.Queue, "did": what}
	maps.Copy(line, fields)
	_ = g.log.Encode(line)
}

// Counts returns the counts so far, by queue.
func (g *Guard) Counts() []GuardCounts {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := []GuardCounts{}
	for _, q := range g.queues {
		c := q.GuardCounts
		if c.Mode = "when-stalled"; q.leading.Load() {
			c.Mode = "ahead"
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b GuardCounts) int { return strings.Compare(a.Queue, b.Queue) })
	return all
}

// now is the server's clock, in Unix ms.
func (g *Guard) now() int64 { return time.Now().Add(time.Duration(g.offset.Load())).UnixMilli() }

// Run guards until ctx ends, and then delivers the members that it has taken out. It fails if the first look does, or the last. Other
// failures are logged, and it tries again.
func (g *Guard) Run(ctx context.Context) (failed error) {
	var leading sync.WaitGroup
	defer leading.Wait()
	for first := true; ctx.Err() == nil; first = false {
		began := time.Now()
		switch err := g.round(ctx, &leading); {
		case errors.Is(ctx.Err(), context.Canceled), ctx.Err() != nil && !first: // the round was cut short
			return failed
		case first && err != nil:
			return err
		default:
			if err != nil && (failed == nil || failed.Error() != err.Error()) {
				g.say(&guarded{}, "failed", map[string]any{"error": err.Error()})
			}
			failed = err
		}
		_ = pause(ctx, max(g.options.Interval/10, g.options.Interval-time.Since(began)))
	}
	return failed
}

// round looks at each queue once, and acts if necessary.
func (g *Guard) round(ctx context.Context, leading *sync.WaitGroup) error {
	at, err := redis.Time(ctx, g.conn)
	if err != nil {
		return fmt.Errorf("TIME: %w", err)
	}
	g.offset.Store(int64(time.Until(at)))
	names := g.options.Queues
	if len(names) == 0 {
		if names, err = Queues(ctx, g.conn); err != nil {
			return err
		}
	}
	if len(names) == 0 {
		g.empty.Do(func() {
			g.say(&guarded{}, "finds no queue yet", map[string]any{"next": "dq-bench doctor --all names other databases"})
		})
	}
	for part := range slices.Chunk(names, atOnce) {
		if err := g.look(ctx, part, leading); err != nil {
			return err
		}
	}
	return nil
}

// look glances at some queues in one pipeline.
func (g *Guard) look(ctx context.Context, names []string, leading *sync.WaitGroup) error {
	now := g.now()
	soon := strconv.FormatInt(now+g.options.Ahead.Milliseconds()+2*g.options.Interval.Milliseconds()+1000, 10)
	var calls [][]any
	const each = 8
	other := func(name string) string {
		if len(g.options.Queues) > 0 {
			return name
		}
		return cmp.Or(twin(name), name)
	}
	for _, name := range names {
		n := wire.NamesOf(name)
		most := min(50, max(5, maxGlance/atOnce/max(g.queueOf(name).size, 1)))
		calls = append(calls,
			[]any{"ZRANGEBYSCORE", n.TimeoutSet, "0", soon, "WITHSCORES", "LIMIT", 0, most}, []any{"ZRANGEBYSCORE", n.TimeoutSet, "0", "+inf", "LIMIT", 0, 5},
			[]any{"LRANGE", n.Pending, 0, 4}, []any{"LRANGE", n.Pending, -5, -1}, []any{"ZRANGE", AheadKey(name), 0, 0, "WITHSCORES"},
			[]any{"PUBSUB", "NUMSUB", n.Channel}, []any{"LLEN", name}, []any{"LLEN", other(name)})
	}
	replies, err := g.conn.Pipe(ctx, calls...)
	if ctx.Err() != nil || len(replies) < len(calls) {
		return fmt.Errorf("looking at queues: %w", errors.Join(err, ctx.Err()))
	}
	for i, name := range names {
		r := replies[i*each:]
		head, err := redis.Scores(r[0])
		q := g.queueOf(name)
		for j, list := range []string{name, other(name)} {
			if n, _ := r[6+j].Int64(); n > 0 {
				g.mean(q, list)
			}
		}
		if len(q.lists) > 1 {
			err = fmt.Errorf("queue %q has the same keys: name the right queue", twin(q.Queue))
			q.mixed.Store(0)
		}
		if err != nil {
			g.note(q, step{}, err)
			continue
		}
		for _, reply := range r[1:6] {
			if err := reply.Err(); redis.HasErrorPrefix(err, "NOPERM") && !q.refused {
				q.refused = true // it does without
				g.say(q, "cannot see", map[string]any{"error": err.Error()})
			}
		}
		layouts := map[wire.Layout]bool{}
		for _, z := range head {
			layouts[layoutOf(z.Member)], q.size = true, len(z.Member)
		}
		for _, some := range r[1:4] {
			members, _ := some.StringSlice() // the script reports a key of another type
			for _, m := range members {
				layouts[layoutOf(m)] = true
			}
		}
		held, _ := redis.Scores(r[4])
		if sub, err := r[5].Slice(); err == nil && len(sub) == 2 {
			q.listeners, _ = sub[1].(int64)
		}
		if layouts[wire.LayoutDLc0] && layouts[wire.LayoutBc0Lc0] || len(held) > 0 || g.options.AlwaysAhead {
			q.mixed.Store(time.Now().UnixMilli())
		}
		g.decide(ctx, q, head, now, leading)
	}
	return nil
}

func (g *Guard) queueOf(name string) *guarded {
	g.mu.Lock()
	defer g.mu.Unlock()
	names := wire.NamesOf(name)
	q := g.queues[names.TimeoutSet]
	if q == nil {
		q = &guarded{GuardCounts: GuardCounts{Queue: text.Valid(name)}, names: names, lists: map[string]bool{}}
		g.queues[names.TimeoutSet] = q
	}
	return q
}

// mean takes over the name of the first list that was seen: keys do not distinguish the queue from its twin.
func (g *Guard) mean(q *guarded, list string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if q.lists[list] = true; len(q.lists) == 1 {
		q.Queue, q.names = text.Valid(list), wire.NamesOf(list)
	}
}

// isMixed reports whether both layouts were seen lately.
func (q *guarded) isMixed() bool { return time.Since(time.UnixMilli(q.mixed.Load())) < mixedTime }

// layoutOf is 0 for a member of neither layout.
func layoutOf(member string) wire.Layout {
	m, _ := wire.LayoutBc0Lc0.UnpackAny([]byte(member))
	return m.Layout
}

// decide acts on a queue.
func (g *Guard) decide(ctx context.Context, q *guarded, head []redis.Z, now int64, leading *sync.WaitGroup) {
	if q.isMixed() {
		if !q.leading.Swap(true) {
			g.say(q, "takes members out ahead", map[string]any{"why": map[bool]string{true: "--ahead is given", false: "members of both layouts wait"}[g.options.AlwaysAhead], "ahead": g.options.Ahead.String()})
			leading.Go(func() { g.lead(ctx, q) })
		}
		return
	}
	if len(head) == 0 || int64(head[0].Score)+g.options.Stalled.Milliseconds() > now {
		q.woken = time.Time{}
		return
	}
	if q.listeners > 0 && q.woken.IsZero() {
		q.woken = time.Now()
		if g.conn.Do(ctx, "PUBLISH", q.names.Channel, strconv.FormatInt(int64(head[0].Score), 10)).Err() == nil {
			g.mu.Lock()
			q.Woken++
			g.mu.Unlock()
			g.say(q, "woke a listener", map[string]any{"why": "overdue", "listeners": q.listeners})
		}
	}
	if q.listeners > 0 && time.Since(q.woken) < wakeTime {
		return
	}
	for ctx.Err() == nil {
		done, err := g.step(ctx, q, now)
		if err != nil || done.taken < guardLimit && done.delivered() < guardLimit {
			return
		}
	}
}

// lead takes members out ahead until only one layout waits, and then delivers the held members.
func (g *Guard) lead(ctx context.Context, q *guarded) {
	ahead := g.options.Ahead.Milliseconds()
	for ended, until := false, int64(0); ; {
		horizon := g.now() + ahead
		if !ended && (ctx.Err() != nil || !q.isMixed()) {
			ended, until, ctx = true, g.now()+ahead+1000, context.WithoutCancel(ctx)
		}
		if ended {
			horizon = -1
		}
		done, err := g.step(ctx, q, horizon)
		if ended && (err != nil || done.held > until) {
			break
		}
		now := g.now()
		at := min(now+g.options.Interval.Milliseconds(), done.held) // an offer without an announcement is found then
		if !ended {
			at = min(at, done.next-ahead)
		}
		_ = pause(ctx, time.Duration(max(at-now, 1))*time.Millisecond)
	}
	q.leading.Store(false)
	g.say(q, "takes no members out any more", nil)
}

// step is the reply of the script. Times are in Unix ms; never if there is no such time.
type step struct {
	next, held                          int64
	ahead, taken, before, old, new, set int64
}

const never = int64(1) << 62

func (s step) delivered() int64 { return s.old + s.new }

// step runs the script once, to its end: else its result is not counted.
func (g *Guard) step(ctx context.Context, q *guarded, horizon int64) (done step, err error) {
	g.mu.Lock()
	n := q.names
	g.mu.Unlock()
	u := scripts.UnlistingOf(n.Destination)
	keys := []string{
		n.Destination, n.TimeoutSet, n.Pending, AheadKey(n.Destination), scripts.Quarantine(n.Destination), u.Unlisted[0], u.Unlisted[1], u.Leaving, GuardingKey(n.Destination),
	}
	done.next, done.held = never, never
	reply, err := g.conn.Run(context.WithoutCancel(ctx), guardStep, keys, g.now(), horizon, guardLimit).Slice()
	if err == nil && len(reply) != 8 {
		err = fmt.Errorf("expected 8 items from the script, got %.80q", fmt.Sprint(reply))
	} else if err == nil {
		done.next, done.held = dueOf(reply[0]), dueOf(reply[1])
		for i, into := range []*int64{&done.ahead, &done.taken, &done.before, &done.old, &done.new, &done.set} {
			*into, _ = reply[i+2].(int64)
		}
	}
	if err != nil || horizon >= 0 || done.delivered() > 0 { // else it has written nothing, and shows nothing
		g.note(q, done, err)
	}
	return done, err
}

// dueOf reads a score; one that is never due is never.
func dueOf(item any) int64 {
	score, _ := item.(string)
	f, err := strconv.ParseFloat(score, 64)
	if err != nil || f < 0 || f > float64(never) {
		return never
	}
	return int64(f)
}

// note counts a step, and logs its result.
func (g *Guard) note(q *guarded, done step, err error) {
	g.mu.Lock()
	q.Calls++
	q.Delivered += done.delivered()
	q.Before += done.before
	q.Aside += done.set
	was, aside := q.Error, scripts.Quarantine(q.names.Destination)
	if q.Error = ""; err != nil {
		q.FailedCalls++
		q.Error = err.Error()
	} else {
		q.Ahead = done.ahead
	}
	g.mu.Unlock()
	if err != nil && was == "" {
		g.say(q, "failed", map[string]any{"error": err.Error()})
	} else if err == nil && was != "" {
		g.say(q, "works again", nil)
	}
	if n := done.delivered(); n > 0 {
		g.say(q, "delivered", map[string]any{"messages": n, "of_dLc0": done.old, "of_Bc0Lc0": done.new})
	}
	if done.before > 0 {
		g.say(q, "did not deliver again", map[string]any{"messages": done.before, "why": "a transfer of Redisson's that failed has delivered them"})
	}
	if done.set > 0 {
		g.say(q, "set aside", map[string]any{"messages": done.set, "why": "no client can read them", "key": aside})
	}
}
