package scenario

import (
	"errors"
	"maps"
	"slices"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Run is a variant made ready.
type Run struct {
	// Plan has no Queue unless one was given; its Name is scenario or scenario/variant,
	// and empty for a plan that is no scenario's.
	Plan plan.Plan
	// Driver is a --driver value, empty if the scenario names none; Drivers are those
	// that the members of its fleet name.
	Driver   string
	Drivers  map[string]driver.Driver
	SLO      []run.SLO
	Expected []run.SLO
}

// Resolve makes the plan, with all times multiplied by scale and the rate divided by it,
// and the settings that are given, by their keys, laid over that as they are. Duration
// limits of objectives are scaled too. parse makes the drivers of a fleet. Its error is
// an *Error unless a given setting is to blame.
func (v Variant) Resolve(scale float64, given map[string]string, parse func(spec string) (driver.Driver, error)) (Run, error) {
	unscaled := v.settings.plan
	unscaled.Name = v.scenario
	if v.Name != "" {
		unscaled.Name += "/" + v.Name
	}
	r := Run{Plan: unscaled.Scaled(scale), Driver: v.settings.driver, Drivers: map[string]driver.Driver{}}
	errs := []error{valid(r.Plan), checkDriver(r.Driver, parse)}
	for _, m := range r.Plan.Fleet {
		if m.Driver == "" || r.Drivers[m.Driver] != nil {
			continue
		}
		d, err := parse(m.Driver)
		r.Drivers[m.Driver], errs = d, append(errs, err)
	}
	var err error
	r.SLO, err = objectives(v.settings.slo, scale)
	errs = append(errs, err)
	r.Expected, err = objectives(v.settings.expect, scale)
	for _, err := range append(errs, err) {
		if err != nil {
			return Run{}, &Error{v.file, v.Line, err}
		}
	}
	if r.Plan, err = overlay(r.Plan, given); err != nil {
		return Run{}, err
	}
	if unscaled, err = overlay(unscaled, given); err != nil {
		return Run{}, err
	}
	r.Plan.Original = plan.OriginalOf(r.Plan, unscaled, scale)
	return r, valid(r.Plan)
}

// Plain is a run of no scenario: the standard plan with the settings that are given. Its
// error is wrong usage.
func Plain(given map[string]string) (Run, error) {
	p, err := overlay(plan.DefaultPlan(), given)
	if err != nil {
		return Run{}, err
	}
	return Run{Plan: p}, valid(p)
}

// overlay lays settings over a plan, in the order of their keys.
func overlay(p plan.Plan, given map[string]string) (plan.Plan, error) {
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(given)) {
		errs = append(errs, p.Set(key, given[key]))
	}
	return p, errors.Join(errs...)
}

// valid checks a plan whose queue may be named later.
func valid(p plan.Plan) error {
	if p.Queue == "" {
		p.Queue = "named later"
	}
	return p.Validate()
}

func checkDriver(spec string, parse func(string) (driver.Driver, error)) error {
	if spec == "" {
		return nil
	}
	_, err := parse(spec)
	return err
}

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
