package program

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/java"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
)

// Protocol is the version of docs/protocol.md.
const Protocol = 3

// maxLine bounds a line in either direction.
const maxLine = 64 << 20

var errTooLong = fmt.Errorf("expected lines of at most %d MiB", maxLine>>20)

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

// RemoteError is the error of a program's answer. It is errors.ErrUnsupported if the release has no such method, codec or setting.
type RemoteError struct {
	// Class is the type of the exception or error in the program's language, or one of "unsupported" and "cancelled".
	Class   string `json:"class"`
	Message string `json:"message"`
}

func (e *RemoteError) Error() string { return strings.TrimSuffix(e.Class+": "+e.Message, ": ") }

// Is makes errors.Is(err, errors.ErrUnsupported) work.
func (e *RemoteError) Is(target error) bool {
	return target == errors.ErrUnsupported && e.Class == "unsupported"
}

// NeedsJava reports whether a class of a newer Java is missing, or one was compiled for a newer Java.
func (e *RemoteError) NeedsJava() bool {
	return e.Class == "java.lang.UnsupportedClassVersionError" || e.Class == "java.lang.NoClassDefFoundError" && strings.HasPrefix(e.Message, "java")
}

// ReadLines calls each with every line that is not empty. It ends with the input, with each's error, or at a line of more than 64 MiB.
func ReadLines(in io.Reader, each func(line []byte) error) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	for line := []byte(nil); ; {
		part, err := lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return errTooLong
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case len(bytes.TrimRight(line, "\r\n")) > 0:
			err = cmp.Or(each(bytes.TrimRight(line, "\r\n")), err)
		}
		if err != nil {
			return map[bool]error{false: err}[err == io.EOF] //nolint:errorlint // as Read returns it
		}
		line = line[:0]
	}
}

// encodeRequest makes a line of the arguments, a struct, a map or nil, and of id and op.
func encodeRequest(id uint64, op string, arguments any) ([]byte, error) {
	name, _ := json.Marshal(op) // a string can be encoded
	head := fmt.Appendf(nil, `{"id":%d,"op":%s}`+"\n", id, name)
	line, err := json.Marshal(arguments)
	fields, ok := bytes.CutSuffix(line, []byte("}"))
	switch {
	case err != nil:
		return nil, fmt.Errorf("arguments of %s: %w", op, err)
	case string(line) == "null" || string(line) == "{}":
		return head, nil
	case !ok:
		return nil, fmt.Errorf("arguments of %s: expected a JSON object, got %.60s", op, line)
	}
	return slices.Concat(fields, []byte(","), head[1:]), nil
}

// answer is one line of a program: a response, or an event of a request, such as samples of a load or an element of a subscription.
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

var units = map[string]time.Duration{
	"ns": 1, "us": time.Microsecond, "ms": time.Millisecond, "s": time.Second,
	"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
}

// Millis converts n of a unit of docs/protocol.md to whole milliseconds, rounded down: a negative n stays negative.
func Millis(n int64, unit string) (int64, error) {
	of, ok := units[unit]
	switch {
	case !ok:
		return 0, fmt.Errorf("unit %q: expected ns, us, ms, s, m, h or d", unit)
	case of < time.Millisecond:
		return (n - n>>63&int64(time.Millisecond/of-1)) / int64(time.Millisecond/of), nil
	}
	return n * int64(of/time.Millisecond), nil
}

// order is the class demo.Order of the Redisson driver program.
type order struct {
	_     struct{} `java:"demo.Order,serialVersionUID=1"`
	ID    int32    `json:"id"`
	Name  *string  `json:"name"`
	Total *int64   `json:"total"`
}

// pojo is an order as a typed value.
type pojo struct {
	T     string  `json:"t"`
	ID    int32   `json:"id"`
	Name  *string `json:"name"`
	Total *int64  `json:"total,string"`
}

// kinds are the typed values that are a name "t" and a value "v" of a Go type.
var kinds = map[string]reflect.Type{
	"string": reflect.TypeFor[string](), "int": reflect.TypeFor[int32](), "long": reflect.TypeFor[int64](),
	"double": reflect.TypeFor[float64](), "bool": reflect.TypeFor[bool](), "bytes": reflect.TypeFor[[]byte](),
}

// Value reads a typed value of docs/protocol.md into the Go type that the codecs of NamedCodec know it by.
func Value(raw json.RawMessage) (any, error) {
	var typed struct {
		T string
		V json.RawMessage
	}
	if err := json.Unmarshal(raw, &typed); err != nil {
		return nil, fmt.Errorf("expected a typed value, got %s: %w", raw, err)
	}
	kind, known := kinds[typed.T]
	switch {
	case typed.T == "pojo":
		var p pojo
		err := json.Unmarshal(raw, &p)
		return order{ID: p.ID, Name: p.Name, Total: p.Total}, err
	case !known:
		return nil, fmt.Errorf("value type %q: expected string, int, long, double, bool, bytes or pojo", typed.T)
	case kind.Kind() != reflect.String && kind.Kind() != reflect.Slice: // a number may be a string
		typed.V = bytes.Trim(typed.V, `"`)
	}
	value := reflect.New(kind)
	err := json.Unmarshal(typed.V, value.Interface())
	return value.Elem().Interface(), err
}

// Typed is the reverse of Value: what to encode as JSON. It fails for a type that has no form in the protocol.
func Typed(value any) (any, error) {
	of := reflect.TypeOf(value)
	switch v := value.(type) {
	case nil:
		return nil, nil
	case order:
		return pojo{"pojo", v.ID, v.Name, v.Total}, nil
	case int64: // has more than 53 bits
		value = strconv.FormatInt(v, 10)
	}
	for name, kind := range kinds {
		if kind == of {
			return map[string]any{"t": name, "v": value}, nil
		}
	}
	return nil, fmt.Errorf("a value of type %s has no form in the protocol", of)
}

// CodecNames returns the names of docs/protocol.md that work at a release.
func CodecNames(release wire.Release) []string {
	all := []string{"string", "bytes", "long", "json", "typed-json", "kryo5", "marshalling", "serialization"}
	if java.Default(release) != "fst" {
		all = append(all, "default")
	}
	return all
}

// NamedCodec returns a codec by its name of docs/protocol.md; valueType is one of its types of values, for the codec that
// needs one. It fails with errors.ErrUnsupported for an unknown name.
func NamedCodec(name, valueType string, release wire.Release) (codec.Codec[any], error) {
	if name == "default" {
		name = java.Default(release)
	}
	pojo := java.Class{Of: order{}}
	switch name {
	case "string":
		return erased[string]{codec.String{}, asText}, nil
	case "long":
		return erased[int64]{codec.Long{}, asText}, nil
	case "bytes":
		return erased[[]byte]{codec.Bytes{}, asBytes}, nil
	case "json":
		return java.NewJackson[any](java.JSONForm{BareUUIDs: !release.AtLeast(wire.Release{Major: 4, Minor: 2})}, pojo)
	case "typed-json":
		if valueType != "pojo" {
			return codec.JSON[any]{}, nil // the value that its text shows
		}
		orders, err := java.NewJackson[order](java.JSONForm{Plain: true})
		return erased[order]{orders, codec.JSON[any]{}.Encode}, err
	case "kryo5":
		return java.NewKryo5[any](pojo)
	case "marshalling":
		return java.NewMarshalling[any](pojo)
	case "serialization":
		return java.NewSerialization[any](pojo)
	}
	return nil, fmt.Errorf("codec %q: expected default or one of %s: %w", name, strings.Join(CodecNames(release), ", "), errors.ErrUnsupported)
}

// erased is a codec of one type that encodes any value of others.
type erased[T any] struct {
	codec.Codec[T]
	encode func(any) ([]byte, error)
}

func (e erased[T]) Encode(value any) ([]byte, error) { return e.encode(value) }
func (e erased[T]) Decode(data []byte) (any, error)  { return e.Codec.Decode(data) }

// asText writes scalars as Java's toString does.
func asText(value any) ([]byte, error) {
	switch value := value.(type) {
	case string:
		return []byte(value), nil
	case int32, int64, bool, float64:
		data, err := codec.JSON[any]{}.Encode(value)
		return bytes.Trim(data, `"`), err // NaN is quoted
	}
	return nil, fmt.Errorf("a value of %T: expected a scalar, whose text is the same in Java", value)
}

func asBytes(value any) ([]byte, error) {
	if data, ok := value.([]byte); ok {
		return data, nil
	}
	return nil, fmt.Errorf("a value of %T: expected bytes, as ByteArrayCodec does", value)
}
