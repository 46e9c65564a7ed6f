package matrix

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// The sections of the table that hold something of each release.
const (
	releasesTitle = "## Releases\n"
	casesTitle    = "## Conformance cases\n"
	queueTitle    = "## At one queue\n"
	detailsTitle  = "## Details\n"
)

// InsertInto returns a table that WriteMarkdown has written before with the columns of m in it,
// in the order of the releases, and a line that says when they came in. The rest of the table
// is as it was: its cells are runs of their own.
func (m *Matrix) InsertInto(table string) (string, error) {
	var own bytes.Buffer
	if err := m.WriteMarkdown(&own); err != nil {
		return "", err
	}
	into, err := sectionsOf(table)
	if err != nil {
		return "", err
	}
	from, err := sectionsOf(own.String())
	if err != nil {
		return "", err
	}
	var names []string
	for _, c := range m.Columns {
		names = append(names, c.Release.String())
	}
	head := into.head + fmt.Sprintf("Added %s: %s.\n\n", m.Started.Format("2006-01-02 15:04 MST"), strings.Join(names, ", "))
	merged := map[string]func(into, from string) string{
		releasesTitle: mergeRows, casesTitle: mergeColumns, queueTitle: mergeColumns, detailsTitle: m.mergeDetails,
	}
	text := head
	for _, title := range titles {
		text += title + merged[title](into.bodies[title], from.bodies[title])
	}
	return text, nil
}

var titles = []string{releasesTitle, casesTitle, queueTitle, detailsTitle}

// sections are a table cut at its titles.
type sections struct {
	head   string
	bodies map[string]string
}

func sectionsOf(text string) (sections, error) {
	s := sections{bodies: map[string]string{}}
	rest, before := text, ""
	for i, title := range titles {
		body, after, ok := strings.Cut(rest, title)
		if !ok {
			return s, fmt.Errorf("expected a table that make matrix has written, found no %q", strings.TrimSpace(title))
		}
		if i == 0 {
			s.head = body
		} else {
			s.bodies[before] = body
		}
		before, rest = title, after
	}
	s.bodies[before] = rest
	return s, nil
}

// grid is the Markdown table in a text.
type grid struct {
	before, after string
	rows          [][]string // head, rule, and then the rest
}

func gridOf(text string) grid {
	var g grid
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "|"):
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			g.rows = append(g.rows, cells)
		case len(g.rows) == 0:
			g.before += line
		default:
			g.after += line
		}
	}
	return g
}

func (g grid) String() string {
	var b strings.Builder
	b.WriteString(g.before)
	for i, row := range g.rows {
		if i == 1 {
			b.WriteString("|" + strings.Repeat("---|", len(g.rows[0])) + "\n")
			continue
		}
		for _, cell := range row {
			if cell == "" {
				cell = " "
			}
			b.WriteString("| " + cell + " ")
		}
		b.WriteString("|\n")
	}
	return b.String() + g.after
}

// byRelease orders the names of releases; what is none comes first.
func byRelease(a, b string) int {
	x, _ := wire.ParseRelease(a)
	y, _ := wire.ParseRelease(b)
	return x.Compare(y)
}

// mergeRows puts rows that begin with a release into their places, for rows of the same.
func mergeRows(into, from string) string {
	g, add := gridOf(into), gridOf(from)
	if len(g.rows) < 2 || len(add.rows) < 2 {
		return into
	}
	rows := slices.DeleteFunc(slices.Clone(g.rows[2:]), func(row []string) bool {
		return slices.ContainsFunc(add.rows[2:], func(other []string) bool { return other[0] == row[0] })
	})
	rows = append(rows, add.rows[2:]...)
	slices.SortStableFunc(rows, func(a, b []string) int { return byRelease(a[0], b[0]) })
	g.rows = append(g.rows[:2:2], rows...)
	return g.String()
}

// mergeColumns puts columns that a release heads into their places, for columns of the same. A
// row that only one side has gets empty cells.
func mergeColumns(into, from string) string {
	g, add := gridOf(into), gridOf(from)
	if len(g.rows) < 2 || len(add.rows) < 2 {
		return into
	}
	heads := slices.Concat(g.rows[0][1:], add.rows[0][1:])
	slices.SortFunc(heads, byRelease)
	heads = slices.Compact(heads)
	rows := [][]string{append([]string{g.rows[0][0]}, heads...), nil}
	for _, row := range union(g.rows[2:], add.rows[2:]) {
		cells := []string{row}
		for _, head := range heads {
			cell, ok := add.cell(row, head)
			if !ok {
				cell, _ = g.cell(row, head)
			}
			cells = append(cells, cell)
		}
		rows = append(rows, cells)
	}
	g.rows = rows
	return g.String()
}

// union returns the first cells of the rows of both, those of a in their order.
func union(a, b [][]string) []string {
	var names []string
	for _, row := range slices.Concat(a, b) {
		if !slices.Contains(names, row[0]) {
			names = append(names, row[0])
		}
	}
	return names
}

func (g grid) cell(row, head string) (string, bool) {
	column := slices.Index(g.rows[0], head)
	for _, cells := range g.rows[2:] {
		if column > 0 && column < len(cells) && cells[0] == row {
			return cells[column], true
		}
	}
	return "", false
}
