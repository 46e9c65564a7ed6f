package plan

import (
	"fmt"
	"strings"
	"time"
)

// Scenario is a plan as run.json keeps it. Durations are in Go's notation ("5s").
type Scenario struct {
	Name      string `json:"name,omitempty"`
	Producers int    `json:"producers"`
	Consumers int    `json:"consumers"`
	// Rate is offers per second over all producers.
	Rate     float64 `json:"rate"`
	Duration string  `json:"duration"`
	// Delay is "5s", or "1s..10s" for uniformly drawn delays.
	Delay        string `json:"delay"`
	PayloadSize  int    `json:"payload_size"`
	Seed         uint64 `json:"seed"`
	Warmup       string `json:"warmup"`
	DrainTimeout string `json:"drain_timeout"`
	// DrainLimit is how long messages were waited for after the last was due, though they still came.
	DrainLimit string `json:"drain_limit,omitempty"`
	// MaxScheduleLag is how late an offer may leave and still be on time.
	MaxScheduleLag string `json:"max_schedule_lag,omitempty"`
	Queue          string `json:"queue"`
	// Ramp is "100/s for 5s, 500/s for 5s"; Rate is then the mean.
	Ramp string `json:"ramp,omitempty"`
	// Climb says that the steps ask how much the queue takes.
	Climb bool `json:"climb,omitempty"`
	// Horizon is how long after the last offer messages were waited for.
	Horizon string `json:"horizon,omitempty"`
	// Queues is how many queues the messages went to, if above 1.
	Queues int `json:"queues,omitempty"`
	// Poll is the interval at which consumers looked, if they did not wait.
	Poll string `json:"poll,omitempty"`
	// Work is how long consumers were busy with each message.
	Work string `json:"work,omitempty"`
	// Cancel is "0.5 after 2s": the share of messages cancelled.
	Cancel string `json:"cancel,omitempty"`
	// Fleet are the processes that shared the queue, if there were several.
	Fleet []string `json:"fleet,omitempty"`
	// Faults are what broke, if anything was made to.
	Faults []string `json:"faults,omitempty"`
	// Scale is the factor that the times of the scenario were multiplied by, and
	// Unscaled what its settings are without that, by their keys; both are missing where
	// nothing was scaled.
	Scale    float64           `json:"scale,omitempty"`
	Unscaled map[string]string `json:"unscaled,omitempty"`
	// Messages is how many offers the measured phase plans.
	Messages int64 `json:"messages"`
}

// Scenario is the plan as run.json keeps it.
func (p Plan) Scenario() Scenario {
	text := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return d.String()
	}
	schedule := p.Schedule()
	s := Scenario{
		Name: p.Name, Producers: p.Producers, Consumers: p.Consumers, Rate: float64(schedule.MeanRate()), Duration: schedule.Duration().String(),
		Delay: p.Delay.String(), PayloadSize: p.PayloadSize, Seed: p.Seed, Warmup: p.WarmupText(), DrainTimeout: text(p.DrainTimeout),
		DrainLimit: text(p.DrainLimit), MaxScheduleLag: text(p.MaxScheduleLag), Queue: p.Queue, Ramp: schedule.RampText(),
		Climb: p.RateTo > 0 && len(p.Ramp) == 0, Horizon: text(p.Horizon), Poll: text(p.Poll), Work: text(p.Work),
		Messages: schedule.Messages(), Scale: p.Original.Scale, Unscaled: p.Original.Settings,
	}
	if p.Queues > 1 {
		s.Queues = p.Queues
	}
	if p.Cancel.Share > 0 {
		s.Cancel = p.Cancel.String()
	}
	for _, m := range p.Fleet {
		s.Fleet = append(s.Fleet, m.String())
	}
	for _, f := range p.Faults {
		s.Faults = append(s.Faults, f.String())
	}
	return s
}

// Original is what a plan whose times were scaled was made from.
type Original struct {
	// Scale is the factor; 0 for a plan that was not scaled.
	Scale float64
	// Settings are those that the scale changed, as they were, by their keys.
	Settings map[string]string
}

// OriginalOf compares a plan with itself before its times were multiplied by scale.
func OriginalOf(p, unscaled Plan, scale float64) Original {
	settings := map[string]string{}
	is, was := p.Scenario(), unscaled.Scenario()
	for _, f := range Fields {
		if text := f.Text(was); f.Scaled && text != f.Text(is) {
			settings[f.Key] = text
		}
	}
	if len(settings) == 0 {
		return Original{}
	}
	return Original{scale, settings}
}

// ScaleText says what scaled settings are and were: "times × 0.1: delay 500ms of 5s,
// duration 1s of 10s". It is empty where nothing was scaled.
func (s Scenario) ScaleText() string {
	var parts []string
	for _, f := range Fields {
		if was, ok := s.Unscaled[f.Key]; ok {
			parts = append(parts, fmt.Sprintf("%s %s of %s", f.Key, f.Text(s), was))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("times × %g: %s", s.Scale, strings.Join(parts, ", "))
}
