package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Baseline are the cases that an implementation is known to fail, by id, and why. They must fail: one that passes is a
// failure, so that the list stays true.
//
//	DQ.codec/kryo5: we write JSON only
//	DQ.offer/announces-a-new-head: issue 12
type Baseline map[string]string

// maxBaseline bounds a file, in bytes: a hundred times what all cases need.
const maxBaseline = 1 << 20

// ReadBaseline reads a YAML file that maps ids to reasons. It is an error if one is not the id of a case, or has no
// reason.
func ReadBaseline(path string, cases []*Case) (Baseline, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the baseline cannot be read: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxBaseline+1))
	if err == nil && len(text) > maxBaseline {
		err = fmt.Errorf("%s: expected at most %d bytes", path, maxBaseline)
	}
	if err != nil {
		return nil, fmt.Errorf("the baseline cannot be read: %w", err)
	}
	b, err := ParseBaseline(text)
	if err != nil {
		return nil, fmt.Errorf("the baseline %s: %w", path, err)
	}
	for id := range b {
		if !slices.ContainsFunc(cases, func(c *Case) bool { return c.ID == id }) {
			return nil, fmt.Errorf("the baseline %s: there is no case %q; dq-bench verify -v names them all", path, id)
		}
	}
	return b, nil
}

// ParseBaseline reads the text of a baseline.
func ParseBaseline(text []byte) (Baseline, error) {
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF): // nothing but comments
		return Baseline{}, nil
	case err != nil:
		return nil, fmt.Errorf("expected a line \"id: reason\" for each case: %w", err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("expected one YAML document, found another one after it")
	}
	b := Baseline{}
	content := document.Content[0]
	if content.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: expected a line \"id: reason\" for each case", content.Line)
	}
	for i := 0; i < len(content.Content); i += 2 {
		key, value := content.Content[i], content.Content[i+1]
		reason := strings.Join(strings.Fields(value.Value), " ")
		_, twice := b[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || value.Kind != yaml.ScalarNode:
			return nil, fmt.Errorf("line %d: expected \"id: reason\", both text", key.Line)
		case reason == "" || value.Tag == "!!null":
			return nil, fmt.Errorf("line %d: expected a reason why %q fails, found none", key.Line, key.Value)
		case twice:
			return nil, fmt.Errorf("line %d: %q is there twice", key.Line, key.Value)
		}
		b[key.Value] = reason
	}
	return b, nil
}

// Baseline is the one by which what failed in this run is known: the reasons that were known before, and for the rest
// what the run showed.
func (r *Report) Baseline() Baseline {
	b := Baseline{}
	for _, c := range r.Cases {
		switch c.Status {
		case FailedAsExpected:
			if c.baseline != "" {
				b[c.ID] = c.baseline
			}
		case Fail:
			if c.baseline == "" { // else it passes now
				b[c.ID] = c.CauseText()
			}
		}
	}
	return b
}

// Text is the baseline as a file, sorted by id.
func (b Baseline) Text() ([]byte, error) {
	if len(b) == 0 {
		return []byte("# No case fails.\n"), nil
	}
	return yaml.Marshal(map[string]string(b))
}
