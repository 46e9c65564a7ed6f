// Package scenario answers: what shall be run?
//
// A scenario is a YAML file: the plan of a load, what it must show, and what the
// system under test is known to do wrong in it. It may have variants, which say
// only what is different in them. The files are strict: a key that is not known is
// an error with its line.
package scenario

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Scenario is one file.
type Scenario struct {
	// Name is the file's name without .yaml.
	Name string
	// About is a sentence on what it shows.
	About string
	// Source says where it is from: a document, an issue.
	Source string
	// Scale is the factor that all times are shortened by unless told otherwise;
	// 1 if the file has none.
	Scale float64
	// Variants are at least one; that of a file without variants has no name.
	Variants []Variant
}

// Variant is one run of a scenario.
type Variant struct {
	Name, About string
	// Full marks a variant that takes long, or needs what not every machine has,
	// and so is run on demand only.
	Full bool
	// Line is where it begins in the file.
	Line int

	file     string
	scenario string
	settings settings
}

// Error says what is wrong with a scenario file, and where.
type Error struct {
	File string
	// Line is 0 where no line can be named.
	Line int
	Err  error
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// Load reads every *.yaml of a folder, in the order of their names.
func Load(files fs.FS, dir string) ([]*Scenario, error) {
	paths, err := fs.Glob(files, path.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var scenarios []*Scenario
	for _, p := range paths {
		s, err := Read(files, p)
		if err != nil {
			return nil, err
		}
		scenarios = append(scenarios, s)
	}
	return scenarios, nil
}

// Read reads one file. Its error is an *Error unless the file cannot be read.
func Read(files fs.FS, name string) (*Scenario, error) {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	return Parse(name, text)
}

// Select returns the variants of the names, or those that are not Full if no name
// is given; full adds the others.
func (s *Scenario) Select(names []string, full bool) ([]Variant, error) {
	var chosen []Variant
	for _, v := range s.Variants {
		if slices.Contains(names, v.Name) || (len(names) == 0 && (full || !v.Full)) {
			chosen = append(chosen, v)
		}
	}
	for _, name := range names {
		if !s.Has(name) {
			return nil, fmt.Errorf("scenario %s has no variant %q, expected one of: %s", s.Name, name, s.variantNames())
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("scenario %s runs on demand only: choose with --variant from %s, or take all with --set full=true", s.Name, s.variantNames())
	}
	return chosen, nil
}

// Has reports whether there is a variant of that name.
func (s *Scenario) Has(name string) bool {
	return slices.ContainsFunc(s.Variants, func(v Variant) bool { return v.Name == name })
}

func (s *Scenario) variantNames() string {
	var names []string
	for _, v := range s.Variants {
		if v.Name != "" {
			names = append(names, v.Name)
		}
	}
	if len(names) == 0 {
		return "(it has no variants)"
	}
	return strings.Join(names, ", ")
}
