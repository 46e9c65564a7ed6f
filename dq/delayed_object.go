package dq

import (
	"context"
	"fmt"
	"time"
)

// What RemainTimeToLive returns where no time is left to tell of, as PTTL does.
const (
	NoExpiry  = -1 * time.Millisecond // it does not vanish
	NoSuchKey = -2 * time.Millisecond // nothing waits
)

// The methods of this file are those that RDelayedQueue inherits from RObject and does not
// override, so that in Redisson they act on the destination queue: it says that nothing
// exists while messages wait. A client acts on what waits instead, and one with
// WithFaithful does as Redisson.

// objectKeys are the keys that such a method acts on.
func (d *DelayedQueue[T]) objectKeys() []any {
	n := d.dest.names
	if d.client.faithful {
		return []any{n.Destination}
	}
	return []any{n.Pending, n.TimeoutSet}
}

// onObject sends a command for the keys that a method acts on.
func (d *DelayedQueue[T]) onObject(ctx context.Context, command string, keys ...any) (any, error) {
	return d.client.do(ctx, keys[0].(string), append([]any{command}, keys...)...)
}

// Exists reports whether anything waits: EXISTS of the pending list, of a faithful client of
// the destination queue.
func (d *DelayedQueue[T]) Exists(ctx context.Context) (bool, error) {
	ok, err := replyBool(d.onObject(ctx, "EXISTS", d.objectKeys()[0]))
	return ok, in("exists", d.Name(), err)
}

// Unlink removes all values that wait, as Clear, but has the server free them later. A
// faithful client removes the destination queue, and what waits stays.
func (d *DelayedQueue[T]) Unlink(ctx context.Context) (bool, error) {
	ok, err := replyBool(d.onObject(ctx, "UNLINK", d.objectKeys()...))
	return ok, in("unlink", d.Name(), err)
}

// Touch marks the keys as used now, for a server that evicts what is not, and reports whether
// there were any.
func (d *DelayedQueue[T]) Touch(ctx context.Context) (bool, error) {
	ok, err := replyBool(d.onObject(ctx, "TOUCH", d.objectKeys()...))
	return ok, in("touch", d.Name(), err)
}

// RemainTimeToLive returns how long it takes until what waits vanishes, in whole
// milliseconds, or NoExpiry, or NoSuchKey: PTTL of the pending list, of a faithful client of
// the destination queue.
func (d *DelayedQueue[T]) RemainTimeToLive(ctx context.Context) (time.Duration, error) {
	ms, err := replyInt(d.onObject(ctx, "PTTL", d.objectKeys()[0]))
	return time.Duration(ms) * time.Millisecond, in("remainTimeToLive", d.Name(), err)
}

// Rename renames the destination queue under WithFaithful: RENAME, an error where it does
// not exist. What waits stays, and comes to the old name; so any other client refuses it
// with ErrUnsupported.
func (d *DelayedQueue[T]) Rename(ctx context.Context, name string) error {
	if err := d.renames(); err != nil {
		return in("rename", d.Name(), err)
	}
	_, err := d.onObject(ctx, "RENAME", d.dest.names.Destination, name)
	return in("rename", d.Name(), err)
}

// RenameNX is Rename unless there is a key of that name, by RENAMENX; it reports whether it
// renamed.
func (d *DelayedQueue[T]) RenameNX(ctx context.Context, name string) (bool, error) {
	if err := d.renames(); err != nil {
		return false, in("renamenx", d.Name(), err)
	}
	ok, err := replyBool(d.onObject(ctx, "RENAMENX", d.dest.names.Destination, name))
	return ok, in("renamenx", d.Name(), err)
}

func (d *DelayedQueue[T]) renames() error {
	if d.client.faithful {
		return nil
	}
	return fmt.Errorf("it renames the destination alone, and what waits comes to the old name, which WithFaithful allows: %w", ErrUnsupported)
}
