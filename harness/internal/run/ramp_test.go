package run

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRateSteps(t *testing.T) {
	r := &Document{Scenario: Scenario{Ramp: "100/s for 2s, 1000/s for 2s, 100/s for 1s", Delay: "1s"}}
	for k, second := range []struct{ offered, p50, p99 int64 }{
		{100, 0, 0}, {100, 1e5, 2e5}, {1000, 2e5, 3e5}, {500, 5e6, 9e6}, {100, 7e6, 8e6}, {0, 1e5, 1e6},
	} {
		r.Intervals = append(r.Intervals, Interval{
			Second: float64(k + 1), Offered: second.offered, Delivered: second.offered + 1, PastDueP50: second.p50, PastDueP99: second.p99,
		})
	}
	steps := r.RateSteps()
	require.Equal(t, []RateStep{{100, 100, 2e5, 3e5, 0, 0, 0}, {1000, 750, 7e6, 9e6, 0, 0, .25}, {100, 100, 1e5, 1e6, 0, 0, 5}}, steps)
	held, text := r.climbed(5 * time.Millisecond)
	require.InEpsilon(t, 100, held, 1e-9)
	require.Equal(t, "Holds past due p99 of 5ms up to 100/s; then at 1000/s: past due p99 9.00 ms, 750/s offered.", text)
	r.Scenario.Delay = "1200ms" // no second is one step's alone
	require.Equal(t, steps, r.RateSteps())
	r.Scenario.Delay = "1s..2s"
	require.Nil(t, r.RateSteps())
	r.Scenario.Ramp, r.Scenario.Delay = "fast for ever", "1s"
	require.Nil(t, r.RateSteps())
}
