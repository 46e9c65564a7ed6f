package scenario

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dq-bench/dq-bench/harness/driver/spec"
	"github.com/dq-bench/dq-bench/harness/plan"
)

// document is a whole file.
type document struct {
	About    string           `yaml:"about"`
	Source   string           `yaml:"source"`
	Scale    float64          `yaml:"scale"`
	Settings settings         `yaml:",inline"`
	Variants []variantHeading `yaml:"variants"`
}

// variantHeading has the settings too, so that a strict decoder knows their keys.
type variantHeading struct {
	Name     string   `yaml:"name"`
	About    string   `yaml:"about"`
	Full     bool     `yaml:"full"`
	Settings settings `yaml:",inline"`
}

// Parse reads one file. Every variant is resolved once, so that whatever can never
// be right is found here. Its error is an *Error.
func Parse(file string, text []byte) (*Scenario, error) {
	doc := document{Scale: 1, Settings: defaults()}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&doc); err != nil {
		return nil, yamlError(file, err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, &Error{file, 0, errors.New("expected one YAML document")}
	}
	s := &Scenario{
		Name:  strings.TrimSuffix(path.Base(strings.ReplaceAll(file, `\`, "/")), ".yaml"),
		About: strings.TrimSpace(doc.About), Source: strings.TrimSpace(doc.Source), Scale: doc.Scale,
	}
	switch {
	case s.About == "":
		return nil, &Error{file, 1, errors.New("expected about: a sentence on what the scenario shows")}
	case !(s.Scale > 0 && s.Scale <= 1):
		return nil, &Error{file, 1, fmt.Errorf("scale: expected more than 0 and at most 1, got %v", s.Scale)}
	}
	var err error
	if s.Variants, err = variants(file, s.Name, text, doc); err != nil {
		return nil, err
	}
	for _, v := range s.Variants {
		for _, scale := range []float64{s.Scale, 1} {
			if _, err := v.Resolve(scale, spec.Parse); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// variants decodes each variant over a copy of the file's settings.
func variants(file, name string, text []byte, doc document) ([]Variant, error) {
	if len(doc.Variants) == 0 {
		return []Variant{{Line: 1, file: file, scenario: name, settings: doc.Settings}}, nil
	}
	var root struct {
		Variants []yaml.Node `yaml:"variants"`
	}
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, yamlError(file, err)
	}
	var all []Variant
	for i := range root.Variants {
		node := &root.Variants[i]
		over := variantHeading{Settings: doc.Settings.clone()}
		if err := node.Decode(&over); err != nil {
			return nil, yamlError(file, err)
		}
		if !variantName.MatchString(over.Name) {
			return nil, &Error{file, node.Line, fmt.Errorf("variant: expected a name of letters, digits and dashes, got %q", over.Name)}
		}
		if slices.ContainsFunc(all, func(v Variant) bool { return v.Name == over.Name }) {
			return nil, &Error{file, node.Line, fmt.Errorf("variant %q is there already", over.Name)}
		}
		all = append(all, Variant{
			Name: over.Name, About: strings.TrimSpace(over.About), Full: over.Full, Line: node.Line,
			file: file, scenario: name, settings: over.Settings,
		})
	}
	return all, nil
}

// variantName is a name that can be a folder's.
var variantName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9.-]*$`)

// clone keeps a decoder from writing into lists of the original.
func (s settings) clone() settings {
	s.Ramp, s.Fleet = slices.Clone(s.Ramp), slices.Clone(s.Fleet)
	s.SLO, s.Expect = slices.Clone(s.SLO), slices.Clone(s.Expect)
	s.Delay.Choices = slices.Clone(s.Delay.Choices)
	return s
}

// rate and delay are the load package's, with the line in their errors.
type (
	rate  plan.Rate
	delay plan.Delay
)

// UnmarshalYAML is plan.ParseRate.
func (r *rate) UnmarshalYAML(node *yaml.Node) error { return unmarshalText(node, (*plan.Rate)(r)) }

// UnmarshalYAML is plan.ParseDelay.
func (d *delay) UnmarshalYAML(node *yaml.Node) error { return unmarshalText(node, (*plan.Delay)(d)) }

func unmarshalText(node *yaml.Node, to encoding.TextUnmarshaler) error {
	if err := to.UnmarshalText([]byte(node.Value)); err != nil {
		return fmt.Errorf("line %d: %w", node.Line, err)
	}
	return nil
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\s*)?line (\d+): (.*)`)

// yamlError moves the line number that the decoder writes into its text.
func yamlError(file string, err error) error {
	text := err.Error()
	var several *yaml.TypeError
	if errors.As(err, &several) && len(several.Errors) > 0 {
		text = several.Errors[0]
	}
	m := yamlLine.FindStringSubmatch(text)
	if m == nil {
		return &Error{file, 0, errors.New(strings.TrimPrefix(text, "yaml: "))}
	}
	line, _ := strconv.Atoi(m[1]) // digits
	text = strings.NewReplacer(" in type scenario.document", "", " in type scenario.variantHeading", " in a variant",
		" in type scenario.settings", "").Replace(m[2])
	return &Error{file, line, errors.New(text)}
}
