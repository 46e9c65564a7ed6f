package load

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseRate(t *testing.T) {
	for text, want := range map[string]Rate{
		"1000/s": 1000, "1000": 1000, "90/m": 1.5, "36/h": .01, "50/100ms": 500, " 5 / s ": 5, "0.5/s": .5, "1e3/s": 1000,
	} {
		got, err := ParseRate(text)
		require.NoError(t, err, text)
		require.InEpsilon(t, float64(want), float64(got), 1e-12, text)
	}
	for _, text := range []string{"", "0", "0/s", "-1/s", "NaN", "Inf/s", "1000/", "1000/x", "1000/0s", "/s", "1000/s/s", "1e300/s"} {
		_, err := ParseRate(text)
		require.ErrorContains(t, err, "expected", text)
	}
}

func TestParseDelay(t *testing.T) {
	for text, want := range map[string]Delay{
		"5s":        {5 * time.Second, 5 * time.Second},
		"0s":        {},
		"1s..10s":   {time.Second, 10 * time.Second},
		"1ms .. 1h": {time.Millisecond, time.Hour},
	} {
		got, err := ParseDelay(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
		back, err := ParseDelay(got.String())
		require.NoError(t, err)
		require.Equal(t, want, back)
	}
	for _, text := range []string{"", "5", "-5s", "10s..1s", "1s..", "..1s", "1s..2s..3s", "x", "-2s..-1s", "1500us", "1ms..1.5ms"} {
		_, err := ParseDelay(text)
		require.Error(t, err, text)
	}
}

func TestValidateRefusesNonsense(t *testing.T) {
	valid := DefaultPlan()
	valid.Queue = "q"
	require.NoError(t, valid.Validate())
	for name, change := range map[string]func(*Plan){
		"producers": func(p *Plan) { p.Producers = 0 }, "consumers": func(p *Plan) { p.Consumers = -1 },
		"rate": func(p *Plan) { p.Rate = Rate(math.NaN()) }, "duration": func(p *Plan) { p.Duration = 0 },
		"swap":       func(p *Plan) { p.Delay = Delay{2 * time.Second, time.Second} },
		"0s or more": func(p *Plan) { p.Delay = Delay{-time.Second, time.Second} }, "whole": func(p *Plan) { p.Delay = Delay{0, 1} },
		"payload size": func(p *Plan) { p.PayloadSize = HeaderSize - 1 }, "warm-up": func(p *Plan) { p.Warmup = -1 },
		"drain timeout": func(p *Plan) { p.DrainTimeout = 0 }, "queue": func(p *Plan) { p.Queue = "" },
		"messages": func(p *Plan) { p.Rate, p.Duration = 1e9, time.Hour },
		"at most":  func(p *Plan) { p.PayloadSize = maxPayload + 1 },
	} {
		p := valid
		change(&p)
		require.ErrorContains(t, p.Validate(), name)
	}
}

func TestRateCountsMessages(t *testing.T) {
	for _, tc := range []struct {
		rate Rate
		d    time.Duration
		want int64
	}{
		{1000, 10 * time.Second, 10_000}, {3, time.Second, 3}, {.1, time.Second, 1}, {1000, 1500 * time.Microsecond, 2}, {5, 0, 0},
	} {
		require.Equal(t, tc.want, tc.rate.messages(tc.d), "%v for %v", tc.rate, tc.d)
	}
}

// Drawn delays cover the range evenly and repeat with the seed.
func TestDrawnDelays(t *testing.T) {
	d := Delay{time.Second, 2 * time.Second}
	const n = 100_000
	var sum time.Duration
	low, high := d.Max, d.Min
	for i := range int64(n) {
		delay := d.of(1, i)
		require.Equal(t, delay, d.of(1, i))
		require.Zero(t, delay%time.Millisecond)
		sum, low, high = sum+delay, min(low, delay), max(high, delay)
	}
	require.InEpsilon(t, 1500*time.Millisecond, sum/n, .005)
	require.InDelta(t, time.Second, low, float64(time.Millisecond))
	require.InDelta(t, 2*time.Second, high, float64(time.Millisecond))
	require.NotEqual(t, d.of(1, 0), d.of(2, 0))
}
