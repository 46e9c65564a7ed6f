package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/docs/spec"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// changesHead begins the table of changes.md. Its rows say in words what changed; the statements
// in the last column follow from the releases of each.
const changesHead = "| 3.x | 2.x | what changed | statements |\n|---|---|---|---|\n"

// withChanges writes the last column of the table in changes.md. Each release at which a statement
// begins or ends must have a row.
func withChanges(there []byte) ([]byte, error) {
	before, rest, ok := strings.Cut(string(there), changesHead)
	if !ok {
		return nil, fmt.Errorf("expected a table that begins with %q", changesHead)
	}
	end := strings.Index(rest+"\n", "\n\n")
	rows, after := strings.Split(strings.TrimSpace(rest[:min(end, len(rest))]), "\n"), rest[min(end+1, len(rest)):]
	left := boundaries()
	var table strings.Builder
	for _, row := range rows {
		cells := strings.Split(row, "|")
		if len(cells) != 6 {
			return nil, fmt.Errorf("expected four columns in %q", row)
		}
		newer, older := strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])
		statements := slices.Concat(left[newer], left[older])
		if len(statements) == 0 {
			return nil, fmt.Errorf("no statement begins or ends at %s: %q", newer, row)
		}
		delete(left, newer)
		delete(left, older)
		fmt.Fprintf(&table, "|%s|%s|%s| %s |\n", cells[1], cells[2], cells[3], signed(statements))
	}
	if missing := slices.Sorted(maps.Keys(left)); len(missing) > 0 {
		return nil, fmt.Errorf("expected a row for %s, at which %s changes", missing[0], left[missing[0]][0].ID)
	}
	return []byte(before + changesHead + table.String() + after), nil
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
			for _, s := range spec.All().Between(previous, r) {
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
			link := fmt.Sprintf("%s [%s](%s)", sign, c.ID, strings.TrimPrefix(c.Link(), spec.Dir+"/"))
			if c.begins == begins && !slices.Contains(links, link) {
				links = append(links, link)
			}
		}
	}
	return strings.Join(links, ", ")
}
