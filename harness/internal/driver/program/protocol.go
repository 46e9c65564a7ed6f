package program

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Protocol is the version of docs/protocol.md.
const Protocol = 3

// maxLine bounds a line in either direction.
const maxLine = 64 << 20

const (
	// LoadOp is the capability of a program that makes load.
	LoadOp = "load"
	// BothLayouts is the capability of a program that reads members of both layouts.
	BothLayouts = "bothLayouts"
)

// Hello is how a program introduces itself.
type Hello struct {
	Name         string   `json:"name"`
	Version      string   `json:"version"`
	Protocol     int      `json:"protocol"`
	Capabilities []string `json:"capabilities"`
	Codecs       []string `json:"codecs"`
}

// Can reports whether an implementation has an op, or an overload "op(argument)".
func (h Hello) Can(capability string) bool { return slices.Contains(h.Capabilities, capability) }

// HasCodec reports whether an implementation knows a codec by name.
func (h Hello) HasCodec(name string) bool { return slices.Contains(h.Codecs, name) }

// ErrUnsupported matches a RemoteError whose implementation, at its release, has no such method, codec or setting.
var ErrUnsupported = errors.New("unsupported")

// RemoteError is the error of a program's answer.
type RemoteError struct {
	// Class is the type of the exception or error in the program's language, or one of "unsupported" and "cancelled".
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

// NeedsJava reports whether a class of a newer Java is missing, or one was compiled for a newer Java.
func (e *RemoteError) NeedsJava() bool {
	return e.Class == "java.lang.UnsupportedClassVersionError" || e.Class == "java.lang.NoClassDefFoundError" && strings.HasPrefix(e.Message, "java")
}

// Event is a line that belongs to a request but does not answer it: the samples of a load, an element of a subscription.
type Event struct {
	Name string
	// Line is the whole line, with the event's own fields.
	Line json.RawMessage
}

// ReadLines calls each with every line that is not empty. It ends with the input, with each's error, or at a line of more than
// 64 MiB.
func ReadLines(in io.Reader, each func(line []byte) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for lines.Scan() {
		if line := lines.Bytes(); len(line) > 0 {
			if err := each(line); err != nil {
				return err
			}
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("expected lines of at most %d MiB: %w", maxLine>>20, bufio.ErrTooLong)
	}
	return lines.Err()
}

// encodeArguments makes the request line up to the last two fields, id and op. The fields of params, a struct, a map or nil, come
// before.
func encodeArguments(op string, params any) ([]byte, error) {
	line, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("arguments of %s: %w", op, err)
	}
	switch fields, ok := bytes.CutSuffix(line, []byte("}")); {
	case string(line) == "null" || string(line) == "{}":
		return []byte("{"), nil
	case ok:
		return append(fields, ','), nil
	}
	return nil, fmt.Errorf("arguments of %s: expected a JSON object, got %.60s", op, line)
}

// answer is one line of a program: a response or an event.
type answer struct {
	id     uint64
	event  *Event
	result json.RawMessage
	err    *RemoteError
}

// decodeLine reads a line of a program.
func decodeLine(line []byte) (answer, error) {
	var raw struct {
		ID     json.RawMessage
		OK     *bool
		Event  *string
		Result json.RawMessage
		Error  *RemoteError
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		return answer{}, fmt.Errorf("expected one JSON object a line, got %.120q: %w", line, err)
	}
	id, err := strconv.ParseUint(string(bytes.Trim(raw.ID, `"`)), 10, 64)
	switch {
	case err != nil:
		return answer{}, fmt.Errorf(`expected the "id" of a request, got %.120q`, line)
	case (raw.Event == nil) == (raw.OK == nil):
		return answer{}, fmt.Errorf(`expected either "ok" or "event", got %.120q`, line)
	case raw.Event != nil:
		return answer{id: id, event: &Event{Name: *raw.Event, Line: bytes.Clone(line)}}, nil
	case *raw.OK:
		return answer{id: id, result: raw.Result}, nil
	case raw.Error == nil || raw.Error.Class == "":
		return answer{}, fmt.Errorf(`expected an "error" with a "class", got %.120q`, line)
	}
	return answer{id: id, err: raw.Error}, nil
}

// value returns the result of an op, or the error of the answer.
func (a answer) value(op string) (json.RawMessage, error) {
	if a.err != nil {
		return nil, fmt.Errorf("%s: %w", op, a.err)
	}
	return a.result, nil
}
