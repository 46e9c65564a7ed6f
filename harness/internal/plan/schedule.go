package plan

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Rate is a number of messages a second.
type Rate float64

// UnmarshalText reads 1000/s, 1k/s, 100/m, 5/h, or a bare number a second. A number may end in k, for thousands, or M, for millions.
// Its error names the expected form.
func (r *Rate) UnmarshalText(text []byte) error {
	number, unit, hasUnit := strings.Cut(string(text), "/")
	if !hasUnit {
		unit = "s"
	}
	number = strings.TrimSpace(number)
	seconds, times := map[string]float64{"s": 1, "m": 60, "h": 3600}[strings.TrimSpace(unit)], 1.0
	if bare := strings.TrimRight(number, "kKM"); len(bare) == len(number)-1 {
		times = map[byte]float64{'k': 1e3, 'K': 1e3, 'M': 1e6}[number[len(bare)]]
		number = bare
	}
	n, err := strconv.ParseFloat(number, 64)
	rate := Rate(n * times / seconds)
	if err != nil || !(rate > 0 && rate <= maxRate) {
		return errors.New("expected a number above 0 such as 1000/s, 1k/s or 90/m")
	}
	*r = rate
	return nil
}

// String returns the rate a second: "1000/s".
func (r Rate) String() string { return strconv.FormatFloat(float64(r), 'f', -1, 64) + "/s" }

// FormatFloat writes v with four significant digits, and the digits before the point in full: "0.1667", "1.25", "500000".
func FormatFloat(v float64) string {
	if math.Abs(v) >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
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

// Schedule says when each message of a phase is to be sent: at one rate after the other, Each so long.
type Schedule struct {
	Rates []Rate
	Each  time.Duration
}

// Messages is how many messages there are.
func (s Schedule) Messages() (n int64) {
	for _, rate := range s.Rates {
		n += rate.messages(s.Each)
	}
	return n
}

// Duration is how long messages are offered.
func (s Schedule) Duration() time.Duration { return s.Each * time.Duration(len(s.Rates)) }

// At is when message i is to be sent, from the start of the phase: i / rate, and the message's dither. It does not depend on the
// fate of earlier messages, so that the measurement omits no delay.
func (s Schedule) At(i int64) time.Duration {
	k := 0
	for n := s.Rates[0].messages(s.Each); i >= n && k < len(s.Rates)-1; n = s.Rates[k].messages(s.Each) {
		i, k = i-n, k+1
	}
	gap := float64(time.Second) / float64(s.Rates[k])
	return s.Each*time.Duration(k) + time.Duration(float64(i)*gap+dither(i)*min(gap, float64(time.Millisecond)))
}

// dither is from 0 to 1, even over any stretch of messages (a Weyl sequence with the golden ratio). RDelayedQueue cuts due times to
// whole milliseconds, and a rate such as 1000/s would meet each millisecond at the same point: the median would depend on the instant
// at which a run began.
func dither(i int64) float64 { return float64(uint64(i)*0x9e3779b97f4a7c15>>11) / (1 << 53) }

// MeanRate is over the whole schedule.
func (s Schedule) MeanRate() Rate {
	if len(s.Rates) == 1 {
		return s.Rates[0]
	}
	return Rate(float64(s.Messages()) / s.Duration().Seconds())
}

func (s Schedule) check() error {
	if s.Each <= 0 || len(s.Rates) > 1 && s.Each < time.Second { // figures are of whole seconds
		return fmt.Errorf("duration: expected more than 0, such as 10s, and a second or more for each rate, got %s", s.Duration())
	}
	if n := s.Messages(); n > maxMessages {
		return fmt.Errorf("rate and duration: %s for %s are %d messages, expected at most %d", s.MeanRate(), s.Duration(), n, maxMessages)
	}
	return nil
}

// Delay says when messages are due, in whole milliseconds: Redisson's format has no finer ones, and cutting a finer one down
// would make a delivery look early.
//
// The delay of a message is drawn uniformly from a span, which is one of several with equal chance. With Together set, the only span
// has instants after the start of the phase instead: all messages are due within it, whenever they are offered.
type Delay struct {
	// Spans are one at least.
	Spans []Span
	// Together spreads the due instants evenly over the span in the order of the offers; Shuffled draws them instead.
	Together, Shuffled bool
}

// Span is a range of times, both ends included.
type Span struct{ Min, Max time.Duration }

// Fixed returns the same delay for all messages.
func Fixed(d time.Duration) Delay { return Between(d, d) }

// Between returns delays from a shortest to a longest.
func Between(shortest, longest time.Duration) Delay { return Delay{Spans: []Span{{shortest, longest}}} }

// UnmarshalText reads
//
//	5s                  the same for all
//	1s..10s             drawn uniformly, both ends included
//	10ms..1s|1s..1m|1h  one of these, with equal chance, and then as above
//	@10s                all due at one instant, 10 s after the start
//	@10s..12s           due instants spread evenly over 2 s, in the order of the offers
//	@10s..12s shuffled  the same in random order
//
// Its error names the expected form.
func (d *Delay) UnmarshalText(text []byte) error {
	rest, together := strings.CutPrefix(strings.TrimSpace(string(text)), "@")
	read := Delay{Together: together}
	if together {
		rest, read.Shuffled = strings.CutSuffix(rest, " shuffled")
	}
	for part := range strings.SplitSeq(rest, "|") {
		low, high, isRange := strings.Cut(strings.TrimSpace(part), "..")
		if !isRange {
			high = low
		}
		shortest, errLow := time.ParseDuration(strings.TrimSpace(low))
		longest, errHigh := time.ParseDuration(strings.TrimSpace(high))
		switch {
		case errLow != nil || errHigh != nil:
			return errors.New("expected a duration such as 5s, or a range such as 1s..10s")
		case shortest < 0:
			return errors.New("expected 0s or more")
		case shortest > longest:
			return errors.New("expected SHORTEST..LONGEST; swap the two")
		case shortest%time.Millisecond != 0 || longest%time.Millisecond != 0:
			return errors.New("expected whole milliseconds, the resolution of the format")
		}
		read.Spans = append(read.Spans, Span{shortest, longest})
	}
	if together && len(read.Spans) > 1 {
		return errors.New("expected one instant or range after @")
	}
	*d = read
	return nil
}

// String returns the form that UnmarshalText reads.
func (d Delay) String() string {
	text := strings.Join(texts(d.Spans), "|")
	if d.Together {
		text = "@" + text
	}
	if d.Shuffled {
		text += " shuffled"
	}
	return text
}

// String returns 5s, or 1s..10s.
func (s Span) String() string {
	if s.Min == s.Max {
		return s.Min.String()
	}
	return s.Min.String() + ".." + s.Max.String()
}

// hull is from the shortest to the longest.
func (d Delay) hull() Span {
	all := d.Spans[0]
	for _, s := range d.Spans {
		all = Span{min(all.Min, s.Min), max(all.Max, s.Max)}
	}
	return all
}

// warmUp is the delay of warm-up messages: as d, but at most MaxWarmupDelay.
func (d Delay) warmUp() Delay {
	all := d.hull()
	if d.Together {
		return Fixed(min(all.Max-all.Min, MaxWarmupDelay))
	}
	return Between(min(all.Min, MaxWarmupDelay), min(all.Max, MaxWarmupDelay))
}

// Of returns the delay of message i of n: the same for the same seed, so that no delay has to be kept. With Together it is the
// due instant after the start of the phase.
func (d Delay) Of(seed uint64, i, n int64) time.Duration {
	span := d.Spans[mix(mix(seed)^uint64(i))%uint64(len(d.Spans))]
	width := uint64((span.Max - span.Min) / time.Millisecond)
	if d.Together && !d.Shuffled {
		return span.Min + time.Duration(float64(width)*float64(i)/float64(n))*time.Millisecond
	}
	return span.Min + time.Duration(mix(seed^mix(uint64(i)))%(width+1))*time.Millisecond
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection that turns a counter into evenly spread numbers.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
