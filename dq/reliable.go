package dq

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dq-bench/dq-bench/dq/scripts"
)

// ErrNotHeld is wrapped by the error of a Delivery's calls when the message is not held any more: its
// visibility timeout ran out and it went back to the queue, or it was settled before.
var ErrNotHeld = errors.New("dq: the message is not held any more")

// ReliableOptions says how long a message may be held, and how often.
type ReliableOptions struct {
	// Visibility is how long a message is held for whoever reserved it, by the server's clock; then it
	// goes back to the front of the queue, where those that went back earlier are behind it. 0 means 30 s;
	// less than 10 ms is an error.
	Visibility time.Duration
	// MaxAttempts is after how many attempts that were not acknowledged a message becomes a dead letter;
	// 0 for never. It should be the same for all of a queue.
	//
	// An attempt is each time that a message is held, begun or not, unless Consume gives it back before its
	// turn. Where a process is killed, what it held ahead has had one. From then on Consume holds it by itself,
	// so that only what each worker has just then counts further. With MaxAttempts 1 it holds nothing ahead.
	MaxAttempts int
	// Failed is called when a sweep, which puts back what was held too long, fails; it is tried again.
	// nil ignores that.
	Failed func(error)
}

const (
	defaultVisibility = 30 * time.Second
	leastVisibility   = 10 * time.Millisecond
	// The pause between two sweeps, unless something runs out sooner, is a tenth of the visibility timeout within these: who
	// waits that long for what a dead consumer held does not mind, and each pause is a script on the server.
	leastSweepEvery, mostSweepEvery = time.Second, 10 * time.Second
	// movedGrace is how long a value may be on its way from the queue to whoever holds it.
	movedGrace = 5 * time.Second
	// holdTimeout bounds the call that holds a value, which is shorter than movedGrace: what nobody has
	// held by then goes back.
	holdTimeout = 2 * time.Second
	// sweepBatch is how many values a sweep puts back at a time.
	sweepBatch = 100
	// attemptsKept is how long the count of a message that nobody holds is kept.
	attemptsKept = 7 * 24 * time.Hour
	// olderPoll is the pause between two looks at a server without BLMOVE.
	olderPoll = 50 * time.Millisecond
)

// ReliableQueue takes from a destination queue at least once: a message that was taken is held for its
// consumer, and comes back unless it is acknowledged in time. Producers, and the transfer tasks of any
// Redisson, see nothing of it; consumers of Redisson may take from the same queue.
//
// What is held is in keys of dq's own (scripts.ReliableNames), in the queue's slot. Each open
// ReliableQueue puts back what others have held too long; any number may.
//
// A value may come twice: when its consumer is slower than Visibility, or dies after its work and
// before Ack. The count of attempts is kept by value: of two equal messages each counts the other's.
type ReliableQueue[T any] struct {
	dest    *BlockingQueue[T]
	client  *Client
	names   scripts.ReliableNames
	options ReliableOptions
	err     error
	older   atomic.Bool // the server has no BLMOVE

	close  sync.Once
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	swept  chan struct{} // closed when the sweeper has ended
}

// Delivery is a message that is held.
type Delivery[T any] struct {
	// Value is the message.
	Value T
	// Attempt is how often it has been held, this time included.
	Attempt int

	queue    *ReliableQueue[T]
	data     []byte // the value on the wire
	member   string // of scripts.ReliableNames.Held
	deadline atomic.Pointer[time.Time]
	settled  atomic.Bool
}

// Deadline is about when the message goes back, by this process's clock: the server's counts.
func (d *Delivery[T]) Deadline() time.Time { return *d.deadline.Load() }

// heldSince notes that the message is held for Visibility from then on.
func (d *Delivery[T]) heldSince(t time.Time) {
	deadline := t.Add(d.queue.options.Visibility)
	d.deadline.Store(&deadline)
}

// NewReliableQueue returns a reliable form of dest. Close ends what it does in the background.
//
// It never returns nil. What is wrong with the arguments Err tells at once, and so does every call.
func NewReliableQueue[T any](dest *BlockingQueue[T], options ReliableOptions) *ReliableQueue[T] {
	q := &ReliableQueue[T]{dest: dest, options: options, swept: make(chan struct{})}
	if q.err = checkReliable(dest, &q.options); q.err != nil {
		q.ctx, q.cancel = context.WithCancel(context.Background())
		close(q.swept)
		return q
	}
	q.client, q.names = dest.client, scripts.ReliableNamesOf(dest.Name())
	q.ctx, q.cancel = context.WithCancel(dest.client.ctx)
	go q.sweeper()
	return q
}

func checkReliable[T any](dest *BlockingQueue[T], o *ReliableOptions) error {
	if err := checkDelayed("NewReliableQueue", dest); err != nil {
		return err
	}
	if o.Visibility == 0 {
		o.Visibility = defaultVisibility
	}
	if o.Visibility < leastVisibility {
		return fmt.Errorf("dq: ReliableOptions: expected a Visibility of %s or more, got %s", leastVisibility, o.Visibility)
	}
	if o.MaxAttempts < 0 {
		return fmt.Errorf("dq: ReliableOptions: expected 0 or more MaxAttempts, got %d", o.MaxAttempts)
	}
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	return nil
}

// Err returns what was wrong with the arguments of NewReliableQueue, nil for nothing.
func (q *ReliableQueue[T]) Err() error { return q.err }

// Close ends the sweeps of this ReliableQueue. What is held stays so, and can be settled.
func (q *ReliableQueue[T]) Close() error {
	q.close.Do(q.cancel)
	<-q.swept
	return nil
}

// Reserve waits for a message and holds it. When ctx ends it returns ctx's error, or a message that was
// moved at that very moment. One that was still on its way is back in the queue within 10 s, if some
// ReliableQueue of it is open.
//
// A value that cannot be decoded becomes a dead letter, and the error wraps a *DecodeError.
func (q *ReliableQueue[T]) Reserve(ctx context.Context) (*Delivery[T], error) {
	if q.err != nil {
		return nil, q.err
	}
	for {
		data, err := q.move(ctx)
		if err != nil {
			return nil, in("reserve", q.dest.Name(), err)
		}
		d, err := q.holdValue(ctx, data)
		if d != nil || err != nil {
			return d, in("reserve", q.dest.Name(), err)
		}
	}
}

// move waits for a value and moves it, so that it is never in a process alone.
func (q *ReliableQueue[T]) move(ctx context.Context) (string, error) {
	for {
		if q.older.Load() {
			reply, err := q.client.runOwn(ctx, callLane, nextScript, []string{q.dest.Name(), q.names.Moved})
			if value, ok := reply.(string); ok || err != nil {
				return value, err
			}
			if err := pause(ctx, olderPoll); err != nil {
				return "", err
			}
			continue
		}
		reply, err := q.client.block(ctx, q.dest.Name(), forever, "BLMOVE", q.dest.Name(), q.names.Moved, "LEFT", "RIGHT", "0")
		value, ok := reply.(string)
		switch {
		case err != nil && strings.HasPrefix(err.Error(), "ERR unknown command"):
			q.older.Store(true)
		case err != nil && ctx.Err() != nil:
			return "", ctx.Err()
		case ok || err != nil:
			return value, err
		}
	}
}

// holdValue returns nil where the value has gone back to the queue meanwhile. It was moved, so that
// the end of ctx comes too late.
func (q *ReliableQueue[T]) holdValue(ctx context.Context, data string) (*Delivery[T], error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), holdTimeout)
	defer cancel()
	token := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, q.client.random()), q.client.random())
	began := time.Now()
	reply, err := q.client.runOwn(ctx, callLane, holdScript,
		[]string{q.names.Moved, q.names.MovedBefore, q.names.Held, q.names.Attempts},
		data, token, strconv.FormatInt(q.options.Visibility.Milliseconds(), 10))
	attempt, ok := reply.(int64)
	if err != nil || !ok {
		return nil, err
	}
	d := q.held(string(binary.LittleEndian.AppendUint32(token, uint32(attempt)))+data, began)
	if err := d.decode(ctx); err != nil {
		return nil, err
	}
	return d, nil
}

// holdNext holds up to n of the values that are there. Those whose reply does not come go back when
// Visibility is over.
func (q *ReliableQueue[T]) holdNext(ctx context.Context, n int) ([]*Delivery[T], error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), holdTimeout)
	defer cancel()
	token := binary.LittleEndian.AppendUint64(nil, q.client.random())
	token = binary.LittleEndian.AppendUint32(token, uint32(q.client.random()))
	began := time.Now()
	members, err := replyList(q.client.runOwn(ctx, callLane, holdNextScript,
		[]string{q.dest.Name(), q.names.Held, q.names.Attempts},
		strconv.Itoa(n), token, strconv.FormatInt(q.options.Visibility.Milliseconds(), 10)))
	if err != nil {
		return nil, err
	}
	held := make([]*Delivery[T], len(members))
	for i, m := range members {
		member, ok := m.(string)
		if !ok || len(member) < heldHead {
			return nil, fmt.Errorf("script hold-next: expected members from the server, got %.80q", fmt.Sprint(m))
		}
		held[i] = q.held(member, began)
	}
	return held, nil
}

// heldHead is the length of a token and an attempt, which a member begins with.
const heldHead = 20

// held is the message of a member, not decoded yet.
func (q *ReliableQueue[T]) held(member string, since time.Time) *Delivery[T] {
	attempt := binary.LittleEndian.Uint32([]byte(member[heldHead-4 : heldHead]))
	d := &Delivery[T]{Attempt: int(attempt), queue: q, data: []byte(member[heldHead:]), member: member}
	d.heldSince(since)
	return d
}

// decode makes what cannot be decoded a dead letter.
func (d *Delivery[T]) decode(ctx context.Context) (err error) {
	d.queue.client.tellTaken(d.queue.dest.Name(), 1)
	if d.Value, err = replyValue(d.queue.dest.codec, string(d.data), nil); err != nil {
		return errors.Join(err, d.bury(ctx, err.Error()))
	}
	return nil
}

// Ack says that the message is done. An error that wraps ErrNotHeld says that it may come to another
// consumer, or has; any other one, that nobody knows.
func (d *Delivery[T]) Ack(ctx context.Context) error {
	return d.queue.settleAll(ctx, "ack", []*Delivery[T]{d})[0]
}

// settleAll acknowledges deliveries, or releases them, and returns the error of each.
func (q *ReliableQueue[T]) settleAll(ctx context.Context, how string, all []*Delivery[T]) []error {
	args := make([]any, 1, 1+len(all))
	args[0] = how
	for _, d := range all {
		args = append(args, d.member)
	}
	settled, err := replyList(q.runSettle(ctx, args...))
	if err == nil && len(settled) != len(all) {
		err = fmt.Errorf("script settle: expected %d replies from the server, got %d", len(all), len(settled))
	}
	errs := make([]error, len(all))
	for i, d := range all {
		switch {
		case err != nil:
			errs[i] = in(how, q.dest.Name(), err)
		case settled[i] == int64(0):
			errs[i] = in(how, q.dest.Name(), ErrNotHeld)
		default:
			d.settled.Store(true)
		}
	}
	return errs
}

func (q *ReliableQueue[T]) runSettle(ctx context.Context, args ...any) (any, error) {
	names := q.dest.names
	return q.client.runOwn(ctx, callLane, settleScript,
		[]string{q.names.Held, q.names.Attempts, q.names.Dead, names.Destination, names.TimeoutSet, names.Pending, names.Channel}, args...)
}

// Extend holds the message for Visibility from now on.
func (d *Delivery[T]) Extend(ctx context.Context) error {
	began := time.Now()
	if err := d.settle(ctx, "extend", d.member, strconv.FormatInt(d.queue.options.Visibility.Milliseconds(), 10)); err != nil {
		return err
	}
	d.heldSince(began)
	return nil
}

// Nack gives the message back: through the delayed queue, where it waits for delay like any other and
// can be seen and cancelled by Java services, or with 0 at once to the front of the queue. With
// MaxAttempts attempts it becomes a dead letter with that reason instead, of which 1000 bytes are kept.
func (d *Delivery[T]) Nack(ctx context.Context, delay time.Duration, reason string) error {
	if delay < 0 {
		return fmt.Errorf("%w: %s", ErrNegativeDelay, delay)
	}
	due, pending := "", ""
	c := d.queue.client
	if delay > 0 {
		due = strconv.FormatInt(c.clock.Now().UnixMilli()+delay.Milliseconds(), 10)
		pending = string(c.release.Layout().Pack(c.newID(), d.data))
	}
	return d.settle(ctx, "nack", d.member, strconv.Itoa(d.queue.options.MaxAttempts), reason, due, pending)
}

// Bury makes the message a dead letter, with a reason of which 1000 bytes are kept.
func (d *Delivery[T]) Bury(ctx context.Context, reason string) error {
	return d.settleAs(ctx, "bury", "nack", d.member, "1", reason, "", "")
}

// bury gives the message back with a limit that it has reached.
func (d *Delivery[T]) bury(ctx context.Context, reason string) error {
	return d.settle(ctx, "nack", d.member, "1", reason, "", "")
}

func (d *Delivery[T]) settle(ctx context.Context, how string, args ...any) error {
	return d.settleAs(ctx, how, how, args...)
}

// settleAs runs the script for a call that has another name than the part of the script that it needs.
func (d *Delivery[T]) settleAs(ctx context.Context, call, how string, args ...any) error {
	reply, err := d.queue.runSettle(ctx, append([]any{how}, args...)...)
	switch {
	case err != nil:
	case reply == int64(0):
		err = ErrNotHeld
	case how != "extend":
		d.settled.Store(true)
	}
	return in(call, d.queue.dest.Name(), err)
}
