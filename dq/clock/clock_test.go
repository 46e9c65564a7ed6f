package clock_test

import (
	"context"
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
