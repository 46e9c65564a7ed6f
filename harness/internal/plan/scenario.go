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
	// DrainLimit is the longest wait for messages after the last was due.
	DrainLimit string `json:"drain_limit,omitempty"`
	// MaxScheduleLag is the maximum delay between scheduled and actual send.
	MaxScheduleLag string `json:"max_schedule_lag,omitempty"`
	Queue          string `json:"queue"`
	// Ramp is "100/s for 5s, 500/s for 5s"; Rate is then the mean.
	Ramp string `json:"ramp,omitempty"`
	// Climb says that the steps ask how much the queue takes.
	Climb bool `json:"climb,omitempty"`
	// Horizon is how long after the last offer messages were waited for.
	Horizon string `json:"horizon,omitempty"`
	// Queues is the number of queues, if above 1.
	Queues int `json:"queues,omitempty"`
	// Poll is the interval of consumers that polled.
	Poll string `json:"poll,omitempty"`
	// Work is how long consumers were busy with each message.
	Work string `json:"work,omitempty"`
	// Cancel is "0.5 after 2s": the share of messages cancelled.
	Cancel string `json:"cancel,omitempty"`
	// Fleet are the processes that shared the queue, if there were several.
	Fleet []string `json:"fleet,omitempty"`
	// Faults are the faults that were injected.
	Faults []string `json:"faults,omitempty"`
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
		Delay: p.Delay.String(), PayloadSize: p.PayloadSize, Seed: p.Seed, Warmup: p.Warmup.String(), DrainTimeout: text(p.DrainTimeout),
		DrainLimit: text(p.DrainLimit), MaxScheduleLag: text(p.MaxScheduleLag), Queue: p.Queue,
		Climb: p.RateTo > 0, Horizon: text(p.Horizon), Poll: text(p.Poll), Work: text(p.Work),
		Fleet: texts(p.Fleet), Faults: texts(p.Faults),
		Messages: schedule.Messages(),
	}
	if p.WarmupEnds {
		s.Warmup = "until still, at most " + s.Warmup
	}
	if len(schedule) > 1 {
		s.Ramp = strings.Join(texts(schedule), ", ")
	}
	if p.Queues > 1 {
		s.Queues = p.Queues
	}
	if p.Cancel.Share > 0 {
		s.Cancel = fmt.Sprintf("%g after %s", p.Cancel.Share, p.Cancel.After)
	}
	return s
}

func texts[T fmt.Stringer](list []T) (all []string) {
	for _, each := range list {
		all = append(all, each.String())
	}
	return all
}
