package dq

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// Remove removes one message whose value is encoded in the same bytes, and reports whether one waited. Of several it is the
// one due first. The server compares, as Redisson's remove(E) has it do, in calls of a few milliseconds each, for as
// long as the queue is; Cancel finds a message by its ticket at once.
//
// WithRedissonCommands it is Redisson's script, in one call, O(n²): it removes the one offered first.
//
//	KEYS    pending list, timeout set (remove-v1: pending list)
//	ARGV    value
//	returns 1 or 0
//	cost    O(n²): LINDEX for each element before it
//
// remove-v1 (to 3.3.1, 2.8.1) forgets the timeout set: the value is delivered all the same.
func (q *Queue[T]) Remove(ctx context.Context, value T) (bool, error) {
	data, err := q.codec.Encode(value)
	if err != nil {
		return false, in("remove", q.Name(), err)
	}
	if q.client.strict {
		keys := []string{q.names.Pending, q.names.TimeoutSet}
		if s, ok := q.client.release.Script(wire.ScriptRemove); ok && s.Variant == "remove-v1" {
			keys = keys[:1]
		}
		removed, err := replyBool(q.client.Redisson(ctx, wire.ScriptRemove, keys, data))
		return removed, in("remove", q.Name(), err)
	}
	var at scripts.Place
	for {
		next, found, more, err := q.find(ctx, at, data)
		if err != nil || !more {
			return false, in("remove", q.Name(), err)
		}
		at = next
		if len(found) < 2 {
			continue
		}
		if removed, err := q.cancel(ctx, found[0], found[1]); removed || err != nil {
			return removed, in("remove", q.Name(), err)
		}
	}
}

// RemoveFunc removes the messages that wait and whose values the function is true of, and returns how many. A message that
// cannot be decoded stays. It takes no snapshot: of what is offered meanwhile, or has come due, nothing is promised.
func (q *Queue[T]) RemoveFunc(ctx context.Context, is func(T) bool) (n int, err error) {
	var at scripts.Place
	for {
		next, found, more, err := q.find(ctx, at)
		if err != nil || !more {
			return n, in("removeFunc", q.Name(), err)
		}
		at = next
		for i := 0; i+1 < len(found); i += 2 {
			m, err := q.client.release.Layout().UnpackAny([]byte(found[i]))
			if err != nil {
				continue
			}
			if v, err := q.codec.Decode(m.Value); err != nil || !is(v) {
				continue
			}
			removed, err := q.cancel(ctx, found[i+1], string(m.ID[:]))
			if err != nil {
				return n, in("removeFunc", q.Name(), err)
			}
			if found[i+1] == at.Score {
				at.Seen--
			}
			if removed {
				n++
			}
		}
	}
}

// find makes one call of a search: see scripts.Find.
func (q *Queue[T]) find(ctx context.Context, at scripts.Place, value ...any) (next scripts.Place, found []string, more bool, err error) {
	args := append([]any{q.client.release.Layout().String(), at.Score, strconv.FormatInt(at.Seen, 10)}, value...)
	reply, err := q.client.runOwn(ctx, callLane, findScript, []string{q.names.TimeoutSet}, args...)
	if err != nil {
		return at, nil, false, err
	}
	return scripts.ReadFound(reply)
}

// Reschedule has the message of a ticket wait for delay from now on, in one step, and returns its new ticket. An error that
// wraps ErrNotWaiting says that it came too late; see Cancel.
func (q *Queue[T]) Reschedule(ctx context.Context, t Ticket, delay time.Duration) (Ticket, error) {
	if delay < 0 {
		return Ticket{}, fmt.Errorf("%w: %s", ErrNegativeDelay, delay)
	}
	if err := q.takesOffers(ctx); err != nil {
		return Ticket{}, err
	}
	moved := Ticket{due: q.client.clock.Now().UnixMilli() + delay.Milliseconds(), id: t.id}
	was, err := q.cancel(ctx, strconv.FormatInt(t.due, 10), string(t.id[:]),
		strconv.FormatInt(moved.due, 10), q.client.release.Layout().String(), q.names.Channel)
	if err == nil && !was {
		err = ErrNotWaiting
	}
	if err != nil {
		err = offerError(q.Name(), err)
	}
	if q.offered(moved.due, err); err != nil && !errors.Is(err, ErrUncertain) {
		return Ticket{}, err
	}
	return moved, err
}

// cancel runs scripts.Cancel; with more, the message is offered anew.
func (q *Queue[T]) cancel(ctx context.Context, due, id string, more ...any) (bool, error) {
	n := q.names
	u := scripts.UnlistingOf(n.Destination)
	keys := []string{n.TimeoutSet, n.Pending, u.Unlisted[0], u.Unlisted[1], u.Leaving}
	args := append([]any{due, id, strconv.FormatInt(q.client.clock.Now().UnixMilli(), 10)}, more...)
	reply, err := q.client.runOwn(ctx, callLane, cancelScript, keys, args...)
	if err != nil && forbidden(err) {
		keys = keys[:2] // the keys of unlisting are not for everybody
		reply, err = q.client.runOwn(ctx, callLane, cancelScript, keys, args...)
	}
	return replyBool(reply, err)
}

type scoredMember struct {
	member string
	score  float64
}

// scored reads the reply of ZRANGE WITHSCORES, which RESP3 nests.
func scored(reply any) ([]scoredMember, error) {
	items, ok := reply.([]any)
	if !ok {
		return nil, fmt.Errorf("expected an array from the server, got %T", reply)
	}
	var flat []any
	for _, item := range items {
		if pair, nested := item.([]any); nested {
			flat = append(flat, pair...)
			continue
		}
		flat = append(flat, item)
	}
	all := make([]scoredMember, 0, len(flat)/2)
	for i := 0; i+1 < len(flat); i += 2 {
		member, ok := flat[i].(string)
		if !ok {
			return nil, fmt.Errorf("expected a member from the server, got %T", flat[i])
		}
		score, err := strconv.ParseFloat(fmt.Sprint(flat[i+1]), 64)
		if err != nil || math.IsNaN(score) {
			return nil, fmt.Errorf("expected a score from the server, got %.40q", fmt.Sprint(flat[i+1]))
		}
		all = append(all, scoredMember{member, score})
	}
	return all, nil
}
