package program

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/driver/library"
)

// libraryOp is one op on an opened queue. Its result is what docs/protocol.md says.
type libraryOp func(ctx context.Context, h *libraryHandle, args arguments) (any, error)

// Where dq has a call of its own, an op is that call. All other ops are what Redisson sends: a script of the catalogue, by
// dq.Client.Redisson, or a plain command. words says what the keys and the arguments of a line are.
var libraryOps = map[string]libraryOp{
	"destroy":    opDestroy,
	"dq.destroy": opDestroy,

	"dq.offer":          opDelayedOffer,
	"dq.remove":         opDelayedRemove,
	"dq.size":           command(asNumber, "LLEN", "Q"),
	"dq.isEmpty":        command(asEmpty, "LLEN", "Q"),
	"dq.poll":           given("limit", script(asValues, wire.ScriptPollLimit, "Q T", "#limit"), script(asValue, wire.ScriptPoll, "Q T")),
	"dq.poll(limit)":    script(asValues, wire.ScriptPollLimit, "Q T", "#limit"),
	"dq.peek":           script(asValue, wire.ScriptPeek, "Q"),
	"dq.readAll":        script(asValues, wire.ScriptReadAll, "Q"),
	"dq.clear":          command(asNothing, "DEL", "Q T"),
	"dq.delete":         command(asBool, "DEL", "Q T"),
	"dq.iterator":       opIterator,
	"dq.iteratorRemove": opIteratorRemove,
	"dq.contains":       script(asBool, wire.ScriptContains, "Q", "value"),
	"dq.containsAll":    values(script(asBool, wire.ScriptContainsAll, "Q", "values"), result(true)),
	"dq.removeAll":      values(script(asBool, wire.ScriptRemoveAll, "Q removeAll", "values"), result(false)),
	"dq.retainAll":      values(script(asBool, wire.ScriptRetainAll, "Q", "values"), command(asBool, "DEL", "Q T")),
	"dq.sizeInMemory":   script(asNumber, wire.ScriptSizeInMemory, "Q T"),
	"dq.copy":           script(asBool, wire.ScriptCopy, "Q T name copy", "=-1", "replace"),
	"dq.clearExpire":    script(asBool, wire.ScriptClearExpire, "Q T").before(command(asBool, "PERSIST", "D")),

	"dq.pollLastAndOfferFirstTo": script(asValue, wire.ScriptPollLastAndOfferFirstTo, "Q T queue"),
	"dq.expire":                  script(asBool, wire.ScriptExpire, "Q T", "ms ttl", "condition").before(command(asBool, "PEXPIRE", "D", "ms ttl")),
	"dq.expireAt":                script(asBool, wire.ScriptExpireAt, "Q T", "#at", "condition").before(command(asBool, "PEXPIREAT", "D", "#at")),
	"dq.expire(condition)":       script(asBool, wire.ScriptExpire, "Q T", "ms ttl", "condition"),
	"dq.expireAt(condition)":     script(asBool, wire.ScriptExpireAt, "Q T", "#at", "condition"),

	// RDelayedQueue inherits these from RObject, so that in Redisson they act on the destination. Here they act on what waits,
	// unless the client is to do as Redisson.
	"dq.isExists":         command(asBool, "EXISTS", "object"),
	"dq.touch":            command(asBool, "TOUCH", "objects"),
	"dq.unlink":           command(asBool, "UNLINK", "objects"),
	"dq.remainTimeToLive": command(asNumber, "PTTL", "object"),
	"dq.rename":           renames(command(asNothing, "RENAME", "D", "name")),
	"dq.renamenx":         renames(command(asBool, "RENAMENX", "D", "name")),

	"q.take":        opTake,
	"q.poll":        opPoll,
	"q.poll(limit)": opPoll,
	"q.pollFromAny": blocking("BLPOP", timeout, "D", "queues"),
	"q.peek":        command(asValue, "LINDEX", "D", "=0"),
	"q.size":        command(asNumber, "LLEN", "D"),
	"q.readAll":     command(asValues, "LRANGE", "D", "=0", "=-1"),
	"q.drainTo":     given("max", opDrainToMax, script(asValues, wire.ScriptQueueDrainTo, "D")),
	"q.offer":       command(asTrue, "RPUSH", "D", "value"),
	"q.add":         command(asTrue, "RPUSH", "D", "value"),
	"q.put":         command(asNothing, "RPUSH", "D", "value"),
	"q.clear":       command(asNothing, "DEL", "D"),
	"q.delete":      command(asBool, "DEL", "D"),
	"q.contains":    script(asFound, wire.ScriptQueueContains, "D", "value"),
	"q.remove":      command(asBool, "LREM", "D", "=1", "value"),
	"q.containsAll": values(script(asBool, wire.ScriptQueueContainsAll, "D", "values"), result(true)),
	"q.removeAll":   values(script(asBool, wire.ScriptQueueRemoveAll, "D", "values"), result(false)),
	"q.retainAll":   values(script(asBool, wire.ScriptQueueRetainAll, "D", "values"), command(asBool, "DEL", "D")),

	"q.pollLastAndOfferFirstTo": given("timeout", blocking("BRPOPLPUSH", timeout, "D", "queue"), command(asValue, "RPOPLPUSH", "D", "queue")),
	"q.takeLastAndOfferFirstTo": blocking("BRPOPLPUSH", forever, "D", "queue"),

	"deque.takeFirst":        opTake,
	"deque.takeLast":         blocking("BRPOP", forever, "D"),
	"deque.pollFirst":        opPoll,
	"deque.pollFirst(limit)": opPoll,
	"deque.pollLast":         opPollLast,
	"deque.pollLast(limit)":  opPollLast,
	"deque.addFirst":         command(asNothing, "LPUSH", "D", "value"),
	"deque.offerFirst":       command(asTrue, "LPUSH", "D", "value"),
	"deque.push":             command(asNothing, "LPUSH", "D", "value"),
	"deque.addLast":          command(asNothing, "RPUSH", "D", "value"),
	"deque.offerLast":        command(asTrue, "RPUSH", "D", "value"),
	"deque.peekFirst":        command(asValue, "LINDEX", "D", "=0"),
	"deque.pollFromAny":      blocking("BLPOP", timeout, "D"), // this form forgets the other queues in all releases
}

var (
	opPoll = given("timeout", blocking("BLPOP", timeout, "D"), given("limit", script(asValues, wire.ScriptQueuePollLimit, "D", "#limit"),
		func(ctx context.Context, h *libraryHandle, _ arguments) (any, error) {
			return typedOrEmpty(first(h.queue.Poll(ctx, 1)))
		}))
	opPollLast = given("timeout", blocking("BRPOP", timeout, "D"), given("limit", script(asValues, wire.ScriptDequePollLastLimit, "D", "#limit"),
		command(asValue, "RPOP", "D")))
)

// first is the only value of a poll.
func first(values []any, err error) (any, error) {
	if len(values) == 0 {
		return nil, err
	}
	return values[0], err
}

func isDelayedOp(op string) bool { return strings.HasPrefix(op, "dq.") || op == "destroy" }

func opTake(ctx context.Context, h *libraryHandle, _ arguments) (any, error) {
	return typedOrEmpty(h.queue.Take(ctx))
}

func opDestroy(_ context.Context, h *libraryHandle, _ arguments) (any, error) {
	if h.faithful == nil {
		return nil, h.queue.Close()
	}
	if h.faithful.users--; h.faithful.users == 0 {
		h.faithful.Destroy()
	}
	return nil, nil
}

// opDelayedOffer takes any delay, as Redisson does: a negative one where the release takes it, and one that overflows.
func opDelayedOffer(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
	if !args.has("delay") {
		return nil, fmt.Errorf("offer without a delay: %w", dq.ErrUnsupported)
	}
	v, err := args.value("value")
	if err != nil {
		return nil, err
	}
	delay, err := args.millis("delay")
	if err != nil {
		return nil, err
	}
	if d := time.Duration(delay) * time.Millisecond; h.faithful == nil && d.Milliseconds() == delay && (delay >= 0 || h.release.RefusesNegativeDelay()) {
		_, err := h.queue.Offer(ctx, v, d)
		return nil, err
	}
	data, err := h.codec.Encode(v)
	if err != nil {
		return nil, err
	}
	return nil, library.Offer(ctx, h.client.Client.Client, time.Now(), h.release, h.names, data, delay)
}

func opDelayedRemove(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
	v, err := args.value("value")
	if err != nil {
		return nil, err
	}
	if h.faithful == nil {
		return h.queue.Remove(ctx, v)
	}
	data, err := h.codec.Encode(v)
	if err != nil {
		return nil, err
	}
	return h.faithful.Remove(ctx, data)
}

func opDrainToMax(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
	if limit, err := args.number("max"); err != nil || limit <= 0 {
		return []any{}, err
	}
	return script(asValues, wire.ScriptQueueDrainToMax, "D", "#max")(ctx, h, args)
}

func opIterator(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
	limit := int64(-1)
	if args.has("limit") {
		var err error
		if limit, err = args.number("limit"); err != nil {
			return nil, err
		}
	}
	all := []any{}
	for int64(len(all)) != limit {
		v, err := h.at(ctx, len(all))
		if v == nil || err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
}

func opIteratorRemove(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
	index, err := args.number("index")
	if err != nil {
		return nil, err
	}
	for i := 0; ; i++ {
		v, err := h.at(ctx, i)
		switch {
		case err != nil:
			return nil, err
		case v == nil:
			return nil, fmt.Errorf("index %d of a queue that holds %d", index, i)
		case int64(i) == index:
			_, err := h.client.Redisson(ctx, wire.ScriptIteratorRemove, []string{h.names.Pending, h.names.TimeoutSet}, strconv.Itoa(i))
			return v, err
		}
	}
}

// at is the value at an index of those that wait, nil behind the last.
func (h *libraryHandle) at(ctx context.Context, index int) (any, error) {
	reply, err := h.client.Redisson(ctx, wire.ScriptIteratorValue, []string{h.names.Pending}, strconv.Itoa(index))
	return asValue(h, reply, err)
}

// given is one op where an argument is given, and another where it is not.
func given(argument string, is, isNot libraryOp) libraryOp {
	return func(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
		if args.has(argument) {
			return is(ctx, h, args)
		}
		return isNot(ctx, h, args)
	}
}

// values is one op for some values, and another for no value at all.
func values(some, none libraryOp) libraryOp {
	return func(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
		if values, err := args.values(); err == nil && len(values) == 0 {
			return none(ctx, h, args)
		}
		return some(ctx, h, args)
	}
}

// before is an op of releases that have its script; others send a command.
func (op libraryOp) before(command libraryOp) libraryOp {
	return func(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
		if h.release.AtLeast(wire.Release{Major: 3, Minor: 6, Patch: 2}) || h.release.Major == 2 && h.release.AtLeast(wire.Release{Major: 2, Minor: 11, Patch: 2}) {
			return op(ctx, h, args)
		}
		return command(ctx, h, args)
	}
}

// renames is an op that leaves behind what waits, and so is refused unless the client is to do as Redisson.
func renames(op libraryOp) libraryOp {
	return func(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
		if h.faithful == nil {
			return nil, fmt.Errorf("it renames the destination alone, and what waits comes to the old name: %w", dq.ErrUnsupported)
		}
		return op(ctx, h, args)
	}
}

func result(v any) libraryOp {
	return func(context.Context, *libraryHandle, arguments) (any, error) { return v, nil }
}

// typedOrEmpty gives a value its form in the protocol; that of no value is null.
func typedOrEmpty(v any, err error) (any, error) {
	if errors.Is(err, dq.ErrEmpty) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return Typed(v)
}
