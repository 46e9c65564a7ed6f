package dq

import (
	"context"
	"strconv"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// ExpireCondition restricts Expire and ExpireAt; since 3.17.0, and with a Redis
// from 7.0 on.
type ExpireCondition string

// The conditions of Redis's PEXPIRE.
const (
	ExpireAlways     ExpireCondition = ""
	ExpireIfNotSet   ExpireCondition = "NX"
	ExpireIfSet      ExpireCondition = "XX"
	ExpireIfGreater  ExpireCondition = "GT"
	ExpireIfLessThan ExpireCondition = "LT"
)

// Expire makes everything that waits vanish after ttl, undelivered, and tells
// whether there was anything.
//
//	KEYS    pending list, timeout set
//	ARGV    ttl in ms; since expire-v3 the condition
//	returns 1 or 0
//	cost    O(1)
//
// Before 3.6.2 and 2.11.2 Redisson sends PEXPIRE for the destination queue
// instead, and so does a client of such a release.
func (d *DelayedQueue[T]) Expire(ctx context.Context, ttl time.Duration, condition ExpireCondition) (bool, error) {
	return d.expire(ctx, wire.ScriptExpire, "PEXPIRE", ttl.Milliseconds(), condition)
}

// ExpireAt is Expire with an instant, in whole milliseconds.
func (d *DelayedQueue[T]) ExpireAt(ctx context.Context, at time.Time, condition ExpireCondition) (bool, error) {
	return d.expire(ctx, wire.ScriptExpireAt, "PEXPIREAT", at.UnixMilli(), condition)
}

func (d *DelayedQueue[T]) expire(
	ctx context.Context, name wire.ScriptName, plain string, millis int64, condition ExpireCondition,
) (bool, error) {
	args := []any{strconv.FormatInt(millis, 10)}
	if d.client.release.ExpiresConditionally() {
		args = append(args, string(condition))
	} else if condition != ExpireAlways {
		return false, in(string(name), d.Name(), ErrUnsupported)
	}
	if _, ok := d.client.release.Script(name); !ok {
		key := d.dest.names.Destination
		reply, err := d.client.do(ctx, key, plain, key, args[0])
		ok, err := replyBool(reply, err)
		return ok, in(string(name), d.Name(), err)
	}
	reply, err := d.client.eval(ctx, name, d.both(), args...)
	ok, err := replyBool(reply, err)
	return ok, in(string(name), d.Name(), err)
}

// ClearExpire takes an expiry back, and reports whether there was one.
//
//	KEYS    pending list, timeout set
//	ARGV    none
//	returns 1 or 0
//	cost    O(1)
//
// clearExpire-v2, of 3.13.3 alone, fails with a script error where something
// waits. Before 3.6.2 and 2.11.2 it is PERSIST of the destination queue.
func (d *DelayedQueue[T]) ClearExpire(ctx context.Context) (bool, error) {
	if _, ok := d.client.release.Script(wire.ScriptClearExpire); !ok {
		key := d.dest.names.Destination
		reply, err := d.client.do(ctx, key, "PERSIST", key)
		ok, err := replyBool(reply, err)
		return ok, in("clearExpire", d.Name(), err)
	}
	reply, err := d.client.eval(ctx, wire.ScriptClearExpire, d.both())
	ok, err := replyBool(reply, err)
	return ok, in("clearExpire", d.Name(), err)
}
