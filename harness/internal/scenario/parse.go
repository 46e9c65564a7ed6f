package scenario

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

// settings are what a scenario or a variant of it says of a run.
type settings struct {
	driver string
	plan   plan.Plan
	// slo must be met; expect too, and the counts it names are no faults.
	slo, expect []string
	// given are the keys that the file sets.
	given []string
}

// keys are those of the settings, which a variant may give anew: the fields of the plan,
// and what goes with it.
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
		"latency": into(&f.Latency), "bandwidth": into(&f.Bandwidth), "aof": into(&f.AOF),
		"member": into(&f.Member), "by": into(&f.By),
	}.decode(node)
	return []plan.Fault{f}, err
}

// maxCount bounds the processes that one member of a fleet stands for.
const maxCount = 1000

// decodeMembers reads one process, or count of the same. One that neither offers nor
// takes does both.
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
		return nil, &lineError{node.Line, fmt.Errorf("fleet: expected a count of 1 to %d, got %d", maxCount, count)}
	case !m.Offers && !m.Takes:
		m.Offers, m.Takes = true, true
	}
	return slices.Repeat([]plan.Member{m}, count), nil
}

// Parse reads one file. Every variant is resolved once, so that whatever can never
// be right is found here. Its error is an *Error.
func Parse(file string, text []byte) (*Scenario, error) {
	root, err := parseYAML(text)
	if err != nil {
		return nil, fileError(file, err)
	}
	s := &Scenario{Name: strings.TrimSuffix(path.Base(strings.ReplaceAll(file, `\`, "/")), ".yaml"), Scale: 1}
	var variants []*yaml.Node
	common := settings{plan: plan.DefaultPlan()}
	known := common.keys()
	known["about"], known["source"], known["scale"] = into(&s.About), into(&s.Source), into(&s.Scale)
	known["variants"] = func(node *yaml.Node) error {
		return decodeList(node, &variants, func(item *yaml.Node) ([]*yaml.Node, error) { return []*yaml.Node{item}, nil })
	}
	if err := known.decode(root); err != nil {
		return nil, fileError(file, err)
	}
	common.given = keysIn(root)
	s.About, s.Source = strings.TrimSpace(s.About), strings.TrimSpace(s.Source)
	switch {
	case s.About == "":
		return nil, &Error{file, 1, errors.New("expected about: a sentence on what the scenario shows")}
	case !validScale(s.Scale):
		return nil, &Error{file, 1, scaleError(s.Scale)}
	}
	if len(variants) == 0 {
		s.Variants = []Variant{{Line: 1, file: file, scenario: s.Name, settings: common}}
	}
	for _, node := range variants {
		if err := s.addVariant(file, node, common); err != nil {
			return nil, err
		}
	}
	for _, v := range s.Variants {
		for _, scale := range []float64{s.Scale, 1} {
			if _, err := v.Resolve(scale, nil, spec.Parse); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// addVariant reads a variant over what all have in common.
func (s *Scenario) addVariant(file string, node *yaml.Node, common settings) error {
	v := Variant{Line: node.Line, file: file, scenario: s.Name, settings: common}
	known := v.settings.keys()
	known["name"], known["about"], known["full"] = into(&v.Name), into(&v.About), into(&v.Full)
	if err := known.decode(node); err != nil {
		return fileError(file, err)
	}
	v.settings.given = slices.Concat(common.given, keysIn(node))
	v.About = strings.TrimSpace(v.About)
	switch {
	case !variantName.MatchString(v.Name):
		return &Error{file, v.Line, fmt.Errorf("variant: expected a name of letters, digits and dashes, got %q", v.Name)}
	case s.Has(v.Name):
		return &Error{file, v.Line, fmt.Errorf("variant %q is there already", v.Name)}
	}
	s.Variants = append(s.Variants, v)
	return nil
}

// variantName is a name that can be a folder's.
var variantName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9.-]*$`)

func validScale(scale float64) bool { return scale > 0 && scale <= 1 }

func scaleError(scale float64) error {
	return fmt.Errorf("scale: expected more than 0 and at most 1, got %v", scale)
}
