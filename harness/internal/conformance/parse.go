package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/dq-bench/dq-bench/harness/internal/series"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
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

// Load reads every *.yaml of a folder, in the order of their names. Ids must be unique across files.
func Load(files fs.FS, dir string) ([]*Section, error) {
	paths, err := fs.Glob(files, path.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var sections []*Section
	seen := make(map[string]bool)
	for _, p := range paths {
		content, err := fs.ReadFile(files, p)
		if err != nil {
			return nil, fmt.Errorf("the conformance cases cannot be read: %w", err)
		}
		section, err := Parse(p, content)
		if err != nil {
			return nil, err
		}
		for _, c := range section.Cases {
			if seen[c.ID] {
				return nil, &trace.FileError{File: p, Line: c.Line, Err: fmt.Errorf("the id %q is there already", c.ID)}
			}
			seen[c.ID] = true
		}
		sections = append(sections, section)
	}
	return sections, nil
}

// Parse reads one file. It is strict: a key that is not known is an error. Errors are *trace.FileError.
func Parse(file string, content []byte) (*Section, error) {
	section := &Section{File: file}
	if err := section.read(content); err != nil {
		placed := series.AtLine(0, err)
		placed.File = file
		return nil, placed
	}
	return section, nil
}

func (s *Section) read(content []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(s); err != nil {
		return err
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return errors.New("expected one YAML document")
	}
	if s.Name == "" {
		return errors.New("expected a section")
	}
	var root struct {
		Cases []yaml.Node `yaml:"cases"`
	}
	_ = yaml.Unmarshal(content, &root) // the strict decoder has read it
	for i, c := range s.Cases {
		if c == nil {
			return fmt.Errorf("case %d is empty", i+1)
		}
		c.Section = s
		if i < len(root.Cases) {
			c.Line = root.Cases[i].Line
		}
		if err := c.check(); err != nil {
			return &trace.FileError{Line: c.Line, Err: fmt.Errorf("%s: %w", c.ID, err)}
		}
	}
	return nil
}

// check finds what the decoder cannot know, and resolves the releases.
func (c *Case) check() error {
	name, ok := strings.CutPrefix(c.ID, c.Section.Name+"/")
	switch {
	case !ok || name == "" || strings.ContainsAny(name, " \t\n/"):
		return fmt.Errorf("expected an id of the form %s/<name>, got %q", c.Section.Name, c.ID)
	case c.Requirement == "" || c.Source == "":
		return errors.New("expected a requirement and its source")
	case len(c.Steps) == 0:
		return errors.New("expected steps")
	}
	if err := c.resolveReleases(); err != nil {
		return err
	}
	for i, s := range c.Steps {
		if s == nil {
			return fmt.Errorf("step %d is empty", i+1)
		}
		if err := s.check(); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

func (s *Step) check() error {
	given := []bool{s.Call != "", s.Await != "", s.Cancel != "", s.Open != nil, s.Redis != nil, s.Seed != nil, s.Wait != nil, s.Pause != 0}
	if len(slices.DeleteFunc(given, func(b bool) bool { return !b })) != 1 {
		return errors.New("expected exactly one of call, await, cancel, open, redis, seed, wait, pause")
	}
	if _, err := regexp.Compile(s.Error); err != nil {
		return fmt.Errorf("error: %w", err)
	}
	answers := s.Call != "" || s.Await != ""
	switch {
	case s.Anything != "" && (!s.Returns.IsZero() || s.Error != ""):
		return errors.New("anything, returns and error exclude each other")
	case !answers && (!s.Returns.IsZero() || s.Error != "" || s.Anything != ""):
		return errors.New("only call and await return something")
	case s.Async != "" && (!s.Returns.IsZero() || s.Error != ""):
		return errors.New("what an async call returns belongs to its await")
	case s.Open != nil && s.Open.By != "" && s.Open.By != "beside":
		return fmt.Errorf("by: expected beside, got %q", s.Open.By)
	case s.Pause != 0 && s.Because == "":
		return errors.New("a pause needs a because: wait for an event where there is one")
	case s.Seed != nil:
		return s.Seed.check()
	case s.Wait != nil:
		return s.Wait.check()
	}
	return nil
}

func (s *Seed) check() error {
	const most = 10_000
	switch {
	case (len(s.Values) > 0) == (s.Count > 0):
		return errors.New("expected values or a count")
	case s.Count > most:
		return fmt.Errorf("expected a count of up to %d", most)
	case s.Skip != "" && s.Skip != "pending" && s.Skip != "timeouts":
		return fmt.Errorf("skip: expected pending or timeouts, got %q", s.Skip)
	}
	return nil
}

func (w *Wait) check() error {
	switch {
	case w.Length == nil && w.Transfers == 0 && w.Command == "" && w.Subscribers == nil && !w.Unblocked:
		return errors.New("expected key and length, transfers, command, subscribers or unblocked")
	case (w.Length != nil) != (w.Key != ""):
		return errors.New("key and length belong together")
	}
	return nil
}
