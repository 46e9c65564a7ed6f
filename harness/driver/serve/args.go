package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
)

// Integer is a whole number of the protocol, of any 64 bits. A string may hold it too, for many languages have 53 bits
// for a number of JSON.
type Integer int64

// UnmarshalJSON reads 7 and "7".
func (n *Integer) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	read, err := strconv.ParseInt(string(bytes.Trim(data, `"`)), 10, 64)
	if err != nil {
		return fmt.Errorf("expected a whole number, got %.40s", data)
	}
	*n = Integer(read)
	return nil
}

// Args are the arguments of an op, as docs/protocol.md names them. A missing argument has the zero value.
type Args struct {
	// Redis is the URL of a server, for Connect.
	Redis string
	// Options are options of open. A port ignores unknown options.
	Options map[string]any
	// Delayed makes Open transfer due messages; true if a request leaves it out.
	Delayed bool

	// Value and Values are bytes, as the codec of the queue writes them.
	Value  []byte   `json:"-"`
	Values [][]byte `json:"-"`
	// Delay, Timeout and TTL are in milliseconds, whatever unit the request gave; At is in Unix milliseconds.
	Delay, Timeout, TTL                                  Integer
	At, Limit, Max, Index, Database, Count, Subscription Integer
	Queue, Name, From, To, Condition                     string
	Queues                                               []string
	Replace                                              bool
	// Element sends an element to the caller of q.subscribeOnElements and the like.
	Element func(value []byte) `json:"-"`

	given map[string]json.RawMessage
}

// Has reports whether the request gave an argument: "timeout" distinguishes overloads of q.poll.
func (a Args) Has(name string) bool {
	raw, ok := a.given[name]
	return ok && string(raw) != "null"
}

// arguments are the arguments of an op, and the arguments that Port itself reads.
type arguments struct {
	Args
	Handle, Client, Codec, ValueType, Unit string
	Bytes                                  []byte
}

// readArguments reads a request but for its values, which need a codec.
func readArguments(line []byte) (a arguments, err error) {
	a.Codec, a.ValueType, a.Unit, a.Delayed = "default", "pojo", "ms", true
	if err := errors.Join(json.Unmarshal(line, &a.given), json.Unmarshal(line, &a)); err != nil {
		return a, err
	}
	for _, n := range []*Integer{&a.Delay, &a.Timeout, &a.TTL} {
		ms, err := program.Millis(int64(*n), a.Unit)
		if err != nil {
			return a, err
		}
		*n = Integer(ms)
	}
	return a, nil
}

// encode writes the values of the request by a codec.
func (a *arguments) encode(values codec.Codec[any]) (err error) {
	one := func(raw json.RawMessage) ([]byte, error) {
		v, err := program.Value(raw)
		if err != nil {
			return nil, err
		}
		return values.Encode(v)
	}
	if a.Has("value") {
		if a.Value, err = one(a.given["value"]); err != nil {
			return err
		}
	}
	var all []json.RawMessage
	if a.Has("values") {
		if err := json.Unmarshal(a.given["values"], &all); err != nil {
			return fmt.Errorf("argument \"values\": %w", err)
		}
		a.Values = make([][]byte, len(all))
	}
	for i, raw := range all {
		if a.Values[i], err = one(raw); err != nil {
			return err
		}
	}
	return nil
}
