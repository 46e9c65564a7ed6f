package faketime

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
)

// lookEvery is how soon a change of the file is seen.
const lookEvery = 5 * time.Millisecond

// FromEnvironment returns the clock of this process: that of the machine, or with a File in
// its environment the one that this says, for as long as the process lives.
func FromEnvironment() clock.Clock {
	path := os.Getenv(variable)
	if path == "" {
		return clock.System()
	}
	c := newMoved(clock.System())
	go c.follow(File{path})
	return c
}

// moved is a clock that is ahead of another. Its timers follow when it is moved, as those of
// the kernel's wall clock do.
type moved struct {
	clock.Clock
	ahead atomic.Int64

	mu     sync.Mutex // guards timers, and the order of what is told to them
	timers map[*timer]struct{}
}

func newMoved(c clock.Clock) *moved { return &moved{Clock: c, timers: map[*timer]struct{}{}} }

// follow looks at the file again and again; a file that is gone changes nothing.
func (c *moved) follow(f File) {
	for ; ; time.Sleep(lookEvery) {
		if ahead, err := f.ahead(); err == nil {
			c.move(ahead)
		}
	}
}

// move sets how far it is ahead.
func (c *moved) move(ahead time.Duration) {
	if c.ahead.Load() == int64(ahead) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead.Store(int64(ahead))
	for t := range c.timers {
		if !t.at.IsZero() {
			t.Timer.Reset(t.at.Add(-ahead))
		}
	}
}

// Now loses the monotonic reading, which would hide that the wall clock was moved.
func (c *moved) Now() time.Time {
	return c.Clock.Now().Round(0).Add(time.Duration(c.ahead.Load()))
}

func (c *moved) NewTimer() clock.Timer {
	t := &timer{Timer: c.Clock.NewTimer(), clock: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timers[t] = struct{}{}
	return t
}

// timer is a timer of a moved clock. Its instant is zero while it is stopped.
type timer struct {
	clock.Timer
	clock *moved
	at    time.Time
}

func (t *timer) Reset(at time.Time) {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.at = at
	t.Timer.Reset(at.Add(-time.Duration(t.clock.ahead.Load())))
}

func (t *timer) Stop() {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.at = time.Time{}
	t.Timer.Stop()
}

func (t *timer) Close() {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	delete(t.clock.timers, t)
	t.Timer.Close()
}
