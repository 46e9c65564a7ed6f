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

// request is one line of the caller.
type request struct {
	ID, Target                             json.Number // numbers, or strings that hold one
	Op                                     string
	Handle, Client, Codec, ValueType, Unit string
	Bytes                                  []byte
	Items                                  []byte // of load.offer
	Consumers                              []int  // of load.take
	Abandon                                bool   // of load.halt
	Args

	line  []byte
	wrong error // an argument that could not be read
}

// readRequest reads a line but for its values, which need a codec. It fails for a line that cannot be answered.
func readRequest(line []byte) (r request, err error) {
	r.line, r.Codec, r.ValueType, r.Unit, r.Delayed = bytes.Clone(line), "default", "pojo", "ms", true
	r.wrong = errors.Join(json.Unmarshal(line, &r), json.Unmarshal(line, &r.given))
	if r.ID == "" {
		return r, errors.Join(fmt.Errorf("expected a request as one JSON object a line, with a number as its id, got %.120q", line), r.wrong)
	}
	for _, n := range []*Integer{&r.Delay, &r.Timeout, &r.TTL} {
		ms, err := program.Millis(int64(*n), r.Unit)
		*n, r.wrong = Integer(ms), errors.Join(r.wrong, err)
	}
	return r, nil
}

// encode writes the values of the request by a codec.
func (r *request) encode(values codec.Codec[any]) (err error) {
	one := func(raw json.RawMessage) []byte {
		v, failure := program.Value(raw)
		if failure != nil {
			err = errors.Join(err, failure)
			return nil
		}
		encoded, failure := values.Encode(v)
		err = errors.Join(err, failure)
		return encoded
	}
	if r.Has("value") {
		r.Value = one(r.given["value"])
	}
	if r.Has("values") {
		var all []json.RawMessage
		if err := json.Unmarshal(r.given["values"], &all); err != nil {
			return fmt.Errorf("argument \"values\": %w", err)
		}
		r.Values = make([][]byte, len(all))
		for i, raw := range all {
			r.Values[i] = one(raw)
		}
	}
	return err
}
