package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/docs/spec"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// scriptVector is a text of the catalogue.
type scriptVector struct {
	Name     string `json:"name"`
	Variant  string `json:"variant"`
	Object   string `json:"object"`
	Method   string `json:"method"`
	Releases string `json:"releases"`
	SHA1     string `json:"sha1"`
	// Keys and Args name KEYS and ARGV in order; a name that ends with "..." stands for any number.
	Keys []string `json:"keys"`
	Args []string `json:"args"`
	// Reply is empty for a script that always fails.
	Reply        string   `json:"reply"`
	Cost         string   `json:"cost"`
	Statements   []string `json:"statements"`
	RecordedFrom string   `json:"recorded_from"`
	Body         string   `json:"body"`
}

func scriptVectors() ([]scriptVector, error) {
	var all []scriptVector
	for _, s := range wire.Scripts() {
		keys, err := keysOf(s)
		if err != nil {
			return nil, err
		}
		all = append(all, scriptVector{
			Name: string(s.Name), Variant: s.Variant, Object: s.Object, Method: s.Method, Releases: rangesOf(s.SentBy),
			SHA1: s.SHA1, Keys: keys, Args: argsOf(s), Reply: s.Reply, Cost: s.Cost,
			Statements: statementsOf(s), RecordedFrom: s.RecordedFrom, Body: s.Body,
		})
	}
	return all, nil
}

// keyNames are the ways in which the catalogue describes a key, none the beginning of a later
// one, with what the specification calls it and the letter of its table.
var keyNames = []struct{ catalogue, name, letter string }{
	{"redisson_delay_queue_timeout:{<dest>}", "timeout set", "T"},
	{"redisson_delay_queue:{<dest>}", "pending list", "Q"},
	{"redisson_delay_queue_channel:{<dest>}", "channel", "C"},
	{"redisson_delay_queue_timeout:{<newName>}", "timeout set of the new name", "T of the new name"},
	{"<newName> (raw! not redisson_delay_queue:{<newName>})", "new name", "the new name"},
	{"<other queue name, NOT name-mapped>", "target", "the target"},
	{"<dest>", "destination queue", "D"},
}

func eachKey(s wire.Script, yield func(name, letter string)) error {
	rest := s.Keys
	for rest != "" {
		i := slices.IndexFunc(keyNames, func(k struct{ catalogue, name, letter string }) bool { return strings.HasPrefix(rest, k.catalogue) })
		if i < 0 {
			return fmt.Errorf("%s: expected a key that keyNames knows, got %q", s.Variant, rest)
		}
		yield(keyNames[i].name, keyNames[i].letter)
		rest = strings.TrimPrefix(strings.TrimPrefix(rest, keyNames[i].catalogue), " ")
	}
	return nil
}

func keysOf(s wire.Script) (keys []string, err error) {
	err = eachKey(s, func(name, _ string) { keys = append(keys, name) })
	return keys, err
}

// argsOf names ARGV as the catalogue does, without its angle brackets.
func argsOf(s wire.Script) []string {
	args := []string{}
	if s.Args == "" {
		return args
	}
	for _, arg := range strings.Split(s.Args, " | ") {
		more := ""
		if strings.HasSuffix(arg, "...") {
			arg, more = strings.TrimSuffix(arg, "..."), "..."
		}
		args = append(args, strings.TrimSuffix(strings.TrimPrefix(arg, "<"), ">")+more)
	}
	return args
}

// statementsOf are those about a script that hold for a release which sends this text.
func statementsOf(s wire.Script) []string {
	ids := []string{}
	for _, one := range spec.All().Statements {
		sent := func(r wire.Release) bool { return s.SentBy(r) && one.Releases.Contain(r) }
		if slices.Contains(one.Scripts, string(s.Name)) && slices.ContainsFunc(wire.Releases(), sent) {
			ids = append(ids, one.ID)
		}
	}
	return ids
}

// The marks in scripts.md between which the table is.
const (
	tableBegin = "<!-- catalogue -->\n"
	tableEnd   = "<!-- end of the catalogue -->"
)

// withCatalogue replaces the catalogue's table in scripts.md.
func withCatalogue(there []byte) ([]byte, error) {
	before, rest, ok1 := bytes.Cut(there, []byte(tableBegin))
	_, after, ok2 := bytes.Cut(rest, []byte(tableEnd))
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("expected the lines %q and %q", tableBegin, tableEnd)
	}
	var table bytes.Buffer
	table.WriteString("\n| script, and the first 3.x release of each text | KEYS | ARGV | reply | cost | statements |\n|---|---|---|---|---|---|\n")
	texts := wire.Scripts()
	for len(texts) > 0 {
		n := 1
		for n < len(texts) && texts[n].Name == texts[0].Name {
			n++
		}
		last, links, ids := texts[n-1], []string{}, []string{}
		for _, s := range texts[:n] {
			links = append(links, fmt.Sprintf("[%s](../../dq/wire/scripts/%s)", firstOf3(s), s.File))
			ids = append(ids, statementsOf(s)...)
		}
		var keys []string
		if err := eachKey(last, func(_, letter string) { keys = append(keys, letter) }); err != nil {
			return nil, err
		}
		fmt.Fprintf(&table, "| `%s` %s | %s | %s | %s | %s | %s |\n",
			last.Name, strings.Join(links, " "), strings.Join(keys, ", "), strings.Join(argsOf(last), "; "), replyOf(last), last.Cost, linked(ids))
		texts = texts[n:]
	}
	table.WriteString("\n")
	return slices.Concat(before, []byte(tableBegin), table.Bytes(), []byte(tableEnd), after), nil
}

// firstOf3 is the first 3.x release that sends a text, as a word.
func firstOf3(s wire.Script) string {
	for _, r := range wire.Releases() {
		if r.Major > 2 && s.SentBy(r) {
			return r.String()
		}
	}
	return rangesOf(s.SentBy)
}

func replyOf(s wire.Script) string {
	if s.Reply == "" {
		return "it fails"
	}
	return strings.ReplaceAll(s.Reply, " | ", " or ")
}

// linked makes links of ids, from a page of the specification.
func linked(ids []string) string {
	var links []string
	for _, one := range spec.All().Where(func(s *spec.Statement) bool { return slices.Contains(ids, s.ID) }) {
		links = append(links, fmt.Sprintf("[%s](%s)", one.ID, strings.TrimPrefix(one.Link(), spec.Dir+"/")))
	}
	return strings.Join(links, ", ")
}
