package scenario

import (
	"bytes"
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/internal/text"
)

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

// Parse reads one file. Every variant is resolved once, so that whatever can never be right is found here. Its error is an
// *Error.
func Parse(file string, content []byte) (*Scenario, error) {
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
	s := &Scenario{Name: nameOf(file), Scale: 1}
	var variants []*yaml.Node
	common := settings{plan: plan.DefaultPlan()}
	known := common.keys()
	known["about"], known["source"], known["scale"] = into(&s.About), into(&s.Source), into(&s.Scale)
	known["variants"] = func(node *yaml.Node) error {
		return decodeList(node, &variants, func(item *yaml.Node) ([]*yaml.Node, error) { return []*yaml.Node{item}, nil })
	}
	if err := known.decode(root); err != nil {
		return nil, err
	}
	common.given = keysIn(root)
	if s.About, s.Source = strings.TrimSpace(s.About), strings.TrimSpace(s.Source); s.About == "" {
		return nil, &Error{Line: 1, Err: errors.New("expected about: a sentence on what the scenario shows")}
	}
	if len(variants) == 0 {
		s.Variants = []Variant{{line: 1, file: file, scenario: s.Name, settings: common}}
	}
	for _, node := range variants {
		v := Variant{line: node.Line, file: file, scenario: s.Name, settings: common}
		known := v.settings.keys()
		known["name"], known["about"], known["full"] = into(&v.Name), into(&v.About), into(&v.Full)
		if err := known.decode(node); err != nil {
			return nil, err
		}
		v.settings.given = slices.Concat(common.given, keysIn(node))
		v.About = strings.TrimSpace(v.About)
		switch {
		case !variantName.MatchString(v.Name):
			return nil, &Error{Line: v.line, Err: fmt.Errorf("variant: expected a name of letters, digits and dashes, got %q", v.Name)}
		case s.has(v.Name):
			return nil, &Error{Line: v.line, Err: fmt.Errorf("variant %q is there already", v.Name)}
		}
		s.Variants = append(s.Variants, v)
	}
	for _, v := range s.Variants {
		for _, scale := range []float64{s.Scale, 1} {
			if _, err := v.Resolve(scale, nil); err != nil {
				return nil, atLine(1, err)
			}
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
	} else if err != nil {
		return nil, err
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("expected one YAML document")
	}
	return root.Content[0], nil
}

// keys reads a mapping strictly: each key by its function, and a key that has none is an error.
type keys map[string]func(*yaml.Node) error

// keys are the keys of the settings, which a variant may give anew: the fields of the plan, and what goes with it.
func (s *settings) keys() keys {
	known := keys{
		"driver": into(&s.driver), "slo": into(&s.slo), "expect": into(&s.expect),
		"ramp":   func(node *yaml.Node) error { return decodeList(node, &s.plan.Ramp, decodeStep) },
		"cancel": func(node *yaml.Node) error { return decodeCancel(node, &s.plan.Cancel) },
		"fleet":  func(node *yaml.Node) error { return decodeList(node, &s.plan.Fleet, decodeMembers) },
		"faults": func(node *yaml.Node) error { return decodeList(node, &s.plan.Faults, decodeFault) },
	}
	standard := plan.DefaultPlan()
	for _, f := range plan.Fields {
		if f.Value != nil && !f.FlagOnly {
			known[f.Key] = setting(f.Value(&s.plan), f.Value(&standard).String())
		}
	}
	return known
}

// keysIn returns the keys that a mapping sets, with those of a ramp, which replaces rate and duration.
func keysIn(node *yaml.Node) []string {
	var given map[string]yaml.Node
	_ = node.Decode(&given) // known.decode has reported the error
	if _, ramp := given["ramp"]; ramp {
		given["rate"], given["duration"] = *node, *node
	}
	return slices.Collect(maps.Keys(given))
}

// decodeCancel leaves what is not given as it is.
func decodeCancel(node *yaml.Node, to *plan.Cancel) error {
	if isNull(node) {
		*to = plan.Cancel{}
		return nil
	}
	return keys{"share": into(&to.Share), "after": into(&to.After)}.decode(node)
}

func decodeStep(node *yaml.Node) ([]plan.Step, error) {
	var s plan.Step
	err := keys{"rate": setting(textual{&s.Rate}, ""), "duration": into(&s.Duration)}.decode(node)
	return []plan.Step{s}, err
}

func decodeFault(node *yaml.Node) ([]plan.Fault, error) {
	var f plan.Fault
	err := keys{
		"kind": into(&f.Kind), "at": setting(textual{&f.At}, "0s"), "for": into(&f.For), "commands": into(&f.Commands), "count": into(&f.Count),
		"latency": into(&f.Latency), "bandwidth": into(&f.Bandwidth), "aof": into(&f.AOF), "member": into(&f.Member), "by": into(&f.By),
	}.decode(node)
	return []plan.Fault{f}, err
}

// maxCount bounds the processes that one member of a fleet stands for.
const maxCount = 1000

// decodeMembers reads one process, or count of the same. One that neither offers nor takes does both.
func decodeMembers(node *yaml.Node) ([]plan.Member, error) {
	var m plan.Member
	count := 1
	err := keys{
		"driver": into(&m.Driver), "count": into(&count), "offers": into(&m.Offers), "takes": into(&m.Takes),
		"from": into(&m.From), "to": into(&m.To), "kill": into(&m.Kill),
	}.decode(node)
	switch {
	case err != nil:
		return nil, err
	case count < 1 || count > maxCount:
		return nil, &Error{Line: node.Line, Err: fmt.Errorf("fleet: expected a count of 1 to %d, got %d", maxCount, count)}
	case !m.Offers && !m.Takes:
		m.Offers, m.Takes = true, true
	}
	return slices.Repeat([]plan.Member{m}, count), nil
}

// decode reads what is there; its error is the first one by lines.
func (k keys) decode(node *yaml.Node) error {
	mapping := aliased(node)
	if mapping.Kind != yaml.MappingNode {
		return &Error{Line: node.Line, Err: errors.New("expected keys and their values")}
	}
	var given map[string]yaml.Node // which finds keys that are there twice, and merges
	if err := node.Decode(&given); err != nil {
		return atLine(node.Line, err)
	}
	var first *Error
	for key, value := range given {
		wrong := &Error{Line: value.Line, Err: fmt.Errorf("field %s not found%s", key, text.DidYouMean(key, slices.Sorted(maps.Keys(k))))}
		if read, known := k[key]; known {
			err := read(&value)
			if err == nil {
				continue
			}
			wrong = atLine(value.Line, err)
		}
		for i := 0; i < len(mapping.Content) && k[key] == nil; i += 2 {
			if mapping.Content[i].Value == key { // else it was merged into the mapping
				wrong.Line = mapping.Content[i].Line
			}
		}
		if first == nil || cmp.Or(cmp.Compare(wrong.Line, first.Line), cmp.Compare(wrong.Error(), first.Error())) < 0 {
			first = wrong
		}
	}
	if first != nil {
		return first
	}
	return nil
}

// maxItems bounds a list, also one that a few lines stand for by their count or an alias.
const maxItems = 10_000

// decodeList reads a list; an item may stand for several.
func decodeList[T any, S ~[]T](node *yaml.Node, to *S, read func(*yaml.Node) ([]T, error)) error {
	*to = nil
	if isNull(node) {
		return nil
	}
	list := aliased(node)
	if list.Kind != yaml.SequenceNode {
		return &Error{Line: node.Line, Err: errors.New("expected a list")}
	}
	for _, item := range list.Content {
		more, err := read(item)
		if err != nil {
			return err
		}
		if *to = append(*to, more...); len(*to) > maxItems {
			return &Error{Line: item.Line, Err: fmt.Errorf("expected at most %d items", maxItems)}
		}
	}
	return nil
}

// into reads a value into a Go variable, whole numbers into an int.
func into(to any) func(*yaml.Node) error {
	return func(node *yaml.Node) error {
		scalar := aliased(node)
		if n, is := to.(*int); is && scalar.Kind == yaml.ScalarNode {
			if err := scalar.Decode(n); err != nil || strings.ContainsAny(scalar.Value, ".eE") && !strings.HasPrefix(scalar.Value, "0x") {
				return fmt.Errorf("expected a whole number, got %.40q", scalar.Value)
			}
			return nil
		}
		return node.Decode(to)
	}
}

// setting reads a scalar as a flag would; null stands for the standard.
func setting(to interface{ Set(text string) error }, standard string) func(*yaml.Node) error {
	return func(node *yaml.Node) error {
		scalar := aliased(node)
		switch {
		case scalar.Kind != yaml.ScalarNode:
			return errors.New("expected one value")
		case isNull(node):
			return to.Set(standard)
		}
		return to.Set(scalar.Value)
	}
}

// textual makes a setting of what can be read from text.
type textual struct{ encoding.TextUnmarshaler }

// Set is UnmarshalText.
func (t textual) Set(text string) error { return t.UnmarshalText([]byte(text)) }

func aliased(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

func isNull(node *yaml.Node) bool { return aliased(node).ShortTag() == "!!null" }

var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\s*)?line (\d+): (.*)`)

// atLine moves the line number that the YAML package writes into its text; an error without one is of the line given.
func atLine(line int, err error) *Error {
	var placed *Error
	if errors.As(err, &placed) {
		return placed
	}
	text := err.Error()
	var several *yaml.TypeError
	if errors.As(err, &several) && len(several.Errors) > 0 {
		text = several.Errors[0]
	}
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1]) // digits
		text = m[2]
	}
	return &Error{Line: line, Err: errors.New(strings.TrimPrefix(text, "yaml: "))}
}
