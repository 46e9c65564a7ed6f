package plan

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Field is one setting of a plan. Flags, the keys of scenario files and of run.json, and what two runs must share to be compared
// derive from the table of Fields.
type Field struct {
	// Key is its name in scenario files and in run.json; the flag's is the same with dashes.
	Key string
	// Compared marks a setting that two runs must share to be compared.
	Compared bool
	// FlagOnly marks a setting that a scenario file cannot give, and nested one with a structure, which only a file can give.
	FlagOnly, nested bool
	// of is the variable of its Value.
	of func(*Plan) any
}

// Fields are the settings of a plan. docs/reference.md explains them.
var Fields = []Field{
	{Key: "producers", Compared: true, of: func(p *Plan) any { return bounded{&p.Producers, 1, maxProducers} }},
	{Key: "consumers", Compared: true, of: func(p *Plan) any { return bounded{&p.Consumers, 1, maxProducers} }},
	{Key: "rate", Compared: true, of: func(p *Plan) any { return climb{p} }},
	{Key: "duration", Compared: true, of: func(p *Plan) any { return &p.Duration }},
	{Key: "ramp", Compared: true, FlagOnly: true},
	{Key: "delay", Compared: true, of: func(p *Plan) any { return &p.Delay }},
	{Key: "payload_size", Compared: true, of: func(p *Plan) any { return bounded{&p.PayloadSize, MinPayload, maxPayload} }},
	{Key: "seed", of: func(p *Plan) any { return &p.Seed }},
	{Key: "warmup", Compared: true, of: func(p *Plan) any { return warmup{p} }},
	{Key: "horizon", Compared: true, of: func(p *Plan) any { return &p.Horizon }},
	{Key: "drain_timeout", of: func(p *Plan) any { return &p.DrainTimeout }},
	{Key: "max_schedule_lag", of: func(p *Plan) any { return &p.MaxScheduleLag }},
	{Key: "queue", FlagOnly: true, of: func(p *Plan) any { return &p.Queue }},
	{Key: "queues", Compared: true, of: func(p *Plan) any { return bounded{&p.Queues, 1, maxQueues} }},
	{Key: "poll", Compared: true, of: func(p *Plan) any { return &p.Poll }},
	{Key: "work", Compared: true, of: func(p *Plan) any { return &p.Work }},
	{Key: "cancel", Compared: true, nested: true, of: func(p *Plan) any { return &p.Cancel }},
	{Key: "fleet", nested: true, of: func(p *Plan) any { return &p.Fleet }},
	{Key: "faults", nested: true, of: func(p *Plan) any { return &p.Faults }},
}

// Flag is the name of the setting's flag.
func (f Field) Flag() string { return strings.ReplaceAll(f.Key, "_", "-") }

// IsText reports whether the setting is one text, which a flag can give.
func (f Field) IsText() bool { return f.of != nil && !f.nested }

// Value gives access to the setting of a plan, as text if it is one.
func (f Field) Value(p *Plan) Value { return Value{f.Key, f.of(p)} }

// Text is the setting as run.json keeps it.
func (f Field) Text(s Scenario) string {
	name := strings.ReplaceAll(f.Key, "_", "")
	v := reflect.ValueOf(s).FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, name) })
	switch value := v.Interface().(type) {
	case float64:
		return FormatFloat(value) + "/s"
	case []string:
		return strings.Join(value, map[bool]string{true: "; ", false: ", "}[f.Key == "faults"])
	default:
		return fmt.Sprint(value)
	}
}

// Set lays a setting, given as text by its key, over the plan, as a flag does. Its error is wrong usage.
func (p *Plan) Set(key, text string) error {
	i := slices.IndexFunc(Fields, func(f Field) bool { return f.Key == key && f.IsText() })
	if i < 0 {
		return fmt.Errorf("%s: no such setting of a plan", key)
	}
	return Fields[i].Value(p).Set(text)
}

// Value is a variable as text, as a flag gives it: To is a pointer to a string, a number, a bool or a duration, or reads text itself.
type Value struct {
	Key string
	To  any
}

func (v Value) String() string {
	return fmt.Sprint(reflect.Indirect(reflect.ValueOf(v.To)).Interface())
}

// Type is the word for the setting in the help of flags.
func (Value) Type() string { return "string" }

// Set reads text into the variable. Its error begins with the key and ends with what to do, and leaves the variable as it is.
func (v Value) Set(text string) error {
	if err := read(v.To, text); err != nil {
		expected, _, _ := strings.Cut(err.Error(), "; ")
		return fmt.Errorf("%s: %s, got %q%s", v.Key, expected, text, err.Error()[len(expected):])
	}
	return nil
}

// read fails with the expected form, and a remedy behind a semicolon.
func read(to any, text string) error {
	switch to := to.(type) {
	case encoding.TextUnmarshaler:
		return to.UnmarshalText([]byte(text))
	case *string:
		*to = text
		return nil
	case *bool:
		return parsed(to, text, "true or false", strconv.ParseBool)
	case *int: // a count
		return bounded{to, 1, maxCount}.UnmarshalText([]byte(text))
	case *time.Duration:
		return parsed(to, text, "a duration such as 10s", func(text string) (time.Duration, error) {
			d, err := time.ParseDuration(text)
			if d < 0 {
				err = strconv.ErrRange
			}
			return d, err
		})
	case *uint64:
		return parsed(to, text, "a whole number from 0 to 2^64-1", func(text string) (uint64, error) { return strconv.ParseUint(text, 0, 64) })
	case *float64:
		return parsed(to, text, "a number", func(text string) (float64, error) { return strconv.ParseFloat(text, 64) })
	}
	panic(fmt.Sprintf("no text for a %T", to))
}

func parsed[T any](to *T, text, expected string, parse func(string) (T, error)) error {
	value, err := parse(text)
	if err != nil {
		return errors.New("expected " + expected)
	}
	*to = value
	return nil
}

// bounded is a whole number within bounds.
type bounded struct {
	to           *int
	lowest, most int
}

func (b bounded) String() string { return strconv.Itoa(*b.to) }

func (b bounded) UnmarshalText(text []byte) error {
	n, err := strconv.ParseInt(string(text), 0, strconv.IntSize)
	switch {
	case err != nil:
		return errors.New("expected a whole number")
	case int(n) < b.lowest || int(n) > b.most:
		return fmt.Errorf("expected %d to %d", b.lowest, b.most)
	}
	*b.to = int(n)
	return nil
}

// climb is the rate of a plan, and the last rate of a climb.
type climb struct{ *Plan }

func (c climb) String() string {
	if c.RateTo > 0 {
		return c.Rate.String() + ".." + c.RateTo.String()
	}
	return c.Rate.String()
}

func (c climb) UnmarshalText(text []byte) error {
	low, high, climbs := strings.Cut(string(text), "..")
	var from, to Rate
	err := from.UnmarshalText([]byte(low))
	if err == nil && climbs {
		if err = to.UnmarshalText([]byte(high)); err == nil && to <= from {
			err = errors.New("expected LOWEST..HIGHEST; swap the two")
		}
	}
	if err == nil {
		c.Rate, c.RateTo = from, to
	}
	return err
}

// warmup is a fixed length, or empty for a warm-up that ends by itself.
type warmup struct{ *Plan }

func (w warmup) String() string {
	if w.WarmupEnds {
		return ""
	}
	return w.Warmup.String()
}

func (w warmup) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		w.Warmup, w.WarmupEnds = MaxWarmup, true
		return nil
	}
	err := read(&w.Warmup, string(text))
	w.WarmupEnds = w.WarmupEnds && err != nil
	return err
}
