package series

import (
	"context"
	"errors"
	"fmt"
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
	// Spec is the --driver value.
	Spec   string
	Driver spec.Driver
	// Redis is a --redis value. A server that runs already is used by all runs of the side; every other form is started afresh for each.
	Redis string
}

// Case is one plan, and the sides to run it with.
type Case struct {
	Run
	// Folder is below the one of the series; it is empty for the only case.
	Folder string
	Sides  []Side
}

// Cases makes a case of each run that is chosen, on every server: with the drivers, or with the one of its scenario unless they override
// it. A run whose fleet says itself which drivers run would be the same for each driver that overrides: it is left out, and named in
// left. Its error is wrong usage, also if no run remains, unless a scenario file cannot be read.
func (c Choice) Cases(ctx context.Context) (cases []Case, left []string, err error) {
	runs, err := c.variants(ctx)
	if err != nil {
		return nil, nil, err
	}
	scenarios, seen := map[string]bool{}, map[string]bool{}
	for _, r := range runs {
		if err := c.settle(&r); err != nil {
			return nil, nil, err
		}
		name, _, _ := strings.Cut(r.Plan.Name, "/")
		switch {
		case c.Override && len(r.Plan.Fleet) > 0 && !slices.ContainsFunc(r.Plan.Fleet, func(m plan.Member) bool { return m.Driver == "" }):
			left = append(left, r.Plan.Name)
			continue
		case seen[r.Plan.Name]:
			return nil, nil, fmt.Errorf("file: %s is there twice, and would overwrite its own runs; --repeat runs it several times", r.Plan.Name)
		}
		scenarios[name], seen[r.Plan.Name] = true, true
		made, drivers := Case{Run: r.Run, Folder: filepath.FromSlash(r.Plan.Name)}, c.Drivers
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
	case len(scenarios) == 1: // the variants' names
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
	all := report.Cases{Kind: "variant"}
	for _, c := range cases {
		all.All = append(all.All, report.Case{Name: filepath.ToSlash(c.Folder), Standing: report.ToCome})
		name, _, _ := strings.Cut(c.Plan.Name, "/")
		if first, _, _ := strings.Cut(cases[0].Plan.Name, "/"); name != first {
			all.Kind = "scenario"
		}
	}
	return all
}
