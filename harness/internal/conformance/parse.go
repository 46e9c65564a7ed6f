package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Duration is a time in Go's notation, such as 1h or 1500ms.
type Duration time.Duration

// UnmarshalYAML reads the notation.
func (d *Duration) UnmarshalYAML(node *yaml.Node) error {
	parsed, err := time.ParseDuration(node.Value)
	if err != nil {
		return fmt.Errorf("line %d: expected a duration such as 1h or 1500ms, got %q", node.Line, node.Value)
	}
	*d = Duration(parsed)
	return nil
}

// MarshalYAML writes the notation.
func (d Duration) MarshalYAML() (any, error) { return time.Duration(d).String(), nil }

// Load reads the cases in every *.yaml of a folder, in the order of the files' names. The files are part of the program: a test
// finds their faults.
func Load(files fs.FS, dir string) (cases []*Case, err error) {
	paths, err := fs.Glob(files, path.Join(dir, "*.yaml"))
	for _, p := range paths {
		content, unread := fs.ReadFile(files, p)
		some, wrong := Parse(p, content)
		cases, err = append(cases, some...), errors.Join(err, unread, wrong)
	}
	return cases, err
}

// Parse reads one file, a section of cases. A key that is not known is an error.
func Parse(file string, content []byte) ([]*Case, error) {
	var section struct {
		Name  string  `yaml:"section"` // the first part of the cases' ids, such as "DQ.offer"
		About string  `yaml:"about"`
		Cases []*Case `yaml:"cases"`
	}
	var root struct {
		Cases []yaml.Node `yaml:"cases"` // with their lines
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	err := errors.Join(decoder.Decode(&section), yaml.Unmarshal(content, &root))
	for i, c := range section.Cases {
		if err == nil && (c == nil || slices.Contains(c.Steps, nil) || !strings.HasPrefix(c.ID, section.Name+"/")) {
			err = fmt.Errorf("case %d: expected steps, and an id of the form %s/<name>", i+1, section.Name)
		}
		if err != nil {
			break
		}
		c.Place = fmt.Sprintf("%s:%d", file, root.Cases[i].Line)
		err = c.resolveReleases()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return section.Cases, nil
}
