package series

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// Side is one of the implementations that a series runs.
type Side struct {
	Spec   string // the --driver value
	Driver spec.Driver
	// Redis is a --redis value. A server that runs already is used by all runs of the side; every other form is started afresh for each.
	Redis string
}

// Case is one plan, and the sides to run it with.
type Case struct {
	Variant
	Folder string // below the one of the series; empty for the only case
	Sides  []Side
}

// Choice selects scenarios, variants and settings.
type Choice struct {
	Files    []string // scenarios as FindScenario takes them; without one the settings are the plan
	Variants []string // of the scenarios; without one all run except the Full ones
	// Settings are laid over each plan, and Defaults if a scenario sets nothing, both by the keys of plan.Fields.
	Settings, Defaults map[string]string
	SLO                []string // objectives in addition to the scenarios' own
	// Drivers and Servers are --driver and --redis values. With Override the drivers take the place of a scenario's own. Beside has all
	// sides of a case run at the same time.
	Drivers, Servers []string
	Override, Beside bool
}

// settle lays the settings over a variant, and adds the objectives.
func (c Choice) settle(v *Variant) error {
	settings := maps.Clone(c.Defaults)
	maps.DeleteFunc(settings, func(key, _ string) bool { return slices.Contains(v.given, key) })
	for _, of := range []map[string]string{settings, c.Settings} {
		for _, key := range slices.Sorted(maps.Keys(of)) {
			if err := v.Plan.Set(key, of[key]); err != nil {
				return err
			}
		}
	}
	more, err := objectives(c.SLO)
	v.SLO = slices.Concat(v.SLO, more)
	return cmp.Or(err, v.Plan.Validate())
}

// variants are the variants of all scenarios that are chosen, or one for the settings. A name is meant for the scenarios that have it;
// of any other one all variants are chosen that are not Full.
func (c Choice) variants(ctx context.Context) (all []Variant, err error) {
	switch {
	case len(c.Files) == 0 && len(c.Variants) > 0:
		return nil, errors.New("variant: expected a scenario beside it, given by -f")
	case len(c.Files) == 0:
		return []Variant{{Plan: plan.DefaultPlan()}}, nil
	}
	var known []string
	for _, file := range c.Files {
		s, err := FindScenario(ctx, file)
		if err != nil {
			return nil, err
		}
		names := s.names()
		chosen := slices.DeleteFunc(slices.Clone(s.Variants), func(v Variant) bool { return !slices.Contains(c.Variants, v.Name) })
		if len(chosen) == 0 {
			chosen = slices.DeleteFunc(s.Variants, func(v Variant) bool { return v.Full })
		}
		if len(chosen) == 0 {
			return nil, fmt.Errorf("scenario %s runs on demand only: choose with --variant from %s", s.Name, strings.Join(names, ", "))
		}
		all, known = append(all, chosen...), append(known, names...)
	}
	for _, name := range c.Variants {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("no scenario has a variant %q, expected one of: %s", name, strings.Join(known, ", "))
		}
	}
	return all, nil
}

// Cases makes a case of each run that is chosen, on every server: with the drivers, or with the one of its scenario unless they override
// it. A run whose fleet says itself which drivers run would be the same for each driver that overrides: it is left out, and named in
// left. Its error is wrong usage, also if no run remains, unless a scenario file cannot be read.
func (c Choice) Cases(ctx context.Context) (cases []Case, left []string, err error) {
	runs, err := c.variants(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range runs {
		if err := c.settle(&r); err != nil {
			return nil, nil, err
		}
		switch {
		case c.Override && len(r.Plan.Fleet) > 0 && !slices.ContainsFunc(r.Plan.Fleet, func(m plan.Member) bool { return m.Driver == "" }):
			left = append(left, r.Plan.Name)
			continue
		case slices.ContainsFunc(cases, func(c Case) bool { return c.Plan.Name == r.Plan.Name }):
			return nil, nil, fmt.Errorf("file: %s is there twice, and would overwrite its own runs; --repeat runs it several times", r.Plan.Name)
		}
		made, drivers := Case{Variant: r, Folder: filepath.FromSlash(r.Plan.Name)}, c.Drivers
		if r.Driver != "" && !c.Override {
			drivers = []string{r.Driver}
		}
		for _, name := range drivers {
			for _, server := range c.Servers {
				if err := made.add(Side{Spec: name, Redis: server}, c.Beside); err != nil {
					return nil, nil, err
				}
			}
		}
		if c.Beside && len(made.Sides) < 2 {
			return nil, nil, errors.New("beside: expected two sides or more to run at the same time; give --driver, or --redis, as often")
		}
		cases = append(cases, made)
	}
	switch {
	case len(cases) == 0 && len(left) > 0:
		return nil, nil, fmt.Errorf("--driver: %s names the driver of each member of its fleet, leave --driver out", strings.Join(left, ", "))
	case len(cases) == 1:
		cases[0].Folder = ""
	case oneScenario(cases): // the variants' names
		for i := range cases {
			cases[i].Folder = filepath.Base(cases[i].Folder)
		}
	}
	return cases, left, nil
}

// add adds a side, unless it cannot run, or cannot run at the same time as another.
func (c *Case) add(side Side, beside bool) (err error) {
	if side.Driver, err = spec.Parse(side.Spec); err != nil {
		return err
	}
	at, err := redis.Parse(side.Redis)
	redisson := strings.HasPrefix(side.Spec, "redisson:")
	shared := func(other Side) bool { return other.Redis == side.Redis }
	switch {
	case err != nil:
		return err
	case redisson && at.Address.Files != (redis.Files{}):
		return fmt.Errorf("--driver %s: the program of Redisson trusts the system's authorities and has no certificate: expected --redis without files for TLS", side.Spec)
	case redisson && at.Address.Unix:
		return fmt.Errorf("--driver %s: Redisson connects by TCP: expected --redis with a host and a port, got %s", side.Spec, redis.Redact(side.Redis))
	case beside && at.Kind == redis.External && slices.ContainsFunc(c.Sides, shared):
		return fmt.Errorf("beside: expected a server of its own for each side, got --redis %s, which they would share; "+
			"give auto, process, container or embedded, which starts one for each", redis.Redact(side.Redis))
	case len(c.Plan.Faults) == 0:
	case !(load.Options{Plan: c.Plan, Driver: side.Driver}).Stored():
		return fmt.Errorf("faults: %s has no server, and so no connection that could break", side.Spec)
	default:
		if err := load.CheckFaults(at, c.Plan.Faults); err != nil {
			return fmt.Errorf("%w, got --redis %s", err, redis.Redact(side.Redis))
		}
	}
	c.Sides = append(c.Sides, side)
	return nil
}

// Names returns the name of each side of a series: its --driver value, and if their servers differ the address, "dq
// (127.0.0.1:6379)". Sides that are the same, to measure noise, get a number.
func Names(sides []Side) []string {
	names := make([]string, len(sides))
	for i, s := range sides {
		if names[i] = s.Spec; slices.ContainsFunc(sides, func(other Side) bool { return other.Redis != s.Redis }) {
			names[i] += " (" + redis.Place(s.Redis) + ")"
		}
	}
	return numbered(names, " (%d)")
}

// noFolder matches characters that the names of folders do without.
var noFolder = regexp.MustCompile(`[^a-zA-Z0-9._-]+`)

// Folders returns a folder for each name: dq, redisson-4.7.0, dq-2.
func Folders(names []string) []string {
	const longest = 60
	folders := make([]string, len(names))
	for i, name := range names {
		name = noFolder.ReplaceAllString(name, "-")
		folders[i] = strings.Trim(name[:min(len(name), longest)], "-.")
	}
	return numbered(folders, "-%d")
}

// numbered gives names that are the same a number, from the second on.
func numbered(names []string, format string) []string {
	seen := map[string]int{}
	for i, name := range names {
		if seen[name]++; seen[name] > 1 {
			names[i] += fmt.Sprintf(format, seen[name])
		}
	}
	return names
}

// Standings are the cases as a page shows them, before any has run.
func Standings(cases []Case) report.Cases {
	all := report.Cases{Kind: map[bool]string{true: "variant", false: "scenario"}[oneScenario(cases)]}
	for _, c := range cases {
		all.All = append(all.All, report.Case{Name: filepath.ToSlash(c.Folder), Standing: report.ToCome})
	}
	return all
}

// oneScenario reports whether all cases are variants of one scenario.
func oneScenario(cases []Case) bool {
	name := func(c Case) string { return strings.Split(c.Plan.Name, "/")[0] }
	return !slices.ContainsFunc(cases, func(c Case) bool { return name(c) != name(cases[0]) })
}
