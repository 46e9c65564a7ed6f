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
// The script destroys a member of the other layout, which it removes before it unpacks
// it. So it is sent under WithStrictWire alone; else the head is read, and taken by a
// script of our own (scripts.TakeOut), which removes that very member or nothing. poll-v1
// (to 3.4.2, 2.9.2) fails on an empty queue with a script error.
func (d *DelayedQueue[T]) Poll(ctx context.Context) (T, error) {
	if d.client.strict {
		reply, err := d.poll(ctx, wire.ScriptPoll)
		v, err := replyValue(d.dest.codec, reply, err)
		return v, d.in("poll", err)
	}
	values, err := d.pollBoth(ctx, 1)
	if len(values) == 0 {
		var none T
		if err == nil {
			err = ErrEmpty
		}
		return none, d.in("poll", err)
	}
	return values[0], nil
}

// poll runs a script of Redisson that takes values away.
func (d *DelayedQueue[T]) poll(ctx context.Context, script wire.ScriptName, args ...any) (any, error) {
	r, err := d.client.scriptCall(callLane, "EVALSHA", script, d.both(), args)
	if err != nil {
		return nil, err
	}
	r.pops = func(reply any) { d.tellTaken(bytesOf(reply)) }
	return d.client.one(ctx, r)
}

// PollN removes up to limit values, those offered first, and returns them; since
// 3.11.6.
//
//	KEYS    pending list, timeout set
//	ARGV    limit
//	returns the values
//	cost    O(limit × log n)
//
// It is sent when Poll's script is. PollN returns values or an error, never both: a value
// that cannot be decoded ends the batch before it, and is what the next call takes away, alone,
// and returns in a DecodeError. Under WithStrictWire, where the script has taken it with the
// others, the event Returned has it instead.
func (d *DelayedQueue[T]) PollN(ctx context.Context, limit int) ([]T, error) {
	if _, err := d.client.script(wire.ScriptPollLimit); err != nil {
		return nil, d.in("poll(limit)", err)
	}
	if d.client.strict {
		values, err := d.pollStrict(ctx, limit)
		return values, d.in("poll(limit)", err)
	}
	values, err := d.pollBoth(ctx, limit)
	return values, d.in("poll(limit)", err)
}

// pollStrict runs poll-limit. What cannot be decoded is out of the queue as well, and its due
// time is gone.
func (d *DelayedQueue[T]) pollStrict(ctx context.Context, limit int) (values []T, err error) {
	list, err := replyList(d.poll(ctx, wire.ScriptPollLimit, strconv.Itoa(limit)))
	var first error
	var rest []any
	for _, element := range list {
		v, decodeErr := replyValue(d.dest.codec, element, nil)
		switch {
		case decodeErr == nil:
			values = append(values, v)
		case first == nil:
			first = decodeErr
			fallthrough
		default:
			rest = append(rest, element)
		}
	}
	if len(values) == 0 && first != nil {
		d.tellTaken(bytesOf(rest[1:]))
		return nil, first
	}
	d.tellTaken(bytesOf(rest))
	return values, err
}

// Remove removes one value equal to this one, and reports whether there was one. It is
// how a message is cancelled. It is the one offered first of those stored in the bytes
// that Encode gives, or where there is none, of those that are equal as Contains calls
// it.
//
//	KEYS    pending list, timeout set (remove-v1: pending list)
//	ARGV    value
//	returns 1 or 0
//	cost    O(n²): LINDEX for each element before it; where it answers 0, as Contains
//
// remove-v1 (to 3.3.1, 2.8.1) forgets the timeout set: the value is delivered all
// the same.
func (d *DelayedQueue[T]) Remove(ctx context.Context, value T) (bool, error) {
	m, err := newMatcher(d.dest.codec, []T{value})
	if err != nil {
		return false, d.in("remove", err)
	}
	if !d.readsBoth(nil) {
		ok, err := replyBool(d.client.eval(ctx, wire.ScriptRemove, d.removalKeys(wire.ScriptRemove), m.encoded...))
		if (ok || err != nil || !d.looksAgain()) && !d.readsBoth(err) {
			return ok, d.in("remove", err)
		}
	}
	for {
		all, _, err := d.waiting(ctx, 0, -1)
		found, _ := m.matches(all)
		if err != nil || len(found) == 0 {
			return false, d.in("remove", err)
		}
		removed, err := d.removeStored(ctx, wire.ScriptRemove, found[:1])
		if removed || err != nil {
			return removed, d.in("remove", err)
		}
	}
}

// removeStored removes what was read, by the script of Redisson where that can be.
func (d *DelayedQueue[T]) removeStored(ctx context.Context, name wire.ScriptName, found []stored) (bool, error) {
	if len(found) == 0 {
		return false, nil
	}
	if !d.readsBoth(nil) {
		removed, err := replyBool(d.client.eval(ctx, name, d.removalKeys(name), valuesOf(found)...))
		if !d.readsBoth(err) {
			return removed, err
		}
	}
	taken, err := d.takeOut(ctx, found)
	return len(taken) > 0, err
}

// RemoveAll removes every value equal to any of these, and reports whether there
// was one; false for none. Equal is what Contains calls so.
//
//	KEYS    pending list, timeout set (removeAll-v1: pending list)
//	ARGV    values
//	returns 1 or 0
//	cost    O(n² + n × values); with a codec of objects the whole list is read first
//
// removeAll-v1 (to 3.3.1, 2.8.1) forgets the timeout set, as remove-v1 does.
func (d *DelayedQueue[T]) RemoveAll(ctx context.Context, values ...T) (bool, error) {
	m, err := newMatcher(d.dest.codec, values)
	if err != nil || len(values) == 0 {
		return false, d.in("removeAll", err)
	}
	if !d.looksAgain() && !d.readsBoth(nil) {
		ok, err := replyBool(d.client.eval(ctx, wire.ScriptRemoveAll, d.removalKeys(wire.ScriptRemoveAll), m.encoded...))
		if !d.readsBoth(err) {
			return ok, d.in("removeAll", err)
		}
	}
	all, _, err := d.waiting(ctx, 0, -1)
	if err != nil {
		return false, d.in("removeAll", err)
	}
	found, _ := m.matches(all)
	removed, err := d.removeStored(ctx, wire.ScriptRemoveAll, found)
	return removed, d.in("removeAll", err)
}

// removalKeys returns the keys of the removal scripts, whose first variants know
// only the pending list.
func (d *DelayedQueue[T]) removalKeys(name wire.ScriptName) []string {
	if s, ok := d.client.release.Script(name); ok && s.Variant == string(name)+"-v1" {
		return d.pending()
	}
	return d.both()
}

// RetainAll removes from the pending list every value that is equal to none of
// these, and reports whether there was one. Without values it is Clear.
//
// It is Redisson's own form, with its fault in all releases: the members stay in
// the timeout set, so that the values are delivered all the same. Retain does
// what the name says. Equal is what Contains calls so. Where a member of the
// other layout waits it fails with ErrForeignMember and changes nothing.
//
//	KEYS    pending list
//	ARGV    values
//	returns 1 or 0
//	cost    O(n² + n × values)
func (d *DelayedQueue[T]) RetainAll(ctx context.Context, values ...T) (bool, error) {
	if len(values) == 0 {
		return d.Clear(ctx)
	}
	m, err := newMatcher(d.dest.codec, values)
	if err != nil {
		return false, d.in("retainAll", err)
	}
	args := m.encoded
	if d.looksAgain() {
		all, _, err := d.waiting(ctx, 0, -1)
		if err != nil {
			return false, d.in("retainAll", err)
		}
		args = m.asStored(all)
	}
	ok, err := replyBool(d.client.eval(ctx, wire.ScriptRetainAll, d.pending(), args...))
	return ok, d.in("retainAll", err)
}

// Retain removes every value that waits now and is equal to none of these, and
// reports whether there was one. It reads the queue and then removes the members that
// it read, so that a value offered in between stays; under WithStrictWire it removes
// their values. Equal is what Contains calls so.
func (d *DelayedQueue[T]) Retain(ctx context.Context, values ...T) (bool, error) {
	m, err := newMatcher(d.dest.codec, values)
	if err != nil {
		return false, d.in("retain", err)
	}
	all, _, err := d.waiting(ctx, 0, -1)
	if err != nil {
		return false, d.in("retain", err)
	}
	others := slices.DeleteFunc(all, func(s stored) bool { return m.index(s.value) >= 0 })
	if d.client.strict {
		removed, err := d.removeStored(ctx, wire.ScriptRemoveAll, others)
		return removed, d.in("retain", err)
	}
	taken, err := d.takeOut(ctx, others)
	return len(taken) > 0, d.in("retain", err)
}

// RemoveAt removes the value at an index in the order of All, Redisson's
// Iterator.remove. Nothing happens where there is none.
//
//	KEYS    pending list, timeout set
//	ARGV    index
//	returns nil
//	cost    O(n)
func (d *DelayedQueue[T]) RemoveAt(ctx context.Context, index int) error {
	if !d.readsBoth(nil) {
		_, err := d.client.eval(ctx, wire.ScriptIteratorRemove, d.both(), strconv.Itoa(index))
		if !d.readsBoth(err) {
			return d.in("iterator.remove", err)
		}
	}
	items, err := d.client.list(ctx, d.dest.names.Pending, index, index)
	if err == nil && len(items) > 0 {
		_, err = d.takeOut(ctx, []stored{{member: items[0]}})
	}
	return d.in("iterator.remove", err)
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
	keys := append(d.both(), other)
	if d.client.strict {
		reply, err := d.client.eval(ctx, wire.ScriptPollLastAndOfferFirstTo, keys)
		v, err := replyValue(d.dest.codec, reply, err)
		return v, d.in("pollLastAndOfferFirstTo", err)
	}
	for {
		all, _, err := d.waiting(ctx, -1-window, -1)
		if err != nil || len(all) == 0 {
			v, err := replyValue(d.dest.codec, nil, err)
			return v, d.in("pollLastAndOfferFirstTo", err)
		}
		last := all[len(all)-1]
		moved, err := replyBool(d.client.runOwn(ctx, callLane, moveOutScript, keys, last.member, last.value))
		if moved || err != nil {
			v, err := replyValue(d.dest.codec, string(last.value), err)
			return v, d.in("pollLastAndOfferFirstTo", err)
		}
	}
}

// Clear removes all values that wait, and reports whether there were any:
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
	reply, err := d.client.eval(ctx, wire.ScriptCopy, keys, "-1", boolArgument(replace))
	ok, err := replyBool(reply, err)
	return ok, in("copy", d.Name(), err)
}

// CopyTo copies what waits to the delayed queue of newName, replacing what waits
// there: COPY of both keys in one transaction; needs Redis 6.2. A delayed queue
// that is open there meanwhile learns of it with its next transfer. In a cluster
// both names must share a slot, and the copies do: braces in the name decide.
func (d *DelayedQueue[T]) CopyTo(ctx context.Context, newName string) error {
	from, to := d.dest.names, wire.NamesOf(newName)
	_, err := d.client.transaction(ctx, from.Pending,
		[]any{"COPY", from.Pending, to.Pending, "REPLACE"},
		[]any{"COPY", from.TimeoutSet, to.TimeoutSet, "REPLACE"})
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
