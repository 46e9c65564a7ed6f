package clock

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// stepBeyond is by how much a clock must be set within lookEvery for that to be a step: less is an ordinary correction.
	stepBeyond = 500 * time.Millisecond
	// lookEvery is how often the clock is looked at if no caller asks for the time.
	lookEvery = 10 * time.Second
	// askAgain is how often the other clock is asked while the wall clock is not followed, and
	// askFirst to askLast how long to wait if it does not answer.
	askAgain          = 5 * time.Second
	askFirst, askLast = 50 * time.Millisecond, time.Second
	// Within sure the two clocks count as equal.
	sure = stepBeyond / 5
)

// ErrCannotTell reports that a StepFilter has no clock to ask: it then follows the wall clock.
var ErrCannotTell = errors.New("the other clock cannot be asked")

// StepFilter is a Clock that does not follow a wall clock that is stepped away from the right time.
//
// It notices a step, by which the clock under it departs from the monotonic clock by more than half a second within ten. It
// goes on as before, and asks another clock, such as a server's, until the wall clock is the nearer of the two. A
// clock that was wrong from the start, or goes wrong slowly, is followed.
type StepFilter struct {
	clock Clock
	ask   func(context.Context) (time.Time, error)
	told  func(StepEvent)
	ctx   context.Context
	work  sync.WaitGroup

	mu     sync.Mutex
	looked time.Time          // an instant of the last lookEvery, by the monotonic clock
	was    time.Time          // the time of the clock under it then
	ahead  time.Duration      // added to the clock under it; 0 if it is followed
	step   time.Duration      // by which that was set, not yet reported
	timers map[Timer]struct{} // of the clock under it

	stepped chan struct{}
}

// StepEvent reports a clock that was stepped.
type StepEvent struct {
	// By is by how much the wall clock was set ahead; less than 0 for back.
	By time.Duration
	// Followed says that the StepFilter goes by the wall clock as it is now: the other clock agrees, or could not be asked.
	// Otherwise it goes on as before.
	Followed bool
	// Err is the reason, if the other clock gave no time.
	Err error
}

// NewStepFilter filters a clock until ctx ends; Wait then waits for calls under way. ask returns the time of another clock, or
// ErrCannotTell; after other errors it is called again. told is called for each step once it is handled.
func NewStepFilter(ctx context.Context, c Clock, ask func(context.Context) (time.Time, error), told func(StepEvent)) *StepFilter {
	f := &StepFilter{
		clock: c, ask: ask, told: told, ctx: ctx,
		was: wall(c), looked: time.Now(), timers: map[Timer]struct{}{}, stepped: make(chan struct{}, 1),
	}
	f.work.Go(f.run)
	return f
}

// wall loses the monotonic reading, which would hide that a clock was set.
func wall(c Clock) time.Time { return c.Now().Round(0) }

// Now returns the time of the clock under it, or what that would be had it not been stepped.
func (f *StepFilter) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.look().Add(f.ahead)
}

// Wait waits until no clock is asked any more, soon after ctx has ended.
func (f *StepFilter) Wait() { f.work.Wait() }

// look returns the time of the clock under it, and keeps the filter's time from a step. Between two readings the process may stand
// still. In the order of these it makes the filter late after a step, not early.
func (f *StepFilter) look() (under time.Time) {
	passed, under, looked := time.Since(f.looked), wall(f.clock), time.Now()
	step := under.Sub(f.was) - passed
	switch {
	case f.ctx.Err() != nil:
	case step.Abs() > stepBeyond:
		f.looked, f.was = looked, under
		f.ahead -= step
		f.step += step
		wake(f.stepped)
	case passed >= lookEvery:
		f.looked, f.was = looked, under
	}
	return under
}

// run looks now and then, and asks while the wall clock is not followed.
func (f *StepFilter) run() {
	for wait, pause := lookEvery, askFirst; ; {
		select {
		case <-f.ctx.Done():
			return
		case <-f.stepped:
		case <-time.After(wait):
		}
		f.mu.Lock()
		f.look()
		departs := f.ahead != 0 || f.step != 0
		f.mu.Unlock()
		if wait = lookEvery; !departs {
			continue
		}
		asked := time.Now()
		other, err := f.ask(f.ctx)
		// The answer is of some instant of the time that it took.
		switch other = other.Add(time.Since(asked) / 2); {
		case err != nil && !errors.Is(err, ErrCannotTell):
			wait, pause = pause, min(2*pause, askLast)
		case !f.decide(other, err):
			wait, pause = askAgain, askFirst
		}
	}
}

// decide follows the wall clock if it is as near to the other clock, and reports whether it does.
func (f *StepFilter) decide(other time.Time, err error) bool {
	f.mu.Lock()
	under := f.look()
	e := StepEvent{By: f.step, Err: err}
	e.Followed = err != nil || f.ahead.Abs() <= sure || under.Sub(other).Abs() <= under.Add(f.ahead).Sub(other).Abs()
	if f.step = 0; e.Followed {
		if e.By == 0 {
			e.By = -f.ahead // it was put right in parts
		}
		f.ahead = 0
		for t := range f.timers {
			t.Reset(time.Time{}) // its owner sets it anew
		}
	}
	f.mu.Unlock()
	if e.By != 0 {
		f.told(e)
	}
	return e.Followed
}

// NewTimer returns a stopped timer of the filtered clock. Once the wall clock is followed again it delivers a value too early.
func (f *StepFilter) NewTimer() Timer {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := filtered{f.clock.NewTimer(), f}
	f.timers[t.Timer] = struct{}{}
	return t
}

// filtered is a timer of a StepFilter. The timer under it counts by the monotonic clock, so that a step does not move it.
type filtered struct {
	Timer
	filter *StepFilter
}

func (t filtered) Reset(at time.Time) {
	t.filter.mu.Lock()
	defer t.filter.mu.Unlock()
	t.filter.look()
	t.Timer.Reset(at.Add(-t.filter.ahead))
}

func (t filtered) Close() {
	t.filter.mu.Lock()
	defer t.filter.mu.Unlock()
	delete(t.filter.timers, t.Timer)
	t.Timer.Close()
}
