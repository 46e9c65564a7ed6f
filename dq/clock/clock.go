// Package clock answers: what time is it, and wake me at that time.
//
// A delay queue takes its Clock as an option, so that tests can make it send exact bytes, and compare it with itself on another timer.
//
// Go's own timers wait in epoll_wait, which counts in whole milliseconds: on an idle Linux machine they fire about half a millisecond
// late. System avoids that with the kernel's timerfd, which wakes the poller as a socket does, at the nanosecond asked for.
package clock

import (
	"context"
	"time"
)

// Clock reads the time and makes timers.
type Clock interface {
	// Now returns the wall clock, which due times are measured by.
	Now() time.Time
	// NewTimer returns a stopped timer.
	NewTimer() Timer
}

// Timer wakes one receiver at an instant of its Clock. All methods may be called from any goroutine.
type Timer interface {
	// C delivers a value at the instant. One may be early, or left over: look at the clock, and wait on.
	C() <-chan struct{}
	// Reset sets the instant, in place of any earlier one. An instant that has
	// passed is delivered at once. If the wall clock is set meanwhile, the timer keeps to the time that was left.
	Reset(at time.Time)
	// Stop unsets the instant.
	Stop()
	// Close frees the timer. C delivers nothing afterwards.
	Close()
}

// System returns the clock of the machine with the most precise timer it has: timerfd on Linux, Go's own timer elsewhere.
func System() Clock { return machine{newSystemTimer} }

// Runtime returns the clock of the machine with Go's own timers. Inside a testing/synctest bubble both are virtual.
func Runtime() Clock { return machine{newRuntimeTimer} }

// machine is the clock of the machine, with timers of a kind.
type machine struct{ newTimer func() Timer }

func (machine) Now() time.Time    { return time.Now() }
func (m machine) NewTimer() Timer { return m.newTimer() }

// SleepUntil waits until the instant at of the clock that t belongs to. It returns ctx's error if ctx ends before.
func SleepUntil(ctx context.Context, c Clock, t Timer, at time.Time) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !c.Now().Before(at) {
			return nil
		}
		t.Reset(at)
		select {
		case <-t.C():
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
	}
}

// runtimeTimer is a time.Timer that keeps the contract of Timer.
type runtimeTimer struct {
	c     chan struct{}
	timer *time.Timer
}

func newRuntimeTimer() Timer {
	t := &runtimeTimer{c: make(chan struct{}, 1)}
	t.timer = time.AfterFunc(time.Hour, func() { wake(t.c) })
	t.timer.Stop()
	return t
}

func (t *runtimeTimer) C() <-chan struct{} { return t.c }
func (t *runtimeTimer) Reset(at time.Time) { t.timer.Reset(time.Until(at)) }
func (t *runtimeTimer) Stop()              { t.timer.Stop() }
func (t *runtimeTimer) Close()             { t.timer.Stop() }

// wake leaves one value in c for the next reader.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
