package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"time"
)

// Filter chooses messages; a nil one chooses all.
type Filter func(ctx context.Context, e *Editor, i *Item) (bool, error)

// Where reads --where: due=never, due<5m and due>1h from now, or a condition of Match.
func Where(text string) (Filter, error) {
	if text == "due=never" {
		return func(_ context.Context, _ *Editor, i *Item) (bool, error) {
			return isPacked(i.Of) && isNever(i.DueMS), nil
		}, nil
	}
	d, err := time.ParseDuration(text[min(4, len(text)):])
	if before := strings.HasPrefix(text, "due<"); err == nil && (before || strings.HasPrefix(text, "due>")) {
		at := float64(time.Now().Add(d).UnixMilli())
		return func(_ context.Context, _ *Editor, i *Item) (bool, error) { return (i.DueMS < at) == before, nil }, nil
	}
	match, err := Match(text)
	return func(ctx context.Context, e *Editor, i *Item) (bool, error) {
		if !field.MatchString(text) {
			return match(i.value, i.Value), nil
		}
		shown, err := e.show(ctx, i)
		return err == nil && match(i.value, shown), err
	}, err
}

var (
	field   = regexp.MustCompile(`(?s)^\s*\.([^=<>!\s][^=<>!]*?)\s*(==|!=)\s*([^=\s].*?)\s*$`)
	half    = regexp.MustCompile(`^\s*(\.[^=<>!]*|due\s*)[=<>!]`) // of a condition: not meant as a part of a value
	several = regexp.MustCompile(`^'|&&|\|\||==`)                 // conditions, or the quotes of another language
)

// Match reads a condition for a value and the JSON that shows it: .field == value, .field != value, or a part of either. Numbers are
// compared exactly. An unfinished condition is an error.
func Match(text string) (func(value []byte, shown string) bool, error) {
	m := field.FindStringSubmatch(text)
	switch {
	case m == nil && half.MatchString(text), m != nil && strings.ContainsAny(m[1], "[]"):
		return nil, fmt.Errorf("--where %s: expected .field == value, .a.b != value without [], a part of the value, or, of queue, due=never, due<5m, due>1h", text)
	case m == nil:
		return func(value []byte, shown string) bool {
			return strings.Contains(string(value), text) || strings.Contains(shown, text)
		}, nil
	}
	want, err := decode(m[3])
	if err != nil && several.MatchString(m[3]) {
		return nil, fmt.Errorf("--where %s: expected one condition, got %s; put literal text in double quotes", text, m[3])
	} else if err != nil {
		want = m[3]
	}
	return func(_ []byte, shown string) bool {
		object, err := decode(shown)
		for name := range strings.SplitSeq(m[1], ".") {
			fields, ok := object.(map[string]any)
			if !ok {
				return false
			}
			object = fields[name]
		}
		return err == nil && same(object, want) == (m[2] == "==")
	}, nil
}

// show is the value as JSON; empty if nothing here reads it.
func (e *Editor) show(ctx context.Context, i *Item) (string, error) {
	shown, err := ShowValue(ValueKind{Codec: i.Codec}.Likeliest(), i.value)
	if err == nil || e.Decode == nil {
		return shown, nil
	}
	return e.Decode(ctx, ValueKind{Codec: i.Codec}.Likeliest(), i.value)
}

// decode reads JSON; its numbers keep their digits.
func decode(text string) (value any, err error) {
	if !json.Valid([]byte(text)) {
		return nil, errors.New("no JSON")
	}
	in := json.NewDecoder(strings.NewReader(text))
	in.UseNumber()
	err = in.Decode(&value)
	return value, err
}

func same(a, b any) bool {
	m, isM := a.(json.Number)
	n, isN := b.(json.Number)
	if isM && isN {
		x, okX := new(big.Rat).SetString(m.String())
		y, okY := new(big.Rat).SetString(n.String())
		if okX && okY {
			return x.Cmp(y) == 0
		}
	}
	return fmt.Sprint(a) == fmt.Sprint(b)
}
