package program

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq"
)

// libraryOp is one op on an opened queue. Its result is what PROTOCOL.md says.
type libraryOp func(ctx context.Context, h *libraryHandle, args arguments) (any, error)

var libraryOps = map[string]libraryOp{
	"destroy":    opDestroy,
	"dq.destroy": opDestroy,

	"dq.offer":       opDelayedOffer,
	"dq.poll":        opDelayedPoll,
	"dq.poll(limit)": opDelayedPoll,
	"dq.peek":        valueOp(func(ctx context.Context, h *libraryHandle) (any, error) { return h.delayed.Peek(ctx) }),
	"dq.size":        plainOp(func(ctx context.Context, h *libraryHandle) (any, error) { return h.delayed.Size(ctx) }),
	"dq.isEmpty": plainOp(func(ctx context.Context, h *libraryHandle) (any, error) {
		n, err := h.delayed.Size(ctx)
		return n == 0, err
	}),
	"dq.readAll":      listOp(func(ctx context.Context, h *libraryHandle) ([]any, error) { return h.delayed.ReadAll(ctx) }),
	"dq.clear":        opDelayedClear,
	"dq.delete":       plainOp(func(ctx context.Context, h *libraryHandle) (any, error) { return h.delayed.Clear(ctx) }),
	"dq.sizeInMemory": plainOp(func(ctx context.Context, h *libraryHandle) (any, error) { return h.delayed.SizeInMemory(ctx) }),
	"dq.clearExpire":  plainOp(func(ctx context.Context, h *libraryHandle) (any, error) { return h.delayed.ClearExpire(ctx) }),
	"dq.isExists":     plainOp(func(ctx context.Context, h *libraryHandle) (any, error) { return h.delayed.Exists(ctx) }),
	"dq.touch":        plainOp(func(ctx context.Context, h *libraryHandle) (any, error) { return h.delayed.Touch(ctx) }),
	"dq.unlink":       plainOp(func(ctx context.Context, h *libraryHandle) (any, error) { return h.delayed.Unlink(ctx) }),
	"dq.remainTimeToLive": plainOp(func(ctx context.Context, h *libraryHandle) (any, error) {
		ttl, err := h.delayed.RemainTimeToLive(ctx)
		return ttl.Milliseconds(), err
	}),
	"dq.rename":         opRename,
	"dq.renamenx":       opRenameNX,
	"dq.expire":         opExpire,
	"dq.expireAt":       opExpireAt,
	"dq.copy":           opCopy,
	"dq.iterator":       opIterator,
	"dq.iteratorRemove": opIteratorRemove,
	"dq.contains":       testOp(func(ctx context.Context, h *libraryHandle, v any) (bool, error) { return h.delayed.Contains(ctx, v) }),
	"dq.remove":         testOp(func(ctx context.Context, h *libraryHandle, v any) (bool, error) { return h.delayed.Remove(ctx, v) }),
	"dq.containsAll": testAllOp(func(ctx context.Context, h *libraryHandle, v []any) (bool, error) {
		return h.delayed.ContainsAll(ctx, v...)
	}),
	"dq.removeAll": testAllOp(func(ctx context.Context, h *libraryHandle, v []any) (bool, error) {
		return h.delayed.RemoveAll(ctx, v...)
	}),
	"dq.retainAll": testAllOp(func(ctx context.Context, h *libraryHandle, v []any) (bool, error) {
		return h.delayed.RetainAll(ctx, v...)
	}),
	"dq.pollLastAndOfferFirstTo": toQueueOp(func(ctx context.Context, h *libraryHandle, other string) (any, error) {
		return h.delayed.PollLastAndOfferFirstTo(ctx, other)
	}),

	"q.take":        valueOp(func(ctx context.Context, h *libraryHandle) (any, error) { return h.queue.Take(ctx) }),
	"q.poll":        opPoll,
	"q.poll(limit)": opPoll,
	"q.pollFromAny": opPollFromAny,
	"q.peek":        valueOp(func(ctx context.Context, h *libraryHandle) (any, error) { return h.queue.Peek(ctx) }),
	"q.size":        plainOp(func(ctx context.Context, h *libraryHandle) (any, error) { return h.queue.Size(ctx) }),
	"q.readAll":     listOp(func(ctx context.Context, h *libraryHandle) ([]any, error) { return h.queue.ReadAll(ctx) }),
	"q.drainTo":     opDrainTo,
	"q.offer":       pushOp(true, func(ctx context.Context, h *libraryHandle, v any) error { return h.queue.Offer(ctx, v) }),
	"q.add":         pushOp(true, func(ctx context.Context, h *libraryHandle, v any) error { return h.queue.Offer(ctx, v) }),
	"q.put":         pushOp(nil, func(ctx context.Context, h *libraryHandle, v any) error { return h.queue.Offer(ctx, v) }),
	"q.clear":       opClear,
	"q.delete":      plainOp(func(ctx context.Context, h *libraryHandle) (any, error) { return h.queue.Clear(ctx) }),
	"q.contains":    testOp(func(ctx context.Context, h *libraryHandle, v any) (bool, error) { return h.queue.Contains(ctx, v) }),
	"q.remove":      testOp(func(ctx context.Context, h *libraryHandle, v any) (bool, error) { return h.queue.Remove(ctx, v) }),
	"q.containsAll": testAllOp(func(ctx context.Context, h *libraryHandle, v []any) (bool, error) {
		return h.queue.ContainsAll(ctx, v...)
	}),
	"q.removeAll": testAllOp(func(ctx context.Context, h *libraryHandle, v []any) (bool, error) {
		return h.queue.RemoveAll(ctx, v...)
	}),
	"q.retainAll": testAllOp(func(ctx context.Context, h *libraryHandle, v []any) (bool, error) {
		return h.queue.RetainAll(ctx, v...)
	}),
	"q.pollLastAndOfferFirstTo": opPollLastTo,
	"q.takeLastAndOfferFirstTo": toQueueOp(func(ctx context.Context, h *libraryHandle, other string) (any, error) {
		return h.queue.TakeLastAndOfferFirstTo(ctx, other)
	}),

	"deque.takeFirst":        valueOp(func(ctx context.Context, h *libraryHandle) (any, error) { return h.queue.Take(ctx) }),
	"deque.takeLast":         valueOp(func(ctx context.Context, h *libraryHandle) (any, error) { return h.queue.TakeLast(ctx) }),
	"dq.expire(condition)":   opExpire,
	"dq.expireAt(condition)": opExpireAt,
	"deque.pollFirst(limit)": opPollFirst,
	"deque.pollLast(limit)":  opPollLast,

	"deque.pollFirst":   opPollFirst,
	"deque.pollLast":    opPollLast,
	"deque.addFirst":    pushOp(nil, func(ctx context.Context, h *libraryHandle, v any) error { return h.queue.OfferFirst(ctx, v) }),
	"deque.offerFirst":  pushOp(true, func(ctx context.Context, h *libraryHandle, v any) error { return h.queue.OfferFirst(ctx, v) }),
	"deque.push":        pushOp(nil, func(ctx context.Context, h *libraryHandle, v any) error { return h.queue.OfferFirst(ctx, v) }),
	"deque.addLast":     pushOp(nil, func(ctx context.Context, h *libraryHandle, v any) error { return h.queue.Offer(ctx, v) }),
	"deque.offerLast":   pushOp(true, func(ctx context.Context, h *libraryHandle, v any) error { return h.queue.Offer(ctx, v) }),
	"deque.peekFirst":   valueOp(func(ctx context.Context, h *libraryHandle) (any, error) { return h.queue.Peek(ctx) }),
	"deque.pollFromAny": opDequePollFromAny,
}

func isDelayedOp(op string) bool { return strings.HasPrefix(op, "dq.") || op == "destroy" }

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

func typedList(values []any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return listToTyped(values)
}

func plainOp(run func(context.Context, *libraryHandle) (any, error)) libraryOp {
	return func(ctx context.Context, h *libraryHandle, _ arguments) (any, error) { return run(ctx, h) }
}

func valueOp(run func(context.Context, *libraryHandle) (any, error)) libraryOp {
	return func(ctx context.Context, h *libraryHandle, _ arguments) (any, error) {
		return typedOrEmpty(run(ctx, h))
	}
}

func listOp(run func(context.Context, *libraryHandle) ([]any, error)) libraryOp {
	return func(ctx context.Context, h *libraryHandle, _ arguments) (any, error) { return typedList(run(ctx, h)) }
}

func testOp(run func(context.Context, *libraryHandle, any) (bool, error)) libraryOp {
	return func(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
		v, err := args.value("value")
		if err != nil {
			return nil, err
		}
		return run(ctx, h, v)
	}
}

func testAllOp(run func(context.Context, *libraryHandle, []any) (bool, error)) libraryOp {
	return func(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
		values, err := args.values()
		if err != nil {
			return nil, err
		}
		return run(ctx, h, values)
	}
}

func toQueueOp(run func(context.Context, *libraryHandle, string) (any, error)) libraryOp {
	return func(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
		other, err := args.text("queue")
		if err != nil {
			return nil, err
		}
		return typedOrEmpty(run(ctx, h, other))
	}
}

// pushOp is an op that always succeeds, with that result.
func pushOp(result any, run func(context.Context, *libraryHandle, any) error) libraryOp {
	return func(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
		v, err := args.value("value")
		if err != nil {
			return nil, err
		}
		return result, run(ctx, h, v)
	}
}

func opDestroy(_ context.Context, h *libraryHandle, _ arguments) (any, error) {
	return nil, h.delayed.Close()
}

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
	return nil, h.delayed.OfferMillis(ctx, v, delay)
}

func opDelayedPoll(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
	if !args.has("limit") {
		return typedOrEmpty(h.delayed.Poll(ctx))
	}
	limit, err := args.number("limit")
	if err != nil {
		return nil, err
	}
	return typedList(h.delayed.PollN(ctx, int(limit)))
}

func opDelayedClear(ctx context.Context, h *libraryHandle, _ arguments) (any, error) {
	_, err := h.delayed.Clear(ctx)
	return nil, err
}

func opClear(ctx context.Context, h *libraryHandle, _ arguments) (any, error) {
	_, err := h.queue.Clear(ctx)
	return nil, err
}

func opIterator(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
	limit := int64(-1)
	if args.has("limit") {
		var err error
		if limit, err = args.number("limit"); err != nil {
			return nil, err
		}
	}
	values := []any{}
	for v, err := range h.delayed.All(ctx) {
		if err != nil {
			return nil, err
		}
		if values = append(values, v); int64(len(values)) == limit {
			break
		}
	}
	return listToTyped(values)
}

func opIteratorRemove(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
	index, err := args.number("index")
	if err != nil {
		return nil, err
	}
	at := 0
	for v, err := range h.delayed.All(ctx) {
		if err != nil {
			return nil, err
		}
		if int64(at) == index {
			if err := h.delayed.RemoveAt(ctx, at); err != nil {
				return nil, err
			}
			return Typed(v)
		}
		at++
	}
	return nil, fmt.Errorf("index %d of a queue that holds %d", index, at)
}

func opPoll(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
	return pollForms(ctx, args, h.queue.PollTimeout, h.queue.PollN, h.queue.Poll)
}

func opPollFirst(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
	return opPoll(ctx, h, args)
}

func opPollLast(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
	return pollForms(ctx, args, h.queue.PollLastTimeout, h.queue.PollLastN, h.queue.PollLast)
}

// pollForms picks the overload of poll by what is given.
func pollForms(
	ctx context.Context, args arguments,
	withTimeout func(context.Context, time.Duration) (any, error),
	withLimit func(context.Context, int) ([]any, error),
	plain func(context.Context) (any, error),
) (any, error) {
	switch {
	case args.has("timeout"):
		timeout, err := args.duration("timeout")
		if err != nil {
			return nil, err
		}
		return typedOrEmpty(withTimeout(ctx, timeout))
	case args.has("limit"):
		limit, err := args.number("limit")
		if err != nil {
			return nil, err
		}
		return typedList(withLimit(ctx, int(limit)))
	}
	return typedOrEmpty(plain(ctx))
}

func opPollFromAny(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
	timeout, err := args.duration("timeout")
	if err != nil {
		return nil, err
	}
	others, err := args.texts("queues")
	if err != nil {
		return nil, err
	}
	return typedOrEmpty(h.queue.PollFromAny(ctx, timeout, others...))
}

// opDequePollFromAny is RBlockingDeque's form, which forgets the other queues in
// all releases.
func opDequePollFromAny(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
	timeout, err := args.duration("timeout")
	if err != nil {
		return nil, err
	}
	return typedOrEmpty(h.queue.PollTimeout(ctx, timeout))
}

func opPollLastTo(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
	other, err := args.text("queue")
	if err != nil {
		return nil, err
	}
	if !args.has("timeout") {
		return typedOrEmpty(h.queue.PollLastAndOfferFirstTo(ctx, other))
	}
	timeout, err := args.duration("timeout")
	if err != nil {
		return nil, err
	}
	return typedOrEmpty(h.queue.PollLastAndOfferFirstToTimeout(ctx, other, timeout))
}

func opDrainTo(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
	if !args.has("max") {
		return typedList(h.queue.DrainTo(ctx))
	}
	limit, err := args.number("max")
	if err != nil {
		return nil, err
	}
	return typedList(h.queue.DrainToMax(ctx, int(limit)))
}
