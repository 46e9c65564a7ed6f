package program

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// arguments are the fields of a request.
type arguments map[string]json.RawMessage

func newArguments(op string, params any) (arguments, error) {
	line, err := encodeRequest(1, op, params)
	if err != nil {
		return nil, err
	}
	var args arguments
	if err := json.Unmarshal(line, &args); err != nil {
		return nil, fmt.Errorf("arguments of %s: %w", op, err)
	}
	return args, nil
}

func (a arguments) has(name string) bool {
	raw, ok := a[name]
	return ok && string(raw) != "null"
}

// text returns a string, or a number as it was written.
func (a arguments) text(name string) (string, error) {
	if !a.has(name) {
		return "", fmt.Errorf("argument %q is missing", name)
	}
	var s string
	if err := json.Unmarshal(a[name], &s); err != nil {
		return string(a[name]), nil //nolint:nilerr // a number
	}
	return s, nil
}

func (a arguments) textOr(name, otherwise string) string {
	if s, err := a.text(name); err == nil {
		return s
	}
	return otherwise
}

// number returns a whole number, given as a JSON number or a string.
func (a arguments) number(name string) (int64, error) {
	s, err := a.text(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("argument %q: expected a whole number, got %q", name, s)
	}
	return n, nil
}

func (a arguments) flagOr(name string, otherwise bool) (bool, error) {
	if !a.has(name) {
		return otherwise, nil
	}
	var b bool
	if err := json.Unmarshal(a[name], &b); err != nil {
		return false, fmt.Errorf("argument %q: expected true or false, got %s", name, a[name])
	}
	return b, nil
}

func (a arguments) texts(name string) ([]string, error) {
	var s []string
	if err := json.Unmarshal(a[name], &s); err != nil {
		return nil, fmt.Errorf("argument %q: expected a list of strings, got %s", name, a[name])
	}
	return s, nil
}

// units are those of the protocol, in nanoseconds.
var units = map[string]time.Duration{
	"ns": 1, "us": time.Microsecond, "ms": time.Millisecond, "s": time.Second,
	"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
}

// Millis is so many of a unit of docs/protocol.md in whole milliseconds, cut off as Java's
// TimeUnit does.
func Millis(n int64, unit string) (int64, error) {
	of, ok := units[unit]
	switch {
	case !ok:
		return 0, fmt.Errorf("unit %q: expected ns, us, ms, s, m, h or d", unit)
	case of < time.Millisecond:
		return n / int64(time.Millisecond/of), nil
	}
	return n * int64(of/time.Millisecond), nil
}

// millis returns a time in whole ms, as java.util.concurrent.TimeUnit converts it.
func (a arguments) millis(name string) (int64, error) {
	n, err := a.number(name)
	if err != nil {
		return 0, err
	}
	return Millis(n, a.textOr("unit", "ms"))
}

func (a arguments) duration(name string) (time.Duration, error) {
	ms, err := a.millis(name)
	return time.Duration(ms) * time.Millisecond, err
}

func (a arguments) value(name string) (any, error) {
	if !a.has(name) {
		return nil, fmt.Errorf("argument %q is missing", name)
	}
	return Value(a[name])
}

func (a arguments) values() ([]any, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(a["values"], &raw); err != nil {
		return nil, fmt.Errorf("argument \"values\": expected a list, got %s", a["values"])
	}
	values := make([]any, len(raw))
	for i, r := range raw {
		v, err := Value(r)
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return values, nil
}

// openOptions are those of docs/protocol.md that mean something here, and faithful,
// dq's own. The others tune connection pools.
type openOptions struct {
	NameMapperPrefix string `json:"nameMapperPrefix"`
	Faithful         bool   `json:"faithful"`
}

func (a arguments) options() (o openOptions, err error) {
	if a.has("options") {
		if err := json.Unmarshal(a["options"], &o); err != nil {
			return o, fmt.Errorf("argument \"options\": %w", err)
		}
	}
	return o, nil
}

// typedValue is a value of docs/protocol.md: its Java type and its content.
type typedValue struct {
	T string          `json:"t"`
	V json.RawMessage `json:"v,omitempty"`

	// Of a pojo only.
	ID    int     `json:"id,omitempty"`
	Name  *string `json:"name,omitempty"`
	Total *string `json:"total,omitempty"`
}

// Value reads a typed value of docs/protocol.md into the Go type that the codecs of NamedCodec know it by.
func Value(raw json.RawMessage) (any, error) {
	var typed typedValue
	if err := json.Unmarshal(raw, &typed); err != nil {
		return nil, fmt.Errorf("expected a typed value, got %s: %w", raw, err)
	}
	text := strings.Trim(string(typed.V), `"`)
	switch typed.T {
	case "string":
		var s string
		err := json.Unmarshal(typed.V, &s)
		return s, err
	case "int":
		n, err := strconv.ParseInt(text, 10, 32)
		return int32(n), err
	case "long":
		return strconv.ParseInt(text, 10, 64)
	case "double":
		return strconv.ParseFloat(text, 64)
	case "bool":
		return strconv.ParseBool(text)
	case "bytes":
		return base64.StdEncoding.DecodeString(text)
	case "pojo":
		return orderOf(typed)
	}
	return nil, fmt.Errorf("value type %q: expected string, int, long, double, bool, bytes or pojo", typed.T)
}

// Typed is the reverse of Value: what to encode as JSON. It fails for a type that has no form in the protocol.
func Typed(value any) (any, error) {
	type typed struct {
		T string `json:"t"`
		V any    `json:"v"`
	}
	switch v := value.(type) {
	case nil:
		return nil, nil
	case string:
		return typed{"string", v}, nil
	case int32:
		return typed{"int", v}, nil
	case int64:
		return typed{"long", strconv.FormatInt(v, 10)}, nil
	case float64:
		return typed{"double", v}, nil
	case bool:
		return typed{"bool", v}, nil
	case []byte:
		return typed{"bytes", base64.StdEncoding.EncodeToString(v)}, nil
	}
	if order, ok := typedOrder(value); ok {
		return order, nil
	}
	return nil, fmt.Errorf("a value of type %T has no form in the protocol", value)
}
