package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/docs/spec"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// changesHead begins the table of changes.md. Its rows say in words what changed; the statements
// in the last column follow from the releases of each.
const changesHead = "|3.x|2.x|change|statements|\n|-|-|-|-|\n"

// withChanges writes the last column of the table in changes.md. Each release at which a statement begins or ends has a row.
func withChanges(present string) (string, error) {
	before, rest, ok := strings.Cut(present, changesHead)
	if !ok {
		return "", fmt.Errorf("changes.md: expected a table that begins with %q", changesHead)
	}
	rows, after, _ := strings.Cut(rest, "\n\n")
	left := boundaries()
	text := before + changesHead
	for _, row := range strings.Split(strings.TrimSpace(rows), "\n") {
		cells := strings.Split(row, "|")
		if len(cells) != 6 {
			return "", fmt.Errorf("changes.md: expected four columns, got %q", row)
		}
		newer, older := strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])
		statements := slices.Concat(left[newer], left[older])
		if len(statements) == 0 {
			return "", fmt.Errorf("no statement begins or ends at %s: %q", newer, row)
		}
		delete(left, newer)
		delete(left, older)
		text += fmt.Sprintf("|%s|%s|%s|%s|\n", cells[1], cells[2], cells[3], signed(statements))
	}
	for release, changes := range left {
		return "", fmt.Errorf("expected a row for %s, at which %s changes", release, changes[0].ID)
	}
	if after != "" {
		text += "\n" + after
	}
	return text, nil
}

// change is a statement that begins to hold, or ends.
type change struct {
	*spec.Statement
	begins bool
}

// boundaries are the changes by the release that has them. The first releases of the two lines
// change nothing.
func boundaries() map[string][]change {
	all := map[string][]change{}
	releases := wire.Releases()
	for i, r := range releases[1:] {
		if previous := releases[i]; previous.Major == 2 == (r.Major == 2) {
			for _, s := range spec.All().Where(func(s *spec.Statement) bool { return s.Releases.Contain(previous) != s.Releases.Contain(r) }) {
				all[r.String()] = append(all[r.String()], change{s, s.Releases.Contain(r)})
			}
		}
	}
	return all
}

// signed links statements, those that begin first, each once.
func signed(changes []change) string {
	var links []string
	for _, begins := range []bool{true, false} {
		for _, c := range changes {
			sign := "−"
			if begins {
				sign = "+"
			}
			link := fmt.Sprintf("%s[%s](%s)", sign, c.ID, strings.TrimPrefix(c.Link(), spec.Dir+"/"))
			if c.begins == begins && !slices.Contains(links, link) {
				links = append(links, link)
			}
		}
	}
	return strings.Join(links, ", ")
}

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
		keys, _, err := keysOf(s)
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

// keyNames map the catalogue's words for a key to the specification's name and letter. An entry is not a prefix of a later one.
var keyNames = []struct{ catalogue, name, letter string }{
	{"redisson_delay_queue_timeout:{<dest>}", "timeout set", "T"},
	{"redisson_delay_queue:{<dest>}", "pending list", "Q"},
	{"redisson_delay_queue_channel:{<dest>}", "channel", "C"},
	{"redisson_delay_queue_timeout:{<newName>}", "timeout set of the new name", "T of the new name"},
	{"<newName> (raw! not redisson_delay_queue:{<newName>})", "new name", "the new name"},
	{"<other queue name, NOT name-mapped>", "target", "the target"},
	{"<dest>", "destination queue", "D"},
}

func keysOf(s wire.Script) (names, letters []string, err error) {
next:
	for rest := s.Keys; rest != ""; {
		for _, k := range keyNames {
			if after, ok := strings.CutPrefix(rest, k.catalogue); ok {
				names, letters, rest = append(names, k.name), append(letters, k.letter), strings.TrimPrefix(after, " ")
				continue next
			}
		}
		return nil, nil, fmt.Errorf("%s: expected a key of keyNames, got %q", s.Variant, rest)
	}
	return names, letters, nil
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
	for _, one := range spec.All() {
		sent := func(r wire.Release) bool { return s.SentBy(r) && one.Releases.Contain(r) }
		if slices.Contains(one.Scripts, string(s.Name)) && slices.ContainsFunc(wire.Releases(), sent) {
			ids = append(ids, one.ID)
		}
	}
	return ids
}

// withCatalogue replaces the catalogue's table in scripts.md.
func withCatalogue(present string) (string, error) {
	const begin, end = "<!-- catalogue -->\n", "<!-- end of the catalogue -->"
	before, rest, begins := strings.Cut(present, begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return "", fmt.Errorf("scripts.md: expected the lines %q and %q", begin, end)
	}
	table := "\n|script, and the first 3.x release of each text|KEYS|ARGV|reply|cost|statements|\n|-|-|-|-|-|-|\n"
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
		_, letters, err := keysOf(last)
		if err != nil {
			return "", err
		}
		table += fmt.Sprintf("|`%s` %s|%s|%s|%s|%s|%s|\n", last.Name, strings.Join(links, " "), strings.Join(letters, ", "),
			strings.Join(argsOf(last), "; "), cmp.Or(strings.ReplaceAll(last.Reply, " | ", " or "), "it fails"), last.Cost, linked(ids))
		texts = texts[n:]
	}
	return before + begin + table + "\n" + end + after, nil
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

// linked makes links of ids, from a page of the specification.
func linked(ids []string) string {
	var links []string
	for _, one := range spec.All().Where(func(s *spec.Statement) bool { return slices.Contains(ids, s.ID) }) {
		links = append(links, fmt.Sprintf("[%s](%s)", one.ID, strings.TrimPrefix(one.Link(), spec.Dir+"/")))
	}
	return strings.Join(links, ", ")
}

// rangesOf says which releases something holds for, as the statements do. A range that ends at
// the newest release known is open: the next one is not expected to differ.
func rangesOf(holds func(wire.Release) bool) string {
	var parts []string
	var first, last wire.Release
	end := func() {
		switch {
		case first == wire.Release{}:
			return
		case last == wire.Newest():
			parts = append(parts, fmt.Sprintf("%s on", first))
		case first == last:
			parts = append(parts, first.String())
		default:
			parts = append(parts, fmt.Sprintf("%s to %s", first, last))
		}
		first = wire.Release{}
	}
	for _, r := range wire.Releases() {
		if first.Major == 2 && r.Major != 2 {
			end()
		}
		switch {
		case !holds(r):
			end()
			continue
		case first == wire.Release{}:
			first = r
		}
		last = r
	}
	end()
	return strings.Join(parts, ", ")
}
