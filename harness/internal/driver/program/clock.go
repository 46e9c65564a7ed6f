package program

import (
	"context"
	"time"
)

// Epoch turns instants into Unix time by the monotonic clock, so that a step of the wall clock during a run shifts no lateness.
type Epoch struct{ zero time.Time }

// NewEpoch looks at the clocks several times: time.Now reads the wall clock and then the monotonic one, and a goroutine that is
// held up in between pairs a wall clock that is too old, which would make every delivery look early.
func NewEpoch() Epoch {
	e := Epoch{time.Now()}
	for range 20 {
		if now := time.Now(); e.Drift(now) > 0 {
			e.zero = now
		}
	}
	return e
}

// Drift is how far the wall clock has moved against the monotonic one.
func (e Epoch) Drift(now time.Time) time.Duration { return time.Duration(now.UnixNano() - e.Wall(now)) }

// Wall returns the Unix time of t in ns.
func (e Epoch) Wall(t time.Time) int64 { return e.zero.UnixNano() + int64(t.Sub(e.zero)) }

// Instant is the reverse of Wall.
func (e Epoch) Instant(ns int64) time.Time { return e.zero.Add(time.Duration(ns - e.zero.UnixNano())) }

// Since compares the epoch with one that is made now: by how much the wall clock was set since.
func (e Epoch) Since() time.Duration { return -NewEpoch().Drift(e.zero) }

// Pause waits, and reports whether ctx let it.
func Pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
