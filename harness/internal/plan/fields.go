package plan

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Field is one setting of a plan: flags, keys of scenario files and of run.json, and what two runs must share to be compared
// derive from it.
type Field struct {
	// Key is its name in scenario files and in run.json; the flag's is the same with dashes.
	Key  string
	Help string
	// Value gives access to it as text. It is nil for a setting with a structure, which only a scenario file can give.
	Value func(*Plan) Value
	// FlagOnly marks a setting that a scenario file cannot give.
	FlagOnly bool
	// Compared marks a setting that two runs must share to be compared.
	Compared bool
	// Scaled marks a setting that a scenario's scale changes.
	Scaled bool
}

// Flag is the name of the setting's flag.
func (f Field) Flag() string { return strings.ReplaceAll(f.Key, "_", "-") }

// Text is the setting as run.json keeps it, empty if that has none.
func (f Field) Text(s Scenario) string {
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		if key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); key != f.Key {
			continue
		}
		switch value := v.Field(i).Interface().(type) {
		case float64:
			return FormatFloat(value) + "/s"
		case []string:
			return strings.Join(value, map[bool]string{true: "; ", false: ", "}[f.Key == "faults"])
		default:
			return fmt.Sprint(value)
		}
	}
	return ""
}

// Value is a setting as text, as flags and scenario files give it. Type is the word for it that the help of flags shows. The
// error of Set begins with the setting's key, and leaves the setting as it is.
type Value interface {
	String() string
	Set(text string) error
	Type() string
}

// value is a Value of a variable.
type value[T any] struct {
	key, kind string
	to        *T
	parse     func(string) (T, error)
	format    func(T) string
}

func (v value[T]) String() string { return v.format(*v.to) }
func (v value[T]) Type() string   { return v.kind }

func (v value[T]) Set(text string) error {
	parsed, err := v.parse(text)
	if err != nil {
		return refused(v.key, err, text)
	}
	*v.to = parsed
	return nil
}

// refused is the error on a text: what was expected, what came, and what to do, if the error says so behind a semicolon.
func refused(key string, err error, text string) error {
	expected, remedy, ok := strings.Cut(err.Error(), "; ")
	if ok {
		remedy = "; " + remedy
	}
	return fmt.Errorf("%s: %s, got %q%s", key, expected, text, remedy)
}

func number(key string, of func(*Plan) *int) func(*Plan) Value {
	return func(p *Plan) Value { return value[int]{key, "int", of(p), parseInt, strconv.Itoa} }
}

func span(key string, of func(*Plan) *time.Duration) func(*Plan) Value {
	return func(p *Plan) Value {
		return value[time.Duration]{key, "duration", of(p), parseDuration, time.Duration.String}
	}
}

func parseInt(text string) (int, error) {
	n, err := strconv.ParseInt(text, 0, strconv.IntSize)
	if err != nil {
		return 0, errors.New("expected a whole number")
	}
	return int(n), nil
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New("expected a duration such as 10s")
	}
	return d, nil
}

// parseSize reads a number of bytes: 100, 64KiB, 1MB.
func parseSize(text string) (int, error) {
	if n, err := parseInt(text); err == nil {
		return n, nil
	}
	for _, unit := range []struct {
		name  string
		bytes int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"B", 1}} {
		if number, ok := strings.CutSuffix(text, unit.name); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(number), 10, strconv.IntSize)
			if err == nil && n <= math.MaxInt/unit.bytes && n >= math.MinInt/unit.bytes {
				return int(n * unit.bytes), nil
			}
			break
		}
	}
	return 0, errors.New("expected a whole number of bytes, such as 100, 64kB, 64KiB, 1MB or 1MiB")
}

func parseSeed(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		err = errors.New("expected a whole number from 0 to 2^64-1")
	}
	return n, err
}

// climb is one rate, or one that climbs to another.
type climb struct{ from, to Rate }

func parseClimb(text string) (c climb, err error) {
	low, high, climbs := strings.Cut(text, "..")
	if c.from, err = parseRate(low); err == nil && climbs {
		if c.to, err = parseRate(high); err == nil && c.to <= c.from {
			err = errors.New("expected LOWEST..HIGHEST; swap the two")
		}
	}
	return c, err
}

// rateValue is the rate, and the last one of a climb.
type rateValue struct{ *Plan }

func (rateValue) Type() string { return "string" }

func (v rateValue) String() string {
	if v.RateTo > 0 {
		return v.Rate.String() + ".." + v.RateTo.String()
	}
	return v.Rate.String()
}

func (v rateValue) Set(text string) error {
	c, err := parseClimb(text)
	if err != nil {
		return refused("rate", err, text)
	}
	v.Rate, v.RateTo = c.from, c.to
	return nil
}

// warmupValue is a fixed length, or empty for a warm-up that ends by itself.
type warmupValue struct{ *Plan }

func (warmupValue) Type() string { return "duration" }

func (v warmupValue) String() string {
	if v.WarmupEnds {
		return ""
	}
	return v.Warmup.String()
}

func (v warmupValue) Set(text string) error {
	length, ends := MaxWarmup, text == ""
	if !ends {
		var err error
		if length, err = parseDuration(text); err != nil {
			return refused("warmup", err, text)
		}
	}
	v.Warmup, v.WarmupEnds = length, ends
	return nil
}

// Fields are the settings of a plan.
var Fields = []Field{
	{
		Key: "producers", Help: "goroutines that offer", Compared: true,
		Value: number("producers", func(p *Plan) *int { return &p.Producers }),
	},
	{
		Key: "consumers", Help: "goroutines that take", Compared: true,
		Value: number("consumers", func(p *Plan) *int { return &p.Consumers }),
	},
	{
		Key: "rate", Help: "offers over all producers: 1000/s, 1k/s, 90/m; 1k/s..20k/s climbs in ten steps", Compared: true, Scaled: true,
		Value: func(p *Plan) Value { return rateValue{p} },
	},
	{
		Key: "duration", Help: "how long messages are offered", Compared: true, Scaled: true,
		Value: span("duration", func(p *Plan) *time.Duration { return &p.Duration }),
	},
	{
		Key: "ramp", Compared: true, Scaled: true,
		Help: "a list of `{rate, duration}`, one step after the other, in place of `rate` and `duration`",
	},
	{
		Key: "delay", Compared: true, Scaled: true,
		Help:  "delay of each message: 5s; 1s..10s to draw it; 1s|1m..2m to choose; @10s..11s to have all due then",
		Value: func(p *Plan) Value { return value[Delay]{"delay", "string", &p.Delay, parseDelay, Delay.String} },
	},
	{
		Key: "payload_size", Help: fmt.Sprintf("bytes of each value, at least %d: 100, 64KiB, 1MB", MinPayload), Compared: true,
		Value: func(p *Plan) Value {
			return value[int]{"payload_size", "bytes", &p.PayloadSize, parseSize, strconv.Itoa}
		},
	},
	{
		Key: "seed", Help: "seed of drawn delays",
		Value: func(p *Plan) Value {
			return value[uint64]{"seed", "uint64", &p.Seed, parseSeed, func(n uint64) string { return strconv.FormatUint(n, 10) }}
		},
	},
	{
		Key: "warmup", Compared: true,
		Help: fmt.Sprintf("offer messages that do not count before, for so long, and drain them; 0s for none "+
			"(default: until lateness and round trip stand still, at most %s)", MaxWarmup),
		Value: func(p *Plan) Value { return warmupValue{p} },
	},
	{
		Key: "horizon", Help: "wait only so long after the last offer; what is due later stays pending; 0s waits for all", Compared: true, Scaled: true,
		Value: span("horizon", func(p *Plan) *time.Duration { return &p.Horizon }),
	},
	{
		Key: "drain_timeout", Help: "how long to wait for missing messages once nothing comes any more",
		Value: span("drain_timeout", func(p *Plan) *time.Duration { return &p.DrainTimeout }),
	},
	{
		Key: "drain_limit", Help: "wait only so long after the last message was due, though more still come; 0s waits as long as they do",
		Value: span("drain_limit", func(p *Plan) *time.Duration { return &p.DrainLimit }),
	},
	{
		Key: "max_schedule_lag", Help: "how late an offer may leave; a run with fewer than 99 % of them on time is invalid",
		Value: span("max_schedule_lag", func(p *Plan) *time.Duration { return &p.MaxScheduleLag }),
	},
	{
		Key: "queue", Help: "destination queue (default: one of its own, removed at the end)", FlagOnly: true,
		Value: func(p *Plan) Value {
			return value[string]{"queue", "string", &p.Queue, func(text string) (string, error) { return text, nil }, func(name string) string { return name }}
		},
	},
	{
		Key: "queues", Help: "number of destination queues, each with a consumer at least", Compared: true,
		Value: number("queues", func(p *Plan) *int { return &p.Queues }),
	},
	{
		Key: "poll", Help: "consumers look for one message so often, and do not wait for it", Compared: true, Scaled: true,
		Value: span("poll", func(p *Plan) *time.Duration { return &p.Poll }),
	},
	{
		Key: "work", Help: "how long a consumer is busy with each message", Compared: true, Scaled: true,
		Value: span("work", func(p *Plan) *time.Duration { return &p.Work }),
	},
	{
		Key: "cancel", Help: "`{share, after}`: that share of the messages is cancelled so long after its offer", Compared: true, Scaled: true,
	},
	{
		Key: "fleet", Scaled: true,
		Help: "processes that share the queue, a list of `{driver, count, offers, takes, from, to, kill}`; one that neither offers nor takes does both. " +
			"`from` and `to` open and close it under load; `kill: true` ends it at `to` by SIGKILL",
	},
	{
		Key: "faults", Scaled: true,
		Help: "what breaks under load, a list of `{kind, at, for, …}`; `at` and `for` count from the start of the measured phase, an `at` of `2s..4s` is drawn. " +
			"docs/reference.md lists the kinds",
	},
}

// Set lays a setting, given as text by its key, over the plan, as a flag does: a rate or a duration takes the place of a ramp.
// Its error is wrong usage.
func (p *Plan) Set(key, text string) error {
	i := slices.IndexFunc(Fields, func(f Field) bool { return f.Key == key && f.Value != nil })
	if i < 0 {
		return fmt.Errorf("%s: no such setting of a plan", key)
	}
	if key == "rate" || key == "duration" {
		p.Ramp = nil
	}
	return Fields[i].Value(p).Set(text)
}

// Scaled returns the plan with all times multiplied by a factor and the rates divided by it: the messages stay as many.
// Warm-up, drain timeout and the schedule lag allowed are bounds on the tool and stay.
func (p Plan) Scaled(by float64) Plan {
	for _, d := range []*time.Duration{&p.Duration, &p.Horizon, &p.Poll, &p.Work, &p.Cancel.After} {
		*d = scaleTime(*d, by)
	}
	p.Rate, p.RateTo = p.Rate/Rate(by), p.RateTo/Rate(by)
	p.Delay = p.Delay.scaled(by)
	p.Ramp, p.Fleet, p.Faults = slices.Clone(p.Ramp), slices.Clone(p.Fleet), slices.Clone(p.Faults)
	for i, s := range p.Ramp {
		p.Ramp[i] = Step{s.Rate / Rate(by), scaleTime(s.Duration, by)}
	}
	for i, m := range p.Fleet {
		p.Fleet[i].From, p.Fleet[i].To = scaleTime(m.From, by), scaleTime(m.To, by)
	}
	for i, f := range p.Faults {
		p.Faults[i].At = Span{scaleTime(f.At.Min, by), scaleTime(f.At.Max, by)}
		p.Faults[i].For, p.Faults[i].Latency = scaleTime(f.For, by), scaleTime(f.Latency, by)
	}
	return p
}

// scaleTime keeps whole milliseconds, and something of what was there.
func scaleTime(d time.Duration, by float64) time.Duration {
	if by == 1 || d <= 0 {
		return d
	}
	return max(time.Duration(float64(d)*by).Round(time.Millisecond), time.Millisecond)
}

// Validate refuses a plan that can never be right. Its error is wrong usage.
func (p Plan) Validate() error {
	refuse := func(key, expected string, got any) error {
		return fmt.Errorf("%s: expected %s, got %v", strings.ReplaceAll(key, "_", " "), expected, got)
	}
	for _, n := range []struct {
		key             string
		n, lowest, most int
	}{
		{"producers", p.Producers, 1, maxProducers}, {"consumers", p.Consumers, 1, maxProducers}, {"queues", p.Queues, 1, maxQueues},
		{"payload_size", p.PayloadSize, MinPayload, maxPayload},
	} {
		if n.n < n.lowest || n.n > n.most {
			return refuse(n.key, fmt.Sprintf("%d to %d", n.lowest, n.most), n.n)
		}
	}
	for key, d := range map[string]time.Duration{
		"warmup": p.Warmup, "horizon": p.Horizon, "drain_limit": p.DrainLimit, "max_schedule_lag": p.MaxScheduleLag, "poll": p.Poll, "work": p.Work,
		"cancel": p.Cancel.After,
	} {
		if d < 0 {
			return refuse(key, "0s or more", d)
		}
	}
	switch {
	case p.DrainTimeout <= 0:
		return refuse("drain_timeout", "more than 0, such as 10s", p.DrainTimeout)
	case p.Consumers < p.Queues:
		return refuse("consumers", fmt.Sprintf("at least one for each of the %d queues", p.Queues), p.Consumers)
	case p.Queue == "":
		return refuse("queue", "a name", "an empty one")
	case !(p.Cancel.Share >= 0 && p.Cancel.Share <= 1):
		return refuse("cancel", "a share from 0 to 1", p.Cancel.Share)
	}
	if err := p.Schedule().check(); err != nil {
		return err
	}
	if p.Warmup > 0 {
		if err := p.warmUpSchedule().check(); err != nil {
			return err
		}
	}
	if err := p.Delay.check(); err != nil {
		return refused("delay", err, p.Delay.String())
	}
	if err := p.checkFleet(); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	if err := p.checkFaults(); err != nil {
		return fmt.Errorf("faults: %w", err)
	}
	return nil
}

// checkFleet makes sure that a member offers and one takes at the start, which is when the warm-up runs, and after the last
// change.
func (p Plan) checkFleet() error {
	var offersFirst, takesFirst, offersLast, takesLast bool
	for i, m := range p.Members() {
		switch {
		case m.From < 0 || m.To < 0 || (m.To > 0 && m.To <= m.From):
			return fmt.Errorf("expected member %d to begin before it ends, got %s to %s", i+1, m.From, m.To)
		case m.Kill && m.To == 0:
			return fmt.Errorf("expected a to for member %d, which is when it is killed", i+1)
		case m.Kill && p.Cancel.Share > 0:
			return fmt.Errorf("expected no cancel with member %d, which is killed: what it has cancelled would not be known", i+1)
		}
		offersFirst, takesFirst = offersFirst || m.Offers && m.From == 0, takesFirst || m.Takes && m.From == 0
		offersLast, takesLast = offersLast || m.Offers && m.To == 0, takesLast || m.Takes && m.To == 0
	}
	if !offersFirst || !takesFirst || !offersLast || !takesLast {
		return errors.New("expected a member that offers and one that takes, at the beginning and to the end")
	}
	return nil
}
