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

// late has some more offers leave 5 s behind their time.
func late(r *Document, offers int) {
	for range offers {
		r.Histograms.ScheduleLag.Record(int64(5 * time.Second))
	}
}

// Offers that fail are no fault where an objective says how many may.
func TestAnObjectiveSaysHowManyOffersMayFail(t *testing.T) {
	r := sampleRun(1, 100, 1)
	r.Counts.OfferErrors = 3
	require.True(t, r.Judge([]SLO{mustSLO(t, "offer_errors<=3")}).Passed)
	require.False(t, r.Judge([]SLO{mustSLO(t, "offer_errors<=2")}).Passed)
}

func TestAnInvalidRunSaysWhatWasNotReached(t *testing.T) {
	r := sampleRun(1, 100, 1)
	late(r, 50)
	r.Scenario.MaxScheduleLag = "50ms"
	r.Intervals = []Interval{{Second: 1, Offered: 40}, {Second: 2, Offered: 60}, {Second: 3}}
	v := r.Judge(nil)
	require.False(t, v.Passed)
	require.False(t, r.Validity.Valid)
	require.Contains(t, v.Text, "Invalid")
	require.Contains(t, v.Text, "only 66.7 % of the offers left within 50ms of their time")
	require.Contains(t, v.Text, "of 1000 offers a second about 50 were made")
}

// Two loads, one after the other or on two queues, are not one.
func TestMergeRefusesWhatWasNotOneLoad(t *testing.T) {
	var different *DifferenceError
	a, b := sampleRun(1, 100, 1), sampleRun(2, 100, 1)
	b.Scenario.Queue = "another"
	_, err := Merge([]*Document{a, b})
	require.ErrorAs(t, err, &different)
	require.ErrorContains(t, err, "queue")
	b.Scenario.Queue, b.Started, b.ElapsedSeconds = a.Scenario.Queue, a.Started.Add(17*time.Second), 10
	_, err = Merge([]*Document{a, b})
	require.ErrorAs(t, err, &different)
	require.ErrorContains(t, err, "same time")
	b.Started = a.Started.Add(time.Second)
	_, err = Merge([]*Document{a, b})
	require.NoError(t, err)
}

func TestMergeAddsWorkers(t *testing.T) {
	a, b := sampleRun(1, 1000, 1), sampleRun(2, 500, 2)
	b.RunID, b.Scenario.Seed = "00000002", a.Scenario.Seed
	b.Counts.Duplicate, b.Notes = 3, []string{"odd"}
	b.Intervals = append(b.Intervals, Interval{Second: 1.2, Pending: 7})
	for _, r := range []*Document{a, b} {
		r.Scenario.Scale, r.Scenario.Unscaled = .1, map[string]string{"rate": "100/s", "delay": "50s"}
	}
	merged, err := Merge([]*Document{a, b})
	require.NoError(t, err)
	require.Equal(t, Counts{Offered: 1500, Delivered: 1500, Duplicate: 3}, merged.Counts)
	require.Equal(t, 100, merged.Scenario.Producers)
	require.InDelta(t, 2000, merged.Scenario.Rate, 0)
	require.Equal(t, "times × 0.1: delay 5s of 50s", merged.Scenario.ScaleText(), "the rate is no part's")
	require.Contains(t, a.Scenario.Unscaled, "rate")
	require.Equal(t, 2, merged.Workers)
	require.EqualValues(t, 1500, merged.Histograms.Lateness.Count())
	require.Equal(t, max(a.Histograms.Lateness.Max(), b.Histograms.Lateness.Max()), merged.Histograms.Lateness.Max())
	require.Equal(t, []string{"run 00000002: odd"}, merged.Notes)
	require.InDelta(t, 16, merged.ElapsedSeconds, 1e-9) // b started a second later
	require.Len(t, merged.Intervals, 2)
	require.EqualValues(t, 7, merged.Intervals[1].Pending)
	require.EqualValues(t, 1000, a.Counts.Offered, "the parts are left as they are")
	require.EqualValues(t, time.Second, b.Started.Sub(merged.Started))

	data, err := merged.Encode()
	require.NoError(t, err)
	_, err = Decode(strings.NewReader(string(data)))
	require.NoError(t, err)
}

func TestMergeRefuses(t *testing.T) {
	a, b := sampleRun(1, 10, 1), sampleRun(2, 10, 1)
	b.Scenario.Delay = "6s"
	_, err := Merge([]*Document{a, b})
	require.ErrorContains(t, err, "delay: 5s is not 6s")
	_, err = Merge([]*Document{a, a})
	require.ErrorContains(t, err, "given twice")
	_, err = Merge(nil)
	require.Error(t, err)
}

// An implementation that does not keep up is told from one that is late: the figures are
// those of the run's length.
func TestABacklogThatGrowsIsInvalid(t *testing.T) {
	grows := func(step int64) *Document {
		r := &Document{Counts: Counts{Offered: 1000, Delivered: 1000}, Histograms: NewHistograms(), Scenario: Scenario{Delay: "5s", DrainTimeout: "10s"}}
		for k := range int64(12) {
			r.Intervals = append(r.Intervals, Interval{Second: float64(k + 1), Offered: 100, Delivered: 80, PastDueP50: k * step})
		}
		return r
	}
	invalid := grows(3e8)
	require.False(t, invalid.Judge(nil).Passed)
	require.Contains(t, invalid.Verdict.Text, "the backlog grew to the end: past due p50 rose from 1.20 s to 3.00 s")
	late := grows(1e7) // 0.1 s in the end
	require.True(t, late.Judge(nil).Passed, late.Verdict.Text)
	asked := grows(3e8)
	asked.Scenario.Work = "1ms"
	require.True(t, asked.Judge(nil).Passed, "what the plan asks for")
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
