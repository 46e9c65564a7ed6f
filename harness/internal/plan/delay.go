package plan

import (
	"errors"
	"strings"
	"time"
)

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
		var s Span
		if err := s.UnmarshalText([]byte(part)); err != nil {
			return err
		}
		read.Spans = append(read.Spans, s)
	}
	if err := read.check(); err != nil {
		return err
	}
	*d = read
	return nil
}

// UnmarshalText reads 5s, or 1s..10s. Its error names the expected form.
func (s *Span) UnmarshalText(text []byte) error {
	low, high, isRange := strings.Cut(strings.TrimSpace(string(text)), "..")
	if !isRange {
		high = low
	}
	shortest, errLow := time.ParseDuration(strings.TrimSpace(low))
	longest, errHigh := time.ParseDuration(strings.TrimSpace(high))
	if errLow != nil || errHigh != nil {
		return errors.New("expected a duration such as 5s, or a range such as 1s..10s")
	}
	*s = Span{shortest, longest}
	return nil
}

func (d Delay) check() error {
	if d.Together && len(d.Spans) > 1 {
		return errors.New("expected one instant or range after @")
	}
	for _, s := range d.Spans {
		switch {
		case s.Min < 0:
			return errors.New("expected 0s or more")
		case s.Min > s.Max:
			return errors.New("expected SHORTEST..LONGEST; swap the two")
		case s.Min%time.Millisecond != 0 || s.Max%time.Millisecond != 0:
			return errors.New("expected whole milliseconds, the resolution of the format")
		}
	}
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
