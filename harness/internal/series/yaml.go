package series

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/text"
)

// ParseScenario reads one file. Every variant is resolved once, so that a variant that can never be right is found here. Its error is an
// *trace.FileError.
func ParseScenario(file string, content []byte) (*Scenario, error) {
	s, err := parse(file, content)
	if err != nil {
		placed := atLine(0, err)
		placed.File = file
		return nil, placed
	}
	return s, nil
}

func parse(file string, content []byte) (*Scenario, error) {
	root, err := document(content)
	if err != nil {
		return nil, err
	}
	s := &Scenario{Name: nameOf(file)}
	var variants []*yaml.Node
	common := Variant{line: 1, Run: Run{Plan: plan.DefaultPlan()}}
	common.Plan.Name = s.Name
	err = common.read(root, keys{"about": &s.About, "source": &s.Source, "variants": func(node *yaml.Node) error {
		variants = node.Content
		return list(node, func(*yaml.Node) error { return nil })
	}})
	if err != nil {
		return nil, err
	}
	if s.About, s.Source = strings.TrimSpace(s.About), strings.TrimSpace(s.Source); s.About == "" {
		return nil, &trace.FileError{Line: 1, Err: errors.New("expected about: a sentence on what the scenario shows")}
	}
	if len(variants) == 0 {
		s.Variants = []Variant{common}
	}
	for _, node := range variants {
		v := common
		v.line = node.Line
		if err := v.read(node, keys{"name": &v.Name, "about": &v.About, "full": &v.Full}); err != nil {
			return nil, err
		}
		v.About, v.Plan.Name = strings.TrimSpace(v.About), s.Name+"/"+v.Name
		switch {
		case !variantName.MatchString(v.Name):
			return nil, atLine(v.line, fmt.Errorf("variant: expected a name of letters, digits and dashes, got %q", v.Name))
		case slices.Contains(s.names(), v.Name):
			return nil, atLine(v.line, fmt.Errorf("variant %q is there already", v.Name))
		}
		s.Variants = append(s.Variants, v)
	}
	for i := range s.Variants {
		if err := s.Variants[i].check(); err != nil {
			return nil, atLine(s.Variants[i].line, err)
		}
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
	known := keys{
		"driver": &v.Driver, "slo": &v.SLO, "expect": &v.Expected,
		"cancel": keys{"share": &v.Plan.Cancel.Share, "after": &v.Plan.Cancel.After},
		"fleet": func(node *yaml.Node) error {
			v.Plan.Fleet = nil
			return list(node, v.readMember)
		},
		"faults": func(node *yaml.Node) error {
			v.Plan.Faults = nil
			return list(node, func(item *yaml.Node) error {
				var f plan.Fault
				_, err := keys{
					"kind": &f.Kind, "at": &f.At, "for": &f.For, "commands": &f.Commands, "count": &f.Count, "latency": &f.Latency, "aof": &f.AOF,
				}.read(item)
				v.Plan.Faults = append(v.Plan.Faults, f)
				return err
			})
		},
	}
	maps.Copy(known, more)
	for _, f := range plan.Fields {
		if f.IsText() && !f.FlagOnly {
			known[f.Key] = f.Value(&v.Plan).To
		}
	}
	given, err := known.read(node)
	v.given = slices.Concat(v.given, given)
	return err
}

// maxCount bounds the processes that one member of a fleet means, and maxMembers all of them.
const maxCount, maxMembers = 1000, 10_000

// readMember reads one process, or count of the same.
func (v *Variant) readMember(node *yaml.Node) error {
	m, count := plan.Member{}, 1
	_, err := keys{"driver": &m.Driver, "count": &count, "offers": &m.Offers, "takes": &m.Takes, "from": &m.From, "to": &m.To, "kill": &m.Kill}.read(node)
	switch {
	case err != nil:
		return err
	case count < 1 || count > maxCount:
		return atLine(node.Line, fmt.Errorf("fleet: expected a count of 1 to %d, got %d", maxCount, count))
	case len(v.Plan.Fleet)+count > maxMembers:
		return atLine(node.Line, fmt.Errorf("expected at most %d items", maxMembers))
	case !m.Offers && !m.Takes:
		m.Offers, m.Takes = true, true
	}
	v.Plan.Fleet = append(v.Plan.Fleet, slices.Repeat([]plan.Member{m}, count)...)
	return nil
}

// keys has a variable for each key of a mapping that is one text or a list of texts, and keys or a function for any other.
type keys map[string]any

// read reads a mapping strictly, in the order of its lines, and returns its keys.
func (k keys) read(node *yaml.Node) (given []string, err error) {
	mapping := aliased(node)
	if mapping.Kind != yaml.MappingNode {
		return nil, &trace.FileError{Line: node.Line, Err: errors.New("expected keys and their values")}
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i].Value, aliased(mapping.Content[i+1])
		err := k.assign(key, value)
		if slices.Contains(given, key) {
			err = fmt.Errorf("%s is there already", key)
		}
		if err != nil {
			return nil, atLine(mapping.Content[i].Line, err)
		}
		given = append(given, key)
	}
	return given, nil
}

func (k keys) assign(key string, value *yaml.Node) error {
	to, known := k[key]
	switch {
	case !known:
		return fmt.Errorf("field %s not found%s", key, text.DidYouMean(key, slices.Sorted(maps.Keys(k))))
	case value.ShortTag() == "!!null":
		return fmt.Errorf("%s: expected a value", key)
	}
	switch to := to.(type) {
	case func(*yaml.Node) error:
		return to(value)
	case keys:
		_, err := to.read(value)
		return err
	case *[]string:
		if value.Decode(to) != nil {
			return fmt.Errorf("%s: expected a list of texts", key)
		}
		return nil
	case *[]run.SLO:
		var texts []string
		err := keys{key: &texts}.assign(key, value)
		if err == nil {
			*to, err = objectives(texts)
		}
		return err
	}
	if value.Kind != yaml.ScalarNode {
		return fmt.Errorf("%s: expected one value", key)
	}
	return plan.Value{Key: key, To: to}.Set(value.Value)
}

// list reads each item of a list.
func list(node *yaml.Node, read func(item *yaml.Node) error) error {
	if node.Kind != yaml.SequenceNode {
		return errors.New("expected a list")
	}
	for _, item := range node.Content {
		if err := read(item); err != nil {
			return err
		}
	}
	return nil
}

func aliased(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// atLine places an error at a line, unless it has a place.
func atLine(line int, err error) *trace.FileError {
	if placed, ok := errors.AsType[*trace.FileError](err); ok {
		return placed
	}
	return &trace.FileError{Line: line, Err: err}
}
