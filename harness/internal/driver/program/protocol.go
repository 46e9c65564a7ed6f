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

	"github.com/dq-bench/dq-bench/harness/driver"
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
	driver.Identity
	Protocol     int      `json:"protocol"`
	Capabilities []string `json:"capabilities"`
	Codecs       []string `json:"codecs"`
}

// Can reports whether an implementation has an op, or an overload "op(argument)".
func (h Hello) Can(capability string) bool { return slices.Contains(h.Capabilities, capability) }

// HasCodec reports whether an implementation knows a codec by name.
func (h Hello) HasCodec(name string) bool { return slices.Contains(h.Codecs, name) }

// RemoteError is the error of a program's answer. It is errors.ErrUnsupported if the implementation, at its release, has no such method,
// codec or setting.
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

// Is makes errors.Is(err, errors.ErrUnsupported) work.
func (e *RemoteError) Is(target error) bool {
	return target == errors.ErrUnsupported && e.Class == "unsupported"
}

// NeedsJava reports whether a class of a newer Java is missing, or one was compiled for a newer Java.
func (e *RemoteError) NeedsJava() bool {
	return e.Class == "java.lang.UnsupportedClassVersionError" || e.Class == "java.lang.NoClassDefFoundError" && strings.HasPrefix(e.Message, "java")
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

// encodeRequest makes a line of the arguments, a struct, a map or nil, and of id and op.
func encodeRequest(id uint64, op string, arguments any) ([]byte, error) {
	head, _ := json.Marshal(struct { // which can be encoded
		ID uint64 `json:"id"`
		Op string `json:"op"`
	}{id, op})
	line, err := json.Marshal(arguments)
	fields, ok := bytes.CutSuffix(line, []byte("}"))
	switch {
	case err != nil:
		return nil, fmt.Errorf("arguments of %s: %w", op, err)
	case string(line) == "null" || string(line) == "{}":
		return append(head, '\n'), nil
	case !ok:
		return nil, fmt.Errorf("arguments of %s: expected a JSON object, got %.60s", op, line)
	}
	return slices.Concat(fields, []byte(","), head[1:], []byte("\n")), nil
}

// answer is one line of a program: a response, or an event, which belongs to a request but does not answer it, such as the samples of
// a load or an element of a subscription.
type answer struct {
	ID     json.RawMessage
	OK     *bool
	Event  *string
	Result json.RawMessage
	Error  *RemoteError

	id uint64
}

func decodeLine(line []byte) (a answer, err error) {
	if err := json.Unmarshal(line, &a); err != nil {
		return a, fmt.Errorf("expected one JSON object a line, got %.120q: %w", line, err)
	}
	a.id, err = strconv.ParseUint(string(bytes.Trim(a.ID, `"`)), 10, 64)
	switch {
	case err != nil:
		return a, fmt.Errorf(`expected the "id" of a request, got %.120q`, line)
	case (a.Event == nil) == (a.OK == nil):
		return a, fmt.Errorf(`expected either "ok" or "event", got %.120q`, line)
	case a.OK != nil && !*a.OK && (a.Error == nil || a.Error.Class == ""):
		return a, fmt.Errorf(`expected an "error" with a "class", got %.120q`, line)
	}
	return a, nil
}

// value returns the result of an op, or the error of the answer.
func (a answer) value(op string) (json.RawMessage, error) {
	if !*a.OK {
		return nil, fmt.Errorf("%s: %w", op, a.Error)
	}
	return a.Result, nil
}
