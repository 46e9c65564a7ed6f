package plan

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Field is one setting of a plan, and all that is said of it anywhere: flags, scenario
// files, run.json, and what two runs must share to be compared derive from it.
type Field struct {
	// Key is its name in scenario files and in run.json; the flag's is the same with
	// dashes.
	Key string
	// Help says in a line what it is for.
	Help string
	// Value gives access to it as text. It is nil for what has a structure, which only a
	// scenario file can give.
	Value func(*Plan) Value
	// FlagOnly marks what a scenario file cannot give.
	FlagOnly bool
	// Compared marks what two runs must share to be compared.
	Compared bool
	// Text is the setting as run.json keeps it, empty if that has none.
	Text func(Scenario) string

	// scale multiplies times by a factor, and divides rates by it; nil for what a scale
	// leaves as it is.
	scale func(p *Plan, by float64)
	// check refuses what can never be right.
	check func(Plan) error
	// record writes the setting to run.json's scenario.
	record func(Plan, *Scenario)
}

// Flag is the name of the setting's flag.
func (f Field) Flag() string { return strings.ReplaceAll(f.Key, "_", "-") }

// Scaled reports whether a scenario's scale changes the setting.
func (f Field) Scaled() bool { return f.scale != nil }

// refuse is the error on a setting of this key that is out of its bounds.
func refuse(key, expected string, got any) error {
	return fmt.Errorf("%s: expected %s, got %v", strings.ReplaceAll(key, "_", " "), expected, got)
}

// Value is a setting as text, as flags and scenario files give it. Type is the word for
// it that the help of flags shows. The error of Set begins with the setting's key.
type Value interface {
	String() string
	Set(text string) error
	Type() string
}

// value is a Value of a variable.
type value[T any] struct {
	to     *T
	kind   string
	parse  func(string) (T, error)
	format func(T) string
}

func (v value[T]) String() string { return v.format(*v.to) }
func (v value[T]) Type() string   { return v.kind }

// Set leaves the variable as it is on an error.
func (v value[T]) Set(text string) error {
	parsed, err := v.parse(text)
	if err == nil {
		*v.to = parsed
	}
	return err
}

// within refuses a whole number that is not from 1 to most.
func within(key string, n, most int) error {
	if n < 1 || n > most {
		return refuse(key, fmt.Sprintf("1 to %d", most), n)
	}
	return nil
}

// whole completes a field that is a whole number.
func whole(f Field, of func(*Plan) *int, in func(*Scenario) *int) Field {
	f.Value = func(p *Plan) Value {
		return value[int]{of(p), "int", func(text string) (int, error) {
			n, err := strconv.ParseInt(text, 0, strconv.IntSize)
			if err != nil {
				return 0, fmt.Errorf("%s: expected a whole number, got %q", f.Key, text)
			}
			return int(n), nil
		}, strconv.Itoa}
	}
	f.Text = func(s Scenario) string { return strconv.Itoa(*in(&s)) }
	if f.record == nil {
		f.record = func(p Plan, s *Scenario) { *in(s) = *of(&p) }
	}
	return f
}

// timespan completes a field that is a time of 0 or more. run.json keeps none that is 0.
func timespan(f Field, of func(*Plan) *time.Duration, in func(*Scenario) *string) Field {
	f.Value = func(p *Plan) Value {
		return value[time.Duration]{of(p), "duration", func(text string) (time.Duration, error) {
			return parseTime(f.Key, text)
		}, time.Duration.String}
	}
	f.Text = func(s Scenario) string { return *in(&s) }
	if f.record == nil {
		f.record = func(p Plan, s *Scenario) {
			if d := *of(&p); d != 0 {
				*in(s) = d.String()
			}
		}
	}
	if f.check == nil {
		f.check = func(p Plan) error {
			if d := *of(&p); d < 0 {
				return refuse(f.Key, "0s or more", d)
			}
			return nil
		}
	}
	return f
}

// scaledTime completes a timespan that a scale changes.
func scaledTime(f Field, of func(*Plan) *time.Duration, in func(*Scenario) *string) Field {
	f.scale = func(p *Plan, by float64) { *of(p) = scaleTime(*of(p), by) }
	return timespan(f, of, in)
}

func parseTime(key, text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%s: expected a duration such as 10s, got %q", key, text)
	}
	return d, nil
}

// scaleTime keeps whole milliseconds, and something of what was there.
func scaleTime(d time.Duration, by float64) time.Duration {
	if by == 1 || d <= 0 {
		return d
	}
	return max(time.Duration(float64(d)*by).Round(time.Millisecond), time.Millisecond)
}

// Set lays a setting, given as text by its key, over the plan, as a flag does: a rate or
// a duration takes the place of a ramp. Its error is wrong usage.
func (p *Plan) Set(key, text string) error {
	for _, f := range Fields {
		if f.Key != key || f.Value == nil {
			continue
		}
		if key == "rate" || key == "duration" {
			p.Ramp = nil
		}
		return f.Value(p).Set(text)
	}
	return fmt.Errorf("%s: no such setting of a plan", key)
}

// Scaled returns the plan with all times multiplied by a factor and the rates divided by
// it: the messages stay as many. Warm-up, drain timeout and the schedule lag allowed are
// bounds on the tool and stay.
func (p Plan) Scaled(by float64) Plan {
	for _, f := range Fields {
		if f.scale != nil {
			f.scale(&p, by)
		}
	}
	return p
}

// Validate refuses a plan that can never be right. Its error is wrong usage.
func (p Plan) Validate() error {
	for _, f := range Fields {
		if f.check == nil {
			continue
		}
		if err := f.check(p); err != nil {
			return err
		}
	}
	return nil
}

// checkWarmup looks at the rate too, which is that of the first step.
func checkWarmup(p Plan) error {
	switch {
	case p.Warmup < 0:
		return refuse("warmup", "0s or more", p.Warmup)
	case p.Warmup > 0:
		return p.warmUpSchedule().check()
	}
	return nil
}

// checkFleet makes sure that somebody offers and somebody takes at the start,
// which is when the warm-up runs, and after the last change.
func checkFleet(p Plan) error {
	if len(p.Fleet) == 0 {
		return nil
	}
	var offersFirst, takesFirst, offersLast, takesLast bool
	for i, m := range p.Fleet {
		if m.From < 0 || m.To < 0 || (m.To > 0 && m.To <= m.From) {
			return fmt.Errorf("fleet: expected member %d to begin before it ends, got %s to %s", i+1, m.From, m.To)
		}
		if m.Kill && m.To == 0 {
			return fmt.Errorf("fleet: expected a to for member %d, which is when it is killed", i+1)
		}
		if m.Kill && p.Cancel.Share > 0 {
			return fmt.Errorf("fleet: expected no cancel with member %d, which is killed: what it has cancelled would not be known", i+1)
		}
		offersFirst, takesFirst = offersFirst || m.Offers && m.From == 0, takesFirst || m.Takes && m.From == 0
		offersLast, takesLast = offersLast || m.Offers && m.To == 0, takesLast || m.Takes && m.To == 0
	}
	if !offersFirst || !takesFirst || !offersLast || !takesLast {
		return errors.New("fleet: expected a member that offers and one that takes, at the beginning and to the end")
	}
	return nil
}
