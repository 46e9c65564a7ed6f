package spec

import (
	"context"
	_ "embed" // for the table
	"errors"
	"fmt"
	"slices"
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

// opsTable has a line for each op, and says what the words of a line are.
//
//go:embed dq_ops.txt
var opsTable string

// rule is a line of the table.
type rule struct {
	condition, result, name string
	words                   []string // of a command, or the keys of a script
	more                    []string // behind the bar
}

// rules are the lines of each op; since is the first release of the 3.x line that has an op, or an overload of one.
var rules, since = func() (rules map[string][]rule, since map[string]wire.Release) {
	rules, since = map[string][]rule{}, map[string]wire.Release{}
	for line := range strings.Lines(opsTable) {
		words, more, _ := strings.Cut(line, "|")
		switch of := strings.Fields(words); {
		case len(of) == 0 || of[0] == "#":
		case of[1] == "since":
			since[of[0]], _ = wire.ParseRelease(of[2])
		default:
			rules[of[0]] = append(rules[of[0]], rule{of[1], of[2], of[3], of[4:], strings.Fields(more)})
		}
	}
	return rules, since
}()

// functions are the ops that dq does with a call of its own, or that are more than one command.
var functions = map[string]op{
	"destroy": destroy, "iterator": iterator, "iteratorRemove": iteratorRemove, "offer": offer, "pollOwn": poll,
	"refuseRename": refuseRename, "removeOwn": remove, "take": take,
	"nothing": func(context.Context, *queue, serve.Args) (any, error) { return nil, nil },
}

// do carries out an op by the first of its rules whose condition holds.
func (q *queue) do(ctx context.Context, rules []rule, a serve.Args) (any, error) {
	r := rules[slices.IndexFunc(rules, func(r rule) bool { return r.holds(q, a) })]
	as := shows[r.result]
	if own := functions[r.name]; own != nil {
		return as(own(ctx, q, a))
	}
	words, err := q.words(r.words, a)
	if err != nil {
		return nil, err
	}
	if strings.ToUpper(r.name) == r.name {
		command := append([]any{r.name}, words...)
		if len(r.more) > 0 {
			return q.blocking(ctx, command, r.more[0] == "timeout", a)
		}
		return as(q.client.by.Do(ctx, command...).Result())
	}
	arguments, err := q.words(r.more, a)
	if err != nil {
		return nil, err
	}
	keys := make([]string, len(words))
	for i, key := range words {
		keys[i], _ = key.(string)
	}
	return as(q.client.Redisson(ctx, wire.ScriptName(r.name), keys, arguments...))
}

func (r rule) holds(q *queue, a serve.Args) bool {
	switch r.condition {
	case "-":
		return true
	case "redisson":
		return q.faithful != nil
	case "script":
		return q.release.AtLeast(wire.Release{Major: 3, Minor: 6, Patch: 2}) || q.release.Major == 2 && q.release.AtLeast(wire.Release{Major: 2, Minor: 11, Patch: 2})
	}
	argument, empty := strings.CutPrefix(r.condition, "!")
	return a.Has(argument) && (!empty || len(a.Values) == 0 && a.Max <= 0)
}

func poll(ctx context.Context, q *queue, _ serve.Args) (any, error) {
	values, err := q.Poll(ctx, 1)
	switch {
	case len(values) == 1:
		return values[0], err
	case errors.Is(err, dq.ErrEmpty):
		return nil, nil
	}
	return nil, err
}

func take(ctx context.Context, q *queue, _ serve.Args) (any, error) { return q.Take(ctx) }

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

// offer takes any delay, as Redisson does: a negative one if the release takes it, and one that overflows.
func offer(ctx context.Context, q *queue, a serve.Args) (_ any, err error) {
	switch d := time.Duration(a.Delay) * time.Millisecond; {
	case !a.Has("delay"):
		return nil, fmt.Errorf("offer without a delay: %w", dq.ErrUnsupported)
	case !a.Has("value"):
		return nil, errors.New(`argument "value" is missing`)
	case q.faithful != nil:
		err = q.faithful.offer(ctx, a.Value, int64(a.Delay))
	case d.Milliseconds() == int64(a.Delay) && (d >= 0 || q.release.RefusesNegativeDelay()):
		_, err = q.Offer(ctx, a.Value, d)
	default:
		err = offerOnce(ctx, q.client.Client, time.Now(), q.release, q.names, a.Value, int64(a.Delay))
	}
	if err != nil && !errors.Is(err, dq.ErrUncertain) {
		err = fmt.Errorf("%w: %w", driver.ErrRefused, err)
	}
	return nil, err
}

func remove(ctx context.Context, q *queue, a serve.Args) (any, error) {
	if _, err := q.words([]string{"value"}, a); err != nil {
		return nil, err
	}
	return q.Remove(ctx, a.Value)
}

func refuseRename(context.Context, *queue, serve.Args) (any, error) {
	return nil, fmt.Errorf("it renames only the destination, and waiting messages still go to the old name: %w", dq.ErrUnsupported)
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
	v, err := asValue(q.client.Redisson(ctx, wire.ScriptIteratorValue, []string{q.names.Pending}, strconv.Itoa(index)))
	value, _ := v.([]byte)
	return value, err
}

// words returns the values for words of the table.
func (q *queue) words(words []string, a serve.Args) (all []any, err error) {
	keys := map[string][]any{
		"D": {q.names.Destination}, "Q": {q.names.Pending}, "T": {q.names.TimeoutSet},
		"object": {q.names.Pending}, "objects": {q.names.Pending, q.names.TimeoutSet}, "copy": {wire.NamesOf(a.Name).TimeoutSet},
	}
	if q.faithful != nil {
		keys["object"], keys["objects"] = keys["D"], keys["D"]
	}
	for _, word := range words {
		switch key, ok := keys[word]; {
		case ok:
			all = append(all, key...)
		case word == "remove" || word == "removeAll":
			if s, ok := q.release.Script(wire.ScriptName(word)); !ok || s.Variant != word+"-v1" { // which forgets the timeout set
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
			case q.release.ExpiresConditionally():
				all = append(all, condition)
			case condition != "":
				return nil, dq.ErrUnsupported
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
				"value": a.Value, "queue": a.Queue, "name": a.Name, "limit": number(a.Limit), "max": number(a.Max), "at": number(a.At), "ttl": number(a.TTL),
			}[word])
		}
	}
	return all, nil
}

// conditions are the last argument of expire, which earlier releases have not.
var conditions = map[string]string{"": "", "if-set": "XX", "if-not-set": "NX", "if-greater": "GT", "if-less": "LT"}

func number(n serve.Integer) string { return strconv.FormatInt(int64(n), 10) }

// blocking runs a blocking command, for the timeout of the call in the seconds that the release sends, or for ever:
// that goes on after an unblock of its connection. A command whose context ends goes on until its client is closed.
func (q *queue) blocking(ctx context.Context, line []any, timed bool, a serve.Args) (any, error) {
	d := time.Duration(a.Timeout) * time.Millisecond // overflows as Java's does
	if timed && d < 0 && q.release.SkipsNegativeTimeout() {
		return nil, nil
	}
	seconds := int64(0)
	if timed {
		seconds = q.release.BlockingSeconds(d)
	}
	line = append(line, seconds)
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
			return asValue(reply, err)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
