package clock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/clock"
)

// settable is a wall clock that is set now and then. Its timers wait for it to show their instant,
// as the kernel's do, but do not hear that it is set.
type settable struct{ ahead atomic.Int64 }

func (s *settable) set(by time.Duration) { s.ahead.Add(int64(by)) }
func (s *settable) offset() time.Duration {
	return time.Duration(s.ahead.Load())
}
func (s *settable) Now() time.Time { return time.Now().Round(0).Add(s.offset()) }
func (s *settable) NewTimer() clock.Timer {
	return settableTimer{clock.Runtime().NewTimer(), s}
}

type settableTimer struct {
	clock.Timer
	clock *settable
}

func (t settableTimer) Reset(at time.Time) { t.Timer.Reset(at.Add(-t.clock.offset())) }

// server is what a Guard asks.
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

func TestGuard(t *testing.T) {
	for _, c := range []struct {
		name   string
		set    time.Duration
		server *server
		ahead  time.Duration // of the guarded clock, in the end
		step   *clock.Step
	}{
		{"set wrong by an hour", time.Hour, &server{}, 0, &clock.Step{By: time.Hour}},
		{"set back by an hour", -time.Hour, &server{}, 0, &clock.Step{By: -time.Hour}},
		{"set right by an hour", time.Hour, &server{ahead: time.Hour}, time.Hour, &clock.Step{By: time.Hour, Followed: true}},
		{"set nearer", -time.Hour, &server{ahead: -40 * time.Minute}, -time.Hour, &clock.Step{By: -time.Hour, Followed: true}},
		{"set farther off", -time.Hour, &server{ahead: -20 * time.Minute}, 0, &clock.Step{By: -time.Hour}},
		{"put right by little", 400 * time.Millisecond, &server{ahead: -time.Hour}, 400 * time.Millisecond, nil},
		{"a slow answer", 3 * time.Second, &server{behind: 2 * time.Second}, 0, &clock.Step{By: 3 * time.Second}},
		{"set wrong, and answers too slow to tell", 900 * time.Millisecond, &server{behind: 1600 * time.Millisecond}, 0, nil},
		{"set back, and answers too slow to tell", -1700 * time.Millisecond, &server{behind: 1900 * time.Millisecond}, 0, nil},
		{"set right, and answers too slow to tell", 900 * time.Millisecond, &server{ahead: 900 * time.Millisecond, behind: 1600 * time.Millisecond}, 0, nil},
		{"nobody to ask", time.Hour, &server{err: clock.ErrCannotTell}, time.Hour, &clock.Step{By: time.Hour, Followed: true, Err: clock.ErrCannotTell}},
		{"no answer yet", time.Hour, &server{err: errors.New("connection refused")}, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				under, steps := &settable{}, make(chan clock.Step, 10)
				g := clock.NewGuard(ctx, under, c.server.ask, func(s clock.Step) { steps <- s })
				time.Sleep(time.Hour)
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

// Once an answer comes soon enough to tell, the step is told of.
func TestGuardAsksAgainAfterASlowAnswer(t *testing.T) {
	for right, ahead := range map[bool]time.Duration{true: 900 * time.Millisecond, false: 0} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			under, steps, asked := &settable{}, make(chan clock.Step, 10), 0
			g := clock.NewGuard(ctx, under, func(context.Context) (time.Time, error) {
				if asked++; asked == 1 {
					time.Sleep(1600 * time.Millisecond)
					return time.Now().Add(ahead - 800*time.Millisecond), nil
				}
				return time.Now().Add(ahead), nil
			}, func(s clock.Step) { steps <- s })
			time.Sleep(time.Hour)
			under.set(900 * time.Millisecond)
			before := g.Now()
			time.Sleep(5 * time.Second)
			require.Equal(t, before.Add(5*time.Second+ahead), g.Now())
			require.Equal(t, clock.Step{By: 900 * time.Millisecond, Followed: right}, <-steps)
			cancel()
			g.Wait()
		})
	}
}

// The lag is not more exact than the answer that it is from: replies that stood still when the first one came
// move no clock afterwards.
func TestGuardKeepsItsTimeAfterASlowFirstAnswer(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		for _, late := range []time.Duration{0, 1800 * time.Millisecond} { // of those 1.8 s the request takes so much
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				under, asked := &settable{}, 0
				g := clock.NewGuard(ctx, under, func(context.Context) (time.Time, error) {
					if asked++; asked == 1 {
						time.Sleep(1800 * time.Millisecond)
						return time.Now().Add(late - 1800*time.Millisecond), nil
					}
					return time.Now(), nil
				}, func(clock.Step) {})
				time.Sleep(time.Hour)
				under.set(step)
				before := g.Now()
				for range 20 {
					time.Sleep(time.Second)
					require.Zero(t, g.Now().Sub(time.Now().Round(0)), "since %s", before)
				}
				require.Greater(t, asked, 2)
				cancel()
				g.Wait()
			})
		}
	}
}

// On a link that is slow for good the clock that is nearer by the middle of the answers' times is gone by in the end.
func TestGuardOnASlowLink(t *testing.T) {
	for ahead, want := range map[time.Duration]bool{0: false, 900 * time.Millisecond: true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			under, steps := &settable{}, make(chan clock.Step, 10)
			g := clock.NewGuard(ctx, under, (&server{ahead: ahead, behind: 1100 * time.Millisecond}).ask, func(s clock.Step) { steps <- s })
			time.Sleep(time.Hour)
			under.set(900 * time.Millisecond)
			before := g.Now()
			time.Sleep(time.Minute)
			require.Equal(t, clock.Step{By: 900 * time.Millisecond, Followed: want}, <-steps)
			require.Equal(t, before.Add(time.Minute+ahead), g.Now())
			under.set(-900 * time.Millisecond)
			if want { // it was right
				time.Sleep(time.Minute)
				require.Equal(t, clock.Step{By: -900 * time.Millisecond}, <-steps)
			}
			cancel()
			g.Wait()
		})
	}
}

// A step is noticed also where nobody asks for the time, and of two steps each by itself.
func TestGuardLooksByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		under, steps := &settable{}, make(chan clock.Step, 10)
		under.set(-10 * time.Second)
		g := clock.NewGuard(ctx, under, (&server{}).ask, func(s clock.Step) { steps <- s })
		time.Sleep(24 * time.Hour)
		under.set(10 * time.Second)
		time.Sleep(time.Minute)
		require.Equal(t, clock.Step{By: 10 * time.Second, Followed: true}, <-steps)
		under.set(-8 * time.Second)
		time.Sleep(time.Minute)
		require.Equal(t, clock.Step{By: -8 * time.Second}, <-steps)
		require.WithinDuration(t, time.Now(), g.Now(), 0)
		cancel()
		g.Wait()
	})
}

// A clock that is put right again is followed again, and nobody is asked any more.
func TestGuardFollowsAClockThatIsPutRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		under, s, steps := &settable{}, &server{}, make(chan clock.Step, 10)
		g := clock.NewGuard(t.Context(), under, s.ask, func(s clock.Step) { steps <- s })
		under.set(time.Hour)
		g.Now()
		time.Sleep(10 * time.Minute)
		require.Equal(t, clock.Step{By: time.Hour}, <-steps)
		require.InDelta(t, 121, s.asked.Load(), 1, "every five seconds")
		under.set(-time.Hour)
		require.WithinDuration(t, time.Now(), g.Now(), 0)
		time.Sleep(time.Second)
		require.Equal(t, clock.Step{By: -time.Hour, Followed: true}, <-steps)
		asked := s.asked.Load()
		time.Sleep(time.Hour)
		require.Equal(t, asked, s.asked.Load())

		under.set(-time.Minute)
		g.Now()
		time.Sleep(time.Second)
		require.Equal(t, clock.Step{By: -time.Minute}, <-steps, "it is guarded still")
	})
}

// A wall clock that is not followed moves the time no more, in however small parts it is put right; then it is followed.
func TestGuardOfAClockThatIsPutRightInParts(t *testing.T) {
	for _, parts := range []int{3, 100} {
		synctest.Test(t, func(t *testing.T) {
			const wrong = 1200 * time.Millisecond
			under, steps := &settable{}, make(chan clock.Step, 10)
			g := clock.NewGuard(t.Context(), under, (&server{}).ask, func(s clock.Step) { steps <- s })
			under.set(wrong)
			require.WithinDuration(t, time.Now(), g.Now(), 0)
			time.Sleep(time.Second)
			require.Equal(t, clock.Step{By: wrong}, <-steps)
			timer := g.NewTimer()
			defer timer.Close()
			for range parts {
				under.set(-wrong / time.Duration(parts))
				at := g.Now().Add(300 * time.Millisecond)
				require.NoError(t, clock.SleepUntil(t.Context(), g, timer, at))
				require.InDelta(t, 0, time.Since(at), float64(120*time.Millisecond))
				require.WithinDuration(t, time.Now(), g.Now(), 110*time.Millisecond)
			}
			time.Sleep(10 * time.Second)
			require.True(t, (<-steps).Followed)
			require.WithinDuration(t, time.Now(), g.Now(), 0)
		})
	}
}

// Steps of which each is small are one within ten seconds, however often the time is asked for.
func TestGuardOfManySmallSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		under, steps := &settable{}, make(chan clock.Step, 10)
		g := clock.NewGuard(t.Context(), under, (&server{}).ask, func(s clock.Step) { steps <- s })
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

// What puts a wall clock right gradually moves the monotonic clock too; another server may be ahead of the first.
func TestGuardKeepsItsLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64
		ask := func(context.Context) (time.Time, error) { return time.Now().Add(time.Duration(ahead.Load())), nil }
		under := &settable{}
		g := clock.NewGuard(t.Context(), under, ask, func(clock.Step) {})
		under.set(time.Hour)
		g.Now()
		for range 60 { // the monotonic clock loses 8 %
			time.Sleep(time.Second)
			ahead.Add(int64(80 * time.Millisecond))
			require.WithinDuration(t, time.Now().Add(time.Duration(ahead.Load())), g.Now(), 500*time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		before := g.Now()
		ahead.Add(int64(20 * time.Minute))
		time.Sleep(time.Minute)
		require.Equal(t, before.Add(time.Minute), g.Now())
	})
}

// A timer fires at its instant, whatever the clock under it is set to.
func TestGuardedTimers(t *testing.T) {
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			under := &settable{}
			g := clock.NewGuard(t.Context(), under, (&server{}).ask, func(clock.Step) {})
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
			under.set(-by)
			time.Sleep(time.Hour)
			timer.Reset(time.Unix(1<<40, 0))
			time.Sleep(time.Hour)
			select {
			case <-timer.C():
				t.Fatal("it fired")
			default:
			}
		})
	}
}
