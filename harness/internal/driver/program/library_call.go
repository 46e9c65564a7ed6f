package program

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// words returns what a word of a line stands for.
//
//	D Q T            keys: the destination, the pending list, the timeout set
//	object, objects  the first of the keys that RObject's methods act on, and all of them
//	removeAll, copy  the last key of these scripts, where the release has it
//	=text            text
//	value, values    values of the op, encoded
//	#name, ms name   a number, and a time in ms
//	any other        the text or the texts that the op calls so
func (h *libraryHandle) words(word string, args arguments) (all []any, err error) {
	kind, name, _ := strings.Cut(word, " ")
	switch {
	case word == "D", word == "object" && h.faithful != nil, word == "objects" && h.faithful != nil:
		return []any{h.names.Destination}, nil
	case word == "Q", word == "object":
		return []any{h.names.Pending}, nil
	case word == "T":
		return []any{h.names.TimeoutSet}, nil
	case word == "objects":
		return []any{h.names.Pending, h.names.TimeoutSet}, nil
	case word == "removeAll":
		if s, ok := h.release.Script(wire.ScriptRemoveAll); ok && s.Variant == "removeAll-v1" {
			return nil, nil // it forgets the timeout set
		}
		return []any{h.names.TimeoutSet}, nil
	case word == "copy":
		return []any{wire.NamesOf(args.textOr("name", "")).TimeoutSet}, nil
	case word[0] == '=':
		return []any{word[1:]}, nil
	case word[0] == '#', kind == "ms":
		n, err := args.number(word[1:])
		if kind == "ms" {
			n, err = args.millis(name)
		}
		return []any{strconv.FormatInt(n, 10)}, err
	case word == "value":
		v, err := args.value(word)
		if err != nil {
			return nil, err
		}
		data, err := h.codec.Encode(v)
		return []any{data}, err
	case word == "values":
		some, err := args.values()
		for _, v := range some {
			data, failure := h.codec.Encode(v)
			all, err = append(all, data), errors.Join(err, failure)
		}
		return all, err
	case word == "queues":
		some, err := args.texts(word)
		for _, text := range some {
			all = append(all, text)
		}
		return all, err
	case word == "replace":
		replace, err := args.flagOr(word, false)
		if replace {
			return []any{"1"}, err
		}
		return []any{"0"}, err
	case word == "condition":
		return h.condition(args.textOr(word, ""))
	}
	text, err := args.text(word)
	return []any{text}, err
}

// condition is the last argument of expire, which earlier releases have not.
func (h *libraryHandle) condition(name string) ([]any, error) {
	condition, ok := map[string]string{"": "", "if-set": "XX", "if-not-set": "NX", "if-greater": "GT", "if-less": "LT"}[name]
	switch {
	case !ok:
		return nil, fmt.Errorf("condition %q: expected if-set, if-not-set, if-greater or if-less", name)
	case h.release.ExpiresConditionally():
		return []any{condition}, nil
	case condition != "":
		return nil, dq.ErrUnsupported
	}
	return nil, nil
}

// line returns what several words stand for.
func (h *libraryHandle) line(words []string, args arguments) (all []any, err error) {
	for _, word := range words {
		some, err := h.words(word, args)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// script is an op that sends a script of the release.
func script(as show, name wire.ScriptName, keys string, words ...string) libraryOp {
	return func(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
		named, err := h.line(strings.Fields(keys), args)
		all, failure := h.line(words, args)
		if err = errors.Join(err, failure); err != nil {
			return nil, err
		}
		reply, err := h.client.Redisson(ctx, name, texts(named), all...)
		return as(h, reply, err)
	}
}

func texts(words []any) []string {
	all := make([]string, len(words))
	for i, word := range words {
		all[i], _ = word.(string)
	}
	return all
}

// command is an op that sends a plain command.
func command(as show, name, keys string, words ...string) libraryOp {
	return func(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
		all, err := h.line(append(strings.Fields(keys), words...), args)
		if err != nil {
			return nil, err
		}
		reply, err := h.client.Send(ctx, append([]any{name}, all...)...)
		return as(h, reply, err)
	}
}

// wait is how long a blocking command waits, in the seconds that the release sends; false for not at all.
type wait func(h *libraryHandle, args arguments) (seconds int64, sent bool, err error)

func forever(*libraryHandle, arguments) (int64, bool, error) { return 0, true, nil }

func timeout(h *libraryHandle, args arguments) (int64, bool, error) {
	d, err := args.duration("timeout")
	return h.release.BlockingSeconds(d), d >= 0 || !h.release.SkipsNegativeTimeout(), err
}

// blocking is an op that runs a blocking command. Who waits for ever waits on when somebody unblocks the connection. A
// command whose context ends goes on until its client is closed.
func blocking(name string, timeout wait, words ...string) libraryOp {
	return func(ctx context.Context, h *libraryHandle, args arguments) (any, error) {
		seconds, sent, err := timeout(h, args)
		keys, failure := h.line(words, args)
		if err = errors.Join(err, failure); err != nil || !sent {
			return nil, err
		}
		type answer struct {
			reply any
			err   error
		}
		done := make(chan answer, 1)
		for {
			go func() {
				reply, err := h.client.Block(context.WithoutCancel(ctx), append(append([]any{name}, keys...), seconds)...)
				done <- answer{reply, err}
			}()
			select {
			case a := <-done:
				reply, err := a.reply, a.err
				if errors.Is(err, redis.Nil) && seconds == 0 {
					continue
				}
				if pair, ok := reply.([]any); ok {
					reply = pair[len(pair)-1]
				}
				return asValue(h, reply, err)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
}

// show gives a reply its form in the protocol.
type show func(h *libraryHandle, reply any, err error) (any, error)

func asNothing(_ *libraryHandle, _ any, err error) (any, error) { return nil, err }
func asTrue(_ *libraryHandle, _ any, err error) (any, error)    { return true, err }

func asNumber(_ *libraryHandle, reply any, err error) (any, error) {
	n, ok := reply.(int64)
	if err == nil && !ok {
		err = fmt.Errorf("expected an integer from the server, got %T", reply)
	}
	return n, err
}

func asBool(h *libraryHandle, reply any, err error) (any, error) {
	n, err := asNumber(h, reply, err)
	return n.(int64) > 0, err
}

func asEmpty(h *libraryHandle, reply any, err error) (any, error) {
	n, err := asNumber(h, reply, err)
	return n == int64(0), err
}

// asFound is of a script that replies with an index, or -1.
func asFound(h *libraryHandle, reply any, err error) (any, error) {
	n, err := asNumber(h, reply, err)
	return n.(int64) >= 0, err
}

// asValue is of one value, or nil for no value.
func asValue(h *libraryHandle, reply any, err error) (any, error) {
	if errors.Is(err, redis.Nil) || err == nil && reply == nil {
		return nil, nil
	}
	text, ok := reply.(string)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, fmt.Errorf("expected a string from the server, got %T", reply)
	}
	v, err := h.codec.Decode([]byte(text))
	if err != nil {
		return nil, &dq.DecodeError{Data: []byte(text), Err: err}
	}
	return Typed(v)
}

func asValues(h *libraryHandle, reply any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	list, _ := reply.([]any)
	all := make([]any, len(list))
	for i, element := range list {
		if all[i], err = asValue(h, element, nil); err != nil {
			return nil, err
		}
	}
	return all, nil
}
