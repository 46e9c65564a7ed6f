package dq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/dq/scripts"
)

// Delivery is one hand-out of a message to a handler.
type Delivery struct {
	Queue string
	// ID identifies the message while a Worker holds it, and as a dead letter: 20 hex digits. It is not a Ticket.
	ID string
	// Attempt counts the deliveries of the message, this one included. It begins anew after a message was given back.
	Attempt int
}

// Message is a message in a handler.
type Message[T any] struct {
	Delivery
	Value T
}

// Handler handles one delivery, whatever the type of its value. WorkerOptions.Wrap wraps it.
type Handler func(ctx context.Context, d Delivery) error

// RetryIn returns an error for a handler to return: the message is delivered again after wait, in place of Backoff. After
// MaxAttempts it becomes a dead letter.
func RetryIn(wait time.Duration, err error) error {
	return &verdict{retry, max(wait, 0), cmp.Or(err, errNoReason)}
}

// Bury returns an error for a handler to return: the message becomes a dead letter at once.
func Bury(err error) error { return &verdict{bury, 0, cmp.Or(err, errNoReason)} }

// Drop returns an error for a handler to return: the message is settled as after success. The event Handled has the error.
func Drop(err error) error { return &verdict{ack, 0, cmp.Or(err, errNoReason)} }

// verdict is the outcome of a message. It wraps the handler's error.
type verdict struct {
	how  settlement
	wait time.Duration
	error
}

func (v *verdict) Unwrap() error { return v.error }

// PanicError is the panic of a handler.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("dq: the handler panicked: %v", e.Value) }

// errNoReason stands for the nil error of a RetryIn, Bury or Drop.
var errNoReason = errors.New("the handler gave no reason")

// errGoexit is the error of a handler that ended its goroutine, as testing.T.FailNow does.
var errGoexit = errors.New("dq: the handler called runtime.Goexit")

// DefaultBackoff doubles from 1 s after the first attempt to 5 minutes, and takes up to a quarter off at
// random, so that messages that failed together are not retried together.
func DefaultBackoff(attempt int) time.Duration {
	const most = 5 * time.Minute
	wait := most
	if attempt < 10 {
		wait = min(most, time.Second<<max(attempt-1, 0))
	}
	return wait - rand.N(wait/4)
}

// Counts is how many messages a queue has.
type Counts struct {
	Waiting int // for their time
	Ready   int // for a consumer
	Held    int // by Workers, or for their next attempt
	Dead    int // dead letters
}

// Counts counts the queue's messages in one pipeline, at a cost independent of their number.
func (q *Queue[T]) Counts(ctx context.Context) (Counts, error) {
	n, keys := q.names, scripts.LeaseNamesOf(q.Name())
	list, err := q.client.send(ctx, conn.Request{Key: n.Destination, Commands: [][]any{
		{"ZCARD", n.TimeoutSet}, {"LLEN", n.Destination}, {"ZCARD", keys.Leases}, {"LLEN", keys.Staged}, {"ZCARD", keys.Dead},
	}})
	var counts [5]int
	for i, reply := range list {
		n, wrong := replyInt(reply, nil)
		counts[i], err = int(n), cmp.Or(err, wrong)
	}
	return Counts{Waiting: counts[0], Ready: counts[1] + counts[3], Held: counts[2], Dead: counts[4]}, in("counts", q.Name(), err)
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
