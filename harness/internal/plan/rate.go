package plan

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Rate is a number of messages a second.
type Rate float64

// ParseRate reads 1000/s, 1k/s, 100/m, 5/h, 500/100ms, or a bare number a second. A number
// may end in k, for thousands, or M, for millions.
func ParseRate(text string) (Rate, error) {
	number, unit, hasUnit := strings.Cut(strings.TrimSpace(text), "/")
	per := time.Second
	if hasUnit {
		var ok bool
		if per, ok = rateUnit(strings.TrimSpace(unit)); !ok {
			return 0, fmt.Errorf("rate: expected /s, /m, /h or a duration after the number, such as 1000/s, got %q", text)
		}
	}
	number = strings.TrimSpace(number)
	times := 1.0
	for _, suffix := range []struct {
		name  string
		times float64
	}{{"k", 1e3}, {"K", 1e3}, {"M", 1e6}} {
		if rest, ok := strings.CutSuffix(number, suffix.name); ok {
			number, times = rest, suffix.times
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	rate := Rate(n * times / per.Seconds())
	if err != nil || !rate.valid() {
		return 0, fmt.Errorf("rate: expected a number above 0 such as 1000/s, 1k/s or 90/m, got %q", text)
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
func (r Rate) String() string { return strconv.FormatFloat(float64(r), 'f', -1, 64) + "/s" }

// FormatFloat writes v with four significant digits, and what is before the point in full:
// "0.1667", "1.25", "500000".
func FormatFloat(v float64) string {
	if math.Abs(v) >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

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
