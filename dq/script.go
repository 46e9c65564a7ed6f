package dq

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// Redisson runs any script of the Client's release, as that release sends it: its EVAL with the whole text before
// 3.46.0, else EVALSHA, and SCRIPT LOAD if the server does not know the script. It is for the calls of Redisson's
// queues that this package lacks: wire.Scripts has the keys, arguments and reply of each. A
// nil reply is nil without an error; the others are int64, string or []any. The error wraps ErrUnsupported if the
// release has no such script, and ErrUncertain if an offer may have run. Values that a script takes for a call whose context ends are lost.
func (c *Client) Redisson(ctx context.Context, script wire.ScriptName, keys []string, args ...any) (any, error) {
	if len(keys) == 0 {
		return nil, fmt.Errorf("dq: Redisson's %s: expected its keys, got no key", script)
	}
	bySHA := "EVALSHA"
	if slices.Contains(readScripts, script) && !c.noReadScripts.Load() {
		bySHA = "EVALSHA_RO"
	}
	reply, err := c.run(ctx, conn.Calls, bySHA, script, keys, args)
	switch {
	case script == wire.ScriptOffer:
		err = uncertain(err)
	case bySHA == "EVALSHA_RO" && err != nil && strings.HasPrefix(err.Error(), "ERR unknown command"):
		c.noReadScripts.Store(true)
		return c.Redisson(ctx, script, keys, args...)
	}
	return reply, err
}

// readScripts are the scripts that Redisson sends EVALSHA_RO for, and EVALSHA to a server before Redis 7, which answers that it
// does not know the command.
var readScripts = []wire.ScriptName{
	wire.ScriptPeek, wire.ScriptReadAll, wire.ScriptContains, wire.ScriptContainsAll, wire.ScriptIteratorValue,
	wire.ScriptQueueContains, wire.ScriptQueueContainsAll,
}

// run runs a script of the client's release.
func (c *Client) run(ctx context.Context, at conn.Lane, bySHA string, name wire.ScriptName, keys []string, args []any) (any, error) {
	script, ok := c.release.Script(name)
	if !ok {
		return nil, fmt.Errorf("%w: Redisson %s has no %s", ErrUnsupported, c.release, name)
	}
	r := c.scriptRequest(bySHA, script, keys, args)
	r.Lane = at
	return c.one(ctx, r)
}

// scriptRequest returns the request that the client's release runs a script with.
func (c *Client) scriptRequest(bySHA string, script *wire.Script, keys []string, args []any) conn.Request {
	if !c.release.CachesScripts() {
		return conn.Request{Key: keys[0], Commands: [][]any{evalCommand("EVAL", script.Body, keys, args)}}
	}
	return conn.Request{Key: keys[0], Script: script.Body, Commands: [][]any{evalCommand(bySHA, script.SHA1, keys, args)}}
}

func evalCommand(command, script string, keys []string, args []any) []any {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, command, script, len(keys))
	for _, k := range keys {
		all = append(all, k)
	}
	return append(all, args...)
}

// runOwn runs one of our own scripts, which are sent by their SHA-1 whatever the release.
func (c *Client) runOwn(ctx context.Context, at conn.Lane, script scripts.Script, keys []string, args ...any) (any, error) {
	return c.one(ctx, conn.Request{
		Lane: at, Key: keys[0], Script: script.Body,
		Commands: [][]any{evalCommand("EVALSHA", script.SHA1, keys, args)},
	})
}

// Replies of a server in the form a call needs them. A nil reply means nothing found.

// replyAs returns a reply of a type, which what says in words.
func replyAs[T any](what string, reply any, err error) (T, error) {
	v, ok := reply.(T)
	if err == nil && !ok {
		err = fmt.Errorf("expected %s from the server, got %T", what, reply)
	}
	return v, err
}

func replyInt(reply any, err error) (int64, error) { return replyAs[int64]("an integer", reply, err) }

func replyBool(reply any, err error) (bool, error) {
	n, err := replyInt(reply, err)
	return n > 0, err
}

// replyValue decodes one value; nil is ErrEmpty.
func replyValue[T any](c codec.Codec[T], reply any, err error) (T, error) {
	var none T
	if err == nil && reply == nil {
		return none, ErrEmpty
	}
	text, err := replyAs[string]("a string", reply, err)
	if err != nil {
		return none, err
	}
	if _, plain := any(c).(codec.String); plain {
		return replyAs[T]("a string", reply, nil) // without a copy
	}
	value, err := c.Decode([]byte(text))
	if err != nil {
		return value, &DecodeError{Data: []byte(text), Err: err}
	}
	return value, nil
}

func replyList(reply any, err error) ([]any, error) {
	if err != nil || reply == nil {
		return nil, err
	}
	return replyAs[[]any]("an array", reply, nil)
}

// encodeOffered encodes a value that is to be queued. A nil []byte is no bytes.
func encodeOffered[T any](c codec.Codec[T], value T) ([]byte, error) {
	if isNull(value) {
		return nil, ErrNilValue
	}
	return c.Encode(value)
}

// isNull reports whether a value is null in Java, or holds nothing else.
func isNull(value any) bool {
	if kept, ok := value.(interface{ Unwrap() any }); ok {
		return isNull(kept.Unwrap())
	}
	r := reflect.ValueOf(value)
	return isNil(value) || r.Kind() == reflect.Slice && r.IsNil() && r.Type().Elem().Kind() != reflect.Uint8
}

// in adds the operation to an error; ErrEmpty and ErrClosed stay as they are, because they are answers.
func in(operation, queue string, err error) error {
	if err == nil || err == ErrEmpty || err == ErrClosed { //nolint:errorlint // these very values
		return err
	}
	return fmt.Errorf("dq: %s of %q: %w", operation, queue, err)
}
