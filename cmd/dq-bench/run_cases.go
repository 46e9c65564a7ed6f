package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/driver/spec"
	"github.com/dq-bench/dq-bench/harness/plan"
	"github.com/dq-bench/dq-bench/harness/run"
	"github.com/dq-bench/dq-bench/harness/scenario"
	"github.com/dq-bench/dq-bench/harness/series"
	"github.com/dq-bench/dq-bench/scenarios"
)

// cases makes a case of the flags alone, or of each variant of the scenario that
// is asked for with the flags laid over it.
func (f *runFlags) cases() ([]runCase, error) {
	if len(f.files) == 0 {
		for _, flag := range []string{"variant", "full", "scale"} {
			if f.changed(flag) {
				return nil, fmt.Errorf("%s: expected a scenario beside it, given by -f", flag)
			}
		}
		c, err := f.overlay(scenario.Run{Plan: f.plan, Scale: 1}, func(string) bool { return true })
		return []runCase{c}, err
	}
	var cases []runCase
	for _, file := range f.files {
		more, err := f.scenarioCases(file)
		if err != nil {
			return nil, err
		}
		cases = append(cases, more...)
	}
	if len(cases) > 1 {
		for i := range cases {
			cases[i].folder = filepath.FromSlash(cases[i].Plan.Name)
			if len(f.files) == 1 {
				cases[i].folder = filepath.Base(cases[i].folder)
			}
		}
	}
	return cases, nil
}

// scenarioCases makes a case of each variant of one scenario.
func (f *runFlags) scenarioCases(file string) ([]runCase, error) {
	s, err := findScenario(file)
	if err != nil {
		return nil, err
	}
	names := f.variants
	if len(f.files) > 1 {
		// A variant is meant for the scenarios that have it.
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !s.Has(name) })
	}
	variants, err := s.Select(names, f.full)
	if err != nil {
		return nil, err
	}
	scale := s.Scale
	if f.full {
		scale = 1
	}
	if f.changed("scale") {
		if scale = f.scale; !(scale > 0 && scale <= 1) {
			return nil, fmt.Errorf("scale: expected more than 0 and at most 1, got %v", scale)
		}
	}
	var cases []runCase
	for _, v := range variants {
		resolved, err := v.Resolve(scale, spec.Parse)
		if err != nil {
			return nil, err
		}
		c, err := f.overlay(resolved, f.changed)
		if err != nil {
			return nil, err
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// findScenario takes the name of a stored scenario or the path of a file.
func findScenario(name string) (*scenario.Scenario, error) {
	if !strings.HasSuffix(name, ".yaml") && !strings.ContainsAny(name, `/\`) {
		s, err := scenario.Read(scenarios.Load, "load/"+name+".yaml")
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("file: no scenario %q; 'dq-bench scenarios' lists them, and a file needs its .yaml", name)
		}
		return s, err
	}
	s, err := scenario.Read(os.DirFS(filepath.Dir(name)), filepath.Base(name))
	var wrong *scenario.Error
	if errors.As(err, &wrong) {
		wrong.File = name
	}
	return s, err
}

// overlay lays the flags that were given over a resolved scenario.
func (f *runFlags) overlay(variant scenario.Run, given func(flag string) bool) (runCase, error) {
	p := &variant.Plan
	var err error
	for _, flag := range []struct {
		name string
		set  func()
	}{
		{"producers", func() { p.Producers = f.plan.Producers }},
		{"consumers", func() { p.Consumers = f.plan.Consumers }},
		{"duration", func() { p.Duration, p.Ramp = f.plan.Duration, nil }},
		{"payload-size", func() { p.PayloadSize = f.plan.PayloadSize }},
		{"seed", func() { p.Seed = f.plan.Seed }},
		{"warmup", func() {
			if f.changed("warmup") {
				p.Warmup, p.WarmupEnds = f.warmup, false
			}
		}},
		{"horizon", func() { p.Horizon = f.plan.Horizon }},
		{"drain-timeout", func() { p.DrainTimeout = f.plan.DrainTimeout }},
		{"max-schedule-lag", func() { p.MaxScheduleLag = f.plan.MaxScheduleLag }},
		{"queue", func() { p.Queue = f.plan.Queue }},
		{"queues", func() { p.Queues = f.plan.Queues }},
		{"poll", func() { p.Poll = f.plan.Poll }},
		{"work", func() { p.Work = f.plan.Work }},
		{"rate", func() {
			rate, wrong := plan.ParseRate(f.rate)
			p.Rate, p.Ramp, err = rate, nil, errors.Join(err, wrong)
		}},
		{"delay", func() {
			delay, wrong := plan.ParseDelay(f.delay)
			p.Delay, err = delay, errors.Join(err, wrong)
		}},
	} {
		if given(flag.name) {
			flag.set()
		}
	}
	if err != nil {
		return runCase{}, err
	}
	check := *p
	if check.Queue == "" {
		check.Queue = "named later"
	}
	if err := check.Validate(); err != nil {
		return runCase{}, err
	}
	c := runCase{Run: variant}
	if c.sides, err = f.sides(variant.Driver); err != nil {
		return runCase{}, err
	}
	for _, text := range f.slos {
		slo, err := run.ParseSLO(text)
		if err != nil {
			return runCase{}, err
		}
		c.SLO = append(c.SLO, slo)
	}
	return c, nil
}

// sides parses the drivers: those of the flags, else the scenario's; each on every
// server.
func (f *runFlags) sides(fromScenario string) ([]series.Side, error) {
	specs := f.drivers
	if fromScenario != "" && !f.changed("driver") {
		specs = []string{fromScenario}
	}
	var sides []series.Side
	for _, name := range specs {
		d, err := spec.Parse(name)
		if err != nil {
			return nil, err
		}
		for _, redis := range f.redis {
			side := series.Side{Spec: name, Driver: d}
			if len(f.redis) > 1 {
				side.Redis = redis
			}
			sides = append(sides, side)
		}
	}
	return sides, nil
}
