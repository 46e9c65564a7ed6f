// Package plan is the plan of a run: when each message is offered, with which delay, and which consumers take it.
// Everything here is arithmetic: nothing is started.
package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Plan is the plan of a run, whose settings Fields explains. The zero value is not valid: start from DefaultPlan.
type Plan struct {
	// Name is the scenario's name, may be empty.
	Name string
	// Producers and Consumers are shared evenly among the queues and the members of the fleet.
	Producers, Consumers int
	// RateTo, if above 0, is the last rate of a climb, in ClimbSteps steps of equal length.
	Rate, RateTo Rate
	Duration     time.Duration
	Delay        Delay
	PayloadSize  int
	Seed         uint64
	// Warmup is the length of the warm-up, which is not counted, and whose delays are at most MaxWarmupDelay: its greatest length,
	// if WarmupEnds says that it ends when lateness and round trip are stable.
	Warmup     time.Duration
	WarmupEnds bool
	// 0 leaves out a Horizon or a Poll; a MaxScheduleLag of 0 is DefaultMaxScheduleLag.
	Horizon, DrainTimeout, MaxScheduleLag time.Duration
	// Queue is the name of the destination queue. The messages go to several Queues in turn: Queue with ":1", ":2" and so on.
	Queue      string
	Queues     int
	Poll, Work time.Duration
	Cancel     Cancel
	// Fleet are the processes that share the queue; without one, one member does everything throughout.
	Fleet []Member
	// Faults are what breaks, one at a time.
	Faults []Fault
}

// Cancel says which messages are cancelled: a share of them, drawn, each After its offer.
type Cancel struct {
	Share float64
	After time.Duration
}

// Chosen reports whether message i is one to be cancelled.
func (c Cancel) Chosen(seed uint64, i int64) bool {
	return float64(mix(^seed^mix(uint64(i)))>>11)/(1<<53) < c.Share
}

// Member is a process of a fleet. From and To are counted from the start of the measured phase; a To of 0 is the end of the run. A
// member that ends is closed before one that begins at that instant is opened.
type Member struct {
	// Driver is a --driver value, empty for the one of the run.
	Driver string
	// Count is how many of the same there are; 0 means 1.
	Count int
	// A member that neither Offers nor Takes does both.
	Offers, Takes bool
	From, To      time.Duration
	// Kill ends the member at To by SIGKILL.
	Kill bool
}

const (
	// MaxWarmup is the longest warm-up that ends by itself.
	MaxWarmup = 30 * time.Second
	// MaxWarmupDelay caps the delay of warm-up messages: connections, script caches and code paths do not depend on it.
	MaxWarmupDelay = time.Second
	// DefaultMaxScheduleLag is far above the lag of a busy machine, and far below the lag of a load that cannot keep up.
	DefaultMaxScheduleLag = time.Second
	// MinPayload is the size of a value's header, in bytes.
	MinPayload = 49
	// ClimbSteps is in how many steps a rate climbs.
	ClimbSteps = 10
)

// DefaultPlan is what 'dq-bench run' does without flags. Queue is left empty.
func DefaultPlan() Plan {
	return Plan{
		Producers: 50, Consumers: 8, Rate: 1000, Duration: 10 * time.Second,
		Delay: Fixed(5 * time.Second), PayloadSize: 100, Seed: 1,
		Warmup: MaxWarmup, WarmupEnds: true, DrainTimeout: 10 * time.Second, MaxScheduleLag: DefaultMaxScheduleLag, Queues: 1,
	}
}

// Schedule is the schedule of the measured phase.
func (p Plan) Schedule() Schedule {
	s := Schedule{[]Rate{p.Rate}, p.Duration}
	if p.RateTo > 0 {
		s.Each /= ClimbSteps
		for k := Rate(1); k < ClimbSteps; k++ {
			s.Rates = append(s.Rates, p.Rate+(p.RateTo-p.Rate)*k/(ClimbSteps-1))
		}
	}
	return s
}

// Phase is the part of a run that a message belongs to.
type Phase byte

// The phases of a run.
const (
	Warmup   Phase = 'w'
	Measured Phase = 'm'
)

// Phase returns the plan of a phase: the warm-up keeps the first rate, and has short delays, no cancellations and no horizon.
func (p Plan) Phase(phase Phase) Plan {
	if phase == Warmup {
		p.RateTo, p.Duration, p.Delay, p.Cancel, p.Horizon = 0, p.Warmup, p.Delay.warmUp(), Cancel{}, 0
	}
	return p
}

// Length is how long a phase takes until its last message is due, or is waited for.
func (p Plan) Length() time.Duration {
	offers := p.Schedule().Duration()
	length := offers + p.Delay.hull().Max
	if p.Delay.Together {
		length = max(offers, p.Delay.hull().Max)
	}
	if p.Horizon > 0 {
		length = min(length, offers+p.Horizon)
	}
	return length
}

// Members are the processes of the fleet, each by itself, or the one that does everything.
func (p Plan) Members() (all []Member) {
	if len(p.Fleet) == 0 {
		p.Fleet = []Member{{}}
	}
	for _, m := range p.Fleet {
		if !m.Offers && !m.Takes {
			m.Offers, m.Takes = true, true
		}
		n := max(m.Count, 1)
		m.Count = 1
		all = append(all, slices.Repeat([]Member{m}, n)...)
	}
	return all
}

// QueueNames returns the names of all destination queues.
func (p Plan) QueueNames() []string {
	if p.Queues <= 1 {
		return []string{p.Queue}
	}
	names := make([]string, p.Queues)
	for i := range names {
		names[i] = p.Queue + ":" + strconv.Itoa(i+1)
	}
	return names
}

// String is "redisson:4.7.0 offers from 1s to 5s".
func (m Member) String() string {
	text := cmp.Or(m.Driver, "driver") + map[[2]bool]string{
		{true, true}: " offers and takes", {true, false}: " offers", {false, true}: " takes",
	}[[2]bool{m.Offers, m.Takes}]
	if m.From > 0 {
		text += " from " + m.From.String()
	}
	switch {
	case m.Kill:
		text += " until killed at " + m.To.String()
	case m.To > 0:
		text += " to " + m.To.String()
	}
	return text
}

// Limits of a plan.
const (
	maxProducers = 1 << 16
	maxRate      = 1e9 // one message per nanosecond
	maxQueues    = 1 << 14
	maxPayload   = 16 << 20
	maxCount     = 1000 // of one member, or of a fault; and maxMembers of all
	maxMembers   = 10_000
	maxMessages  = 100_000_000 // which take 1.1 GB of the collector
)

// Validate refuses a plan whose settings do not agree; each by itself was checked when it was read. Its error is wrong usage.
func (p Plan) Validate() error {
	switch {
	case p.DrainTimeout <= 0:
		return fmt.Errorf("drain timeout: expected more than 0, such as 10s, got %s", p.DrainTimeout)
	case p.Consumers < p.Queues:
		return fmt.Errorf("consumers: expected at least one for each of the %d queues, got %d", p.Queues, p.Consumers)
	case p.RateTo > 0 && (p.Delay.Together || p.Delay.hull().Min < p.Delay.hull().Max):
		return fmt.Errorf("delay: expected one delay for a rate that climbs, whose steps are judged by the messages due in them, got %s", p.Delay)
	case !(p.Cancel.Share >= 0 && p.Cancel.Share <= 1):
		return fmt.Errorf("cancel: expected a share from 0 to 1, got %v", p.Cancel.Share)
	}
	if err := p.Schedule().check(); err != nil {
		return err
	}
	if err := p.Phase(Warmup).Schedule().check(); err != nil && p.Warmup > 0 {
		return err
	}
	if err := p.checkFleet(); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	if err := p.checkFaults(); err != nil {
		return fmt.Errorf("faults: %w", err)
	}
	return nil
}

// checkFleet makes sure that a member offers and one takes at the start, which is when the warm-up runs, and after the last change.
func (p Plan) checkFleet() error {
	n := 0
	for _, m := range p.Fleet {
		n += m.Count
	}
	if n > maxMembers {
		return fmt.Errorf("expected at most %d members, got %d", maxMembers, n)
	}
	for i, m := range p.Members() {
		switch {
		case m.To > 0 && m.To <= m.From:
			return fmt.Errorf("expected member %d to begin before it ends, got %s to %s", i+1, m.From, m.To)
		case m.Kill && m.To == 0:
			return fmt.Errorf("expected a to for member %d, which is when it is killed", i+1)
		case m.Kill && p.Cancel.Share > 0:
			return fmt.Errorf("expected no cancel with member %d, which is killed: its cancellations would be unknown", i+1)
		}
	}
	for _, has := range []func(Member) bool{
		func(m Member) bool { return m.Offers && m.From == 0 }, func(m Member) bool { return m.Takes && m.From == 0 },
		func(m Member) bool { return m.Offers && m.To == 0 }, func(m Member) bool { return m.Takes && m.To == 0 },
	} {
		if !slices.ContainsFunc(p.Members(), has) {
			return errors.New("expected a member that offers and one that takes, at the beginning and to the end")
		}
	}
	return nil
}

// Scenario is a plan as run.json keeps it. Durations are in Go's notation ("5s").
type Scenario struct {
	Name      string  `json:"name,omitempty"`
	Producers int     `json:"producers"`
	Consumers int     `json:"consumers"`
	Rate      float64 `json:"rate"` // offers per second over all producers
	Duration  string  `json:"duration"`
	// Delay is "5s", or "1s..10s" for uniformly drawn delays.
	Delay        string `json:"delay"`
	PayloadSize  int    `json:"payload_size"`
	Seed         uint64 `json:"seed"`
	Warmup       string `json:"warmup"`
	DrainTimeout string `json:"drain_timeout"`
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
	text := func(d time.Duration) string { return map[bool]string{false: d.String()}[d == 0] }
	schedule := p.Schedule()
	s := Scenario{
		Name: p.Name, Producers: p.Producers, Consumers: p.Consumers, Rate: float64(schedule.MeanRate()), Duration: schedule.Duration().String(),
		Delay: p.Delay.String(), PayloadSize: p.PayloadSize, Seed: p.Seed, Warmup: p.Warmup.String(), DrainTimeout: text(p.DrainTimeout),
		MaxScheduleLag: text(p.MaxScheduleLag), Queue: p.Queue,
		Climb: p.RateTo > 0, Horizon: text(p.Horizon), Poll: text(p.Poll), Work: text(p.Work),
		Faults: texts(p.Faults), Messages: schedule.Messages(),
	}
	if len(p.Fleet) > 0 {
		s.Fleet = texts(p.Members())
	}
	if p.WarmupEnds {
		s.Warmup = "until still, at most " + s.Warmup
	}
	if s.Climb {
		between := " for " + schedule.Each.String()
		s.Ramp = strings.Join(texts(schedule.Rates), between+", ") + between
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
