package series

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/text"
	"github.com/dq-bench/dq-bench/scenarios"
)

// Scenario is a YAML file: the plan of a load, its objectives, and the known faults of the system under test. Its variants say only
// what differs. The files are strict: an unknown key is an error with its line.
type Scenario struct {
	// Name is the file's name without .yaml, About a sentence on its purpose, and Source a document or an issue.
	Name   string `json:"name"`
	About  string `json:"about"`
	Source string `json:"source"`
	// Variants are at least one; the variant of a file without variants has no name.
	Variants []Variant `json:"variants,omitempty"`
}

// Variant is one run of a scenario.
type Variant struct {
	Name  string `json:"name"`
	About string `json:"about"`
	// Full marks a variant that takes long, or needs more than most machines have, and so runs on demand only.
	Full bool `json:"full"`
	Run  `json:"-"`

	given []string // the keys that the file sets
}

// Run is a variant made ready.
type Run struct {
	// Plan has no Queue unless one was given; its Name is scenario or scenario/variant, and empty for a plan of no scenario.
	Plan plan.Plan
	// Driver is a --driver value, empty if the scenario names no driver.
	Driver string
	// SLO must be met; Expected too, and the counts that it names are no failures.
	SLO, Expected []run.SLO
}

// Choice selects scenarios, variants and settings.
type Choice struct {
	// Files are scenarios as FindScenario takes them; without one the settings are the plan.
	Files []string
	// Variants are variants of the scenarios; without one all run except the Full ones.
	Variants []string
	// Settings are laid over each plan, and Defaults if a scenario sets nothing, both by the keys of plan.Fields.
	Settings, Defaults map[string]string
	// SLO are objectives in addition to the scenarios' own.
	SLO []string
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
		return []Variant{{Run: Run{Plan: plan.DefaultPlan()}}}, nil
	}
	var known []string
	for _, file := range c.Files {
		s, err := FindScenario(ctx, file)
		if err != nil {
			return nil, err
		}
		names, before := s.names(), len(all)
		meant := slices.ContainsFunc(c.Variants, func(name string) bool { return slices.Contains(names, name) })
		for _, v := range s.Variants {
			if meant && slices.Contains(c.Variants, v.Name) || !meant && !v.Full {
				all = append(all, v)
			}
		}
		if len(all) == before {
			return nil, fmt.Errorf("scenario %s runs on demand only: choose with --variant from %s", s.Name, strings.Join(names, ", "))
		}
		known = append(known, names...)
	}
	for _, name := range c.Variants {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("no scenario has a variant %q, expected one of: %s", name, strings.Join(known, ", "))
		}
	}
	return all, nil
}

// check refuses what can never be right.
func (v *Variant) check() error {
	err := v.Plan.Validate()
	for _, m := range append([]plan.Member{{Driver: v.Driver}}, v.Plan.Fleet...) {
		if m.Driver != "" && err == nil {
			_, err = spec.Parse(m.Driver)
		}
	}
	return err
}

func objectives(texts []string) (all []run.SLO, err error) {
	for _, text := range texts {
		slo, err := run.ParseSLO(text)
		if err != nil {
			return nil, err
		}
		all = append(all, slo)
	}
	return all, nil
}

// names are the names of the variants; a file without variants has none.
func (s *Scenario) names() (all []string) {
	for _, v := range s.Variants {
		if v.Name != "" {
			all = append(all, v.Name)
		}
	}
	return all
}

func nameOf(file string) string {
	return strings.TrimSuffix(path.Base(strings.ReplaceAll(file, `\`, "/")), ".yaml")
}

// stored are the files of the scenarios that are part of the program, in the order of --list.
func stored() []string {
	load, _ := fs.Glob(scenarios.Load, "load/*.yaml") // fails on no such pattern
	fault, _ := fs.Glob(scenarios.Load, "fault/*.yaml")
	return slices.Concat(load, fault)
}

// ScenarioNames are the names of the stored scenarios.
func ScenarioNames() (names []string) {
	for _, file := range stored() {
		names = append(names, nameOf(file))
	}
	return names
}

// StoredScenarios reads all scenarios that are part of the program. Its error is a *trace.FileError.
func StoredScenarios() (all []*Scenario, err error) {
	for _, name := range ScenarioNames() {
		s, err := FindScenario(context.Background(), name)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// maxFile bounds a scenario file, in bytes; the stored ones have up to 2 KB.
const maxFile = 1 << 20

// FindScenario reads a scenario by the name of a stored one, or by the path of a file, which ends in .yaml. Its error is a *trace.FileError or
// wrong usage, unless the file cannot be read.
func FindScenario(ctx context.Context, name string) (*Scenario, error) {
	for _, file := range stored() {
		if nameOf(file) == name {
			content, _ := scenarios.Load.ReadFile(file) // of a file that is there
			return ParseScenario(file, content)
		}
	}
	if !strings.HasSuffix(name, ".yaml") && !strings.ContainsAny(name, `/\`) {
		return nil, fmt.Errorf("file: no scenario %q%s; 'dq-bench run --list' lists them, and a file needs its .yaml", name, text.DidYouMean(name, ScenarioNames()))
	}
	content, err := text.ReadFile(ctx, name, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("file: %w%s; expected a YAML file, or a name that 'dq-bench run --list' lists", err, text.DidYouMean(nameOf(name), ScenarioNames()))
	case err != nil:
		return nil, fmt.Errorf("file: %w", err)
	}
	return ParseScenario(name, content)
}
