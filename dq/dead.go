package dq

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"time"

	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/dq/scripts"
)

// Counts is how many messages a queue has.
type Counts struct {
	Waiting int // for their time
	Ready   int // for a consumer
	Held    int // by Workers, or for their next attempt
	Dead    int // dead letters
}

// Counts asks for the contents of the queue, in one pipeline, at a cost that does not depend on it.
func (q *Queue[T]) Counts(ctx context.Context) (Counts, error) {
	n, keys := q.names, scripts.LeaseNamesOf(q.Name())
	list, err := q.client.send(ctx, conn.Request{Key: n.Destination, Commands: [][]any{
		{"ZCARD", n.TimeoutSet}, {"LLEN", n.Destination}, {"ZCARD", keys.Leases}, {"LLEN", keys.Staged}, {"ZCARD", keys.Dead},
	}})
	if err != nil {
		return Counts{}, in("counts", q.Name(), err)
	}
	var counts [5]int
	for i, reply := range list {
		n, err := replyInt(reply, nil)
		if err != nil {
			return Counts{}, in("counts", q.Name(), err)
		}
		counts[i] = int(n)
	}
	return Counts{Waiting: counts[0], Ready: counts[1] + counts[3], Held: counts[2], Dead: counts[4]}, nil
}

// DeadLetter is a message that a Worker has given up.
type DeadLetter[T any] struct {
	ID       string
	Value    T
	Attempts int
	Reason   string // at most 1,000 bytes
	Since    time.Time
}

// Dead walks the dead letters, the oldest first, 100 a call. It takes no snapshot, and leaves out letters that are replayed or
// dropped meanwhile. A value that cannot be decoded is a *DecodeError with the rest of its letter; the walk goes on.
func (q *Queue[T]) Dead(ctx context.Context) iter.Seq2[DeadLetter[T], error] {
	keys := scripts.LeaseNamesOf(q.Name())
	return func(yield func(DeadLetter[T], error) bool) {
		for m, err := range q.client.walk(ctx, q.Name(), keys.Dead, 100) {
			var letter DeadLetter[T]
			if err == nil {
				letter, err = q.deadLetter(ctx, keys, m)
			}
			if !errors.Is(err, ErrEmpty) && !yield(letter, in("dead", q.Name(), err)) {
				return
			}
		}
	}
}

func (q *Queue[T]) deadLetter(ctx context.Context, keys scripts.LeaseNames, m scoredMember) (l DeadLetter[T], err error) {
	l = DeadLetter[T]{ID: m.member, Since: time.UnixMilli(int64(m.score))}
	list, err := q.client.send(ctx, conn.Request{Key: q.Name(), Commands: [][]any{
		{"HGET", keys.Bodies, l.ID}, {"HGET", keys.Bodies, "r" + l.ID}, {"HGET", keys.Counts, l.ID},
	}})
	if err != nil {
		return l, err
	}
	l.Reason, _ = list[1].(string)
	if count, ok := list[2].(string); ok {
		l.Attempts, _ = strconv.Atoi(count)
	}
	l.Value, err = replyValue(q.codec, list[0], nil)
	return l, err
}

// Replay puts the values of dead letters at the end of the queue, as new messages, and returns how many it found.
func (q *Queue[T]) Replay(ctx context.Context, ids ...string) (int, error) {
	return q.withDead(ctx, "replay", ids)
}

// Drop removes dead letters, and returns how many it found.
func (q *Queue[T]) Drop(ctx context.Context, ids ...string) (int, error) {
	return q.withDead(ctx, "drop", ids)
}

func (q *Queue[T]) withDead(ctx context.Context, how string, ids []string) (int, error) {
	keys := scripts.LeaseNamesOf(q.Name())
	args := []any{how}
	for _, id := range ids {
		args = append(args, id)
	}
	n, err := replyInt(q.client.runOwn(ctx, conn.Calls, scripts.Dead(), []string{keys.Dead, keys.Bodies, keys.Counts, q.Name()}, args...))
	return int(n), in(how, q.Name(), err)
}
