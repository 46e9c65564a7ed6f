package plan

import (
	"fmt"
	"strings"
	"time"
)

// Step is a stretch of the schedule with a rate of its own.
type Step struct {
	Rate     Rate
	Duration time.Duration
}

// String returns 1000/s for 10s.
func (s Step) String() string { return s.Rate.String() + " for " + s.Duration.String() }

// Schedule says when each message of a phase is to be sent.
type Schedule []Step

// Messages is how many messages there are.
func (s Schedule) Messages() int64 {
	n := int64(0)
	for _, step := range s {
		n += step.Rate.messages(step.Duration)
	}
	return n
}

// Duration is how long messages are offered.
func (s Schedule) Duration() time.Duration {
	total := time.Duration(0)
	for _, step := range s {
		total += step.Duration
	}
	return total
}

// At is when message i is to be sent, from the start of the phase: i / rate, and
// the message's dither. It does not depend on how the messages before it fared, so
// that no delay is left out of the measurement.
func (s Schedule) At(i int64) time.Duration {
	begin := time.Duration(0)
	for k, step := range s {
		n := step.Rate.messages(step.Duration)
		if i < n || k == len(s)-1 {
			gap := float64(time.Second) / float64(step.Rate)
			return begin + time.Duration(float64(i)*gap+dither(i)*min(gap, float64(time.Millisecond)))
		}
		begin, i = begin+step.Duration, i-n
	}
	return begin
}

// dither is from 0 to 1, even over any stretch of messages (a Weyl sequence with
// the golden ratio). RDelayedQueue cuts due times to whole milliseconds, and a
// rate such as 1000/s would meet each of them at the same point: the instant at
// which a run began, and nothing else, would say where in a millisecond its median
// lies.
func dither(i int64) float64 {
	return float64(uint64(i)*0x9e3779b97f4a7c15>>11) / (1 << 53)
}

// MeanRate is over the whole schedule.
func (s Schedule) MeanRate() Rate {
	if len(s) == 1 {
		return s[0].Rate
	}
	return Rate(float64(s.Messages()) / s.Duration().Seconds())
}

// RampText is empty for a schedule of one rate.
func (s Schedule) RampText() string {
	if len(s) < 2 {
		return ""
	}
	parts := make([]string, len(s))
	for i, step := range s {
		parts[i] = step.String()
	}
	return strings.Join(parts, ", ")
}

func (s Schedule) check() error {
	for _, step := range s {
		if !step.Rate.valid() {
			return fmt.Errorf("rate: expected more than 0 a second, such as 1000/s, got %v", float64(step.Rate))
		}
		if step.Duration <= 0 {
			return fmt.Errorf("duration: expected more than 0, such as 10s, got %s", step.Duration)
		}
	}
	if n := s.Messages(); n > maxMessages {
		return fmt.Errorf("rate and duration: %s for %s are %d messages, expected at most %d", s.MeanRate(), s.Duration(), n, maxMessages)
	}
	return nil
}
