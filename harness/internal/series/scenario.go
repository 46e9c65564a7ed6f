package series

import (
	"bytes"
	"context"
	"encoding"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
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
	// Plan has no Queue unless one was given; its Name is scenario or scenario/variant, and empty for a plan of no scenario.
	Plan plan.Plan `json:"-"`
	// Driver is a --driver value, empty if the scenario names no driver.
	Driver string `json:"-"`
	// SLO must be met; Expected too, and the counts that it names are no failures.
	SLO, Expected []run.SLO `json:"-"`

	given []string // the keys that the file sets
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

// StoredScenarios reads all scenarios that are part of the program, in the order of --list. Its error is a *trace.FileError.
func StoredScenarios() (all []*Scenario, err error) {
	load, _ := fs.Glob(scenarios.Load, "load/*.yaml") // fails on no such pattern
	fault, _ := fs.Glob(scenarios.Load, "fault/*.yaml")
	for _, file := range slices.Concat(load, fault) {
		content, _ := scenarios.Load.ReadFile(file) // of a file that is there
		s, err := ParseScenario(file, content)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// ScenarioNames are the names of the stored scenarios.
func ScenarioNames() (names []string) {
	all, _ := StoredScenarios()
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names
}

// maxFile bounds a scenario file, in bytes; the stored ones have up to 2 KB.
const maxFile = 1 << 20

// FindScenario reads a scenario by the name of a stored one, or by the path of a file, which ends in .yaml. Its error is a *trace.FileError or
// wrong usage, unless the file cannot be read.
func FindScenario(ctx context.Context, name string) (*Scenario, error) {
	all, _ := StoredScenarios() // which cannot fail: a test reads all
	if i := slices.IndexFunc(all, func(s *Scenario) bool { return s.Name == name }); i >= 0 {
		return all[i], nil
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

// ParseScenario reads one file, and refuses variants that can never be right. Its error is a *trace.FileError.
func ParseScenario(file string, content []byte) (s *Scenario, err error) {
	defer func() {
		if err != nil {
			placed := atLine(1, err)
			placed.File, err = file, placed
		}
	}()
	root, err := document(content)
	if err != nil {
		return nil, err
	}
	s = &Scenario{Name: nameOf(file)}
	var variants []yaml.Node
	common := Variant{Plan: plan.DefaultPlan()}
	common.Plan.Name = s.Name
	if err := common.read(root, keys{"about": &s.About, "source": &s.Source, "variants": &variants}); err != nil {
		return nil, err
	}
	if s.About, s.Source = strings.TrimSpace(s.About), strings.TrimSpace(s.Source); s.About == "" {
		return nil, errors.New("expected about: a sentence on what the scenario shows")
	}
	if len(variants) == 0 {
		s.Variants = []Variant{common}
		return s, common.check()
	}
	for _, node := range variants {
		v := common
		err := v.read(&node, keys{"name": &v.Name, "about": &v.About, "full": &v.Full})
		v.About, v.Plan.Name = strings.TrimSpace(v.About), s.Name+"/"+v.Name
		switch {
		case err != nil:
		case !variantName.MatchString(v.Name):
			err = fmt.Errorf("variant: expected a name of letters, digits and dashes, got %q", v.Name)
		case slices.Contains(s.names(), v.Name):
			err = fmt.Errorf("variant %q is there already", v.Name)
		default:
			err = v.check()
		}
		if err != nil {
			return nil, atLine(node.Line, err)
		}
		s.Variants = append(s.Variants, v)
	}
	return s, nil
}

// variantName is a name that can be a folder's.
var variantName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9.-]*$`)

// document returns the only YAML document of a file.
func document(content []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var root yaml.Node
	if err := decoder.Decode(&root); errors.Is(err, io.EOF) {
		return nil, errors.New("expected a scenario, got an empty file")
	} else if err != nil { // "yaml: line 7: did not find …"
		line := 0
		_, _ = fmt.Sscanf(err.Error(), "yaml: line %d", &line)
		return nil, atLine(line, errors.New(strings.TrimPrefix(err.Error(), fmt.Sprintf("yaml: line %d: ", line))))
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("expected one YAML document")
	}
	return root.Content[0], nil
}

// read lays the settings of a mapping over the variant: the fields of the plan, the other keys, and more.
func (v *Variant) read(node *yaml.Node, more keys) error {
	known := keys{"driver": &v.Driver, "slo": &v.SLO, "expect": &v.Expected}
	maps.Copy(known, more)
	for _, f := range plan.Fields {
		if !f.FlagOnly {
			known[f.Key] = f.Value(&v.Plan).To
		}
	}
	given, err := known.read(node)
	v.given = slices.Concat(v.given, given)
	return err
}

// keys has a pointer to the variable of each key of a mapping.
type keys map[string]any

// read reads a mapping strictly, in the order of its lines, and returns its keys.
func (k keys) read(node *yaml.Node) (given []string, err error) {
	if node.Kind != yaml.MappingNode {
		return nil, atLine(node.Line, errors.New("expected keys and their values"))
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i].Value
		switch to, known := k[key]; {
		case !known:
			err = fmt.Errorf("field %s not found%s", key, text.DidYouMean(key, slices.Sorted(maps.Keys(k))))
		case slices.Contains(given, key):
			err = fmt.Errorf("%s is there already", key)
		default:
			err = assign(key, to, node.Content[i+1])
		}
		if err != nil {
			return nil, atLine(node.Content[i].Line, err)
		}
		given = append(given, key)
	}
	return given, nil
}

// assign reads a value into a variable: a mapping into a struct by the names of its fields, a list into a slice, a text as a flag does.
func assign(key string, to any, node *yaml.Node) (err error) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	v := reflect.Indirect(reflect.ValueOf(to))
	_, isText := to.(encoding.TextUnmarshaler)
	switch slos, objective := to.(*[]run.SLO); {
	case v.Type() == reflect.TypeFor[yaml.Node]():
		v.Set(reflect.ValueOf(*node))
	case node.ShortTag() == "!!null":
		return fmt.Errorf("%s: expected a value", key)
	case objective:
		var texts []string
		if err = assign(key, &texts, node); err == nil {
			*slos, err = objectives(texts)
		}
	case v.Kind() == reflect.Slice && node.Kind != yaml.SequenceNode:
		return fmt.Errorf("%s: expected a list", key)
	case v.Kind() == reflect.Slice:
		v.SetZero()
		for _, item := range node.Content {
			made := reflect.New(v.Type().Elem())
			if err = assign(key, made.Interface(), item); err != nil {
				return atLine(item.Line, err)
			}
			v.Set(reflect.Append(v, made.Elem()))
		}
	case v.Kind() == reflect.Struct && !isText:
		fields := keys{}
		for field, value := range v.Fields() {
			fields[strings.ToLower(field.Name)] = value.Addr().Interface()
		}
		_, err = fields.read(node)
	case node.Kind != yaml.ScalarNode:
		return fmt.Errorf("%s: expected one value", key)
	default:
		err = plan.Value{Key: key, To: to}.Set(node.Value)
	}
	return err
}

// atLine places an error at a line, unless it has a place.
func atLine(line int, err error) *trace.FileError {
	if placed, ok := errors.AsType[*trace.FileError](err); ok {
		return placed
	}
	return &trace.FileError{Line: line, Err: err}
}
