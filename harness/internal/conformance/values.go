package conformance

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
)

// callParams writes a step's arguments as the protocol wants them: plain values become typed ones, durations
// milliseconds.
func callParams(with map[string]any) (map[string]any, error) {
	params := maps.Clone(with)
	if params == nil {
		params = map[string]any{}
	}
	for name, v := range params {
		switch name {
		case "value":
			params[name] = typed(v)
		case "values":
			list, ok := v.([]any)
			if !ok {
				return nil, fmt.Errorf("values: expected a list, got %T", v)
			}
			values := make([]any, len(list))
			for i := range list {
				values[i] = typed(list[i])
			}
			params[name] = values
		case "delay", "timeout", "ttl":
			text, ok := v.(string)
			if !ok {
				continue
			}
			if d, err := time.ParseDuration(text); err == nil {
				params[name] = d.Milliseconds()
			}
		}
	}
	return params, nil
}

// typed gives a plain YAML value its type; one with a "t" has it.
func typed(v any) any {
	switch v := v.(type) {
	case string:
		return map[string]any{"t": "string", "v": v}
	case int:
		return map[string]any{"t": "int", "v": v}
	case float64:
		return map[string]any{"t": "double", "v": v}
	case bool:
		return map[string]any{"t": "bool", "v": v}
	}
	return v
}

// judgeResult compares what a call answered with what it must. A typed value equals a plain one of the same content,
// unless the case names the type too.
func judgeResult(want *yaml.Node, result json.RawMessage) error {
	var expected, got any
	if err := want.Decode(&expected); err != nil {
		return &faultError{err}
	}
	if len(result) > 0 {
		if err := json.Unmarshal(result, &got); err != nil {
			return &faultError{fmt.Errorf("the result is no JSON: %w", err)}
		}
	}
	expected = plainJSON(expected)
	if equalResults(expected, got) {
		return nil
	}
	text, err := json.Marshal(expected)
	if err != nil {
		return &faultError{err}
	}
	return fmt.Errorf("expected the result %s, got %s", text, result)
}

// plainJSON gives a YAML value the Go types that encoding/json decodes into.
func plainJSON(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		return v
	}
	var plain any
	if json.Unmarshal(text, &plain) != nil {
		return v
	}
	return plain
}

func equalResults(want, got any) bool {
	if list, ok := want.([]any); ok {
		others, ok := got.([]any)
		if !ok || len(list) != len(others) {
			return false
		}
		for i := range list {
			if !equalResults(list[i], others[i]) {
				return false
			}
		}
		return true
	}
	if object, ok := got.(map[string]any); ok {
		if _, typed := want.(map[string]any); !typed {
			return reflect.DeepEqual(want, object["v"])
		}
	}
	return reflect.DeepEqual(want, got)
}

// shown writes bytes as a case does: text as it is, other bytes as hex.
func shown(b string) string {
	if utf8.ValidString(b) && strings.IndexFunc(b, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return b
	}
	return "hex:" + hex.EncodeToString([]byte(b))
}

// judge compares an answer with what the step says of it.
func (s *Step) judge(a answer) error {
	var remote *program.RemoteError
	var fault *faultError
	switch {
	case errors.As(a.err, &fault), errors.As(a.err, new(*ProgramError)):
		return a.err
	case s.Anything != "":
		return nil
	case s.Error != "" && a.err == nil:
		return fmt.Errorf("expected an error that matches %q, got the result %s", s.Error, a.result)
	case s.Error != "":
		if errors.As(a.err, &remote) && regexp.MustCompile(s.Error).MatchString(remote.Error()) {
			return nil
		}
		return fmt.Errorf("expected an error that matches %q, got %w", s.Error, a.err)
	case a.err != nil:
		return fmt.Errorf("expected no error, got %w", a.err)
	case s.Returns.IsZero():
		return nil
	}
	return judgeResult(&s.Returns, a.result)
}
