package ops

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// Census is the content of a queue, member by member.
type Census struct {
	Values  []Value  `json:"values"` // by codec and class
	Samples []Item   `json:"samples"`
	Due     []Bucket `json:"due"` // by the time until they are due
	Never   int64    `json:"never_due"`
	Ghosts  int64    `json:"ghosts"`
	Orphans int64    `json:"orphans"`
	Again   int64    `json:"listed_again"`
	Windows int64    `json:"of_windows"`
	Listens []string `json:"listens,omitempty"` // all clients with a subscription: the server does not name the channel
	Unsure  string   `json:"unsure,omitempty"`
}

// Value counts values of one kind.
type Value struct {
	Codec string `json:"codec"`
	Class string `json:"class,omitempty"`
	Count int64  `json:"count"`
}

// Bucket counts members due within a span of time.
type Bucket struct {
	Within string `json:"within"`
	Count  int64  `json:"count"`

	end int64 // in ms from now
}

// Item is a message in a part of a queue.
type Item struct {
	Of     string  `json:"of"`
	ID     string  `json:"id"` // hex
	DueMS  float64 `json:"due_ms"`
	Layout string  `json:"layout"`
	Codec  string  `json:"codec,omitempty"`
	Class  string  `json:"class,omitempty"`
	Value  string  `json:"value,omitempty"`
	Index  int64   `json:"index,omitempty"` // in the destination

	key                   string // the member, the id of a lease, or the value
	value                 []byte
	count, failed, reason string // of a message of a Worker: hand-outs, the last that failed, why it is a dead letter
	values                string // for an export: see Form
	done                  bool   // by a migration of values
}

// memberOf takes a member apart.
func memberOf(of, member string, score float64) Item {
	sum := sha256.Sum256([]byte(member))
	i := Item{Of: of, ID: hex.EncodeToString(sum[:8]), DueMS: score, Layout: "unreadable", key: member} // an id that shows no value
	u, err := wire.LayoutBc0Lc0.UnpackAny([]byte(member))
	if err != nil {
		return i
	}
	i.ID, i.Layout = hex.EncodeToString(u.ID[:]), u.Layout.String()
	if u.LengthSize == wire.WindowsLengthSize {
		i.Layout += "-windows"
	}
	return i.with(u.Value)
}

// with has a value, shown in a line of at most 200 bytes.
func (i Item) with(value []byte) Item {
	const most, large = 200, 1 << 20
	kind, shown, err := DetectValue(value), "", errors.ErrUnsupported
	if len(value) < large { // else 60 bytes of memory for each
		shown, err = ShowValue(kind.Likeliest(), value)
	}
	if err != nil || strings.ContainsFunc(shown, unicode.IsControl) || !utf8.ValidString(shown) {
		shown = fmt.Sprintf("%q", value[:min(len(value), most)])
	}
	if len(shown) > most {
		shown = strings.ToValidUTF8(shown[:most], "") + "…"
	}
	i.value, i.Codec, i.Class, i.Value = value, kind.Codec, kind.Class, shown
	return i
}

var buckets = []Bucket{
	{"overdue for more than an hour", 0, -3600e3}, {"overdue for more than a second", 0, -1e3}, {"due now", 0, 1}, {"within a minute", 0, 60e3},
	{"within an hour", 0, 3600e3}, {"within a day", 0, 24 * 3600e3}, {"within 30 days", 0, 30 * 24 * 3600e3}, {"later", 0, lastMS},
}

const (
	maxCensus  = 5_000_000 // members that are looked for in the list: 100 MB of hashes
	maxAsked   = 1000      // ghosts and orphans that a look asks for one by one
	maxKinds   = 1000
	eachSample = 2
)

// census reads all members of a queue, in calls of about a millisecond.
func (d *Doctor) census(ctx context.Context, l *Look, q *Queue) error {
	c := &Census{Values: []Value{}, Samples: []Item{}, Due: []Bucket{}}
	q.Census = c
	if len(q.wrong) > 0 {
		return nil
	}
	kinds, n, read := map[Value]int64{}, map[string]int64{}, 0
	q.Layouts, c.Due = map[string]int64{}, slices.Clone(buckets)
	unsure, err := differences(ctx, d.conn, q.names, maxAsked, func(z redis.Z) {
		m := memberOf("waiting", z.Member, z.Score)
		read++
		d.options.Progress.tell(q.Name, read, "read")
		if d.options.Redact {
			m.Value, m.Class = "", ""
		}
		q.Layouts[strings.TrimSuffix(m.Layout, "-windows")]++
		if strings.HasSuffix(m.Layout, "-windows") {
			c.Windows++
		}
		if isNever(z.Score) {
			c.Never++
		} else if i := slices.IndexFunc(c.Due, func(b Bucket) bool { return z.Score < l.nowMS()+float64(b.end) }); i >= 0 {
			c.Due[i].Count++
		}
		kind := Value{Codec: m.Codec, Class: m.Class}
		if kinds[kind] == 0 && len(kinds) >= maxKinds {
			kind = Value{Codec: "other"}
		}
		if kinds[kind]++; kinds[kind] <= eachSample && len(c.Samples) < 20 {
			c.Samples = append(c.Samples, m)
		}
	}, func(action, _ string) { n[action]++ })
	if err != nil && !l.refused("ZSCAN, MULTI, LRANGE or LPOS", "+@read +multi +exec", err) {
		return err
	}
	c.Unsure, c.Ghosts, q.ghosts, c.Orphans, c.Again = unsure, n["ghost"], n["ghost"], n["list"], n["once"]
	c.Due = slices.DeleteFunc(c.Due, func(b Bucket) bool { return b.Count == 0 })
	for kind, n := range kinds {
		if kind.Count = n; kind.Codec != "" { // of a member that was read
			c.Values = append(c.Values, kind)
		}
	}
	slices.SortFunc(c.Values, func(a, b Value) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Codec, b.Codec), cmp.Compare(a.Class, b.Class))
	})
	slices.SortFunc(c.Samples, func(a, b Item) int { return cmp.Compare(a.DueMS, b.DueMS) })
	d.extras(ctx, l, q)
	return nil
}

// zscan visits each member of a sorted set at least once. It bounds infinite scores: JSON has none.
func zscan(ctx context.Context, conn redis.Conn, key string, visit func(redis.Z) error) error {
	return scan(ctx, conn, "ZSCAN "+key, []any{"ZSCAN", key}, nil, func(items []string) error {
		for i := 0; i+1 < len(items); i += 2 {
			score, err := strconv.ParseFloat(items[i+1], 64)
			if err != nil {
				return fmt.Errorf("ZSCAN %s: expected a score, got %.40q", key, items[i+1])
			}
			if err := visit(redis.Z{Score: max(-math.MaxFloat64, min(score, math.MaxFloat64)), Member: items[i]}); err != nil {
				return err
			}
		}
		return nil
	})
}

// scan calls a command with one cursor after the other, and visits the items of each reply. A call asks for fewer items if they are large.
func scan(ctx context.Context, conn redis.Conn, name string, call, options []any, visit func(items []string) error) error {
	seen := map[string]bool{}
	for cursor, n, part := "0", 0, 1; ; n++ {
		items, next, err := redis.Page(conn.Do(ctx, slices.Concat(call, []any{cursor, "COUNT", part}, options)...))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		part = grown(part, 1000, items)
		if err := visit(items); err != nil || next == "0" {
			return err
		}
		if seen[next] || n > maxScans {
			return fmt.Errorf("%s: the server sent the cursor %s twice", name, next)
		}
		seen[next], cursor = true, next
	}
}

// walk visits the entries of a list from its tail to its head, in parts with the index of the first. A removal between two
// calls moves entries that follow it towards the head, so that no entry before it is passed over.
func walk(ctx context.Context, conn redis.Conn, key string, visit func(first int64, entries []string) error) error {
	length, err := conn.Do(ctx, "LLEN", key).Int64()
	if err != nil {
		return fmt.Errorf("LLEN %s: %w", key, err)
	}
	for end, part := length, 1; end > 0; {
		first := max(0, end-int64(part))
		entries, err := conn.Do(ctx, "LRANGE", key, first, end-1).StringSlice()
		if err != nil {
			return fmt.Errorf("LRANGE %s: %w", key, err)
		}
		if err := visit(first, entries); err != nil {
			return err
		}
		end, part = first, grown(part, 500, entries)
	}
	return nil
}

// grown is how many items to ask for next: twice as many, up to a most, unless the last ones were large.
func grown(part, most int, last []string) int {
	size := 0
	for _, item := range last {
		size += len(item)
	}
	if size > 1<<20 {
		return max(part/2, 1)
	}
	return min(2*part, most)
}

// differences visits each member of the set, and finds the ones that only the list, or only the set has, by one MULTI each: others change
// both all the time. met gets at most so many of each with the action that mends it. reason says why more may be there.
func differences(ctx context.Context, conn redis.Conn, n wire.Names, most int64, visit func(redis.Z), met func(action, member string)) (reason string, err error) {
	var ghosts, orphans []string
	entries, seed, listed := int64(0), maphash.MakeSeed(), map[uint64]bool{} // by the hash of a member of the set
	err = zscan(ctx, conn, n.TimeoutSet, func(z redis.Z) error {
		if visit(z); len(listed) < maxCensus {
			listed[maphash.String(seed, z.Member)] = false
		}
		return nil
	})
	if err == nil && len(listed) == maxCensus {
		return fmt.Sprintf("ghosts and orphans were not looked for: the queue has more than %s", members(maxCensus)), nil
	}
	if err == nil {
		err = walk(ctx, conn, n.Pending, func(_ int64, some []string) error {
			for _, e := range some {
				hash := maphash.String(seed, e)
				switch again, known := listed[hash]; {
				case known && again:
					met("once", e)
				case known:
					listed[hash] = true
				case int64(len(ghosts)) < most:
					ghosts = append(ghosts, e)
				}
				entries++
			}
			return nil
		})
	}
	if err == nil && slices.Contains(slices.Collect(maps.Values(listed)), false) {
		err = zscan(ctx, conn, n.TimeoutSet, func(z redis.Z) error {
			if again, known := listed[maphash.String(seed, z.Member)]; known && !again && int64(len(orphans)) < most {
				orphans = append(orphans, z.Member)
			}
			return nil
		})
	}
	if err != nil {
		return "", err
	}
	keep := int(min(most, most*20_000/max(entries, 1))) // LPOS walks the list
	if max(len(ghosts), len(orphans)) >= keep {
		reason = fmt.Sprintf("of %d ghosts and %d orphans that were met, %d each were asked for again", len(ghosts), len(orphans), keep)
		ghosts, orphans = ghosts[:min(len(ghosts), keep)], orphans[:min(len(orphans), keep)]
	}
	u := scripts.UnlistingOf(n.Destination)
	for _, m := range slices.Concat(ghosts, orphans) {
		r, err := conn.Multi(ctx, []any{"ZSCORE", n.TimeoutSet, m}, []any{"LPOS", n.Pending, m},
			[]any{"SISMEMBER", u.Unlisted[0], m}, []any{"SISMEMBER", u.Unlisted[1], m})
		if len(r) < 4 || err != nil && !errors.Is(err, redis.Nil) {
			return reason, err
		}
		in := func(i int) bool { v, err := r[i].Result(); return err == nil && fmt.Sprint(v) != "0" }
		switch scored, listed := r[0].Err() == nil, r[1].Err() == nil; {
		case !scored && listed:
			met("ghost", m)
		case scored && !listed && !in(2) && !in(3): // else a dq client has taken it from the list
			met("list", m)
		}
	}
	return reason, nil
}

// extras reads clients, and the positions of due members in a long list.
func (d *Doctor) extras(ctx context.Context, l *Look, q *Queue) {
	if q.Listeners > 0 {
		_ = d.conn.EachNode(ctx, func(ctx context.Context, _ string, node redis.Conn) error {
			l.visits.Lock()
			defer l.visits.Unlock()
			list, err := node.Do(ctx, "CLIENT", "LIST", "TYPE", "pubsub").Text()
			l.refused("CLIENT LIST", "+client|list", err)
			for line := range strings.Lines(list) {
				field := func(name string) string {
					_, value, _ := strings.Cut(" "+line, " "+name+"=")
					return strings.TrimSpace(strings.SplitN(value, " ", 2)[0])
				}
				if addr := field("addr"); addr != "" && len(q.Census.Listens) < 20 {
					q.Census.Listens = append(q.Census.Listens, strings.TrimSuffix(addr+", "+cmp.Or(field("lib-name"), "names no library, as Redisson")+", "+field("name"), ", "))
				}
			}
			return nil
		})
	}
	if q.Listed < 50_000 {
		return
	}
	due, _ := redis.Scores(d.conn.Do(ctx, "ZRANGE", q.names.TimeoutSet, 0, 4, "WITHSCORES"))
	isNear := func(z redis.Z) bool {
		return d.conn.Do(ctx, "LPOS", q.names.Pending, z.Member, "MAXLEN", 10_000).Err() == nil
	}
	q.far = len(slices.DeleteFunc(slices.Clone(due), isNear)) > len(due)/2
}
