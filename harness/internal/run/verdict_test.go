package run

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFormatNs(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0 ns", 999: "999 ns", 1000: "1.00 µs", 1620: "1.62 µs", 16_200: "16.2 µs", 999_400: "999 µs", 999_600: "1.00 ms",
		-312_000: "-312 µs", 20_000_000: "20.0 ms", 47_300_000_000: "47.3 s", 3_600_000_000_000: "3600 s", 99_960: "100 µs",
	} {
		require.Equal(t, want, FormatNs(ns))
	}
}

func TestVerdicts(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Document)
		passed bool
	}{
		"fine":                   {func(*Document) {}, true},
		"lost":                   {func(r *Document) { r.Counts.Lost = 1 }, false},
		"duplicate":              {func(r *Document) { r.Counts.Duplicate = 1 }, false},
		"early":                  {func(r *Document) { r.Counts.Early = 1 }, false},
		"overdue":                {func(r *Document) { r.Counts.Pending = 1 }, false},
		"interrupted":            {func(r *Document) { r.Counts.Pending, r.Interrupted = 1, true }, true},
		"interrupted, lost":      {func(r *Document) { r.Counts.Lost, r.Interrupted = 1, true }, false},
		"interrupted at once":    {func(r *Document) { r.Counts, r.Interrupted = Counts{}, true }, true},
		"some offers failed":     {func(r *Document) { r.Counts.OfferErrors = 1 }, false},
		"nearly all failed":      {func(r *Document) { r.Counts.Offered, r.Counts.Delivered, r.Counts.OfferErrors = 2, 2, 98 }, false},
		"half was offered late":  {func(r *Document) { late(r, 50) }, false},
		"one offer was late":     {func(r *Document) { late(r, 1) }, true},
		"half was not offered":   {func(r *Document) { r.Scenario.Messages *= 2 }, false},
		"lost by a fault":        {func(r *Document) { r.Counts.Lost, r.Faults = 1, &Faults{Lost: 1} }, true},
		"lost beyond a fault":    {func(r *Document) { r.Counts.Lost, r.Faults = 1, &Faults{Lost: 1, LostBeyond: 1} }, false},
		"a fault that was not":   {func(r *Document) { r.Faults = &Faults{Events: []FaultEvent{{Error: "refused"}}} }, false},
		"somebody else's values": {func(r *Document) { r.Counts.Foreign = 1 }, true},
	} {
		r := sampleRun(1, 100, 1)
		tc.change(r)
		require.Equal(t, tc.passed, r.Judge(nil).Passed, name)
	}
}

// late has the tool send some offers late.
func late(r *Document, offers int64) { r.Offers = &Offers{LateForTool: offers} }

func TestAnInvalidRunSaysWhatWasNotReached(t *testing.T) {
	r := sampleRun(1, 100, 1)
	late(r, 50)
	r.Scenario.MaxScheduleLag = "50ms"
	r.Intervals = []Interval{{Second: 1, Offered: 40}, {Second: 2, Offered: 60}, {Second: 3}}
	v := r.Judge(nil)
	require.False(t, v.Passed)
	require.False(t, r.Validity.Valid)
	require.Contains(t, v.Text, "Invalid")
	require.Contains(t, v.Text, "Lower --rate", "what to do")
	require.Contains(t, v.Text, "dq-bench sent 50 of 100 offers more than 50ms late")
	require.Contains(t, v.Text, "of 1000 offers a second about 50 were made")
}

// What failed is said once, also beside a loss that is expected.
func TestFailedOffersAreSaidOnce(t *testing.T) {
	r := sampleRun(1, 100, 1)
	r.Counts.OfferErrors, r.Counts.Lost = 3, 2
	v := r.Judge([]SLO{mustSLO(t, "offer_errors<=3")}, mustSLO(t, "lost>0"))
	require.True(t, v.Passed, v.Text)
	require.Equal(t, 1, strings.Count(v.Text, "offers failed"), v.Text)
	require.Contains(t, v.Text, "as expected 2 lost")
}

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
