package clock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/dq-bench/dq-bench/dq/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const deadline = 10 * time.Second

// A timer fires not before its instant, an earlier one replaces a later one, and a context ends the wait.
func TestTimers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]clock.Clock{"system": clock.System(), "runtime": clock.Runtime()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timer := c.NewTimer()
			defer timer.Close()
			timer.Reset(c.Now().Add(time.Hour))
			for _, wait := range []time.Duration{time.Millisecond, -time.Hour, 0, time.Microsecond, 3 * time.Millisecond} {
				at := c.Now().Add(wait)
				ctx, cancel := context.WithTimeout(t.Context(), deadline)
				require.NoError(t, clock.SleepUntil(ctx, c, timer, at))
				cancel()
				require.False(t, c.Now().Before(at))
			}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Millisecond, cancel)
			require.ErrorIs(t, clock.SleepUntil(ctx, c, timer, c.Now().Add(time.Hour)), context.Canceled)
		})
	}
}

// Stop and Close are shown in virtual time, where "never" can be waited for.
func TestStoppedTimerStaysSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		timer := clock.Runtime().NewTimer()
		timer.Reset(time.Now().Add(time.Second))
		timer.Stop()
		time.Sleep(time.Hour)
		require.Empty(t, timer.C())
		timer.Reset(time.Now().Add(time.Second))
		timer.Close()
		time.Sleep(time.Hour)
		require.Empty(t, timer.C())
	})
}

// settable is a wall clock that is set now and then. Its timers keep to the time that was left when they were set.
type settable struct{ ahead, still atomic.Int64 } // still is how long the process stands still before a reading

func (s *settable) set(by time.Duration)  { s.ahead.Add(int64(by)) }
func (s *settable) offset() time.Duration { return time.Duration(s.ahead.Load()) }
func (s *settable) Now() time.Time {
	time.Sleep(time.Duration(s.still.Load()))
	return time.Now().Round(0).Add(s.offset())
}
func (s *settable) NewTimer() clock.Timer { return settableTimer{clock.Runtime().NewTimer(), s} }

type settableTimer struct {
	clock.Timer
	clock *settable
}

func (t settableTimer) Reset(at time.Time) { t.Timer.Reset(at.Add(-t.clock.offset())) }

// server answers a StepFilter.
type server struct {
	ahead  time.Duration
	err    error
	asked  atomic.Int64
	behind time.Duration // how long an answer takes
}

func (s *server) ask(context.Context) (time.Time, error) {
	s.asked.Add(1)
	time.Sleep(s.behind)
	return time.Now().Add(s.ahead - s.behind/2), s.err
}

// filtered returns a StepFilter of a clock that the server judges, and its events.
func filtered(ctx context.Context, s *server) (*settable, *clock.StepFilter, chan clock.StepEvent) {
	under, steps := &settable{}, make(chan clock.StepEvent, 10)
	return under, clock.NewStepFilter(ctx, under, s.ask, func(s clock.StepEvent) { steps <- s }), steps
}

func TestStepFilter(t *testing.T) {
	for _, c := range []struct {
		name   string
		set    time.Duration
		server *server
		ahead  time.Duration // of the guarded clock, in the end
		step   *clock.StepEvent
	}{
		{"set wrong by an hour", time.Hour, &server{}, 0, &clock.StepEvent{By: time.Hour}},
		{"set back by an hour", -time.Hour, &server{}, 0, &clock.StepEvent{By: -time.Hour}},
		{"set right by an hour", time.Hour, &server{ahead: time.Hour}, time.Hour, &clock.StepEvent{By: time.Hour, Followed: true}},
		{"set nearer", -time.Hour, &server{ahead: -40 * time.Minute}, -time.Hour, &clock.StepEvent{By: -time.Hour, Followed: true}},
		{"set farther off", -time.Hour, &server{ahead: -20 * time.Minute}, 0, &clock.StepEvent{By: -time.Hour}},
		{"put right by little", 400 * time.Millisecond, &server{ahead: -time.Hour}, 400 * time.Millisecond, nil},
		{"a slow answer", 3 * time.Second, &server{behind: 2 * time.Second}, 0, &clock.StepEvent{By: 3 * time.Second}},
		{"nobody to ask", time.Hour, &server{err: clock.ErrCannotTell}, time.Hour, &clock.StepEvent{By: time.Hour, Followed: true, Err: clock.ErrCannotTell}},
		{"no answer yet", time.Hour, &server{err: errors.New("connection refused")}, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				under, g, steps := filtered(ctx, c.server)
				time.Sleep(time.Hour + time.Second) // between two looks
				before := g.Now()
				under.set(c.set)
				if c.step != nil {
					require.Equal(t, before, g.Now(), "it goes on as before until it knows")
				}
				time.Sleep(5 * time.Second)
				require.Equal(t, before.Add(5*time.Second+c.ahead), g.Now())
				if c.step != nil {
					require.Equal(t, *c.step, <-steps)
				}
				cancel()
				g.Wait()
				require.Empty(t, steps)
			})
		})
	}
}

// A step is noticed also where nobody asks for the time, and of two steps each by itself.
func TestStepFilterLooksByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		under, steps := &settable{}, make(chan clock.StepEvent, 10)
		under.set(-10 * time.Second)
		g := clock.NewStepFilter(ctx, under, (&server{}).ask, func(s clock.StepEvent) { steps <- s })
		time.Sleep(24 * time.Hour)
		under.set(10 * time.Second)
		time.Sleep(time.Minute)
		require.Equal(t, clock.StepEvent{By: 10 * time.Second, Followed: true}, <-steps)
		under.set(-8 * time.Second)
		time.Sleep(time.Minute)
		require.Equal(t, clock.StepEvent{By: -8 * time.Second}, <-steps)
		require.WithinDuration(t, time.Now(), g.Now(), 0)
		cancel()
		g.Wait()
	})
}

// A clock that is put right again is followed again, and nobody is asked any more.
func TestStepFilterFollowsAClockThatIsPutRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		under, g, steps := filtered(t.Context(), s)
		under.set(time.Hour)
		g.Now()
		time.Sleep(10 * time.Minute)
		require.Equal(t, clock.StepEvent{By: time.Hour}, <-steps)
		require.InDelta(t, 121, s.asked.Load(), 1, "every five seconds")
		under.set(-time.Hour)
		require.WithinDuration(t, time.Now(), g.Now(), 0)
		time.Sleep(time.Second)
		require.Equal(t, clock.StepEvent{By: -time.Hour, Followed: true}, <-steps)
		asked := s.asked.Load()
		time.Sleep(time.Hour)
		require.Equal(t, asked, s.asked.Load())

		under.set(-time.Minute)
		g.Now()
		time.Sleep(time.Second)
		require.Equal(t, clock.StepEvent{By: -time.Minute}, <-steps, "it is guarded still")
	})
}

// A wall clock that is put right in small parts is followed once it is the nearer one.
func TestStepFilterOfAClockThatIsPutRightInParts(t *testing.T) {
	for _, parts := range []int{3, 100} {
		synctest.Test(t, func(t *testing.T) {
			const wrong = 1200 * time.Millisecond
			under, g, steps := filtered(t.Context(), &server{})
			under.set(wrong)
			require.WithinDuration(t, time.Now(), g.Now(), 0)
			time.Sleep(time.Second)
			require.Equal(t, clock.StepEvent{By: wrong}, <-steps)
			timer := g.NewTimer()
			defer timer.Close()
			for range parts {
				under.set(-wrong / time.Duration(parts))
				at := g.Now().Add(300 * time.Millisecond)
				require.NoError(t, clock.SleepUntil(t.Context(), g, timer, at))
				require.InDelta(t, 0, time.Since(at), float64(wrong))
				require.WithinDuration(t, time.Now(), g.Now(), wrong)
			}
			time.Sleep(10 * time.Second)
			for !(<-steps).Followed { // some parts are a step together
			}
			require.WithinDuration(t, time.Now(), g.Now(), 0)
		})
	}
}

// Steps of which each is small are one within ten seconds, however often the time is asked for.
func TestStepFilterOfManySmallSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		under, g, steps := filtered(t.Context(), &server{})
		for range 8 {
			under.set(400 * time.Millisecond)
			for range 10 {
				time.Sleep(100 * time.Millisecond)
				require.WithinDuration(t, time.Now(), g.Now(), 410*time.Millisecond)
			}
		}
		time.Sleep(10 * time.Second)
		require.WithinDuration(t, time.Now(), g.Now(), 0)
		require.False(t, (<-steps).Followed)
	})
}

// A timer fires at its instant, whatever the clock under it is set to.
func TestStepFilter_Timers(t *testing.T) {
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			under, g, _ := filtered(t.Context(), &server{})
			timer := g.NewTimer()
			defer timer.Close()
			at := g.Now().Add(time.Minute)
			timer.Reset(at)
			time.Sleep(time.Second)
			under.set(by)
			require.NoError(t, clock.SleepUntil(t.Context(), g, timer, at))
			require.InDelta(t, 0, time.Since(at), float64(20*time.Millisecond))

			// One that is stopped does not fire, nor does one for the end of all days.
			timer.Reset(g.Now().Add(time.Minute))
			timer.Stop()
			time.Sleep(time.Hour)
			timer.Reset(time.Unix(1<<40, 0))
			time.Sleep(time.Hour)
			require.Empty(t, timer.C())
		})
	}
}

// A process that stood still between the readings of the two clocks is not early after a step.
func TestAPauseBetweenTheReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		under, g, _ := filtered(ctx, &server{})
		under.still.Store(int64(30 * time.Millisecond))
		time.Sleep(15 * time.Second)
		under.still.Store(0)
		under.set(time.Hour)
		require.False(t, g.Now().After(time.Now()))
		cancel()
		g.Wait()
	})
}
