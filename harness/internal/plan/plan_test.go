package plan

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
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
		"1000/s": 1000, "1000": 1000, "90/m": 1.5, "36/h": .01, " 5 / s ": 5, "0.5/s": .5, "1e3/s": 1000,
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
		"5s": Fixed(5 * time.Second), "0s": Fixed(0), "1s..10s": Between(time.Second, 10*time.Second), "1ms .. 1h": Between(time.Millisecond, time.Hour),
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
		"duration": func(p *Plan) { p.Duration = 0 }, "drain timeout": func(p *Plan) { p.DrainTimeout = 0 },
		"messages": func(p *Plan) { p.Rate, p.Duration = 1e9, time.Hour }, "for each of the 9 queues": func(p *Plan) { p.Queues = 9 },
		"share": func(p *Plan) { p.Cancel.Share = math.NaN() }, "duration: expected more": func(p *Plan) { p.RateTo, p.Duration = 2000, 1 }, "delay: expected one": func(p *Plan) { p.RateTo, p.Delay = 2000, Between(1, 2) },
		"before it ends": func(p *Plan) { p.Fleet = []Member{{From: 2, To: 1}} },
		"one that takes": func(p *Plan) { p.Fleet = []Member{{Offers: true}} }, "at most 10000 members": func(p *Plan) { p.Fleet = []Member{{Count: 10_001}} }, "to the end": func(p *Plan) { p.Fleet = []Member{{To: 1}} },
		"expected a to for member 1": func(p *Plan) { p.Fleet = []Member{{Kill: true}, {}} },
		"no cancel with member 1":    func(p *Plan) { p.Cancel.Share, p.Fleet = .5, []Member{{To: 1, Kill: true}, {}} },
	} {
		p := valid
		change(&p)
		require.ErrorContains(t, p.Validate(), name)
	}
}

// Drawn delays cover the range evenly and repeat with the seed. Due together: in the order of the offers, or shuffled over the same span.
func TestDrawnDelays(t *testing.T) {
	const n = 10_000
	drawn := map[string][]time.Duration{}
	for _, text := range []string{"1s..2s", "@1s..2s", "@1s..2s shuffled"} {
		d, sum, falls := delayOf(t, text), time.Duration(0), 0
		for i := range int64(n) {
			delay := d.Of(1, i, n)
			require.Equal(t, delay, d.Of(1, i, n))
			require.Zero(t, delay%time.Millisecond)
			if all := drawn[text]; i > 0 && delay < all[i-1] {
				falls++
			}
			drawn[text], sum = append(drawn[text], delay), sum+delay
		}
		require.InEpsilon(t, 1500*time.Millisecond, sum/n, .01)
		require.InDelta(t, time.Second, slices.Min(drawn[text]), float64(time.Millisecond))
		require.InDelta(t, 2*time.Second, slices.Max(drawn[text]), float64(time.Millisecond))
		require.InDelta(t, map[bool]int{false: n / 2, true: 0}[text == "@1s..2s"], falls, n/50)
	}
	require.NotEqual(t, drawn["1s..2s"][0], delayOf(t, "1s..2s").Of(2, 0, n))
	require.NotEqual(t, drawn["1s..2s"][:9], drawn["1s..2s"][9:18])
}

// A rate that keeps step with the milliseconds meets each of them at every point alike, and no message overtakes another.
func TestScheduleIsEvenOverTheMillisecond(t *testing.T) {
	for _, rate := range []Rate{20, 1000, 2000, 5000} {
		s := Schedule{[]Rate{rate}, 2 * time.Second}
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
	s := Schedule{[]Rate{10, 100, .1, 7.25}, 2 * time.Second}
	require.EqualValues(t, 20+200+1+15, s.Messages(), "a step has one message at least, and half a message more is one")
	require.Equal(t, 8*time.Second, s.Duration())
	for i, base := range map[int64]time.Duration{
		0: 0, 19: 1900 * time.Millisecond, 20: 2 * time.Second, 21: 2010 * time.Millisecond, 220: 4 * time.Second, 221: 6 * time.Second, 235: 7931 * time.Millisecond,
	} {
		require.InDelta(t, base, s.At(i), float64(time.Millisecond), "message %d", i)
	}
	require.InEpsilon(t, 236./8, float64(s.MeanRate()), 1e-9)
}

// A setting of one text can be written and read again.
func TestFieldsAreWhole(t *testing.T) {
	texts := map[string]string{
		"producers": "77", "consumers": "77", "rate": "7.5/s", "duration": "1m30s", "delay": "@1s..2s shuffled", "payload_size": "77", "seed": "18446744073709551615",
		"warmup": "1m30s", "horizon": "1m30s", "drain_timeout": "1m30s", "max_schedule_lag": "1m30s", "queue": "orders", "queues": "77",
		"poll": "1m30s", "work": "1m30s",
	}
	seen := map[string]bool{}
	for _, f := range Fields {
		require.False(t, seen[f.Key], f.Key)
		seen[f.Key] = true
		require.Equal(t, f.IsText(), texts[f.Key] != "", f.Key)
		if !f.IsText() {
			continue
		}
		p := DefaultPlan()
		require.NoError(t, p.Set(f.Key, texts[f.Key]), f.Key)
		require.Equal(t, texts[f.Key], f.Value(&p).String())
		require.NotEqual(t, DefaultPlan(), p, "%s is set", f.Key)
		if f.Key != "queue" {
			was := p
			require.ErrorContains(t, p.Set(f.Key, "some"), f.Key+": expected")
			require.Equal(t, was, p, "%s is left as it was", f.Key)
		}
	}
	for setting, want := range map[string]string{
		"producers 0": "expected 1 to 65536", "payload_size 48": "expected 49 to 16777216", "queues 0": "expected 1 to", "poll -1s": "expected a duration", "delay 1us": "whole", "fleet all": "no such setting",
	} {
		key, text, _ := strings.Cut(setting, " ")
		require.ErrorContains(t, new(Plan).Set(key, text), want)
	}
	require.EqualError(t, new(Plan).Set("delay", "2s..1s"), `delay: expected SHORTEST..LONGEST, got "2s..1s"; swap the two`)

	p := DefaultPlan()
	require.NoError(t, p.Set("warmup", "0s"))
	require.Equal(t, "0s", p.Scenario().Warmup)
	require.NoError(t, p.Set("warmup", ""))
	require.Equal(t, DefaultPlan(), p, "it ends by itself unless it is fixed")
}

// fullPlan has every setting.
func fullPlan() Plan {
	p := DefaultPlan()
	p.Name, p.Queue, p.Queues = "some", "q", 2
	p.Rate, p.RateTo, p.Duration = 10, 20, 20*time.Second
	_ = p.Set("delay", "10ms..10s|1m")
	p.Horizon, p.Poll, p.Work = 3*time.Second, 2*time.Second, time.Second
	p.Cancel = Cancel{.5, 4 * time.Second}
	p.Fleet = []Member{{Offers: true, Takes: true}, {Takes: true, From: time.Second, To: 5 * time.Second}}
	p.Faults = []Fault{{Kind: "slow", At: 5 * time.Second, For: 2 * time.Second, Latency: 100 * time.Millisecond}}
	return p
}

// The scenario keeps the plan: each field of the table, and what is derived.
func TestScenarioKeepsThePlan(t *testing.T) {
	s := fullPlan().Scenario()
	require.Equal(t, []any{[]string{"q:1", "q:2"}, 23 * time.Second}, []any{fullPlan().QueueNames(), fullPlan().Length()})
	data, err := json.Marshal(s)
	require.NoError(t, err)
	var kept map[string]any
	require.NoError(t, json.Unmarshal(data, &kept))
	for _, f := range Fields {
		require.NotEmpty(t, f.Text(s), f.Key)
		delete(kept, f.Key)
	}
	require.Equal(t, map[string]any{"name": "some", "messages": 304., "climb": true}, kept)
	require.True(t, strings.HasPrefix(s.Ramp, "10/s for 2s, 11.11"), s.Ramp)
	require.True(t, strings.HasSuffix(s.Ramp, ", 20/s for 2s"), s.Ramp)
	s.Ramp = ""
	require.Equal(t, Scenario{
		Name: "some", Producers: 50, Consumers: 8, Rate: 15.2, Duration: "20s", Delay: "10ms..10s|1m0s", PayloadSize: 100, Seed: 1,
		Warmup: "until still, at most 30s", DrainTimeout: "10s", MaxScheduleLag: "1s", Queue: "q",
		Climb: true, Horizon: "3s", Queues: 2, Poll: "2s", Work: "1s", Cancel: "0.5 after 4s",
		Fleet: []string{"driver offers and takes", "driver takes from 1s to 5s"}, Messages: 304,
		Faults: []string{"slow at 5s for 2s, latency 100ms"},
	}, s)
}

// A setting reads the text that it writes.
func FuzzSet(f *testing.F) {
	for i := range Fields {
		for _, text := range []string{"", "7", "0x1_0", "5s", "90/m", "1s|2s..3s", "@1s..2s shuffled", "1s shuffled", "-1", "1e3", "2k/s", "1k..2k"} {
			f.Add(i, text)
		}
	}
	f.Fuzz(func(t *testing.T, i int, text string) {
		field := Fields[uint(i)%uint(len(Fields))]
		p := DefaultPlan()
		if err := p.Set(field.Key, text); err != nil {
			require.Equal(t, DefaultPlan(), p)
			return
		}
		q := DefaultPlan()
		require.NoError(t, q.Set(field.Key, field.Value(&p).String()))
		require.Equal(t, p, q)
		for i := range int64(10) {
			delay := p.Delay.Of(1, i, 10)
			require.True(t, delay >= p.Delay.hull().Min && delay <= p.Delay.hull().Max, "%s: %s", p.Delay, delay)
		}
	})
}

func TestFaultsAreChecked(t *testing.T) {
	second := func(n int) time.Duration { return time.Duration(n) * time.Second }
	for want, faults := range map[string][]Fault{
		"":                                 {{Kind: "cut", At: second(0)}, {Kind: "slow", At: second(2), For: time.Second, Latency: time.Millisecond}, {Kind: "kill-server", At: second(3), For: 1, AOF: "no"}},
		`no kind "kut" (did you`:           {{Kind: "kut"}},
		"expected for beside it":           {{Kind: "stall"}},
		"slow: expected latency":           {{Kind: "slow", For: time.Second}},
		"cut has no for":                   {{Kind: "cut", For: time.Second}},
		"cut has no commands":              {{Kind: "cut", Commands: []string{"GET"}}},
		"of at most its for, got 2562047h": {{Kind: "slow", For: 1, Latency: 2562047 * time.Hour}},
		"aof to be one of always":          {{Kind: "kill-server", For: 1, AOF: "sometimes"}},
		"one aof for the server":           {{Kind: "kill-server", For: 1, AOF: "no"}, {Kind: "kill-server", At: second(1), For: 1, AOF: "off"}},
		"to end before the offers":         {{Kind: "cut", At: second(10)}},
		"stall at 2s for 9s to end":        {{Kind: "stall", At: second(2), For: 9 * time.Second}},
		"one at a time, got stall":         {{Kind: "cut", At: second(3)}, {Kind: "stall", At: second(2), For: 2 * time.Second}},
	} {
		p := DefaultPlan()
		p.Queue, p.Faults = "q", faults
		err := p.Validate()
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
	}
	p := fullPlan()
	p.Delay = Fixed(time.Second)
	require.ErrorContains(t, p.Validate(), "expected no cancel beside them")
}

// What a fault may lose is its kind's, unless its parameters say more.
func TestFaultsSayWhatTheyMayLose(t *testing.T) {
	for _, k := range FaultKinds {
		require.NotEmpty(t, k.Help, k.Kind)
		require.Equal(t, k.Loss, Fault{Kind: k.Kind}.Info().Loss)
	}
	require.Equal(t, AllBefore, Fault{Kind: "kill-server", AOF: "off"}.Info().Loss)
	require.Equal(t, LastSecond, Fault{Kind: "kill-server", AOF: "everysec"}.Info().Loss)
	require.Equal(t, OnTheWay, Fault{Kind: LoseReplies, Commands: []string{"take"}}.Info().Loss)
}
