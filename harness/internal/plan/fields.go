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
	Key  string
	Help string
	// Compared marks a setting that two runs must share to be compared.
	Compared bool
	// FlagOnly marks a setting that a scenario file cannot give.
	FlagOnly bool
	// lowest and most bound a number; most is 0 for any other setting.
	lowest, most int64
	// of is the variable of its Value; nil for a setting with a structure, which only a scenario file can give.
	of func(*Plan) any
}

// Fields are the settings of a plan.
var Fields = []Field{
	{Key: "producers", Compared: true, lowest: 1, most: maxProducers, Help: "goroutines that offer", of: func(p *Plan) any { return &p.Producers }},
	{Key: "consumers", Compared: true, lowest: 1, most: maxProducers, Help: "goroutines that take", of: func(p *Plan) any { return &p.Consumers }},
	{
		Key: "rate", Compared: true, of: func(p *Plan) any { return climb{p} },
		Help: "offers over all producers: 1000/s, 1k/s, 90/m; 1k/s..20k/s climbs in ten steps",
	},
	{Key: "duration", Compared: true, Help: "how long messages are offered", of: func(p *Plan) any { return &p.Duration }},
	{Key: "ramp", Compared: true, FlagOnly: true, Help: "the steps of a rate that climbs"},
	{
		Key: "delay", Compared: true, of: func(p *Plan) any { return &p.Delay },
		Help: "delay of each message: 5s; 1s..10s to draw it; 1s|1m..2m to choose; @10s..11s to have all due then",
	},
	{
		Key: "payload_size", Compared: true, lowest: MinPayload, most: maxPayload, of: func(p *Plan) any { return &p.PayloadSize },
		Help: fmt.Sprintf("bytes of each value, at least %d", MinPayload),
	},
	{Key: "seed", Help: "seed of drawn delays", of: func(p *Plan) any { return &p.Seed }},
	{
		Key: "warmup", Compared: true, of: func(p *Plan) any { return warmup{p} },
		Help: fmt.Sprintf("length of the warm-up, which is not counted and is drained; 0s for no warm-up "+
			"(default: until lateness and round trip are stable, at most %s)", MaxWarmup),
	},
	{
		Key: "horizon", Compared: true, of: func(p *Plan) any { return &p.Horizon },
		Help: "wait only so long after the last offer; messages that are due later stay pending; 0s waits for all",
	},
	{Key: "drain_timeout", Help: "how long to wait for missing messages after the last delivery", of: func(p *Plan) any { return &p.DrainTimeout }},
	{
		Key: "max_schedule_lag", Help: "maximum delay between scheduled and actual send; a run with fewer than 99 % of its offers on time is invalid",
		of: func(p *Plan) any { return &p.MaxScheduleLag },
	},
	{Key: "queue", FlagOnly: true, Help: "destination queue (default: one of its own, removed at the end)", of: func(p *Plan) any { return &p.Queue }},
	{Key: "queues", Compared: true, lowest: 1, most: maxQueues, Help: "number of destination queues, each with a consumer at least", of: func(p *Plan) any { return &p.Queues }},
	{Key: "poll", Compared: true, Help: "poll at this interval instead of blocking", of: func(p *Plan) any { return &p.Poll }},
	{Key: "work", Compared: true, Help: "how long a consumer is busy with each message", of: func(p *Plan) any { return &p.Work }},
	{Key: "cancel", Compared: true, Help: "`{share, after}`: cancel this share of the messages, each so long after its offer"},
	{
		Key: "fleet",
		Help: "processes that share the queue: a list of `{driver, count, offers, takes, from, to, kill}`; default: offers and takes. " +
			"`from` and `to` open and close it under load; `kill: true` sends SIGKILL at `to`",
	},
	{Key: "faults", Help: "a list of faults: see docs/reference.md"},
}

// Flag is the name of the setting's flag.
func (f Field) Flag() string { return strings.ReplaceAll(f.Key, "_", "-") }

// IsText reports whether the setting is one text, which a flag can give.
func (f Field) IsText() bool { return f.of != nil }

// Value gives access to the setting of a plan as text.
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
	i := slices.IndexFunc(Fields, func(f Field) bool { return f.Key == key && f.of != nil })
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

// String is the text of the variable.
func (v Value) String() string {
	if v.To == nil {
		return "" // of the zero Value, which pflag makes
	}
	return fmt.Sprint(reflect.Indirect(reflect.ValueOf(v.To)).Interface())
}

// Type is the word for the setting in the help of flags.
func (Value) Type() string { return "string" }

// Set reads text into the variable. Its error begins with the key and ends with what to do, and leaves the variable as it is.
func (v Value) Set(text string) error {
	if err := read(v.To, text); err != nil {
		return refused(v.Key, err, text)
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
	case *time.Duration:
		return parsed(to, text, "a duration such as 10s", time.ParseDuration)
	case *int:
		return parsed(to, text, "a whole number", func(text string) (int, error) {
			n, err := strconv.ParseInt(text, 0, strconv.IntSize)
			return int(n), err
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
