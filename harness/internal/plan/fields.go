package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fields are the settings of a plan.
var Fields = []Field{
	whole(Field{
		Key: "producers", Help: "goroutines that offer", Compared: true,
		check: func(p Plan) error { return within("producers", p.Producers, maxProducers) },
	}, func(p *Plan) *int { return &p.Producers }, func(s *Scenario) *int { return &s.Producers }),

	whole(Field{
		Key: "consumers", Help: "goroutines that take", Compared: true,
		check: func(p Plan) error {
			if p.Consumers >= 1 && p.Consumers < p.Queues {
				return refuse("consumers", fmt.Sprintf("at least one for each of the %d queues", p.Queues), p.Consumers)
			}
			return within("consumers", p.Consumers, maxProducers)
		},
	}, func(p *Plan) *int { return &p.Consumers }, func(s *Scenario) *int { return &s.Consumers }),

	{
		Key: "rate", Help: "offers over all producers: 1000/s, 1k/s, 90/m; 1k/s..20k/s climbs in ten steps", Compared: true,
		Value: func(p *Plan) Value { return rateValue{p} },
		Text:  func(s Scenario) string { return FormatFloat(s.Rate) + "/s" },
		scale: func(p *Plan, by float64) { p.Rate, p.RateTo = p.Rate/Rate(by), p.RateTo/Rate(by) },
		record: func(p Plan, s *Scenario) {
			s.Rate, s.Climb = float64(p.Schedule().MeanRate()), p.RateTo > 0 && len(p.Ramp) == 0
		},
	},

	scaledTime(Field{
		Key: "duration", Help: "how long messages are offered", Compared: true,
		check:  func(p Plan) error { return p.Schedule().check() }, // of the rate and the ramp too
		record: func(p Plan, s *Scenario) { s.Duration = p.Schedule().Duration().String() },
	}, func(p *Plan) *time.Duration { return &p.Duration }, func(s *Scenario) *string { return &s.Duration }),

	{
		Key: "ramp", Help: "a list of `{rate, duration}`, one step after the other, in place of `rate` and `duration`", Compared: true,
		Text: func(s Scenario) string { return s.Ramp },
		scale: func(p *Plan, by float64) {
			p.Ramp = slices.Clone(p.Ramp)
			for i, s := range p.Ramp {
				p.Ramp[i] = Step{s.Rate / Rate(by), scaleTime(s.Duration, by)}
			}
		},
		record: func(p Plan, s *Scenario) { s.Ramp = p.Schedule().RampText() },
	},

	{
		Key: "delay", Compared: true,
		Help:   "delay of each message: 5s; 1s..10s to draw it; 1s|1m..2m to choose; @10s..11s to have all due then",
		Value:  func(p *Plan) Value { return value[Delay]{&p.Delay, "string", ParseDelay, Delay.String} },
		Text:   func(s Scenario) string { return s.Delay },
		scale:  func(p *Plan, by float64) { p.Delay = p.Delay.scaled(by) },
		check:  func(p Plan) error { return p.Delay.check() },
		record: func(p Plan, s *Scenario) { s.Delay = p.Delay.String() },
	},

	sized(Field{
		Key: "payload_size", Help: fmt.Sprintf("bytes of each value, at least %d: 100, 64KiB, 1MB", MinPayload), Compared: true,
		check: func(p Plan) error {
			switch {
			case p.PayloadSize < MinPayload:
				return refuse("payload_size", fmt.Sprintf("at least %d bytes, which the header takes", MinPayload), p.PayloadSize)
			case p.PayloadSize > maxPayload:
				return refuse("payload_size", fmt.Sprintf("at most %d bytes", maxPayload), p.PayloadSize)
			}
			return nil
		},
	}, func(p *Plan) *int { return &p.PayloadSize }, func(s *Scenario) *int { return &s.PayloadSize }),

	{
		Key: "seed", Help: "seed of drawn delays",
		Value: func(p *Plan) Value {
			return value[uint64]{&p.Seed, "uint64", parseSeed, func(n uint64) string { return strconv.FormatUint(n, 10) }}
		},
		Text:   func(s Scenario) string { return strconv.FormatUint(s.Seed, 10) },
		record: func(p Plan, s *Scenario) { s.Seed = p.Seed },
	},

	{
		Key: "warmup", Compared: true,
		Help: fmt.Sprintf("offer messages that do not count before, for so long, and drain them; 0s for none "+
			"(default: until lateness and round trip stand still, at most %s)", MaxWarmup),
		Value:  func(p *Plan) Value { return warmupValue{p} },
		Text:   func(s Scenario) string { return s.Warmup },
		check:  checkWarmup,
		record: func(p Plan, s *Scenario) { s.Warmup = p.WarmupText() },
	},

	scaledTime(Field{
		Key: "horizon", Compared: true,
		Help: "wait only so long after the last offer; what is due later stays pending; 0s waits for all",
	}, func(p *Plan) *time.Duration { return &p.Horizon }, func(s *Scenario) *string { return &s.Horizon }),

	timespan(Field{
		Key: "drain_timeout", Help: "how long to wait for missing messages once nothing comes any more",
		check: func(p Plan) error {
			if p.DrainTimeout <= 0 {
				return refuse("drain_timeout", "more than 0, such as 10s", p.DrainTimeout)
			}
			return nil
		},
	}, func(p *Plan) *time.Duration { return &p.DrainTimeout }, func(s *Scenario) *string { return &s.DrainTimeout }),

	timespan(Field{
		Key: "drain_limit", Help: "wait only so long after the last message was due, though more still come; 0s waits as long as they do",
	}, func(p *Plan) *time.Duration { return &p.DrainLimit }, func(s *Scenario) *string { return &s.DrainLimit }),

	timespan(Field{
		Key: "max_schedule_lag", Help: "how late an offer may leave; a run with fewer than 99 % of them on time is invalid",
	}, func(p *Plan) *time.Duration { return &p.MaxScheduleLag }, func(s *Scenario) *string { return &s.MaxScheduleLag }),

	{
		Key: "queue", Help: "destination queue (default: one of its own, removed at the end)", FlagOnly: true,
		Value: func(p *Plan) Value {
			same := func(text string) string { return text }
			return value[string]{&p.Queue, "string", func(text string) (string, error) { return text, nil }, same}
		},
		Text: func(s Scenario) string { return s.Queue },
		check: func(p Plan) error {
			if p.Queue == "" {
				return refuse("queue", "a name", "an empty one")
			}
			return nil
		},
		record: func(p Plan, s *Scenario) { s.Queue = p.Queue },
	},

	whole(Field{
		Key: "queues", Help: "number of destination queues, each with a consumer at least", Compared: true,
		check: func(p Plan) error { return within("queues", p.Queues, maxQueues) },
		record: func(p Plan, s *Scenario) {
			if p.Queues > 1 {
				s.Queues = p.Queues
			}
		},
	}, func(p *Plan) *int { return &p.Queues }, func(s *Scenario) *int { return &s.Queues }),

	scaledTime(Field{
		Key: "poll", Help: "consumers look for one message so often, and do not wait for it", Compared: true,
	}, func(p *Plan) *time.Duration { return &p.Poll }, func(s *Scenario) *string { return &s.Poll }),

	scaledTime(Field{
		Key: "work", Help: "how long a consumer is busy with each message", Compared: true,
	}, func(p *Plan) *time.Duration { return &p.Work }, func(s *Scenario) *string { return &s.Work }),

	{
		Key: "cancel", Help: "`{share, after}`: that share of the messages is cancelled so long after its offer", Compared: true,
		Text:  func(s Scenario) string { return s.Cancel },
		scale: func(p *Plan, by float64) { p.Cancel.After = scaleTime(p.Cancel.After, by) },
		check: func(p Plan) error { return p.Cancel.check() },
		record: func(p Plan, s *Scenario) {
			if p.Cancel.Share > 0 {
				s.Cancel = p.Cancel.String()
			}
		},
	},

	{
		Key: "fleet",
		Help: "processes that share the queue, a list of `{driver, count, offers, takes, from, to, kill}`; one that neither offers nor takes does both. " +
			"`from` and `to` open and close it under load; `kill: true` ends it at `to` by SIGKILL",
		Text: func(s Scenario) string { return strings.Join(s.Fleet, ", ") },
		scale: func(p *Plan, by float64) {
			p.Fleet = slices.Clone(p.Fleet)
			for i := range p.Fleet {
				m := &p.Fleet[i]
				m.From, m.To = scaleTime(m.From, by), scaleTime(m.To, by)
			}
		},
		check: checkFleet,
		record: func(p Plan, s *Scenario) {
			for _, m := range p.Fleet {
				s.Fleet = append(s.Fleet, m.String())
			}
		},
	},

	{
		Key: "faults",
		Help: "what breaks under load, a list of `{kind, at, for, …}`; `at` and `for` count from the start of the measured phase, an `at` of `2s..4s` is drawn. " +
			"docs/reference.md lists the kinds",
		Text: func(s Scenario) string { return strings.Join(s.Faults, "; ") },
		scale: func(p *Plan, by float64) {
			p.Faults = slices.Clone(p.Faults)
			for i, f := range p.Faults {
				p.Faults[i] = f.scaled(by)
			}
		},
		check:  checkFaults,
		record: func(p Plan, s *Scenario) { s.Faults = faultsText(p.Faults) },
	},
}

func parseSeed(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("seed: expected a whole number from 0 to 2^64-1, got %q", text)
	}
	return n, nil
}

// rateValue is one rate, or one that climbs to another.
type rateValue struct{ *Plan }

func (rateValue) Type() string { return "string" }

func (v rateValue) String() string {
	if v.RateTo > 0 {
		return v.Rate.String() + ".." + v.RateTo.String()
	}
	return v.Rate.String()
}

func (v rateValue) Set(text string) error {
	low, high, climbs := strings.Cut(text, "..")
	rate, err := ParseRate(low)
	if err != nil {
		return err
	}
	to := Rate(0)
	if climbs {
		if to, err = ParseRate(high); err != nil {
			return err
		}
		if to <= rate {
			return fmt.Errorf("rate: expected LOWEST..HIGHEST, got %q; swap the two", text)
		}
	}
	v.Rate, v.RateTo = rate, to
	return nil
}

// warmupValue is a fixed length, or empty for a warm-up that ends by itself.
type warmupValue struct{ *Plan }

func (warmupValue) Type() string { return "duration" }

func (v warmupValue) String() string {
	if v.WarmupEnds {
		return ""
	}
	return v.Warmup.String()
}

func (v warmupValue) Set(text string) error {
	if text == "" {
		v.Warmup, v.WarmupEnds = MaxWarmup, true
		return nil
	}
	d, err := parseTime("warmup", text)
	if err == nil {
		v.Warmup, v.WarmupEnds = d, false
	}
	return err
}
