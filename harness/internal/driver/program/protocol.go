package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// maxLine bounds one line of a program.
const maxLine = 64 << 20

// LoadOp is the capability of a program that makes load.
const LoadOp = "load"

// ErrUnsupported is what a RemoteError is where the implementation, at its
// release, has no such method, codec or setting.
var ErrUnsupported = errors.New("unsupported")

// RemoteError is an error an external program answered with.
type RemoteError struct {
	// Class is the exception's or error's type in the program's language, or one
	// of "unsupported" and "cancelled" of the protocol.
	Class   string `json:"class"`
	Message string `json:"message"`
}

func (e *RemoteError) Error() string {
	if e.Message == "" {
		return e.Class
	}
	return e.Class + ": " + e.Message
}

// Is makes errors.Is(err, ErrUnsupported) work.
func (e *RemoteError) Is(target error) bool {
	return target == ErrUnsupported && e.Class == "unsupported"
}

// Event is a line that belongs to a request but does not answer it: the samples
// of a load, an element of a subscription.
type Event struct {
	Name string
	// Line is the whole line, with the event's own fields.
	Line json.RawMessage
}

// remoteLine is one line of an external program: a response or an event.
type remoteLine struct {
	id     uint64
	event  *Event
	result json.RawMessage
	err    *RemoteError
}

// encodeRequest makes the request line. The fields of params, a struct or map or
// nil, stand beside id and op.
func encodeRequest(id uint64, op string, params any) ([]byte, error) {
	fields := map[string]json.RawMessage{}
	if params != nil {
		encoded, err := json.Marshal(params)
		if err != nil {
			return nil, fmt.Errorf("arguments of %s: %w", op, err)
		}
		if err := json.Unmarshal(encoded, &fields); err != nil {
			return nil, fmt.Errorf("arguments of %s: expected a JSON object, got %.60s", op, encoded)
		}
	}
	if fields == nil {
		fields = map[string]json.RawMessage{}
	}
	for _, reserved := range []string{"id", "op"} {
		if _, taken := fields[reserved]; taken {
			return nil, fmt.Errorf("arguments of %s: %q is the protocol's own", op, reserved)
		}
	}
	name, err := json.Marshal(op)
	if err != nil {
		return nil, fmt.Errorf("op %q: %w", op, err)
	}
	fields["id"] = json.RawMessage(strconv.FormatUint(id, 10))
	fields["op"] = name
	line, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", op, err)
	}
	return append(line, '\n'), nil
}

// decodeLine reads a line of an external program.
func decodeLine(line []byte) (remoteLine, error) {
	var raw struct {
		ID     json.RawMessage `json:"id"`
		OK     *bool           `json:"ok"`
		Event  *string         `json:"event"`
		Result json.RawMessage `json:"result"`
		Error  *RemoteError    `json:"error"`
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		return remoteLine{}, fmt.Errorf("expected one JSON object a line, got %.120q: %w", line, err)
	}
	id, err := strconv.ParseUint(string(bytes.Trim(raw.ID, `"`)), 10, 64)
	if err != nil {
		return remoteLine{}, fmt.Errorf(`expected the "id" of a request, got %.120q`, line)
	}
	switch {
	case raw.Event != nil && raw.OK == nil:
		return remoteLine{id: id, event: &Event{Name: *raw.Event, Line: bytes.Clone(line)}}, nil
	case raw.Event != nil || raw.OK == nil:
		return remoteLine{}, fmt.Errorf(`expected either "ok" or "event", got %.120q`, line)
	case *raw.OK:
		return remoteLine{id: id, result: raw.Result}, nil
	case raw.Error == nil || raw.Error.Class == "":
		return remoteLine{}, fmt.Errorf(`expected an "error" with a "class", got %.120q`, line)
	}
	return remoteLine{id: id, err: raw.Error}, nil
}
