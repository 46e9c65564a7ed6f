package dq

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// Remove removes one waiting message whose value has the same encoded bytes, the first offered of several, and reports whether
// there was one. As with Redisson's remove(E), the server compares: here in calls of a few milliseconds each, more for longer
// queues. Cancel finds a message by its ticket at once.
//
// WithRedissonCommands, Remove is Redisson's script: one call, O(n²).
//
//	KEYS    pending list, timeout set (remove-v1: pending list)
//	ARGV    value
//	returns 1 or 0
//	cost    O(n²): LINDEX for each element before it
//
// remove-v1 (to 3.3.1, 2.8.1) forgets the timeout set: the value is still delivered.
func (q *Queue[T]) Remove(ctx context.Context, value T) (bool, error) {
	data, err := q.codec.Encode(value)
	if err != nil {
		return false, in("remove", q.Name(), err)
	}
	if q.client.conn.Strict {
		keys := []string{q.names.Pending, q.names.TimeoutSet}
		if s, ok := q.client.release.Script(wire.ScriptRemove); ok && s.Variant == "remove-v1" {
			keys = keys[:1]
		}
		removed, err := replyBool(q.client.Redisson(ctx, wire.ScriptRemove, keys, data))
		return removed, in("remove", q.Name(), err)
	}
	all, err := q.equal(ctx, data)
	for _, m := range all {
		unpacked, _ := q.client.release.Layout().UnpackAny([]byte(m.member)) // which the script has read
		removed, err := q.cancel(ctx, m.due, string(unpacked.ID[:]))
		if removed || err != nil {
			return removed, in("remove", q.Name(), err)
		}
	}
	return false, in("remove", q.Name(), err)
}

// waitingMember is a member that waits, its score and its place in the pending list.
type waitingMember struct {
	member, due string
	place       int64
}

// equal returns the members of a value, in the order of their offers. One that dq has taken out of the pending list
// is due soon, and is returned last.
func (q *Queue[T]) equal(ctx context.Context, value []byte) (all []waitingMember, err error) {
	var places [][]any
	for at, more := (scripts.Place{}), true; more; {
		reply, err := q.client.runOwn(ctx, conn.Calls, scripts.Find(), []string{q.names.TimeoutSet},
			q.client.release.Layout().String(), at.Score, strconv.FormatInt(at.Seen, 10), value)
		var found []string
		if err == nil {
			at, found, more, err = scripts.ReadFound(reply)
		}
		if err != nil {
			return nil, err
		}
		for i := 0; i+1 < len(found); i += 2 {
			all = append(all, waitingMember{member: found[i], due: found[i+1], place: math.MaxInt64})
			places = append(places, []any{"LPOS", q.names.Pending, found[i]})
		}
	}
	if len(all) > 1 {
		for i, place := range q.client.conns.Send(ctx, conn.Request{Key: q.names.Pending, Commands: places}) {
			if n, known := place.(int64); known { // Redis before 6.0.6 has no LPOS, and a user may lack it
				all[i].place = n
			} else if err, failed := place.(error); failed && !forbidden(err) && !strings.HasPrefix(err.Error(), "ERR unknown command") {
				return nil, err
			}
		}
		slices.SortStableFunc(all, func(a, b waitingMember) int { return cmp.Compare(a.place, b.place) })
	}
	return all, nil
}

// RemoveFunc removes the waiting messages whose values satisfy is, and returns their number. A message that
// cannot be decoded stays. It takes no snapshot: messages that are offered or become due during the call may be missed.
func (q *Queue[T]) RemoveFunc(ctx context.Context, is func(T) bool) (n int, err error) {
	for m, err := range q.client.walk(ctx, q.Name(), q.names.TimeoutSet, 500) {
		if err != nil {
			return n, in("removeFunc", q.Name(), err)
		}
		w, err := q.waiting(m)
		if err != nil || !is(w.Value) {
			continue
		}
		removed, err := q.cancel(ctx, strconv.FormatFloat(m.score, 'f', -1, 64), string(w.Ticket.id[:]))
		if err != nil {
			return n, in("removeFunc", q.Name(), err)
		}
		if removed {
			n++
		}
	}
	return n, nil
}

// Reschedule atomically makes a ticket's message wait for delay from now, and returns its new ticket. An error that
// wraps ErrNotWaiting says that it was too late; see Cancel.
func (q *Queue[T]) Reschedule(ctx context.Context, t Ticket, delay time.Duration) (Ticket, error) {
	if err := q.takesOffers(ctx, delay); err != nil {
		return Ticket{}, err
	}
	_, id := q.client.newID()
	moved := Ticket{q.client.clock.Now().UnixMilli() + delay.Milliseconds(), id}
	was, err := q.cancel(ctx, strconv.FormatInt(t.due, 10), string(t.id[:]),
		strconv.FormatInt(moved.due, 10), q.client.release.Layout().String(), q.names.Channel, string(id[:]))
	if err == nil && !was {
		err = ErrNotWaiting
	}
	err = in("reschedule", q.Name(), uncertain(err))
	return q.offered(moved, err), err
}

// cancel runs scripts.Cancel; with more, the message is offered anew.
func (q *Queue[T]) cancel(ctx context.Context, due, id string, more ...any) (bool, error) {
	n, u := q.names, scripts.UnlistingOf(q.names.Destination)
	keys := []string{n.TimeoutSet, n.Pending, u.Unlisted[0], u.Unlisted[1], u.Leaving, u.Next}
	args := append([]any{due, id, strconv.FormatInt(q.client.clock.Now().UnixMilli(), 10)}, more...)
	reply, err := q.client.runOwn(ctx, conn.Calls, scripts.Cancel(), keys, args...)
	if err != nil && forbidden(err) { // the keys of unlisting are not for everybody
		reply, err = q.client.runOwn(ctx, conn.Calls, scripts.Cancel(), keys[:2], args...)
	}
	return replyBool(reply, err)
}

// walk reads a ZSET in its order, at most page members a call, and fewer large ones. A page begins with the last member of the
// page before, and otherwise before it, so that members that the caller removes meanwhile move no other past it.
func (c *Client) walk(ctx context.Context, queue, key string, page int) iter.Seq2[scoredMember, error] {
	return func(yield func(scoredMember, error) bool) {
		var last *scoredMember
		for first, back, most, size := 0, page, 8, 0; ; size = 0 {
			members, err := scored(c.do(ctx, queue, "ZRANGE", key, first, first+most-1, "WITHSCORES"))
			if err != nil {
				yield(scoredMember{}, err)
				return
			}
			if first > 0 && (len(members) == 0 || members[0].compare(*last) > 0) {
				first, back = max(0, first-back), 2*back
				continue
			}
			for _, m := range members {
				size += len(m.member)
				if last == nil || m.compare(*last) > 0 {
					if last = &m; !yield(m, nil) {
						return
					}
				}
			}
			if len(members) < most {
				return
			}
			first, back = first+most-1, most
			if most = min(2*most, page); size > 1<<20 {
				most = max(most/4, 2)
			}
		}
	}
}

type scoredMember struct {
	member string
	score  float64
}

// compare orders members as the server does.
func (m scoredMember) compare(other scoredMember) int {
	return cmp.Or(cmp.Compare(m.score, other.score), cmp.Compare(m.member, other.member))
}

// scored reads the reply of ZRANGE WITHSCORES, which RESP3 nests.
func scored(reply any, err error) (all []scoredMember, _ error) {
	items, err := replyList(reply, err)
	for err == nil && len(items) > 0 {
		pair, n := items, 2
		if one, nested := items[0].([]any); nested {
			pair, n = one, 1
		}
		if len(pair) < 2 {
			return nil, fmt.Errorf("expected a member and its score from the server, got %.40q", fmt.Sprint(pair...))
		}
		member, ok := pair[0].(string)
		score, err := strconv.ParseFloat(fmt.Sprint(pair[1]), 64)
		if !ok || err != nil || math.IsNaN(score) {
			return nil, fmt.Errorf("expected a member and its score from the server, got %.40q", fmt.Sprint(pair[:2]...))
		}
		all, items = append(all, scoredMember{member, score}), items[n:]
	}
	return all, err
}
