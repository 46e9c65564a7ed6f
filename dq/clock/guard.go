package clock

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"
)

const (
	// stepBeyond is by how much a clock must be set within lookEvery for that to be a step: less is
	// what a clock is put right by from day to day. slew is what it may run too fast or too slow
	// besides, a part of the time that has passed: NTP does not go beyond one in 2,000.
	stepBeyond = 500 * time.Millisecond
	slew       = 1000
	// lookEvery is how often the clock is looked at where nobody asks for the time.
	lookEvery = 10 * time.Second
	// askAgain is how often the other clock is asked while the wall clock is not followed, and
	// askFirst to askLast how long to wait where it does not answer.
	askAgain          = 5 * time.Second
	askFirst, askLast = 50 * time.Millisecond, time.Second
	// drift is what the monotonic clock may run wrong by, a part of the time that has passed, while
	// the wall clock is put right gradually, which moves both: chrony goes to one in twelve.
	drift = 10
	// spareAfter is how long after its instant a timer is looked at by the monotonic clock.
	spareAfter = 10 * time.Millisecond
)

// ErrCannotTell is what a Guard is told when there is nobody to ask: it then follows the wall
// clock.
var ErrCannotTell = errors.New("the other clock cannot be asked")

// Guard is a Clock that does not follow a wall clock that has been set wrong.
//
// It notices that the clock under it was set, for that departs from the monotonic clock by more
// than half a second within ten. From then on it goes on as before, by the monotonic clock, and
// asks another clock, such as that of a server, which of the two is right: the wall clock is followed
// once it is the nearer one, at once or after it was put right in parts; an answer that comes too slowly to tell is asked
// for again. A clock that was wrong
// from the start, or goes wrong slowly, is not noticed; a machine that has slept is put right by
// the first answer.
type Guard struct {
	clock Clock
	ask   func(context.Context) (time.Time, error)
	told  func(Step)
	ctx   context.Context
	work  sync.WaitGroup

	mu     sync.Mutex
	looked time.Time     // an instant of the last lookEvery, by the monotonic clock
	was    time.Time     // what it showed then
	ahead  time.Duration // of the clock under it; 0 where that is followed
	step   time.Duration // by which that was set, of which nobody was told
	moved  time.Duration // and by which it was put right in parts since
	asking bool          // the clock under it is in doubt, or not followed
	lags   *lag          // by which it is behind the other clock; nil before that has answered
	again  chan struct{} // another step while asking
	timers map[*guarded]struct{}
}

// lag is by how much the other clock was ahead when it answered, as exactly as half of the time that took.
type lag struct {
	by   time.Duration
	took time.Duration
	at   time.Time
}

// Step is what became of a clock that was set.
type Step struct {
	// By is by how much the wall clock was set ahead; less than 0 for back.
	By time.Duration
	// Followed tells that the Guard goes by the wall clock as it is now.
	Followed bool
	// Err is why, where the other clock could not tell.
	Err error
}

// NewGuard guards a clock until ctx ends; Wait then waits for what is under way. ask returns what
// another clock says, or ErrCannotTell; after other errors it is called again. told is called for
// each step once it is known what to do about it.
func NewGuard(ctx context.Context, c Clock, ask func(context.Context) (time.Time, error), told func(Step)) *Guard {
	g := &Guard{
		clock: c, ask: ask, told: told, ctx: ctx,
		looked: time.Now(), was: wall(c), again: make(chan struct{}, 1), timers: map[*guarded]struct{}{},
	}
	g.work.Go(g.keepLooking)
	return g
}

// keepLooking has a step be noticed within seconds also where nobody asks for the time, and two of them told apart.
func (g *Guard) keepLooking() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-g.ctx.Done():
			return
		case <-tick.C:
			g.Now()
		}
	}
}

// wall loses the monotonic reading, which would hide that a clock was set.
func wall(c Clock) time.Time { return c.Now().Round(0) }

// Now returns the time of the clock under it, or what that would be had it not been set.
func (g *Guard) Now() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, _ := g.look()
	return now
}

// Wait waits until nobody is asked any more, which is soon after ctx has ended.
func (g *Guard) Wait() {
	g.Now() // comes after whoever looked before ctx ended, and nobody begins to ask any more
	g.work.Wait()
}

// look returns the time, and that of the clock under it.
func (g *Guard) look() (now, under time.Time) {
	looked, under := time.Now(), wall(g.clock)
	passed := looked.Sub(g.looked)
	unset := g.was.Add(passed) // what it would be had the clock not been set
	switch step := under.Add(g.ahead).Sub(unset); {
	case g.ctx.Err() != nil:
		return under.Add(g.ahead), under
	case g.asking || step.Abs() > stepBeyond+passed/slew:
		g.depart(step)
		return unset, under
	case passed >= lookEvery:
		g.looked, g.was = looked, under
	}
	return under, under
}

// depart keeps the time from a step of the clock under it, and from what that is put right by in parts.
func (g *Guard) depart(step time.Duration) {
	g.ahead -= step
	if step.Abs() > spareAfter {
		g.setTimers()
	}
	if g.asking && step.Abs() <= stepBeyond {
		g.moved += step
		return
	}
	g.step += step
	g.doubt()
}

// doubt has the other clock be asked.
func (g *Guard) doubt() {
	if g.asking {
		select {
		case g.again <- struct{}{}:
		default:
		}
		return
	}
	g.asking = true
	g.work.Go(g.settle)
}

func (g *Guard) setTimers() {
	for t := range g.timers {
		t.set()
	}
}

// settle asks until the wall clock is followed.
func (g *Guard) settle() {
	slowly := 0 // answered, in a row
	for wait := time.Duration(0); ; {
		asked := time.Now()
		other, err := g.ask(g.ctx)
		which := slow
		if err == nil || errors.Is(err, ErrCannotTell) {
			which = g.decide(other, time.Since(asked), err, slowly >= mostSlow)
			slowly++
		}
		switch which {
		case follow:
			return
		case slow:
			wait = min(max(2*wait, askFirst), askLast)
		case keep:
			wait = askAgain
			if slowly <= mostSlow {
				slowly = 0
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-g.ctx.Done():
			timer.Stop()
			return
		case <-g.again:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// decision is what an answer of the other clock says about the wall clock.
type decision uint8

const (
	follow decision = iota
	keep            // going by the monotonic clock
	slow            // the same: the answer took too long to tell
)

// mostSlow is how many answers in a row may be too slow to tell: a link on which all are goes by the middle of their times.
const mostSlow = 10

// sure is within what the two may be as near to the other clock as each other.
const sure = stepBeyond / 5

// decide tells whether the wall clock is followed. The answer is of some instant of the time that it took, so that each of
// the two may be half of that nearer to the other clock than it seems, and the other one as much farther.
func (g *Guard) decide(other time.Time, took time.Duration, err error, isLast bool) decision {
	g.mu.Lock()
	now, under := g.look()
	other = other.Add(took / 2)
	farther := under.Sub(other).Abs() - now.Sub(other).Abs()
	which := follow
	switch {
	case err != nil || under.Sub(now).Abs() <= sure:
	case farther > took+sure:
		which = keep
	case took <= sure || farther <= -took:
	case !isLast:
		g.mu.Unlock()
		return slow
	case farther > 0:
		which = keep
	}
	s := Step{By: g.step, Followed: which == follow, Err: err}
	g.step = 0
	if which == follow {
		s.By += g.moved
		g.looked, g.was, g.ahead, g.moved, g.asking, g.lags = time.Now(), under, 0, 0, false, nil
	} else {
		g.keepLag(other.Sub(now), took)
	}
	g.setTimers()
	g.mu.Unlock()
	if s.By != 0 {
		g.told(s)
	}
	return which
}

// keepLag has the lag behind the other clock stay what it was when that answered first: what puts the
// wall clock right gradually moves the monotonic clock as well. More than that can is another
// clock that answers, and what the times of the answers explain is none: the quicker one is more exact.
func (g *Guard) keepLag(by, took time.Duration) {
	now := time.Now()
	first := g.lags
	if first == nil {
		g.lags = &lag{by, took, now}
		return
	}
	change, most := by-first.by, stepBeyond+now.Sub(first.at)/drift
	first.at = now
	switch {
	case change.Abs() <= (took+first.took)/2+spareAfter:
		if took < first.took {
			first.by, first.took = by, took
		}
	case change.Abs() > most:
		first.by, first.took = by, took
	default:
		g.was, g.ahead = g.was.Add(change), g.ahead+change
	}
}

// NewTimer returns a stopped timer of the guarded clock.
func (g *Guard) NewTimer() Timer {
	t := &guarded{Timer: g.clock.NewTimer(), guard: g}
	t.spare = time.AfterFunc(time.Hour, func() { g.Now() })
	t.spare.Stop()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.timers[t] = struct{}{}
	return t
}

// guarded is a timer of a Guard. The one under it waits for the clock to show an instant, and for
// long if that is set back: spare has the clock be looked at then.
type guarded struct {
	Timer
	guard *Guard
	at    time.Time // zero while it is stopped
	spare *time.Timer
}

// set sets the timer under it by how far that clock is behind.
func (t *guarded) set() {
	if !t.at.IsZero() {
		t.Timer.Reset(t.at.Add(-t.guard.ahead))
	}
}

func (t *guarded) Reset(at time.Time) {
	t.guard.mu.Lock()
	defer t.guard.mu.Unlock()
	now, _ := t.guard.look()
	t.at = at
	t.set()
	t.spare.Reset(min(max(at.Sub(now), 0), math.MaxInt64-spareAfter) + spareAfter)
}

func (t *guarded) Stop() {
	t.guard.mu.Lock()
	defer t.guard.mu.Unlock()
	t.at = time.Time{}
	t.Timer.Stop()
	t.spare.Stop()
}

func (t *guarded) Close() {
	t.guard.mu.Lock()
	defer t.guard.mu.Unlock()
	delete(t.guard.timers, t)
	t.at = time.Time{}
	t.spare.Stop()
	t.Timer.Close()
}
