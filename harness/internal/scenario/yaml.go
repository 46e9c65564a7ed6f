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

	"github.com/dq-bench/dq-bench/internal/text"
)

// keys reads a mapping strictly: each key by its function, and a key that has none is an
// error.
type keys map[string]func(*yaml.Node) error

// decode reads what is there; its error is the first one by lines.
func (k keys) decode(node *yaml.Node) error {
	if mapping := aliased(node); mapping.Kind != yaml.MappingNode {
		return &lineError{node.Line, errors.New("expected keys and their values")}
	}
	var given map[string]yaml.Node // which finds keys that are there twice, and merges
	if err := node.Decode(&given); err != nil {
		return atLine(node.Line, err)
	}
	var wrong []*lineError
	for key, value := range given {
		read, known := k[key]
		if !known {
			wrong = append(wrong, &lineError{lineOf(node, key, value.Line), fmt.Errorf("field %s not found%s", key, text.DidYouMean(key, slices.Sorted(maps.Keys(k))))})
		} else if err := read(&value); err != nil {
			wrong = append(wrong, atLine(value.Line, err))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return slices.MinFunc(wrong, func(a, b *lineError) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.Error(), b.Error()))
	})
}

// lineOf is where a key of a mapping is, or other if it was merged into it.
func lineOf(node *yaml.Node, key string, other int) int {
	content := aliased(node).Content
	for i := 0; i < len(content); i += 2 {
		if content[i].Value == key {
			return content[i].Line
		}
	}
	return other
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
		return &lineError{node.Line, errors.New("expected a list")}
	}
	for _, item := range list.Content {
		more, err := read(item)
		if err != nil {
			return err
		}
		if *to = append(*to, more...); len(*to) > maxItems {
			return &lineError{item.Line, fmt.Errorf("expected at most %d items", maxItems)}
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

// parseYAML returns the only document of a file.
func parseYAML(text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil {
		return nil, err
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("expected one YAML document")
	}
	return document.Content[0], nil
}

// lineError is an error in a line of a file.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return e.err.Error() }

var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\s*)?line (\d+): (.*)`)

// atLine moves the line number that the YAML package writes into its text; what has none
// is of the line given.
func atLine(line int, err error) *lineError {
	var placed *lineError
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
	return &lineError{line, errors.New(strings.TrimPrefix(text, "yaml: "))}
}

// fileError is an error in a file, with its line if it has one.
func fileError(file string, err error) *Error {
	placed := atLine(0, err)
	return &Error{file, placed.line, placed.err}
}
