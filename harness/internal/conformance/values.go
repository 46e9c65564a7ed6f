package conformance

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
)

// callParams writes a step's arguments as the protocol wants them: typed values, and durations in milliseconds.
func callParams(with map[string]any) (map[string]any, error) {
	params := map[string]any{}
	for name, v := range with {
		switch name {
		case "value":
			v = typed(v)
		case "values":
			list, ok := v.([]any)
			if !ok {
				return nil, fmt.Errorf("values: expected a list, got %T", v)
			}
			values := make([]any, len(list))
			for i := range list {
				values[i] = typed(list[i])
			}
			v = values
		case "delay", "timeout", "ttl":
			if d, err := time.ParseDuration(fmt.Sprint(v)); err == nil && reflect.TypeOf(v).Kind() == reflect.String {
				v = d.Milliseconds()
			}
		}
		params[name] = v
	}
	return params, nil
}

// typed gives a plain YAML value its type; one with a "t" has it.
func typed(v any) any {
	if n, ok := v.(int); ok {
		v = int32(n)
	}
	if form, err := program.Typed(v); err == nil {
		return form
	}
	return v
}

// judgeResult compares what a call answered with what it must. A typed value equals a plain one of the same content,
// unless the case names the type too.
func judgeResult(want *yaml.Node, result json.RawMessage) error {
	var expected, got any
	err1 := want.Decode(&expected)
	text, err2 := json.Marshal(expected)
	err3 := json.Unmarshal(text, &expected) // the types of the answer
	err4 := json.Unmarshal([]byte(cmp.Or(string(result), "null")), &got)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return &faultError{err}
	}
	if !equalResults(expected, got) {
		return fmt.Errorf("expected the result %s, got %s", text, result)
	}
	return nil
}

func equalResults(want, got any) bool {
	if list, ok := want.([]any); ok {
		others, ok := got.([]any)
		return ok && slices.EqualFunc(list, others, equalResults)
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
	switch {
	case errors.As(a.err, new(*faultError)), errors.As(a.err, new(*ProgramError)):
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
