package spec

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/driver/serve"
	"github.com/dq-bench/dq-bench/internal/redis"
)

type op = serve.Op[*queue]

// since names the first release of the 3.x line that has an op, or an overload of one.
var since = map[string]wire.Release{
	"dq.poll(limit)":         {Major: 3, Minor: 11, Patch: 6},
	"q.poll(limit)":          {Major: 3, Minor: 11, Patch: 6},
	"deque.pollFirst(limit)": {Major: 3, Minor: 11, Patch: 6},
	"deque.pollLast(limit)":  {Major: 3, Minor: 11, Patch: 6},
	"dq.copy":                {Major: 3, Minor: 35, Patch: 0},
	"dq.expire(condition)":   {Major: 3, Minor: 17, Patch: 0},
	"dq.expireAt(condition)": {Major: 3, Minor: 17, Patch: 0},
	"dq.sizeInMemory":        {Major: 2, Minor: 14, Patch: 1},
}

// An op uses dq's own call if there is one. All other ops are Redisson's: a script of the catalogue, by
// dq.Client.Redisson, or a plain command. queue.words has the keys and the arguments of a line. A row may name several ops.
var calls = map[string]op{
	"dq.poll(limit) q.poll(limit) deque.pollFirst(limit) deque.pollLast(limit)":         nil, // overloads and options
	"dq.expire(condition) dq.expireAt(condition) open(faithful) open(nameMapperPrefix)": nil,

	"dq.destroy":        destroy,
	"dq.offer":          offer,
	"dq.remove":         remove,
	"dq.size":           command(asItIs, "LLEN", "Q"),
	"dq.isEmpty":        command(asEmpty, "LLEN", "Q"),
	"dq.poll":           given("limit", script(asItIs, wire.ScriptPollLimit, "Q T", "limit"), script(asItIs, wire.ScriptPoll, "Q T")),
	"dq.peek":           script(asItIs, wire.ScriptPeek, "Q"),
	"dq.readAll":        script(asItIs, wire.ScriptReadAll, "Q"),
	"dq.clear":          command(asNothing, "DEL", "Q T"),
	"dq.delete":         command(asBool, "DEL", "Q T"),
	"dq.iterator":       iterator,
	"dq.iteratorRemove": iteratorRemove,
	"dq.contains":       script(asBool, wire.ScriptContains, "Q", "value"),
	"dq.containsAll":    values(script(asBool, wire.ScriptContainsAll, "Q", "values"), result(true)),
	"dq.removeAll":      values(script(asBool, wire.ScriptRemoveAll, "Q removeAll", "values"), result(false)),
	"dq.retainAll":      values(script(asBool, wire.ScriptRetainAll, "Q", "values"), command(asBool, "DEL", "Q T")),
	"dq.sizeInMemory":   script(asItIs, wire.ScriptSizeInMemory, "Q T"),
	"dq.copy":           script(asBool, wire.ScriptCopy, "Q T name copy", "=-1 replace"),
	"dq.clearExpire":    choose(has(wire.ScriptClearExpire), script(asBool, wire.ScriptClearExpire, "Q T"), command(asBool, "PERSIST", "D")),

	"dq.pollLastAndOfferFirstTo": script(asItIs, wire.ScriptPollLastAndOfferFirstTo, "Q T queue"),
	"dq.expire":                  choose(has(wire.ScriptExpire), script(asBool, wire.ScriptExpire, "Q T", "ttl condition"), command(asBool, "PEXPIRE", "D ttl")),
	"dq.expireAt":                choose(has(wire.ScriptExpireAt), script(asBool, wire.ScriptExpireAt, "Q T", "at condition"), command(asBool, "PEXPIREAT", "D at")),

	// RDelayedQueue inherits these from RObject, so that they act on the destination.
	"dq.isExists":         command(asBool, "EXISTS", "D"),
	"dq.unlink":           command(asBool, "UNLINK", "D"),
	"dq.remainTimeToLive": command(asItIs, "PTTL", "D"),
	"dq.rename":           command(asNothing, "RENAME", "D name"),

	"q.take deque.takeFirst": func(ctx context.Context, q *queue, _ serve.Args) (any, error) { return q.Take(ctx) },
	"q.poll deque.pollFirst": given("timeout", blocking("BLPOP", "D", true), given("limit", script(asItIs, wire.ScriptQueuePollLimit, "D", "limit"),
		func(ctx context.Context, q *queue, _ serve.Args) (any, error) { return q.Poll(ctx) })),
	"q.drainTo": given("max", choose(func(_ *queue, a serve.Args) bool { return a.Max > 0 },
		script(asItIs, wire.ScriptQueueDrainToMax, "D", "max"), result([][]byte{})), script(asItIs, wire.ScriptQueueDrainTo, "D")),
	"q.pollFromAny":                 blocking("BLPOP", "D queues", true),
	"q.peek deque.peekFirst":        command(asItIs, "LINDEX", "D =0"),
	"q.size":                        command(asItIs, "LLEN", "D"),
	"q.readAll":                     command(asItIs, "LRANGE", "D =0 =-1"),
	"q.offer q.add deque.offerLast": command(asTrue, "RPUSH", "D value"),
	"q.put deque.addLast":           command(asNothing, "RPUSH", "D value"),
	"q.clear":                       command(asNothing, "DEL", "D"),
	"q.delete":                      command(asBool, "DEL", "D"),
	"q.contains":                    script(asFound, wire.ScriptQueueContains, "D", "value"),
	"q.remove":                      command(asBool, "LREM", "D =1 value"),
	"q.containsAll":                 values(script(asBool, wire.ScriptQueueContainsAll, "D", "values"), result(true)),
	"q.removeAll":                   values(script(asBool, wire.ScriptQueueRemoveAll, "D", "values"), result(false)),
	"q.retainAll":                   values(script(asBool, wire.ScriptQueueRetainAll, "D", "values"), command(asBool, "DEL", "D")),

	"q.pollLastAndOfferFirstTo": given("timeout", blocking("BRPOPLPUSH", "D queue", true), command(asItIs, "RPOPLPUSH", "D queue")),
	"q.takeLastAndOfferFirstTo": blocking("BRPOPLPUSH", "D queue", false),

	"deque.takeLast": blocking("BRPOP", "D", false),
	"deque.pollLast": given("timeout", blocking("BRPOP", "D", true), given("limit",
		script(asItIs, wire.ScriptDequePollLastLimit, "D", "limit"), command(asItIs, "RPOP", "D"))),
	"deque.addFirst deque.push": command(asNothing, "LPUSH", "D value"),
	"deque.offerFirst":          command(asTrue, "LPUSH", "D value"),
	"deque.pollFromAny":         blocking("BLPOP", "D", true), // this form forgets the other queues in all releases
}

func destroy(_ context.Context, q *queue, _ serve.Args) (any, error) {
	if q.faithful == nil {
		return nil, q.Close()
	}
	q.client.mu.Lock()
	defer q.client.mu.Unlock()
	if q.faithful.users--; q.faithful.users == 0 {
		close(q.faithful.destroyed)
	}
	return nil, nil
}

func offer(ctx context.Context, q *queue, a serve.Args) (any, error) {
	if !a.Has("delay") {
		return nil, fmt.Errorf("offer without a delay: %w", errors.ErrUnsupported)
	}
	if _, err := q.words("value", a); err != nil {
		return nil, err
	}
	return nil, q.offer(ctx, a.Value, int64(a.Delay))
}

// offer takes any delay in ms, as Redisson does: a negative one if the release takes it, and one that overflows, for which it sends
// the release's script: now plus delay wraps around as it does in Java, and the due time of a huge delay is negative.
func (q *queue) offer(ctx context.Context, value []byte, ms int64) (err error) {
	switch d := time.Duration(ms) * time.Millisecond; {
	case d.Milliseconds() == ms && (d >= 0 || q.client.release.RefusesNegativeDelay()):
		_, err = q.Queue.Offer(ctx, value, d)
	case ms < 0 && q.client.release.RefusesNegativeDelay():
		err = fmt.Errorf("%w: %d ms", dq.ErrNegativeDelay, ms)
	default:
		var random [8]byte
		_, _ = rand.Read(random[:])
		id := any(random[:])
		if q.client.release.Layout() == wire.LayoutDLc0 {
			id = int64(binary.LittleEndian.Uint64(random[:]))
		}
		n := q.names
		_, err = q.client.Redisson(ctx, wire.ScriptOffer, []string{n.Destination, n.TimeoutSet, n.Pending, n.Channel}, time.Now().UnixMilli()+ms, id, value)
	}
	if err != nil && !errors.Is(err, dq.ErrUncertain) {
		err = fmt.Errorf("%w: %w", driver.ErrRefused, err)
	}
	return err
}

func remove(ctx context.Context, q *queue, a serve.Args) (any, error) {
	if _, err := q.words("value", a); err != nil {
		return nil, err
	}
	return q.Remove(ctx, a.Value)
}

func iterator(ctx context.Context, q *queue, a serve.Args) (any, error) {
	all := [][]byte{}
	for !a.Has("limit") || len(all) < int(a.Limit) {
		v, err := q.at(ctx, len(all))
		if v == nil || err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
}

func iteratorRemove(ctx context.Context, q *queue, a serve.Args) (any, error) {
	for i := 0; ; i++ {
		v, err := q.at(ctx, i)
		switch {
		case err != nil:
			return nil, err
		case v == nil:
			return nil, fmt.Errorf("index %d of a queue that holds %d", a.Index, i)
		case i == int(a.Index):
			_, err := q.client.Redisson(ctx, wire.ScriptIteratorRemove, []string{q.names.Pending, q.names.TimeoutSet}, strconv.Itoa(i))
			return v, err
		}
	}
}

// at is the value at an index of the pending list, nil behind the last.
func (q *queue) at(ctx context.Context, index int) ([]byte, error) {
	v, err := show(asItIs).of(q.client.Redisson(ctx, wire.ScriptIteratorValue, []string{q.names.Pending}, strconv.Itoa(index)))
	value, _ := v.([]byte)
	return value, err
}

// words returns the values for the words of a line.
//
//	D Q T            keys: the destination, the pending list, the timeout set
//	removeAll, copy  the last key of these scripts, if the release has it
//	=text            text
//	any other        the argument of the op that is called so
func (q *queue) words(line string, a serve.Args) (all []any, err error) {
	keys := map[string]string{"D": q.names.Destination, "Q": q.names.Pending, "T": q.names.TimeoutSet, "copy": wire.NamesOf(a.Name).TimeoutSet}
	for word := range strings.FieldsSeq(line) {
		switch key, ok := keys[word]; {
		case ok:
			all = append(all, key)
		case word == "removeAll":
			if s, ok := q.client.release.Script(wire.ScriptRemoveAll); !ok || s.Variant != "removeAll-v1" { // which forgets the timeout set
				all = append(all, q.names.TimeoutSet)
			}
		case word[0] == '=':
			all = append(all, word[1:])
		case word == "replace":
			all = append(all, map[bool]string{true: "1", false: "0"}[a.Replace])
		case word == "condition":
			condition, ok := conditions[a.Condition]
			switch {
			case !ok:
				return nil, fmt.Errorf("condition %q: expected if-set, if-not-set, if-greater or if-less", a.Condition)
			case q.client.release.ExpiresConditionally():
				all = append(all, condition)
			case condition != "":
				return nil, errors.ErrUnsupported
			}
		case !a.Has(word):
			return nil, fmt.Errorf("argument %q is missing", word)
		case word == "values":
			for _, value := range a.Values {
				all = append(all, value)
			}
		case word == "queues":
			for _, name := range a.Queues {
				all = append(all, name)
			}
		default:
			all = append(all, map[string]any{
				"value": a.Value, "queue": a.Queue, "name": a.Name, "limit": int64(a.Limit), "max": int64(a.Max), "at": int64(a.At), "ttl": int64(a.TTL),
			}[word])
		}
	}
	return all, nil
}

// conditions are the last argument of expire, which earlier releases have not.
var conditions = map[string]string{"": "", "if-set": "XX", "if-not-set": "NX", "if-greater": "GT", "if-less": "LT"}

func script(as show, name wire.ScriptName, keys string, arguments ...string) op {
	return func(ctx context.Context, q *queue, a serve.Args) (any, error) {
		named, err := q.words(keys, a)
		all, failure := q.words(strings.Join(arguments, " "), a)
		if err = errors.Join(err, failure); err != nil {
			return nil, err
		}
		texts := make([]string, len(named))
		for i, key := range named {
			texts[i], _ = key.(string)
		}
		return as.of(q.client.Redisson(ctx, name, texts, all...))
	}
}

func command(as show, name, line string) op {
	return func(ctx context.Context, q *queue, a serve.Args) (any, error) {
		all, err := q.words(line, a)
		if err != nil {
			return nil, err
		}
		return as.of(q.client.by.Do(ctx, append([]any{name}, all...)...).Result())
	}
}

// blocking is an op that runs a blocking command, for the timeout of the call in the seconds that the release sends, or for ever:
// that goes on after an unblock of its connection. A command whose context ends goes on until its client is closed.
func blocking(name, keys string, timed bool) op {
	return func(ctx context.Context, q *queue, a serve.Args) (any, error) {
		line, err := q.words(keys, a)
		d := time.Duration(a.Timeout) * time.Millisecond // overflows as Java's does
		if err != nil || timed && d < 0 && q.client.release.SkipsNegativeTimeout() {
			return nil, err
		}
		seconds := int64(0)
		if timed {
			seconds = q.client.release.BlockingSeconds(d)
		}
		line = append(append([]any{name}, line...), seconds)
		done := make(chan error, 1)
		for {
			var reply any
			go func() {
				var err error
				reply, err = q.client.block(context.WithoutCancel(ctx), line)
				done <- err
			}()
			select {
			case err := <-done:
				if errors.Is(err, redis.Nil) && seconds == 0 {
					continue
				}
				if pair, ok := reply.([]any); ok {
					reply = pair[len(pair)-1]
				}
				return show(asItIs).of(reply, err)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
}

func choose(holds func(q *queue, a serve.Args) bool, is, isNot op) op {
	return func(ctx context.Context, q *queue, a serve.Args) (any, error) {
		if holds(q, a) {
			return is(ctx, q, a)
		}
		return isNot(ctx, q, a)
	}
}

func has(name wire.ScriptName) func(q *queue, _ serve.Args) bool {
	return func(q *queue, _ serve.Args) bool { _, ok := q.client.release.Script(name); return ok }
}

func given(argument string, is, isNot op) op {
	return choose(func(_ *queue, a serve.Args) bool { return a.Has(argument) }, is, isNot)
}

// values is one op for some values, and another for no value at all.
func values(some, none op) op {
	return choose(func(_ *queue, a serve.Args) bool { return a.Has("values") && len(a.Values) == 0 }, none, some)
}

func result(v any) op {
	return func(context.Context, *queue, serve.Args) (any, error) { return v, nil }
}
