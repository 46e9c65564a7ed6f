package dq

import (
	"context"
	"iter"
	"strconv"

	"github.com/dq-bench/dq-bench/dq/wire"
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
	if !d.readsBoth(nil) {
		reply, err := d.client.evalRead(ctx, wire.ScriptPeek, d.pending())
		if !d.readsBoth(err) {
			v, err := replyValue(d.dest.codec, reply, err)
			return v, d.in("peek", err)
		}
	}
	var reply any
	all, _, err := d.waiting(ctx, 0, window)
	if len(all) > 0 {
		reply = string(all[0].value)
	}
	v, err := replyValue(d.dest.codec, reply, err)
	return v, d.in("peek", err)
}

// ReadAll returns all values that wait, in the order they were offered.
//
//	KEYS    pending list
//	ARGV    none
//	returns the values
//	cost    O(n); the server is busy for all of it
func (d *DelayedQueue[T]) ReadAll(ctx context.Context) ([]T, error) {
	if !d.readsBoth(nil) {
		reply, err := d.client.evalRead(ctx, wire.ScriptReadAll, d.pending())
		if !d.readsBoth(err) {
			values, err := replyValues(d.dest.codec, reply, err)
			return values, d.in("readAll", err)
		}
	}
	all, _, err := d.waiting(ctx, 0, -1)
	values := make([]T, 0, len(all))
	for _, s := range all {
		v, err := replyValue(d.dest.codec, string(s.value), nil)
		if err != nil {
			return values, d.in("readAll", err)
		}
		values = append(values, v)
	}
	return values, d.in("readAll", err)
}

// Contains reports whether an equal value waits. Values are equal when their encoded
// bytes are, or when what waits decodes to an equal value, which is what
// reflect.DeepEqual calls so, except that NaN equals NaN (but not as a key of a map): a
// map that was read is found again, whatever order Java wrote it in. A codec.Origin that is zero, as in
// a value that was not read, asks for collections of any class; one that is set, for those that it keeps. Two messages that
// differ in a field that the struct leaves out are equal too; codec.Keep tells them apart.
//
//	KEYS    pending list
//	ARGV    value
//	returns 1 or 0
//	cost    O(n²): LINDEX for each element; where it answers 0, and the codec is one
//	        of objects, the whole list is read besides
func (d *DelayedQueue[T]) Contains(ctx context.Context, value T) (bool, error) {
	return d.containsAll(ctx, wire.ScriptContains, value)
}

// ContainsAll reports whether each of the values waits; true for none.
//
//	KEYS    pending list
//	ARGV    values
//	returns 1 or 0
//	cost    O(n² + n × values); as Contains where it answers 0
//
// containsAll-v1 and -v2, to 3.32.0, skip an argument behind each one they find,
// so that they may answer 0 for neighbours that are both there. Only under
// WithStrictWire and WithFaithful is that the last word.
func (d *DelayedQueue[T]) ContainsAll(ctx context.Context, values ...T) (bool, error) {
	if len(values) == 0 {
		return true, nil
	}
	return d.containsAll(ctx, wire.ScriptContainsAll, values...)
}

func (d *DelayedQueue[T]) containsAll(ctx context.Context, name wire.ScriptName, values ...T) (bool, error) {
	m, err := newMatcher(d.dest.codec, values)
	if err != nil {
		return false, d.in(string(name), err)
	}
	if !d.readsBoth(nil) {
		ok, err := replyBool(d.client.evalRead(ctx, name, d.pending(), m.encoded...))
		if (ok || err != nil || !d.looksAgain()) && !d.readsBoth(err) {
			return ok, d.in(string(name), err)
		}
	}
	all, _, err := d.waiting(ctx, 0, -1)
	_, each := m.matches(all)
	return each && err == nil, d.in(string(name), err)
}

// looksAgain reports whether a value that Redisson's script did not find by its bytes
// may be there in other ones.
func (d *DelayedQueue[T]) looksAgain() bool { return !d.client.strict && ambiguous(d.dest.codec) }

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
			reply, err := d.at(ctx, i)
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

// at returns the encoded value at an index, nil behind the last.
func (d *DelayedQueue[T]) at(ctx context.Context, index int) (any, error) {
	if !d.readsBoth(nil) {
		reply, err := d.client.evalRead(ctx, wire.ScriptIteratorValue, d.pending(), strconv.Itoa(index))
		if !d.readsBoth(err) {
			return reply, err
		}
	}
	items, err := d.client.list(ctx, d.dest.names.Pending, index, index)
	if err != nil || len(items) == 0 {
		return nil, err
	}
	m, err := d.client.release.Layout().UnpackAny(items[0])
	return string(m.Value), err
}

// SizeInMemory returns the bytes of memory that the pending list and the timeout
// set take, without the destination queue; since 3.9.1 and 2.14.1.
//
//	KEYS    pending list, timeout set
//	ARGV    none
//	returns the sum of MEMORY USAGE
//	cost    O(1), by samples
func (d *DelayedQueue[T]) SizeInMemory(ctx context.Context) (int64, error) {
	reply, err := d.client.eval(ctx, wire.ScriptSizeInMemory, d.both())
	n, err := replyInt(reply, err)
	return n, in("sizeInMemory", d.Name(), err)
}

// Name returns the name of the destination queue.
func (d *DelayedQueue[T]) Name() string { return d.dest.names.Destination }

func (d *DelayedQueue[T]) pending() []string { return []string{d.dest.names.Pending} }

func (d *DelayedQueue[T]) both() []string {
	return []string{d.dest.names.Pending, d.dest.names.TimeoutSet}
}

type evaluator func(ctx context.Context, name wire.ScriptName, keys []string, args ...any) (any, error)

// in adds what was being done to an error, and marks that of a member of the other
// layout.
func (d *DelayedQueue[T]) in(operation string, err error) error {
	return in(operation, d.Name(), d.client.markForeign(d.Name(), err))
}
