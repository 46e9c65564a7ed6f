package run

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

// A limit may name a count or a setting of the run. An objective on a figure that was not measured is missed.
func TestObjectives(t *testing.T) {
	r := Sample(1, 1, 1)
	h := NewHistogram()
	for i := 1; i <= 1000; i++ {
		h.Record(int64(i) * int64(time.Millisecond))
	}
	r.Histograms.Lateness = h
	r.Counts = Counts{Offered: 400, Delivered: 398, Lost: 2, OfferErrors: 3}
	r.Scenario.Consumers, r.Scenario.Messages = 2, 403
	unmeasured := *r
	unmeasured.ServerStats, unmeasured.Histograms.Lateness = nil, NewHistogram()
	for text, met := range map[string]bool{
		"lateness.p50<=501ms": true, "lateness.p50<=499ms": false, "lateness.p99 < 1s": true, "lateness.p999<=990ms": false,
		"lateness.p99.9<=1s": true, "lateness.p9999<=1s": true, "lateness.max==1s": true, "lateness.max>1s": false,
		"lateness.min>=1ms": true, "lateness.mean<=501ms": true, "offer_rtt.max>=0s": true, "schedule_lag.p90<=1h": true,
		"lost<=0": false, "lost==2": true, "duplicate<=0": true, "early < 1": true, "pending<=0": true, "delivered>=398": true,
		"transfer_calls_per_message<=1.1": true, "offer_errors<=0": false, "server_cpu_seconds<1": true, "offered>1e3": false,
		"delivered==offered": false, "delivered < offered": true, "lost<=consumers": true, "lost<consumers": false,
		"offer_errors<=producers": true, "offered==messages": false, "commands_per_message>=transfer_calls_per_message": false,
		"inversions==0": false,
	} {
		slo := must(ParseSLO(text))
		require.Equal(t, met, slo.Evaluate(r).Met, text)
		if o := slo.Evaluate(&unmeasured); strings.Contains(text, "lateness") || strings.Contains(text, "_per_") || strings.Contains(text, "cpu") {
			require.False(t, o.Met)
			require.Equal(t, text+" missed (not measured)", o.miss())
		}
	}
	o := must(ParseSLO("delivered==offered")).Evaluate(r)
	require.Equal(t, "delivered==offered missed (398, offered 400)", o.miss())
	require.Equal(t, []any{400., "offered"}, []any{o.Limit, o.LimitOf})
}

// An objective on lateness or past due takes the place of the default one, whose miss says so. Another one does not.
func TestTheDefaultObjective(t *testing.T) {
	for text, want := range map[string]string{
		"delivered==offered": "past_due.p99<=1s missed (2.00 s), the default objective; an --slo on lateness or past_due replaces it",
		"lateness.p50<=1h":   "", "past_due.max<=1h": "", "none": "",
	} {
		r := Sample(1, 1, 1)
		r.Histograms.PastDue = NewHistogram()
		r.Histograms.PastDue.Record(2e9)
		verdict := r.Judge(WithDefault([]SLO{must(ParseSLO(text))}, nil))
		require.Equal(t, want == "", !strings.Contains(verdict.Text, "the default objective"), verdict.Text)
		require.Contains(t, verdict.Text, want)
	}
}

func FuzzParseSLO(f *testing.F) {
	for _, text := range []string{
		"lateness.p99<=20ms", "transfer_calls_per_message <= 1.1", "lost==0", "delivered==offered", "lateness", "lateness.p99<=20", "lateness.p0<=1s", "latency.p99<=1s", "lost<=x",
	} {
		f.Add(text)
	}
	r := Sample(1, 10, 1)
	f.Fuzz(func(t *testing.T, text string) {
		slo, err := ParseSLO(text)
		if err != nil {
			return
		}
		require.Equal(t, text, slo.Evaluate(r).Expr)
		_ = must(r.Encode())
	})
}

// Every field of Counts has one row, whose name is that of the run file, and the rows come in the order of the fields.
func TestTableHasEveryCount(t *testing.T) {
	var all Counts
	fields := reflect.TypeFor[Counts]()
	require.Len(t, AllCounts, fields.NumField())
	for i, row := range AllCounts {
		field := fields.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		require.Equal(t, name, row.Name)
		var c Counts
		*row.In(&c) = 7
		require.EqualValues(t, 7, reflect.ValueOf(c).Field(i).Int(), "%s points to another count", name)
		all = all.Plus(c).Plus(c)
		require.EqualValues(t, 14, row.Of(all), name)
		require.NotEmpty(t, row.Title)
		require.True(t, strings.HasSuffix(row.Help, "."), name)
		require.Equal(t, row.Effect == Refused || row.Effect == Wrong, row.Fault != "", name)
		require.True(t, Measured(new(Document).Figure(name)), "an objective can name it")
	}
	require.EqualValues(t, 6*14, all.Faults(), "lost, unknown, duplicate, early, revived, corrupt")
}

// filled returns a histogram of n values around zero and the sorted values.
func filled(t *testing.T, seed uint64, n int) (*Histogram, []int64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	h := NewHistogram()
	values := make([]int64, n)
	for i := range values {
		values[i] = int64(rng.NormFloat64()*float64(3*time.Millisecond)) + int64(time.Millisecond)
		h.Record(values[i])
	}
	slices.Sort(values)
	return h, values
}

func TestQuantilesAreRightAcrossZero(t *testing.T) {
	h, values := filled(t, 1, 10_000)
	require.Equal(t, values[0], h.Min())
	require.Equal(t, values[len(values)-1], h.Max())
	for _, q := range []float64{0, .001, .1, .25, .37, .5, .9, .99, .999, 1} {
		rank := max(int(q*float64(len(values))+.999999), 1)
		want := float64(values[rank-1])
		require.InDelta(t, want, float64(h.Quantile(q)), max(want, -want)*.001+128, "quantile %v", q)
	}
}

func TestHistogramOfNothingAndBeyondItsBounds(t *testing.T) {
	h := NewHistogram()
	data := must(json.Marshal(h))
	var back *Histogram
	require.Zero(t, back.Quantile(.99))
	require.NoError(t, json.Unmarshal(data, &back))
	require.Zero(t, back.Count())
	require.Zero(t, back.Mean())
	h.Record(int64(1000 * time.Hour))
	h.Record(-int64(1000 * time.Hour))
	require.Equal(t, []int64{2, -int64(1000 * time.Hour), int64(1000 * time.Hour)}, []int64{h.Count(), h.Min(), h.Max()})
}

// Merging files is exact: the buckets of a merged histogram are those of one histogram that had counted every value itself.
func TestMergeIsExact(t *testing.T) {
	all, merged := NewHistogram(), NewHistogram()
	for seed := range uint64(4) {
		part, values := filled(t, seed, 2500)
		for _, v := range values {
			all.Record(v)
		}
		data := must(json.Marshal(part))
		var back Histogram
		require.NoError(t, json.Unmarshal(data, &back))
		merged.Merge(&back)
	}
	require.True(t, all.positive.Equals(merged.positive))
	require.True(t, all.negative.Equals(merged.negative))
	require.Equal(t, all.Count(), merged.Count())
	require.Equal(t, all.Min(), merged.Min())
	require.Equal(t, all.Max(), merged.Max())
	require.InEpsilon(t, all.Mean(), merged.Mean(), 1e-9)
}

// What is at its limit while the load is made is told apart: what makes the load, which makes a run invalid, and the server and
// the machine, which explain why a load was not made.
func TestWhoWasAtTheLimit(t *testing.T) {
	const full = "the machine was at its limit while messages were offered: 100.0 % of its processors' time was taken, 30.0 % of it by the run"
	for name, tc := range map[string]struct {
		tool, program, server, machine float64 // shares; 0 if it is not known
		change                         func(*Document)
		says                           string // contained in the reasons; a run without one is valid
		not                            string
	}{
		"a quiet machine":                             {tool: .1, machine: .3},
		"files of before that was told":               {},
		"the tool is saturated":                       {tool: .93, machine: 1, says: "dq-bench itself was at its limit: while messages were offered it used 93.0 % of its processors' time"},
		"the tool took what there was":                {tool: .73, machine: .92, says: "used 73.0 % of its processors' time"},
		"the tool took much, and something was left":  {tool: .78, machine: .88},
		"the tool and the server took all":            {tool: .5, server: .8, machine: 1},
		"the tool had one processor of four, not all": {tool: .8, machine: .95, change: func(r *Document) { r.Environment.CPUs, r.Environment.GOMAXPROCS = 4, 1 }},
		"other work beside the run":                   {tool: .3, machine: 1},
		"other work, and offers are late":             {tool: .3, machine: 1, change: func(r *Document) { late(r, 50) }, says: full, not: "dq-bench itself"},
		"the program is saturated":                    {tool: .02, program: .95, says: "the program that made the load was at its limit", not: "dq-bench itself"},
		"the server is saturated":                     {tool: .4, server: .98},
		"tool and server are":                         {tool: .95, server: .98, change: func(r *Document) { late(r, 50) }, says: "dq-bench itself was at its limit", not: "the server"},
		"for half a second":                           {tool: .95, change: func(r *Document) { r.Intervals[0].Second = .5 }},
		"the clock was set, and messages are early":   {change: func(r *Document) { r.Machine.ClockSetNs, r.Counts.Early = 75e6, 9 }, says: "Invalid: the machine's clock was set by 75.0 ms"},
		"by less than counts as early":                {change: func(r *Document) { r.Machine.ClockSetNs = -1e6 }},
		"for 20 ms of a second":                       {tool: .95, change: func(r *Document) { r.Scenario.Duration = "20ms" }},
	} {
		r := Sample(1, 100, 1)
		for share, of := range map[*float64]**ToolUsage{&tc.tool: &r.ToolUsage, &tc.program: &r.ProgramUsage} {
			if *share > 0 {
				*of = &ToolUsage{CPUShare: *share}
			}
		}
		r.ServerStats.CPUShare = tc.server
		r.Machine = &Machine{BusyShare: tc.machine}
		if tc.change != nil {
			tc.change(r)
		}
		v := r.Judge(nil)
		require.Equal(t, []bool{tc.says == "", tc.says == ""}, []bool{r.Valid(), v.Passed}, "%s: %s", name, v.Text)
		require.Contains(t, v.Text, tc.says, name)
		require.False(t, tc.not != "" && strings.Contains(v.Text, tc.not), v.Text)
	}
}

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
		wrong  int64 // what never came and what could not be offered, too
	}{
		"fine":                   {func(*Document) {}, true, 0},
		"lost":                   {func(r *Document) { r.Counts.Lost = 1 }, false, 1},
		"duplicate":              {func(r *Document) { r.Counts.Duplicate = 1 }, false, 1},
		"early":                  {func(r *Document) { r.Counts.Early = 1 }, false, 1},
		"overdue":                {func(r *Document) { r.Counts.Pending, r.Counts.NotDue = 5, 3 }, false, 2},
		"interrupted in a stall": {func(r *Document) { r.Interrupted, r.Counts.Pending, r.Intervals = true, 2, make([]Interval, 2) }, false, 2},
		"interrupted": {func(r *Document) {
			r.Interrupted, r.Counts.Pending, r.Intervals = true, 2, []Interval{{Delivered: 9}, {}}
		}, true, 0},
		"interrupted, lost":      {func(r *Document) { r.Counts.Lost, r.Interrupted = 1, true }, false, 1},
		"interrupted at once":    {func(r *Document) { r.Counts, r.Interrupted = Counts{}, true }, true, 0},
		"some offers failed":     {func(r *Document) { r.Counts.OfferErrors = 1 }, false, 1},
		"nearly all failed":      {func(r *Document) { r.Counts.Offered, r.Counts.Delivered, r.Counts.OfferErrors = 2, 2, 98 }, false, 98},
		"half was offered late":  {func(r *Document) { late(r, 50) }, false, 0},
		"one offer was late":     {func(r *Document) { late(r, 1) }, true, 0},
		"half was not offered":   {func(r *Document) { r.Scenario.Messages *= 2 }, false, 0},
		"lost by a fault":        {func(r *Document) { r.Counts.Lost, r.Faults = 1, &Faults{Lost: 1} }, true, 1},
		"lost beyond a fault":    {func(r *Document) { r.Counts.Lost, r.Faults = 1, &Faults{Lost: 1, LostBeyond: 1} }, false, 1},
		"a fault that was not":   {func(r *Document) { r.Faults = &Faults{Events: []FaultEvent{{Error: "refused"}}} }, false, 0},
		"somebody else's values": {func(r *Document) { r.Counts.Foreign = 1 }, true, 0},
	} {
		r := Sample(1, 100, 1)
		tc.change(r)
		require.Equal(t, tc.passed, r.Judge(nil).Passed, name)
		require.Equal(t, tc.wrong, r.Wrong(), name)
	}

	// An invalid run says what was not reached, and what to do.
	r := Sample(1, 100, 1)
	late(r, 50)
	r.Scenario.MaxScheduleLag = "50ms"
	r.Intervals = []Interval{{Second: 1, Offered: 40}, {Second: 2, Offered: 60}, {Second: 3}}
	require.Equal(t, "Invalid: dq-bench sent 50 of 100 offers more than 50ms late; of 1000 offers a second about 50 were made. "+
		"Lower --rate, or spread the load over more hosts with --listen and --agents.", r.Judge(nil).Text)
	require.False(t, r.Valid())

	r = Sample(1, 100, 1)
	r.AgentFaults, r.Counts.Pending = []AgentFault{{Agent: "dq:4.7.0", Warmup: true, Text: "died"}}, 1
	require.Equal(t, "Failed: dq:4.7.0 in the warm-up: died; 1 still pending at the end, with a drain timeout of 10s.", r.Judge(nil).Text)

	// What failed is said once, also beside a loss that is expected.
	r = Sample(1, 100, 1)
	r.Counts.OfferErrors, r.Counts.Lost = 3, 2
	v := r.Judge([]SLO{must(ParseSLO("offer_errors<=3")), must(ParseSLO("none"))}, must(ParseSLO("lost>0")), must(ParseSLO("none")))
	require.True(t, v.Passed, v.Text)
	require.Contains(t, v.Text, "; as expected 2 lost; 3 with a failed offer; ")
	require.Equal(t, 1, strings.Count(v.Text, "with a failed offer"), v.Text)
}

func late(r *Document, offers int64) { r.Offers = &Offers{LateForTool: offers} }

func TestRateSteps(t *testing.T) {
	r := &Document{Scenario: plan.Scenario{Ramp: "100/s for 2s, 1000/s for 2s, 100/s for 1s", Delay: "1s"}}
	for k, second := range []struct{ offered, p50, p99 int64 }{
		{100, 0, 0}, {100, 1e5, 2e5}, {1000, 2e5, 3e5}, {500, 5e6, 9e6}, {100, 7e6, 8e6}, {0, 1e5, 1e6},
	} {
		r.Intervals = append(r.Intervals, Interval{Second: float64(k + 1), Offered: second.offered, Delivered: second.offered + 1, PastDueP50: second.p50, PastDueP99: second.p99})
	}
	steps := r.RateSteps()
	require.Equal(t, []RateStep{{100, 100, 2e5, 3e5, 0, 0, 0, false, false}, {1000, 750, 7e6, 9e6, 0, 0, .25, false, false}, {100, 100, 1e5, 1e6, 0, 0, 5, false, false}}, steps)
	held, text := r.climbed(5 * time.Millisecond)
	require.InEpsilon(t, 100, held, 1e-9)
	require.Equal(t, "Holds past due p99 of 5ms up to 100/s; then at 1000/s: past due p99 9.00 ms, 750/s offered.", text)
	r.Interrupted, r.Intervals[4].Offered, r.ElapsedSeconds = true, 0, 6
	_, text = r.climbed(time.Second)
	require.Equal(t, "Holds past due p99 of 1s up to 100/s.", text, "a step that was cut says nothing")
	r.Interrupted, r.Intervals[4].Offered = false, 100
	r.Scenario.Delay = "1200ms" // no second is one step's alone
	require.Equal(t, steps, r.RateSteps())
	for _, s := range []plan.Scenario{{Ramp: r.Scenario.Ramp, Delay: "1s..2s"}, {Ramp: "fast for ever", Delay: "1s"}} {
		require.Nil(t, (&Document{Scenario: s, Intervals: r.Intervals}).RateSteps())
	}
	r.Scenario.Ramp, r.Intervals = "50/s for 1300ms, 100/s for 1300ms", []Interval{{Second: 1, Offered: 50}, {Second: 2, Offered: 85, Delivered: 1, PastDueP99: 1}, {Second: 2.6, Offered: 60}, {Second: 3, Delivered: 1, PastDueP99: 1}}
	held, _ = r.climbed(time.Second)
	require.InEpsilon(t, 100, held, 1e-9, "a step takes its part of a second")
	r.Scenario.Ramp, r.Scenario.Delay, r.Intervals = "100/s for 1s, 200/s for 1s, 300/s for 1s", "0s", nil
	for k, p50 := range []int64{40e6, 85e6, 189e6} {
		r.Intervals = append(r.Intervals, Interval{Second: float64(k + 1), Offered: int64(100 * (k + 1)), Delivered: 1, PastDueP50: p50, PastDueP99: 3e8})
	}
	_, text = r.climbed(time.Second)
	require.Equal(t, "Holds past due p99 of 1s up to 200/s; then at 300/s: past due p50 grew to 189 ms.", text, "it would be missed later")
}
