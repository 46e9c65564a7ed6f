package plan

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Every setting has a line of help, and a setting of one text can be written and read again.
func TestFieldsAreWhole(t *testing.T) {
	texts := map[string]string{
		"producers": "77", "consumers": "77", "rate": "7.5/s", "duration": "1m30s", "delay": "@1s..2s shuffled", "payload_size": "77", "seed": "18446744073709551615",
		"warmup": "1m30s", "horizon": "1m30s", "drain_timeout": "1m30s", "drain_limit": "1m30s", "max_schedule_lag": "1m30s", "queue": "orders", "queues": "77",
		"poll": "1m30s", "work": "1m30s",
	}
	seen := map[string]bool{}
	for _, f := range Fields {
		require.False(t, seen[f.Key], f.Key)
		seen[f.Key] = true
		require.NotEmpty(t, f.Help, f.Key)
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
	require.ErrorContains(t, new(Plan).Set("ramp", "1/s for 1s"), "no such setting")
	require.EqualError(t, new(Plan).Set("delay", "2s..1s"), `delay: expected SHORTEST..LONGEST, got "2s..1s"; swap the two`)
	require.Empty(t, Value{}.String())
}

// Assign reads what a scenario file has besides.
func TestAssign(t *testing.T) {
	var share float64
	var kill bool
	require.NoError(t, Assign("share", &share, ".5"))
	require.NoError(t, Assign("kill", &kill, "true"))
	require.Equal(t, []any{.5, true}, []any{share, kill})
	require.EqualError(t, Assign("share", &share, "half"), `share: expected a number, got "half"`)
	require.EqualError(t, Assign("kill", &kill, "perhaps"), `kill: expected true or false, got "perhaps"`)
	require.Panics(t, func() { _ = Assign("x", new(int8), "1") })
}

func TestAWarmupEndsByItselfUnlessItIsFixed(t *testing.T) {
	p := DefaultPlan()
	require.Equal(t, "until still, at most 30s", p.Scenario().Warmup)
	require.NoError(t, p.Set("warmup", "0s"))
	require.Equal(t, "0s", p.Scenario().Warmup)
	require.NoError(t, p.Set("warmup", ""))
	require.True(t, p.WarmupEnds)
	require.Equal(t, MaxWarmup, p.Warmup)
}

// fullPlan has every setting.
func fullPlan() Plan {
	p := DefaultPlan()
	p.Name, p.Queue, p.Queues = "some", "q", 2
	p.Ramp = Schedule{{10, 10 * time.Second}, {20, 10 * time.Second}}
	_ = p.Set("delay", "10ms..10s|1m")
	p.Horizon, p.Poll, p.Work, p.DrainLimit = 3*time.Second, 2*time.Second, time.Second, time.Minute
	p.Cancel = Cancel{.5, 4 * time.Second}
	p.Fleet = []Member{{Offers: true, Takes: true}, {Takes: true, From: time.Second, To: 5 * time.Second}}
	p.Faults = []Fault{{Kind: "slow", At: Span{5 * time.Second, 6 * time.Second}, For: 2 * time.Second, Latency: 100 * time.Millisecond}}
	return p
}

// The number of messages stays.
func TestScaled(t *testing.T) {
	full := fullPlan()
	p := full.Scaled(.1)
	require.Equal(t, full.Schedule().Messages(), p.Schedule().Messages())
	s := p.Scenario()
	require.Equal(t, Scenario{
		Name: "some", Producers: 50, Consumers: 8, Rate: 150, Duration: "2s", Delay: "1ms..1s|6s", PayloadSize: 100, Seed: 1,
		Warmup: "until still, at most 30s", DrainTimeout: "10s", DrainLimit: "1m0s", MaxScheduleLag: "1s", Queue: "q",
		Ramp: "100/s for 1s, 200/s for 1s", Horizon: "300ms", Queues: 2, Poll: "200ms", Work: "100ms", Cancel: "0.5 after 400ms",
		Fleet: []string{"driver offers and takes", "driver takes from 100ms to 500ms"}, Messages: 300,
		Faults: []string{"slow at 500ms..600ms for 200ms, latency 10ms"},
		Scale:  .1,
	}, s)
	require.Equal(t, fullPlan(), full, "which is not changed")
	require.Equal(t, "times × 0.1", s.ScaleText())
	require.Empty(t, full.Scenario().ScaleText())
}

// The table has all fields of the scenario that are not derived.
func TestScenarioIsOfTheTable(t *testing.T) {
	p := fullPlan().Scaled(.5)
	data, err := json.Marshal(p.Scenario())
	require.NoError(t, err)
	var kept map[string]any
	require.NoError(t, json.Unmarshal(data, &kept))
	for _, f := range Fields {
		require.Contains(t, kept, f.Key)
		require.NotEmpty(t, f.Text(p.Scenario()), f.Key)
		delete(kept, f.Key)
	}
	for _, derived := range []string{"name", "messages", "scale"} {
		require.Contains(t, kept, derived)
		delete(kept, derived)
	}
	require.Empty(t, kept, "what no field writes")
}

func TestSizesHaveUnits(t *testing.T) {
	for text, want := range map[string]int{
		"100": 100, "0x64": 100, "0x1B": 27, "100B": 100, "64kB": 64_000, "64KB": 64_000, "64KiB": 65_536, "1MB": 1_000_000, "1 MiB": 1 << 20, "-1kB": -1000,
	} {
		p := DefaultPlan()
		require.NoError(t, p.Set("payload_size", text), text)
		require.Equal(t, want, p.PayloadSize, text)
	}
	for _, text := range []string{"", "1.5MB", "64k", "1mb", "1GB", "MB", "9223372036854775807MiB", "-9223372036854775808kB"} {
		p := DefaultPlan()
		require.ErrorContains(t, p.Set("payload_size", text), "such as 100, 64kB, 64KiB, 1MB or 1MiB, got", text)
	}
}

// A setting reads the text that it writes.
func FuzzSet(f *testing.F) {
	for i := range Fields {
		for _, text := range []string{"", "7", "0x1_0", "5s", "90/m", "1s|2s..3s", "@1s..2s shuffled", "1s shuffled", "-1", "1e3", "2k/s", "1k..2k", "1MB"} {
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
