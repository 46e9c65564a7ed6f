package scenario

import (
	"fmt"
	"time"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/plan"
	"github.com/dq-bench/dq-bench/harness/run"
)

// Run is a variant made ready.
type Run struct {
	// Plan has no Queue; its Name is scenario or scenario/variant.
	Plan plan.Plan
	// Driver is a --driver value, empty if the scenario names none; Drivers are those
	// that the members of its fleet name.
	Driver  string
	Drivers map[string]driver.Driver
	// Scale is the factor that times were multiplied by.
	Scale    float64
	SLO      []run.SLO
	Expected []run.SLO
}

// Resolve makes the plan with all times multiplied by scale and the rate divided
// by it: the messages stay as many. Duration limits of objectives are scaled too;
// warm-up and drain timeout are not. parse makes the drivers of a fleet. Its error
// is an *Error.
func (v Variant) Resolve(scale float64, parse func(spec string) (driver.Driver, error)) (Run, error) {
	s := v.settings
	run := Run{Driver: s.Driver, Drivers: map[string]driver.Driver{}, Scale: scale}
	p := &run.Plan
	*p = plan.Plan{
		Name: v.scenario, Producers: s.Producers, Consumers: s.Consumers,
		Rate: plan.Rate(s.Rate) / plan.Rate(scale), Duration: scaled(s.Duration, scale),
		Delay: scaledDelay(plan.Delay(s.Delay), scale), PayloadSize: s.PayloadSize, Seed: s.Seed,
		Warmup: plan.MaxWarmup, WarmupEnds: true, Horizon: scaled(s.Horizon, scale), DrainTimeout: s.DrainTimeout,
		MaxScheduleLag: s.MaxScheduleLag,
		Queues:         s.Queues, Poll: scaled(s.Poll, scale), Work: scaled(s.Work, scale),
		Cancel: plan.Cancel{Share: s.Cancel.Share, After: scaled(s.Cancel.After, scale)},
	}
	if s.Warmup != nil {
		p.Warmup, p.WarmupEnds = *s.Warmup, false
	}
	if v.Name != "" {
		p.Name += "/" + v.Name
	}
	for _, st := range s.Ramp {
		p.Ramp = append(p.Ramp, plan.Step{Rate: plan.Rate(st.Rate) / plan.Rate(scale), Duration: scaled(st.Duration, scale)})
	}
	for _, m := range s.Fleet {
		members, err := m.members(scale, parse, run.Drivers)
		if err != nil {
			return Run{}, v.wrong(err)
		}
		p.Fleet = append(p.Fleet, members...)
	}
	if s.Driver != "" {
		if _, err := parse(s.Driver); err != nil {
			return Run{}, v.wrong(err)
		}
	}
	check := *p
	check.Queue = "checked later"
	if err := check.Validate(); err != nil {
		return Run{}, v.wrong(err)
	}
	var err error
	if run.SLO, err = objectives(s.SLO, scale); err != nil {
		return Run{}, v.wrong(err)
	}
	if run.Expected, err = objectives(s.Expect, scale); err != nil {
		return Run{}, v.wrong(err)
	}
	return run, nil
}

func (v Variant) wrong(err error) error { return &Error{v.file, v.Line, err} }

// scaled keeps whole milliseconds, and something of what was there.
func scaled(d time.Duration, scale float64) time.Duration {
	if scale == 1 || d <= 0 {
		return d
	}
	return max(time.Duration(float64(d)*scale).Round(time.Millisecond), time.Millisecond)
}

func scaledDelay(d plan.Delay, scale float64) plan.Delay {
	d.Min, d.Max = scaled(d.Min, scale), scaled(d.Max, scale)
	choices := d.Choices
	d.Choices = nil
	for _, c := range choices {
		d.Choices = append(d.Choices, plan.Span{Min: scaled(c.Min, scale), Max: scaled(c.Max, scale)})
	}
	return d
}

// members are those that m stands for; the drivers that they name go to drivers.
func (m member) members(
	scale float64, parse func(string) (driver.Driver, error), drivers map[string]driver.Driver,
) ([]plan.Member, error) {
	if m.Count < 0 || m.Count > maxCount {
		return nil, fmt.Errorf("fleet: expected a count of 1 to %d, got %d", maxCount, m.Count)
	}
	made := plan.Member{Offers: m.Offers, Takes: m.Takes, From: scaled(m.From, scale), To: scaled(m.To, scale)}
	if !m.Offers && !m.Takes {
		made.Offers, made.Takes = true, true
	}
	if m.Driver != "" {
		d, err := parse(m.Driver)
		if err != nil {
			return nil, err
		}
		made.Driver, drivers[m.Driver] = m.Driver, d
	}
	members := make([]plan.Member, max(m.Count, 1))
	for i := range members {
		members[i] = made
	}
	return members, nil
}

// maxCount bounds the processes of one member.
const maxCount = 1000

func objectives(texts []string, scale float64) ([]run.SLO, error) {
	var all []run.SLO
	for _, text := range texts {
		slo, err := run.ParseSLO(text)
		if err != nil {
			return nil, err
		}
		all = append(all, slo.Scaled(scale))
	}
	return all, nil
}
