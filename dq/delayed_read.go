package dq

import (
	"context"
	"iter"
	"strconv"
)

// Peek returns the value that was offered first of those that wait, or ErrEmpty.
// It is not the one due first.
//
//	KEYS    pending list
//	ARGV    none
//	returns the value or nil
//	cost    O(1)
//
// peek-v1 (to 3.4.2, 2.9.2) fails on an empty queue with a script error.
func (d *DelayedQueue[T]) Peek(ctx context.Context) (T, error) {
	reply, err := d.client.evalRead(ctx, "peek", d.pending())
	v, err := replyValue(d.dest.codec, reply, err)
	return v, in("peek", d.Name(), err)
}

// ReadAll returns all values that wait, in the order they were offered.
//
//	KEYS    pending list
//	ARGV    none
//	returns the values
//	cost    O(n); the server is busy for all of it
func (d *DelayedQueue[T]) ReadAll(ctx context.Context) ([]T, error) {
	reply, err := d.client.evalRead(ctx, "readAll", d.pending())
	values, err := replyValues(d.dest.codec, reply, err)
	return values, in("readAll", d.Name(), err)
}

// Contains tells whether an equal value waits. Values are equal when their
// encoded bytes are.
//
//	KEYS    pending list
//	ARGV    value
//	returns 1 or 0
//	cost    O(n²): LINDEX for each element
func (d *DelayedQueue[T]) Contains(ctx context.Context, value T) (bool, error) {
	return d.evalValues(ctx, d.client.evalRead, "contains", d.pending(), value)
}

// ContainsAll tells whether each of the values waits; true for none.
//
//	KEYS    pending list
//	ARGV    values
//	returns 1 or 0
//	cost    O(n² + n × values)
//
// containsAll-v1 and -v2, to 3.32.0, skip an argument behind each one they find,
// so that they may answer false for neighbours that are both there.
func (d *DelayedQueue[T]) ContainsAll(ctx context.Context, values ...T) (bool, error) {
	if len(values) == 0 {
		return true, nil
	}
	return d.evalValues(ctx, d.client.evalRead, "containsAll", d.pending(), values...)
}

// All walks the values that wait in the order they were offered, one call to the
// server each, without a snapshot: what others remove meanwhile shifts the rest.
// An error ends the walk.
//
//	KEYS    pending list
//	ARGV    index
//	returns the value or nil
//	cost    O(n) each
func (d *DelayedQueue[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for i := 0; ; i++ {
			reply, err := d.client.evalRead(ctx, "iterator.getValue-index", d.pending(), strconv.Itoa(i))
			v, err := replyValue(d.dest.codec, reply, err)
			if err == ErrEmpty { //nolint:errorlint // this very value
				return
			}
			if !yield(v, in("iterator", d.Name(), err)) || err != nil {
				return
			}
		}
	}
}

// SizeInMemory returns the bytes of memory that the pending list and the timeout
// set take, without the destination queue; since 3.9.1 and 2.14.1.
//
//	KEYS    pending list, timeout set
//	ARGV    none
//	returns the sum of MEMORY USAGE
//	cost    O(1), by samples
func (d *DelayedQueue[T]) SizeInMemory(ctx context.Context) (int64, error) {
	reply, err := d.client.eval(ctx, "sizeInMemory", d.both())
	n, err := replyInt(reply, err)
	return n, in("sizeInMemory", d.Name(), err)
}

// Name returns the name of the destination queue.
func (d *DelayedQueue[T]) Name() string { return d.dest.names.Destination }

func (d *DelayedQueue[T]) pending() []string { return []string{d.dest.names.Pending} }

func (d *DelayedQueue[T]) both() []string {
	return []string{d.dest.names.Pending, d.dest.names.TimeoutSet}
}

type evaluator func(ctx context.Context, name string, keys []string, args ...any) (any, error)

// evalValues runs a script whose arguments are values and whose reply is a
// boolean.
func (d *DelayedQueue[T]) evalValues(
	ctx context.Context, eval evaluator, name string, keys []string, values ...T,
) (bool, error) {
	args, err := encodeAll(d.dest.codec, values)
	if err != nil {
		return false, in(name, d.Name(), err)
	}
	reply, err := eval(ctx, name, keys, args...)
	ok, err := replyBool(reply, err)
	return ok, in(name, d.Name(), err)
}
