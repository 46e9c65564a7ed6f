package load

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/report"
)

// Plan is what a run does. The zero value is not valid: start from DefaultPlan.
type Plan struct {
	// Name is the scenario's name, may be empty.
	Name string
	// Producers (1 to 65536) and Consumers (at least 1) are goroutines.
	Producers int
	Consumers int
	// Rate is offers per second over all producers.
	Rate Rate
	// Duration is how long messages are offered.
	Duration time.Duration
	Delay    Delay
	// PayloadSize is the length of each value in bytes, at least HeaderSize.
	PayloadSize int
	// Seed makes drawn delays repeatable.
	Seed uint64
	// Warmup is how long messages that do not count are offered before, with a
	// delay of at most MaxWarmupDelay.
	Warmup time.Duration
	// DrainTimeout is how long to wait after the last due instant, or after the
	// last delivery if that is later, for messages that are still missing.
	DrainTimeout time.Duration
	// Queue is the name of the destination queue.
	Queue string
}

// MaxWarmupDelay caps the delay of warm-up messages: a warm-up is for
// connections, script caches and code paths, which do not depend on the delay.
const MaxWarmupDelay = time.Second

// Limits of a plan.
const (
	maxProducers = 1 << 16
	maxPayload   = 16 << 20
	// maxMessages takes 250 MB of ledger.
	maxMessages = 1_000_000_000
)

// DefaultPlan is what 'dq-bench run' does without flags. Queue is left empty.
func DefaultPlan() Plan {
	return Plan{
		Producers: 50, Consumers: 8, Rate: 1000, Duration: 10 * time.Second,
		Delay: Delay{5 * time.Second, 5 * time.Second}, PayloadSize: 100, Seed: 1,
		Warmup: time.Second, DrainTimeout: 10 * time.Second,
	}
}

// Validate refuses a plan that can never be right. Its error is wrong usage.
func (p Plan) Validate() error {
	checks := []struct {
		ok   bool
		text string
	}{
		{p.Producers >= 1 && p.Producers <= maxProducers, fmt.Sprintf("producers: expected 1 to %d, got %d", maxProducers, p.Producers)},
		{p.Consumers >= 1 && p.Consumers <= maxProducers, fmt.Sprintf("consumers: expected 1 to %d, got %d", maxProducers, p.Consumers)},
		{p.Rate.valid(), fmt.Sprintf("rate: expected more than 0 a second, such as 1000/s, got %v", float64(p.Rate))},
		{p.Duration > 0, fmt.Sprintf("duration: expected more than 0, such as 10s, got %s", p.Duration)},
		{p.Delay.Min >= 0, fmt.Sprintf("delay: expected 0s or more, got %s", p.Delay)},
		{p.Delay.Min <= p.Delay.Max, fmt.Sprintf("delay: expected SHORTEST..LONGEST, got %s; swap the two", p.Delay)},
		{p.Delay.whole(), fmt.Sprintf("delay: expected whole milliseconds, the resolution of the format, got %s", p.Delay)},
		{p.PayloadSize >= HeaderSize, fmt.Sprintf("payload size: expected at least %d bytes, which the header takes, got %d", HeaderSize, p.PayloadSize)},
		{p.PayloadSize <= maxPayload, fmt.Sprintf("payload size: expected at most %d bytes, got %d", maxPayload, p.PayloadSize)},
		{p.Warmup >= 0, fmt.Sprintf("warm-up: expected 0s or more, got %s", p.Warmup)},
		{p.DrainTimeout > 0, fmt.Sprintf("drain timeout: expected more than 0, such as 10s, got %s", p.DrainTimeout)},
		{p.Queue != "", "queue: expected a name, got an empty one"},
	}
	for _, c := range checks {
		if !c.ok {
			return fmt.Errorf("%s", c.text)
		}
	}
	if n := p.Rate.messages(max(p.Duration, p.Warmup)); n > maxMessages {
		return fmt.Errorf("rate and duration: %s for %s are %d messages, expected at most %d", p.Rate, max(p.Duration, p.Warmup), n, maxMessages)
	}
	return nil
}

// scenario is the plan as the run file holds it.
func (p Plan) scenario() report.Scenario {
	return report.Scenario{
		Name: p.Name, Producers: p.Producers, Consumers: p.Consumers, Rate: float64(p.Rate),
		Duration: p.Duration.String(), Delay: p.Delay.String(), PayloadSize: p.PayloadSize, Seed: p.Seed,
		Warmup: p.Warmup.String(), DrainTimeout: p.DrainTimeout.String(), Queue: p.Queue,
		Messages: p.Rate.messages(p.Duration),
	}
}

// Rate is a number of messages a second.
type Rate float64

// ParseRate reads 1000/s, 100/m, 5/h, 500/100ms, or a bare number a second.
func ParseRate(text string) (Rate, error) {
	number, unit, hasUnit := strings.Cut(strings.TrimSpace(text), "/")
	per := time.Second
	if hasUnit {
		var ok bool
		if per, ok = rateUnit(strings.TrimSpace(unit)); !ok {
			return 0, fmt.Errorf("rate: expected /s, /m, /h or a duration after the number, got %q", text)
		}
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	rate := Rate(n / per.Seconds())
	if err != nil || !rate.valid() {
		return 0, fmt.Errorf("rate: expected a number above 0 such as 1000/s, got %q", text)
	}
	return rate, nil
}

func rateUnit(unit string) (time.Duration, bool) {
	switch unit {
	case "s", "m", "h":
		unit = "1" + unit
	}
	d, err := time.ParseDuration(unit)
	return d, err == nil && d > 0
}

// maxRate is one message per nanosecond.
const maxRate = 1e9

func (r Rate) valid() bool { return r > 0 && r <= maxRate }

// String returns the rate a second: "1000/s".
func (r Rate) String() string { return strconv.FormatFloat(float64(r), 'g', -1, 64) + "/s" }

// MarshalText returns String.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText is ParseRate.
func (r *Rate) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRate(string(text))
	return err
}

// messages is how many messages d holds, the first at its very beginning.
func (r Rate) messages(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	n := math.Ceil(float64(r)*d.Seconds() - 1e-6)
	if n >= math.MaxInt64 {
		return math.MaxInt64
	}
	return max(int64(n), 1)
}

// Delay is a fixed delay, or a range that delays are drawn from uniformly, in
// whole milliseconds: Redisson's format has no finer ones, and cutting a finer
// one down would make a delivery look early.
type Delay struct{ Min, Max time.Duration }

// ParseDelay reads 5s, or 1s..10s with both ends included.
func ParseDelay(text string) (Delay, error) {
	low, high, isRange := strings.Cut(text, "..")
	if !isRange {
		high = low
	}
	d := Delay{}
	for _, end := range []struct {
		text string
		to   *time.Duration
	}{{low, &d.Min}, {high, &d.Max}} {
		var err error
		if *end.to, err = time.ParseDuration(strings.TrimSpace(end.text)); err != nil {
			return Delay{}, fmt.Errorf("delay: expected a duration such as 5s, or a range such as 1s..10s, got %q", text)
		}
	}
	switch {
	case d.Min < 0:
		return Delay{}, fmt.Errorf("delay: expected 0s or more, got %q", text)
	case d.Min > d.Max:
		return Delay{}, fmt.Errorf("delay: expected SHORTEST..LONGEST, got %q; swap the two", text)
	case !d.whole():
		return Delay{}, fmt.Errorf("delay: expected whole milliseconds, the resolution of the format, got %q", text)
	}
	return d, nil
}

// String returns the form that ParseDelay reads.
func (d Delay) String() string {
	if d.Min == d.Max {
		return d.Min.String()
	}
	return d.Min.String() + ".." + d.Max.String()
}

// MarshalText returns String.
func (d Delay) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText is ParseDelay.
func (d *Delay) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDelay(string(text))
	return err
}

// whole reports whether both ends are whole milliseconds.
func (d Delay) whole() bool { return d.Min%time.Millisecond == 0 && d.Max%time.Millisecond == 0 }

// capped limits both ends.
func (d Delay) capped(limit time.Duration) Delay {
	return Delay{min(d.Min, limit), min(d.Max, limit)}
}

// of returns the delay of message i: the same for the same seed, so that no
// delay has to be kept.
func (d Delay) of(seed uint64, i int64) time.Duration {
	if d.Min == d.Max {
		return d.Min
	}
	width := uint64((d.Max-d.Min)/time.Millisecond) + 1
	return d.Min + time.Duration(mix(seed^mix(uint64(i)))%width)*time.Millisecond
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection that
// turns a counter into evenly spread numbers.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
