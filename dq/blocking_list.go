package dq

import (
	"context"
	"strconv"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// Offer appends a value at once: RPUSH. Redisson's add and put do the same.
func (q *BlockingQueue[T]) Offer(ctx context.Context, value T) error {
	return q.push(ctx, "RPUSH", value)
}

// OfferFirst puts a value in front of all others: LPUSH.
func (q *BlockingQueue[T]) OfferFirst(ctx context.Context, value T) error {
	return q.push(ctx, "LPUSH", value)
}

func (q *BlockingQueue[T]) push(ctx context.Context, command string, value T) error {
	data, err := encodeOffered(q.codec, value)
	if err != nil {
		return in("offer", q.Name(), err)
	}
	if _, err = q.client.do(ctx, q.Name(), command, q.Name(), data); err != nil {
		return offerError(q.Name(), err)
	}
	return nil
}

// Poll returns the first value without waiting, or ErrEmpty: LPOP.
func (q *BlockingQueue[T]) Poll(ctx context.Context) (T, error) {
	return q.pop(ctx, "poll", "LPUSH", "LPOP", q.Name())
}

// PollLast returns the last value without waiting, or ErrEmpty: RPOP.
func (q *BlockingQueue[T]) PollLast(ctx context.Context) (T, error) {
	return q.pop(ctx, "pollLast", "RPUSH", "RPOP", q.Name())
}

// PollN removes up to limit values from the front and returns them; since 3.11.6. Like all
// calls for several values, it returns values or an error, never both: one that cannot be
// decoded ends the batch before it, and is what the next call returns, in a DecodeError.
//
//	KEYS    the list
//	ARGV    limit
//	returns the values
//	cost    O(limit)
func (q *BlockingQueue[T]) PollN(ctx context.Context, limit int) ([]T, error) {
	return q.values(ctx, "LPUSH", wire.ScriptQueuePollLimit, strconv.Itoa(limit))
}

// PollLastN removes up to limit values from the back, the last one first; since
// 3.11.6.
//
//	KEYS    the list
//	ARGV    limit
//	returns the values
//	cost    O(limit)
func (q *BlockingQueue[T]) PollLastN(ctx context.Context, limit int) ([]T, error) {
	return q.values(ctx, "RPUSH", wire.ScriptDequePollLastLimit, strconv.Itoa(limit))
}

// DrainTo removes all values and returns them.
//
//	KEYS    the list
//	ARGV    none
//	returns the values
//	cost    O(n)
//
// drainTo-v1 (to 3.10.0, 2.15.0) leaves the value of a list with a single one,
// which is then delivered again.
func (q *BlockingQueue[T]) DrainTo(ctx context.Context) ([]T, error) {
	return q.values(ctx, "LPUSH", wire.ScriptQueueDrainTo)
}

// DrainToMax removes up to limit values from the front and returns them.
//
//	KEYS    the list
//	ARGV    limit
//	returns the values
//	cost    O(limit)
func (q *BlockingQueue[T]) DrainToMax(ctx context.Context, limit int) ([]T, error) {
	if limit <= 0 {
		return nil, nil
	}
	return q.values(ctx, "LPUSH", wire.ScriptQueueDrainToMax, strconv.Itoa(limit))
}

// values runs a script that takes values away, which push puts back.
//
// It returns values or an error, never both. A value that cannot be decoded ends the batch:
// it and those behind it are put back, and the next call meets it first, takes it away alone
// and returns it in a DecodeError.
func (q *BlockingQueue[T]) values(ctx context.Context, push string, script wire.ScriptName, args ...any) ([]T, error) {
	r, err := q.client.scriptCall(callLane, "EVALSHA", script, []string{q.Name()}, args)
	if err != nil {
		return nil, in(string(script), q.Name(), err)
	}
	release, err := q.client.hold()
	if err != nil {
		return nil, err
	}
	defer release()
	r.pops = q.client.back(push, q.Name())
	list, err := replyList(q.client.one(ctx, r))
	if err != nil {
		return nil, in(string(script), q.Name(), err)
	}
	values, err := decodeUpTo(q.codec, list)
	if err == nil {
		if len(values) > 0 {
			q.client.tellTaken(q.Name(), len(values))
		}
		return values, nil
	}
	q.client.tellTaken(q.Name(), max(len(values), 1))
	q.client.behalf(ctx, func() { r.pops(list[max(len(values), 1):]) })
	if len(values) > 0 {
		return values, nil
	}
	return nil, in(string(script), q.Name(), err)
}

// Peek returns the first value and leaves it, or ErrEmpty: LINDEX 0.
func (q *BlockingQueue[T]) Peek(ctx context.Context) (T, error) {
	return q.value(ctx, "peek", "LINDEX", q.Name(), "0")
}

// ReadAll returns all values and leaves them: LRANGE.
func (q *BlockingQueue[T]) ReadAll(ctx context.Context) ([]T, error) {
	reply, err := q.client.do(ctx, q.Name(), "LRANGE", q.Name(), "0", "-1")
	values, err := replyValues(q.codec, reply, err)
	return values, in("readAll", q.Name(), err)
}

// Size returns the number of values that can be taken now: LLEN.
func (q *BlockingQueue[T]) Size(ctx context.Context) (int, error) {
	return q.client.length(ctx, q.Name())
}

// Contains reports whether an equal value is there. Values are equal when their
// encoded bytes are, or when what is there decodes to an equal value, which is what
// reflect.DeepEqual calls so, except that NaN equals NaN (but not as a key of a map): a
// map that was read is found again, whatever order Java wrote it in. A codec.Origin that is zero, as in
// a value that was not read, asks for collections of any class; one that is set, for those that it keeps.
//
//	KEYS    the list
//	ARGV    value
//	returns its index or -1
//	cost    O(n); the whole list goes through the script, and where it answers -1 and
//	        the codec is one of objects, is read besides
func (q *BlockingQueue[T]) Contains(ctx context.Context, value T) (bool, error) {
	m, err := newMatcher(q.codec, []T{value})
	if err != nil {
		return false, in("contains", q.Name(), err)
	}
	index, err := replyInt(q.client.evalRead(ctx, wire.ScriptQueueContains, []string{q.Name()}, m.encoded...))
	if err != nil || index >= 0 || !q.looksAgain() {
		return err == nil && index >= 0, in("contains", q.Name(), err)
	}
	all, err := q.storedIn(ctx)
	found, _ := m.matches(all)
	return len(found) > 0, in("contains", q.Name(), err)
}

// looksAgain reports whether a value that was not found by its bytes may be there in
// other ones.
func (q *BlockingQueue[T]) looksAgain() bool { return !q.client.strict && ambiguous(q.codec) }

// ContainsAll reports whether each of the values is there; true for none.
//
//	KEYS    the list
//	ARGV    values
//	returns 1 or 0
//	cost    O(n × values)
//
// The first variant, to 3.32.0, skips an argument behind each one it finds.
func (q *BlockingQueue[T]) ContainsAll(ctx context.Context, values ...T) (bool, error) {
	if len(values) == 0 {
		return true, nil
	}
	ok, err := q.evalValues(ctx, q.client.evalRead, wire.ScriptQueueContainsAll, values)
	if ok || err != nil || !q.looksAgain() {
		return ok, err
	}
	m, err := newMatcher(q.codec, values)
	if err != nil {
		return false, in("containsAll", q.Name(), err)
	}
	all, err := q.storedIn(ctx)
	_, each := m.matches(all)
	return each && err == nil, in("containsAll", q.Name(), err)
}

// Remove removes one value equal to this one, and reports whether there was one: LREM
// with 1. It is the first that is stored in the bytes that Encode gives, or where there
// is none, the first that is equal as Contains calls it.
func (q *BlockingQueue[T]) Remove(ctx context.Context, value T) (bool, error) {
	m, err := newMatcher(q.codec, []T{value})
	if err != nil {
		return false, in("remove", q.Name(), err)
	}
	removed, err := replyBool(q.client.do(ctx, q.Name(), "LREM", q.Name(), "1", m.encoded[0]))
	for !removed && err == nil && q.looksAgain() {
		all, listErr := q.storedIn(ctx)
		found, _ := m.matches(all)
		if listErr != nil || len(found) == 0 {
			return false, in("remove", q.Name(), listErr)
		}
		removed, err = replyBool(q.client.do(ctx, q.Name(), "LREM", q.Name(), "1", found[0].value))
	}
	return removed, in("remove", q.Name(), err)
}

// RemoveAll removes every value equal to any of these. Redisson answers true only
// if one of them was there exactly once; so does this.
//
//	KEYS    the list
//	ARGV    values
//	returns 1 or 0
//	cost    O(n × values)
func (q *BlockingQueue[T]) RemoveAll(ctx context.Context, values ...T) (bool, error) {
	if len(values) == 0 {
		return false, nil
	}
	return q.evalStored(ctx, wire.ScriptQueueRemoveAll, values)
}

// RetainAll removes every value that is equal to none of these, and reports whether
// there was one. Without values it removes all: DEL.
//
//	KEYS    the list
//	ARGV    values
//	returns 1 or 0
//	cost    O(n² + n × values)
func (q *BlockingQueue[T]) RetainAll(ctx context.Context, values ...T) (bool, error) {
	if len(values) == 0 {
		return q.Clear(ctx)
	}
	return q.evalStored(ctx, wire.ScriptQueueRetainAll, values)
}

// Clear removes all values, and reports whether there were any: DEL.
func (q *BlockingQueue[T]) Clear(ctx context.Context) (bool, error) {
	reply, err := q.client.do(ctx, q.Name(), "DEL", q.Name())
	ok, err := replyBool(reply, err)
	return ok, in("clear", q.Name(), err)
}

// evalStored is evalValues with what is stored of the values besides, in other bytes.
func (q *BlockingQueue[T]) evalStored(ctx context.Context, name wire.ScriptName, values []T) (bool, error) {
	if !q.looksAgain() {
		return q.evalValues(ctx, q.client.eval, name, values)
	}
	m, err := newMatcher(q.codec, values)
	if err != nil {
		return false, in(string(name), q.Name(), err)
	}
	all, err := q.storedIn(ctx)
	if err != nil {
		return false, in(string(name), q.Name(), err)
	}
	ok, err := replyBool(q.client.eval(ctx, name, []string{q.Name()}, m.asStored(all)...))
	return ok, in(string(name), q.Name(), err)
}

func (q *BlockingQueue[T]) evalValues(ctx context.Context, eval evaluator, name wire.ScriptName, values []T) (bool, error) {
	args, err := encodeAll(q.codec, values)
	if err != nil {
		return false, in(string(name), q.Name(), err)
	}
	reply, err := eval(ctx, name, []string{q.Name()}, args...)
	ok, err := replyBool(reply, err)
	return ok, in(string(name), q.Name(), err)
}
