package plan

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Every setting has a line of help, and those of one value can be written and read again.
func TestFieldsAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Fields {
		require.False(t, seen[f.Key], f.Key)
		seen[f.Key] = true
		require.NotEmpty(t, f.Help, f.Key)
		if f.Value == nil {
			continue
		}
		p, q := DefaultPlan(), DefaultPlan()
		text := map[string]string{"duration": "90s", "int": "77", "bytes": "77", "uint64": "18446744073709551615"}[f.Value(&p).Type()]
		switch f.Key {
		case "rate":
			text = "7.5/s"
		case "delay":
			text = "@1s..2s shuffled"
		case "queue":
			text = "orders"
		}
		require.NoError(t, p.Set(f.Key, text), f.Key)
		require.NotEqual(t, q, p, "%s is set", f.Key)
		require.NoError(t, q.Set(f.Key, f.Value(&p).String()), f.Key)
		require.Equal(t, p, q, "%s is read as it is written", f.Key)
		if f.Key != "queue" {
			require.ErrorContains(t, p.Set(f.Key, "some"), f.Key+": expected")
			require.Equal(t, q, p, "%s is left as it was", f.Key)
		}
	}
	require.ErrorContains(t, new(Plan).Set("ramp", "1/s for 1s"), "no such setting")
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

func TestARateTakesThePlaceOfARamp(t *testing.T) {
	for _, text := range [][2]string{{"rate", "5/s"}, {"duration", "3s"}} {
		p := DefaultPlan()
		p.Ramp = Schedule{{10, time.Second}, {20, time.Second}}
		require.NoError(t, p.Set(text[0], text[1]))
		require.Empty(t, p.Ramp)
	}
	p := DefaultPlan()
	p.Ramp = Schedule{{10, time.Second}, {20, time.Second}}
	require.NoError(t, p.Set("delay", "1s"))
	require.NotEmpty(t, p.Ramp)
}

// fullPlan has every setting.
func fullPlan() Plan {
	p := DefaultPlan()
	p.Name, p.Queue, p.Queues = "some", "q", 2
	p.Ramp = Schedule{{10, 10 * time.Second}, {20, 10 * time.Second}}
	p.Delay, _ = ParseDelay("10ms..10s|1m")
	p.Horizon, p.Poll, p.Work, p.DrainLimit = 3*time.Second, 2*time.Second, time.Second, time.Minute
	p.Cancel = Cancel{.5, 4 * time.Second}
	p.Fleet = []Member{{Offers: true, Takes: true}, {Takes: true, From: time.Second, To: 5 * time.Second}}
	p.Faults = []Fault{{Kind: Slow, At: Span{5 * time.Second, 6 * time.Second}, For: 2 * time.Second, Latency: 100 * time.Millisecond}}
	return p
}

// Messages stay as many, and what the scale changed is told.
func TestScaled(t *testing.T) {
	full := fullPlan()
	p := full.Scaled(.1)
	require.Equal(t, full.Messages(), p.Messages())
	p.Original = OriginalOf(p, full, .1)
	s := p.Scenario()
	require.Equal(t, Scenario{
		Name: "some", Producers: 50, Consumers: 8, Rate: 150, Duration: "2s", Delay: "1ms..1s|6s", PayloadSize: 100, Seed: 1,
		Warmup: "until still, at most 30s", DrainTimeout: "10s", DrainLimit: "1m0s", MaxScheduleLag: "1s", Queue: "q",
		Ramp: "100/s for 1s, 200/s for 1s", Horizon: "300ms", Queues: 2, Poll: "200ms", Work: "100ms", Cancel: "0.5 after 400ms",
		Fleet: []string{"driver offers and takes", "driver takes from 100ms to 500ms"}, Messages: 300,
		Faults: []string{"slow at 500ms..600ms for 200ms, latency 10ms"},
		Scale:  .1, Unscaled: map[string]string{
			"rate": "15/s", "duration": "20s", "ramp": "10/s for 10s, 20/s for 10s", "delay": "10ms..10s|1m0s", "horizon": "3s", "poll": "2s",
			"work": "1s", "cancel": "0.5 after 4s", "fleet": "driver offers and takes, driver takes from 1s to 5s",
			"faults": "slow at 5s..6s for 2s, latency 100ms",
		},
	}, s)
	require.Equal(t, fullPlan(), full, "which is not changed")

	p, full = DefaultPlan().Scaled(.1), DefaultPlan()
	p.Rate, full.Rate = 7, 7 // given by a flag, which is not scaled
	p.Original = OriginalOf(p, full, .1)
	require.Equal(t, "times × 0.1: duration 1s of 10s, delay 500ms of 5s", p.Scenario().ScaleText())
	require.Empty(t, full.Scenario().ScaleText())
	require.Equal(t, Original{}, OriginalOf(full, full, 1))
}

// All of the scenario but what is derived comes from the table.
func TestScenarioIsOfTheTable(t *testing.T) {
	p := fullPlan().Scaled(.5)
	p.Original = OriginalOf(p, fullPlan(), .5)
	data, err := json.Marshal(p.Scenario())
	require.NoError(t, err)
	var kept map[string]any
	require.NoError(t, json.Unmarshal(data, &kept))
	for _, f := range Fields {
		require.Contains(t, kept, f.Key)
		require.NotEmpty(t, f.Text(p.Scenario()), f.Key)
		delete(kept, f.Key)
	}
	for _, derived := range []string{"name", "messages", "scale", "unscaled"} {
		require.Contains(t, kept, derived)
		delete(kept, derived)
	}
	require.Empty(t, kept, "what no field writes")
}

func TestNoShareIsNotANumber(t *testing.T) {
	p := fullPlan()
	p.Cancel.Share = math.NaN()
	require.ErrorContains(t, p.Validate(), "share from 0 to 1")
}

// Whatever a setting takes, it writes so that it takes it again.
func FuzzSet(f *testing.F) {
	for i := range Fields {
		for _, text := range []string{"", "7", "0x1_0", "5s", "90/m", "1s|2s..3s", "@1s..2s shuffled", "-1", "1e3", "2k/s", "1MB"} {
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
	})
}
