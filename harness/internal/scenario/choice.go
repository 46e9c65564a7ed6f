package scenario

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/internal/text"
	"github.com/dq-bench/dq-bench/scenarios"
)

// Choice says what is to be run.
type Choice struct {
	// Files are scenarios as Find takes them; none stands for a plan of its own.
	Files []string
	// Variants are those of the scenarios; none stands for those that do not run on
	// demand only, or with Full for all.
	Variants []string
	// Full takes the real times too.
	Full bool
	// Scale is the factor for times in place of the scenario's own, nil for that.
	Scale *float64
	// Settings are laid over each plan, by the keys of plan.Fields.
	Settings map[string]string
	// Defaults are the settings of plans that a scenario does not set, by the keys of plan.Fields.
	Defaults map[string]string
	// SLO are objectives besides those of the scenarios.
	SLO []string
}

// Runs makes a run of each variant that is chosen, or of the settings alone. Its error is
// wrong usage, unless a scenario file cannot be read.
func (c Choice) Runs() ([]Run, error) {
	runs, err := c.resolve()
	if err != nil {
		return nil, err
	}
	besides, err := objectives(c.SLO, 1)
	if err != nil {
		return nil, err
	}
	for i := range runs {
		runs[i].SLO = slices.Concat(runs[i].SLO, besides)
	}
	return runs, nil
}

func (c Choice) resolve() ([]Run, error) {
	if len(c.Files) == 0 {
		if flag := c.needsFile(); flag != "" {
			return nil, fmt.Errorf("%s: expected a scenario beside it, given by -f", flag)
		}
		r, err := Plain(with(c.Defaults, c.Settings))
		return []Run{r}, err
	}
	var runs []Run
	for _, file := range c.Files {
		more, err := c.ofFile(file)
		if err != nil {
			return nil, err
		}
		runs = append(runs, more...)
	}
	return runs, nil
}

// needsFile names what was chosen of a scenario, if anything was.
func (c Choice) needsFile() string {
	switch {
	case len(c.Variants) > 0:
		return "variant"
	case c.Full:
		return "full"
	case c.Scale != nil:
		return "scale"
	}
	return ""
}

// ofFile makes a run of each variant of one scenario that is chosen.
func (c Choice) ofFile(file string) ([]Run, error) {
	s, err := Find(file)
	if err != nil {
		return nil, err
	}
	names := c.Variants
	if len(c.Files) > 1 {
		// A variant is meant for the scenarios that have it.
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !s.Has(name) })
	}
	variants, err := s.Select(names, c.Full)
	if err != nil {
		return nil, err
	}
	scale := s.Scale
	switch {
	case c.Scale != nil && !validScale(*c.Scale):
		return nil, scaleError(*c.Scale)
	case c.Scale != nil:
		scale = *c.Scale
	case c.Full:
		scale = 1
	}
	var runs []Run
	for _, v := range variants {
		defaults := maps.Clone(c.Defaults)
		maps.DeleteFunc(defaults, func(key, _ string) bool { return slices.Contains(v.settings.given, key) })
		r, err := v.Resolve(scale, with(defaults, c.Settings), spec.Parse)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// with returns the defaults with the settings over them.
func with(defaults, settings map[string]string) map[string]string {
	all := maps.Clone(defaults)
	if all == nil {
		return settings
	}
	maps.Copy(all, settings)
	return all
}

// Find reads a scenario by the name of a stored one, or by the path of a file, which ends
// in .yaml. Its error is an *Error or wrong usage, unless the file cannot be read.
func Find(name string) (*Scenario, error) {
	if strings.HasSuffix(name, ".yaml") || strings.ContainsAny(name, `/\`) {
		content, err := readFile(name)
		if err != nil {
			return nil, err
		}
		return Parse(name, content)
	}
	for _, folder := range folders {
		s, err := Read(scenarios.Load, folder+"/"+name+".yaml")
		if !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
	}
	return nil, fmt.Errorf("file: no scenario %q%s; 'dq-bench run --list' lists them, and a file needs its .yaml", name, text.DidYouMean(name, Names()))
}

// folders are those of the stored scenarios.
var folders = []string{"load", "fault"}

// Stored reads all scenarios that are part of the program. Its error is an *Error.
func Stored() ([]*Scenario, error) {
	var all []*Scenario
	for _, folder := range folders {
		some, err := Load(scenarios.Load, folder)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// Names are those of the stored scenarios, in order.
func Names() []string {
	files, _ := fs.Glob(scenarios.Load, "*/*.yaml") // fails on no such pattern
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = strings.TrimSuffix(path.Base(file), ".yaml")
	}
	return names
}

// maxFile bounds a scenario file, in bytes; the stored ones have up to 2 KB.
const maxFile = 1 << 20

// readFile reads a scenario file, and no more of it than one can have.
func readFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		named := strings.TrimSuffix(filepath.Base(name), ".yaml")
		return nil, fmt.Errorf("file: %w%s; expected a YAML file, or a name that 'dq-bench run --list' lists", err, text.DidYouMean(named, Names()))
	}
	if err != nil {
		return nil, fmt.Errorf("file: %w", err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("file: %w", err)
	case len(content) > maxFile:
		return nil, &Error{File: name, Err: fmt.Errorf("expected a scenario of at most %d MiB", maxFile>>20)}
	}
	return content, nil
}
