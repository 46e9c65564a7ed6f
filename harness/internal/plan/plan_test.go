package plan

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func delayOf(t *testing.T, text string) Delay {
	t.Helper()
	var d Delay
	require.NoError(t, d.UnmarshalText([]byte(text)), text)
	return d
}

func TestRates(t *testing.T) {
	for text, want := range map[string]Rate{
		"1000/s": 1000, "1000": 1000, "90/m": 1.5, "36/h": .01, "50/100ms": 500, " 5 / s ": 5, "0.5/s": .5, "1e3/s": 1000,
		"1k": 1000, "1k/s": 1000, "1.5K/s": 1500, "6k/m": 100, "2M/s": 2e6,
	} {
		var got Rate
		require.NoError(t, got.UnmarshalText([]byte(text)), text)
		require.InEpsilon(t, float64(want), float64(got), 1e-12, text)
	}
	for _, text := range []string{
		"", "0", "0/s", "-1/s", "NaN", "Inf/s", "1000/", "1000/x", "1000/0s", "/s", "1000/s/s", "1e300/s", "k", "k/s", "1kk", "1000rps", "1000/fortnight", "Infk", "2000M/s",
	} {
		require.ErrorContains(t, new(Rate).UnmarshalText([]byte(text)), "such as 1000/s", text)
	}
	for want, v := range map[string]float64{"500000": 5e5, "23788": 23787.6, "1235": 1234.6, "999.5": 999.49999, "0.1667": 1. / 6, "0": 0, "-60000": -6e4, "1.25": 1.25} {
		require.Equal(t, want, FormatFloat(v), "without an exponent")
	}
	require.Equal(t, "1000000000/s", Rate(maxRate).String())
}

func TestDelays(t *testing.T) {
	for text, want := range map[string]Delay{
		"5s":               Fixed(5 * time.Second),
		"0s":               Fixed(0),
		"1s..10s":          Between(time.Second, 10*time.Second),
		"1ms .. 1h":        Between(time.Millisecond, time.Hour),
		"1s..2s|5ms":       {Spans: []Span{{time.Second, 2 * time.Second}, {5 * time.Millisecond, 5 * time.Millisecond}}},
		"@10s":             {Spans: []Span{{10 * time.Second, 10 * time.Second}}, Together: true},
		"@1s..2s":          {Spans: []Span{{time.Second, 2 * time.Second}}, Together: true},
		"@1s..2s shuffled": {Spans: []Span{{time.Second, 2 * time.Second}}, Together: true, Shuffled: true},
	} {
		got := delayOf(t, text)
		require.Equal(t, want, got)
		require.Equal(t, want, delayOf(t, got.String()))
	}
	for _, text := range []string{"", "5", "-5s", "10s..1s", "1s..", "..1s", "1s..2s..3s", "x", "-2s..-1s", "1500us", "1ms..1.5ms",
		"1s|", "1s|2s..1s", "1s|0.5ms", "@1s|2s", "1s shuffled", "@", "@@1s"} {
		require.Error(t, new(Delay).UnmarshalText([]byte(text)), text)
	}
}

func TestValidateRefusesNonsense(t *testing.T) {
	valid := DefaultPlan()
	valid.Queue = "q"
	require.NoError(t, valid.Validate())
	for name, change := range map[string]func(*Plan){
		"producers": func(p *Plan) { p.Producers = 0 }, "consumers": func(p *Plan) { p.Consumers = -1 },
		"rate": func(p *Plan) { p.Rate = Rate(math.NaN()) }, "duration": func(p *Plan) { p.Duration = 0 },
		"swap":       func(p *Plan) { p.Delay = Between(2*time.Second, time.Second) },
		"0s or more": func(p *Plan) { p.Delay = Between(-time.Second, time.Second) }, "whole": func(p *Plan) { p.Delay = Between(0, 1) },
		"payload size": func(p *Plan) { p.PayloadSize = MinPayload - 1 }, "warmup": func(p *Plan) { p.Warmup = -1 },
		"drain timeout": func(p *Plan) { p.DrainTimeout = 0 }, "queue": func(p *Plan) { p.Queue = "" },
		"messages":       func(p *Plan) { p.Rate, p.Duration = 1e9, time.Hour },
		"49 to 16777216": func(p *Plan) { p.PayloadSize = maxPayload + 1 },
		"horizon":        func(p *Plan) { p.Horizon = -1 }, "poll": func(p *Plan) { p.Poll = -1 }, "work": func(p *Plan) { p.Work = -1 },
		"queues": func(p *Plan) { p.Queues = 0 }, "for each of the 9 queues": func(p *Plan) { p.Queues = 9 },
		"share": func(p *Plan) { p.Cancel.Share = math.NaN() }, "cancel: expected 0s": func(p *Plan) { p.Cancel.After = -1 },
		"duration: expected more": func(p *Plan) { p.Ramp = []Step{{1, time.Second}, {1, 0}} },
		"rate: expected more":     func(p *Plan) { p.Ramp = []Step{{0, time.Second}} },
		"before it ends": func(p *Plan) {
			p.Fleet = []Member{{Offers: true, Takes: true, From: 2, To: 1}}
		},
		"one that takes": func(p *Plan) { p.Fleet = []Member{{Offers: true}} },
		"expected a to for member 1": func(p *Plan) {
			p.Fleet = []Member{{Offers: true, Takes: true, Kill: true}, {Offers: true, Takes: true}}
		},
		"no cancel with member 1": func(p *Plan) {
			p.Cancel.Share, p.Fleet = .5, []Member{{Offers: true, Takes: true, To: 1, Kill: true}, {Offers: true, Takes: true}}
		},
		"to the end": func(p *Plan) { p.Fleet = []Member{{Offers: true, Takes: true, To: 1}} },
	} {
		p := valid
		change(&p)
		require.ErrorContains(t, p.Validate(), name)
	}
}

// Drawn delays cover the range evenly and repeat with the seed.
func TestDrawnDelays(t *testing.T) {
	d := Between(time.Second, 2*time.Second)
	const n = 100_000
	var sum time.Duration
	low, high := 2*time.Second, time.Second
	for i := range int64(n) {
		delay := d.Of(1, i, 1)
		require.Equal(t, delay, d.Of(1, i, 1))
		require.Zero(t, delay%time.Millisecond)
		sum, low, high = sum+delay, min(low, delay), max(high, delay)
	}
	require.InEpsilon(t, 1500*time.Millisecond, sum/n, .005)
	require.InDelta(t, time.Second, low, float64(time.Millisecond))
	require.InDelta(t, 2*time.Second, high, float64(time.Millisecond))
	require.NotEqual(t, d.Of(1, 0, 1), d.Of(2, 0, 1))
}

// Due together: in the order of the offers, or shuffled over the same span.
func TestDelaysThatEndTogether(t *testing.T) {
	ordered := delayOf(t, "@1s..2s")
	last := time.Duration(0)
	for i := range int64(1000) {
		due := ordered.Of(1, i, 1000)
		require.GreaterOrEqual(t, due, last)
		last = due
	}
	require.Equal(t, 1999*time.Millisecond, last)
	shuffled := delayOf(t, "@1s..2s shuffled")
	falls := 0
	for i := range int64(999) {
		if shuffled.Of(1, i+1, 1000) < shuffled.Of(1, i, 1000) {
			falls++
		}
	}
	require.InDelta(t, 500, falls, 50)
}

// A rate that keeps step with the milliseconds meets each of them at every point alike, and no message overtakes another.
func TestScheduleIsEvenOverTheMillisecond(t *testing.T) {
	for _, rate := range []Rate{20, 1000, 2000, 5000} {
		s := Schedule{{rate, 2 * time.Second}}
		var tenths [10]int
		for i := range s.Messages() {
			at := s.At(i)
			require.Equal(t, i, int64(at.Seconds()*float64(rate)), "no message leaves its gap")
			tenths[at%time.Millisecond/(100*time.Microsecond)]++
		}
		for _, n := range tenths {
			require.InDelta(t, s.Messages()/10, n, 4, "rate %v: %v", rate, tenths)
		}
	}
}

func TestScheduleOfSeveralSteps(t *testing.T) {
	s := Schedule{{10, time.Second}, {100, 2 * time.Second}, {.1, time.Second}, {1000, 1500 * time.Microsecond}, {5, 0}}
	require.EqualValues(t, 213, s.Messages(), "a step has one message at least, and half a message more is one")
	require.Equal(t, 4*time.Second+1500*time.Microsecond, s.Duration())
	for i, base := range map[int64]time.Duration{0: 0, 9: 900 * time.Millisecond, 10: time.Second, 11: 1010 * time.Millisecond, 210: 3 * time.Second} {
		require.Equal(t, base, s.At(i).Truncate(time.Millisecond), "message %d", i)
	}
	require.InEpsilon(t, 213./4.0015, float64(s.MeanRate()), 1e-9)
}
