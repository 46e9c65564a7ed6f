package dq

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// Poll removes the value that was offered first of those that wait and returns
// it, before its time; ErrEmpty when none waits.
//
//	KEYS    pending list, timeout set
//	ARGV    none
//	returns the value or nil
//	cost    O(log n)
//
// A member of the other layout is destroyed: it is removed before it is unpacked.
// poll-v1 (to 3.4.2, 2.9.2) fails on an empty queue with a script error.
func (d *DelayedQueue[T]) Poll(ctx context.Context) (T, error) {
	reply, err := d.client.eval(ctx, "poll", d.both())
	v, err := replyValue(d.dest.codec, reply, err)
	return v, in("poll", d.Name(), err)
}

// PollN removes up to limit values, those offered first, and returns them; since
// 3.11.6.
//
//	KEYS    pending list, timeout set
//	ARGV    limit
//	returns the values
//	cost    O(limit × log n)
func (d *DelayedQueue[T]) PollN(ctx context.Context, limit int) ([]T, error) {
	reply, err := d.client.eval(ctx, "poll-limit", d.both(), strconv.Itoa(limit))
	values, err := replyValues(d.dest.codec, reply, err)
	return values, in("poll(limit)", d.Name(), err)
}

// Remove removes one value equal to this one, the one offered first, and tells
// whether there was one. It is how a message is called off.
//
//	KEYS    pending list, timeout set (remove-v1: pending list)
//	ARGV    value
//	returns 1 or 0
//	cost    O(n²): LINDEX for each element before it
//
// remove-v1 (to 3.3.1, 2.8.1) forgets the timeout set: the value is delivered all
// the same.
func (d *DelayedQueue[T]) Remove(ctx context.Context, value T) (bool, error) {
	return d.evalValues(ctx, d.client.eval, "remove", d.removalKeys("remove"), value)
}

// RemoveAll removes every value equal to any of these, and tells whether there
// was one; false for none.
//
//	KEYS    pending list, timeout set (removeAll-v1: pending list)
//	ARGV    values
//	returns 1 or 0
//	cost    O(n² + n × values)
//
// removeAll-v1 (to 3.3.1, 2.8.1) forgets the timeout set, as remove-v1 does.
func (d *DelayedQueue[T]) RemoveAll(ctx context.Context, values ...T) (bool, error) {
	if len(values) == 0 {
		return false, nil
	}
	return d.evalValues(ctx, d.client.eval, "removeAll", d.removalKeys("removeAll"), values...)
}

// removalKeys returns the keys of the removal scripts, whose first variants know
// only the pending list.
func (d *DelayedQueue[T]) removalKeys(name string) []string {
	if s, ok := d.client.release.Script(name); ok && s.Variant == name+"-v1" {
		return d.pending()
	}
	return d.both()
}

// RetainAll removes from the pending list every value that is equal to none of
// these, and tells whether there was one. Without values it is Clear.
//
// It is Redisson's own form, with its fault in all releases: the members stay in
// the timeout set, so that the values are delivered all the same. Retain does
// what the name says.
//
//	KEYS    pending list
//	ARGV    values
//	returns 1 or 0
//	cost    O(n² + n × values)
func (d *DelayedQueue[T]) RetainAll(ctx context.Context, values ...T) (bool, error) {
	if len(values) == 0 {
		return d.Clear(ctx)
	}
	return d.evalValues(ctx, d.client.eval, "retainAll", d.pending(), values...)
}

// Retain removes every value that waits now and is equal to none of these, and
// tells whether there was one. It reads the queue and then removes by RemoveAll,
// so that a value offered in between stays.
func (d *DelayedQueue[T]) Retain(ctx context.Context, values ...T) (bool, error) {
	keep, err := encodeAll(d.dest.codec, values)
	if err != nil {
		return false, in("retain", d.Name(), err)
	}
	all, err := d.ReadAll(ctx)
	if err != nil {
		return false, err
	}
	var others []T
	for _, v := range all {
		data, err := d.dest.codec.Encode(v)
		if err != nil {
			return false, in("retain", d.Name(), err)
		}
		if !slices.ContainsFunc(keep, func(k any) bool { return string(k.([]byte)) == string(data) }) {
			others = append(others, v)
		}
	}
	return d.RemoveAll(ctx, others...)
}

// RemoveAt removes the value at an index in the order of All, Redisson's
// Iterator.remove. Nothing happens where there is none.
//
//	KEYS    pending list, timeout set
//	ARGV    index
//	returns nil
//	cost    O(n)
func (d *DelayedQueue[T]) RemoveAt(ctx context.Context, index int) error {
	_, err := d.client.eval(ctx, "iterator.remove-index", d.both(), strconv.Itoa(index))
	return in("iterator.remove", d.Name(), err)
}

// PollLastAndOfferFirstTo removes the value that was offered last, puts it at the
// front of the LIST other and returns it; ErrEmpty when none waits. In a cluster
// other must share the queue's slot. The name is used as it is.
//
//	KEYS    pending list, timeout set, other
//	ARGV    none
//	returns the value or nil
//	cost    O(log n)
func (d *DelayedQueue[T]) PollLastAndOfferFirstTo(ctx context.Context, other string) (T, error) {
	reply, err := d.client.eval(ctx, "pollLastAndOfferFirstTo", append(d.both(), other))
	v, err := replyValue(d.dest.codec, reply, err)
	return v, in("pollLastAndOfferFirstTo", d.Name(), err)
}

// Clear removes all values that wait, and tells whether there were any:
// DEL pending list, timeout set. Redisson's delete does the same.
func (d *DelayedQueue[T]) Clear(ctx context.Context) (bool, error) {
	n := d.dest.names
	reply, err := d.client.do(ctx, n.Pending, "DEL", n.Pending, n.TimeoutSet)
	ok, err := replyBool(reply, err)
	return ok, in("clear", d.Name(), err)
}

// Copy copies the queue to newName as Redisson 3.35.0 and later do, with their
// fault: the packed members go to the plain key newName, where nothing reads
// them. CopyTo makes a delayed queue.
//
//	KEYS    pending list, timeout set, newName, timeout set of newName
//	ARGV    -1 (no other database); 1 to replace, else 0
//	returns 1 if anything was copied
//	cost    O(n)
func (d *DelayedQueue[T]) Copy(ctx context.Context, newName string, replace bool) (bool, error) {
	keys := append(d.both(), newName, wire.NamesOf(newName).TimeoutSet)
	reply, err := d.client.eval(ctx, "copy", keys, "-1", boolArgument(replace))
	ok, err := replyBool(reply, err)
	return ok, in("copy", d.Name(), err)
}

// CopyTo copies what waits to the delayed queue of newName, replacing what waits
// there: COPY of both keys in one transaction; needs Redis 6.2. A delayed queue
// that is open there meanwhile learns of it with its next transfer. In a cluster
// both names must share a slot, and the copies do: braces in the name decide.
func (d *DelayedQueue[T]) CopyTo(ctx context.Context, newName string) error {
	from, to := d.dest.names, wire.NamesOf(newName)
	_, err := d.client.router.transaction(ctx, from.Pending, [][]any{
		{"COPY", from.Pending, to.Pending, "REPLACE"},
		{"COPY", from.TimeoutSet, to.TimeoutSet, "REPLACE"},
	})
	if err != nil {
		return fmt.Errorf("dq: copy of %q to %q: %w", d.Name(), newName, err)
	}
	return nil
}

func boolArgument(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
