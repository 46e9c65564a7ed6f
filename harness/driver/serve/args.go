package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
)

// Millis is a time in whole milliseconds, as the protocol and Java have it: any 64 bits.
type Millis int64

// Duration is the time as Go has it: the longest there is, some 292 years, where it is longer.
func (m Millis) Duration() time.Duration {
	const most = math.MaxInt64 / int64(time.Millisecond)
	return time.Duration(max(-most, min(most, int64(m)))) * time.Millisecond
}

// Args are the arguments of an op, as docs/protocol.md names them. What a request leaves out
// has the zero value.
type Args struct {
	// Value and Values are bytes, as the codec of the queue writes them.
	Value  []byte
	Values [][]byte
	// Delay, Timeout and TTL are in milliseconds, whatever unit the request gave.
	Delay, Timeout, TTL Millis
	// At is in Unix milliseconds.
	At                               int64
	Limit, Max, Index, Database      int
	Count, Subscription              int
	Queue, Name, From, To, Condition string
	Queues                           []string
	Replace                          bool
	// Element sends an element to the caller of q.subscribeOnElements and the like.
	Element func(value []byte)

	given map[string]json.RawMessage
}

// Has reports whether the request gave an argument: "timeout" tells one overload of
// q.poll from another.
func (a Args) Has(name string) bool {
	raw, ok := a.given[name]
	return ok && string(raw) != "null"
}

// whole is a whole number, which may also be given as a string: JSON numbers hold 53
// bits in many languages.
type whole int64

// UnmarshalJSON reads 7 and "7".
func (w *whole) UnmarshalJSON(data []byte) error {
	n, err := strconv.ParseInt(string(bytes.Trim(data, `"`)), 10, 64)
	if err != nil {
		return fmt.Errorf("expected a whole number, got %.40s", data)
	}
	*w = whole(n)
	return nil
}

// arguments are those of an op, and those that Port itself answers to.
type arguments struct {
	Args
	Handle, Client, Redis, Codec, ValueType string
	Bytes                                   []byte
	Delayed                                 *bool
	Options                                 struct{ NameMapperPrefix string }
}

// readArguments reads a request, its values apart: those need a codec.
func readArguments(line []byte) (a arguments, err error) {
	if a.given, err = rawFields(line); err != nil {
		return a, err
	}
	number := func(to *int) func(whole) { return func(n whole) { *to = int(n) } }
	millis := func(to *Millis) func(whole) { return func(n whole) { *to = Millis(n) } }
	numbers := map[string]func(whole){
		"delay": millis(&a.Delay), "timeout": millis(&a.Timeout), "ttl": millis(&a.TTL),
		"limit": number(&a.Limit), "max": number(&a.Max), "index": number(&a.Index), "count": number(&a.Count),
		"database": number(&a.Database), "subscription": number(&a.Subscription),
		"at": func(n whole) { a.At = int64(n) },
	}
	others := map[string]any{
		"handle": &a.Handle, "client": &a.Client, "redis": &a.Redis, "codec": &a.Codec, "valueType": &a.ValueType, "bytes": &a.Bytes,
		"delayed": &a.Delayed, "options": &a.Options, "queue": &a.Queue, "name": &a.Name, "from": &a.From, "to": &a.To,
		"condition": &a.Condition, "queues": &a.Queues, "replace": &a.Replace,
	}
	unit := "ms"
	if a.Has("unit") {
		if err = json.Unmarshal(a.given["unit"], &unit); err != nil {
			return a, fmt.Errorf("argument \"unit\": %w", err)
		}
	}
	for name, raw := range a.given {
		if !a.Has(name) {
			continue
		}
		if set, ok := numbers[name]; ok {
			err = readNumber(raw, unit, name, set)
		} else if to, ok := others[name]; ok {
			err = json.Unmarshal(raw, to)
		}
		if err != nil {
			return a, fmt.Errorf("argument %q: %w", name, err)
		}
	}
	return a, nil
}

// readNumber reads a whole number; of a time, in milliseconds.
func readNumber(raw json.RawMessage, unit, name string, set func(whole)) error {
	var n whole
	if err := json.Unmarshal(raw, &n); err != nil {
		return err
	}
	if name == "delay" || name == "timeout" || name == "ttl" {
		ms, err := program.Millis(int64(n), unit)
		if err != nil {
			return err
		}
		n = whole(ms)
	}
	set(n)
	return nil
}

func (a *arguments) codec(release wire.Release) (codec.Codec[any], error) {
	name, of := a.Codec, a.ValueType
	if name == "" {
		name = "default"
	}
	if of == "" {
		of = "pojo"
	}
	return program.NamedCodec(name, of, release)
}

// encode writes the values of the request by a codec.
func (a *arguments) encode(values codec.Codec[any]) (err error) {
	if a.Has("value") {
		if a.Value, err = encodeTyped(values, a.given["value"]); err != nil {
			return err
		}
	}
	if !a.Has("values") {
		return nil
	}
	var all []json.RawMessage
	if err := json.Unmarshal(a.given["values"], &all); err != nil {
		return fmt.Errorf("argument \"values\": %w", err)
	}
	a.Values = make([][]byte, len(all))
	for i, raw := range all {
		if a.Values[i], err = encodeTyped(values, raw); err != nil {
			return err
		}
	}
	return nil
}

func encodeTyped(values codec.Codec[any], raw json.RawMessage) ([]byte, error) {
	v, err := program.Value(raw)
	if err != nil {
		return nil, err
	}
	return values.Encode(v)
}
