package dq_test

import (
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
)

// shiftedClock is the clock of the machine, but that it can be set forward.
type shiftedClock struct {
	mu     sync.Mutex
	by     time.Duration
	timers []*shiftedTimer
}

func newShiftedClock() *shiftedClock { return &shiftedClock{} }

func (c *shiftedClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.by)
}

func (c *shiftedClock) NewTimer() clock.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &shiftedTimer{Timer: clock.Runtime().NewTimer(), clock: c}
	c.timers = append(c.timers, t)
	return t
}

// shift sets the clock forward, and all timers with it.
func (c *shiftedClock) shift(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by += by
	for _, t := range c.timers {
		if !t.at.IsZero() {
			t.Timer.Reset(t.at.Add(-c.by))
		}
	}
}

// shiftedTimer is a timer of a shiftedClock, whose mutex guards at.
type shiftedTimer struct {
	clock.Timer
	clock *shiftedClock
	at    time.Time // zero where it is stopped
}

func (t *shiftedTimer) Reset(at time.Time) {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.at = at
	t.Timer.Reset(at.Add(-t.clock.by))
}

func (t *shiftedTimer) Stop() {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.at = time.Time{}
	t.Timer.Stop()
}
