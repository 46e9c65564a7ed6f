package matrix

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/conformance"
)

// legend explains the cells, best first.
var legend = []struct {
	cell Cell
	text string
}{
	{Identical, "identical trace: both meet the case, and the server saw the same commands, byte for byte but for ids and clocks"},
	{SameState, "same state: both give the replies and leave the keys that the case expects; its commands depend on timing and are not compared"},
	{Known, "fails for a reason that the case gives"},
	{Unavailable, "no such call or codec at this release, or not in dq"},
	{Elsewhere, "the case is about other releases"},
	{Differs, "same replies and keys, other commands"},
	{Failure, "one of the two does not meet the case"},
	{Broken, "harness, server or program failed; no verdict"},
}

// Summary counts a column in a line.
func (c *Column) Summary() string {
	counts := c.counts()
	return fmt.Sprintf("%d identical, %d same state, %d known, %d differ, %d failed, %d errors; interop %s",
		counts[Identical], counts[SameState], counts[Known], counts[Differs], counts[Failure], counts[Broken],
		c.shared())
}

func (c *Column) counts() map[Cell]int {
	counts := map[Cell]int{}
	for _, row := range c.Rows {
		counts[row.Cell()]++
	}
	return counts
}

// shared is how many of the cases at a shared queue passed.
func (c *Column) shared() string {
	passed := 0
	for _, r := range c.Interop {
		if r.Err == nil {
			passed++
		}
	}
	return fmt.Sprintf("%d/%d", passed, len(c.Interop))
}

// tally counts the outcomes of one implementation.
func (c *Column) tally(of func(*Row) conformance.Result) string {
	n := map[conformance.Status]int{}
	for _, row := range c.Rows {
		n[of(row).Status]++
	}
	return fmt.Sprintf("%d / %d / %d / %d", n[conformance.Pass], n[conformance.Fail]+n[conformance.Error],
		n[conformance.FailedAsExpected], n[conformance.Skip])
}

// WriteMarkdown writes the matrix for people: what it is, a line for each release,
// a line for each case, and then whatever is not as it should be.
func (m *Matrix) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	m.head(&b)
	m.summary(&b)
	m.conformance(&b)
	m.sharing(&b)
	m.details(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (m *Matrix) head(b *strings.Builder) {
	servers := map[string]bool{}
	for _, c := range m.Columns {
		if c.Server != "" {
			servers[c.Server] = true
		}
	}
	var names []string
	for s := range servers {
		names = append(names, s)
	}
	slices.Sort(names)
	fmt.Fprintf(b, "# dq and Redisson, release by release\n\n"+
		"Written by `make matrix`; every cell is a run. Began %s, took %s, on %s.\n\n"+
		"At each release the real Redisson and dq ran the same %d conformance cases on the same server, and were then put on one queue. "+
		"[TOPOLOGIES.md](TOPOLOGIES.md) has dq on Sentinel, Cluster and others.\n\n",
		m.Started.Format("2006-01-02 15:04 MST"), m.Took.Round(time.Second), strings.Join(names, ", "), len(m.Cases))
}

func (m *Matrix) summary(b *strings.Builder) {
	b.WriteString("## Releases\n\n" +
		"Redisson and dq: cases passed / failed / failed for a known reason / skipped. Interop: cases at a shared queue that passed, those across 3.21.1 included.\n\n" +
		"| release | layout | Redisson | dq | identical trace | same state | differ | interop | took |\n" +
		"|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range m.Columns {
		counts := c.counts()
		fmt.Fprintf(b, "| %s | `%s` | %s | %s | %d | %d | %d | %s | %s |\n", c.Release, c.Release.Layout(),
			c.tally(func(r *Row) conformance.Result { return r.Redisson }),
			c.tally(func(r *Row) conformance.Result { return r.DQ }),
			counts[Identical], counts[SameState], counts[Differs], c.shared(), c.Took.Round(time.Second))
	}
	b.WriteString("\n")
}

func (m *Matrix) conformance(b *strings.Builder) {
	b.WriteString("## Conformance cases\n\n")
	for _, l := range legend {
		fmt.Fprintf(b, "- `%s` %s\n", l.cell, l.text)
	}
	b.WriteString("\n")
	m.tableHead(b, "case")
	for _, one := range m.Cases {
		fmt.Fprintf(b, "| %s |", one.ID)
		for _, c := range m.Columns {
			cell := Cell(" ")
			if row, ok := c.Rows[one.ID]; ok {
				cell = row.Cell()
			}
			fmt.Fprintf(b, " %s |", cell)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

func (m *Matrix) tableHead(b *strings.Builder, first string) {
	fmt.Fprintf(b, "| %s |", first)
	for _, c := range m.Columns {
		fmt.Fprintf(b, " %s |", c.Release)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(m.Columns)) + "\n")
}

// sharing has a line for each case and direction: who writes, who reads.
func (m *Matrix) sharing(b *strings.Builder) {
	b.WriteString("## At one queue\n\n`interop` cases: Redisson and dq, both at the release. `mixed` cases: the release, and dq on the other side of 3.21.1; " +
		"where Redisson reads, it has to fail as it was seen to fail at members of the other layout, and where dq reads, it has to read both. `+` passed, `X` failed, `–` there is no such case at this release.\n\n")
	m.tableHead(b, "case, who writes")
	var rows []string
	outcome := map[string]map[*Column]string{}
	for _, c := range m.Columns {
		for _, r := range c.Interop {
			row := r.Case.ID + ", " + r.Writer.Program.Introduction().Name
			if outcome[row] == nil {
				outcome[row] = map[*Column]string{}
				rows = append(rows, row)
			}
			outcome[row][c] = "+"
			if r.Err != nil {
				outcome[row][c] = "X"
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b string) int { return strings.Compare(a[:4], b[:4]) })
	for _, row := range rows {
		fmt.Fprintf(b, "| %s |", row)
		for _, c := range m.Columns {
			cell := outcome[row][c]
			if cell == "" {
				cell = "–"
			}
			fmt.Fprintf(b, " %s |", cell)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

// details writes out everything that is not as it should be, the same thing at
// several releases once.
func (m *Matrix) details(b *strings.Builder) {
	b.WriteString("## Details\n\n")
	found := false
	for _, c := range m.Columns {
		if c.Err != nil {
			found = true
			fmt.Fprintf(b, "The column of %s is not complete: %s\n\n", c.Release, oneLine(c.Err.Error()))
		}
		for _, r := range c.Interop {
			if r.Err != nil {
				found = true
				fmt.Fprintf(b, "**%s**, %s to %s. %s\n\n%s\n", r.Case.ID, r.Writer, r.Reader, r.Case.Requirement, indented(r.Err.Error()))
			}
		}
	}
	found = m.secondRuns(b) || found
	for _, one := range m.Cases {
		for _, d := range m.detailsOf(one) {
			found = true
			fmt.Fprintf(b, "**%s**, `%s` at %s. %s\n\n%s\n", one.ID, d.cell, strings.Join(d.releases, ", "), one.Requirement, indented(d.text))
		}
	}
	if !found {
		b.WriteString("Nothing failed, differed or was left out.\n")
	}
}

// secondRuns lists the cells that are good at their second run only.
func (m *Matrix) secondRuns(b *strings.Builder) (found bool) {
	var lines []string
	add := func(id string, c *Column, firstRun string) {
		first, _, _ := strings.Cut(firstRun, "\n")
		lines = append(lines, fmt.Sprintf("- %s at %s. The first run: %s\n", id, c.Release, first))
	}
	for _, c := range m.Columns {
		for _, r := range c.Interop {
			if r.FirstRun != nil && r.Err == nil {
				add(r.Case.ID, c, r.FirstRun.Error())
			}
		}
	}
	for _, one := range m.Cases {
		for _, c := range m.Columns {
			if row, ok := c.Rows[one.ID]; ok && row.FirstRun != "" && !row.bad() {
				add(one.ID, c, row.FirstRun)
			}
		}
	}
	if len(lines) == 0 {
		return false
	}
	b.WriteString("Good at the second run only:\n\n" + strings.Join(lines, "") + "\n")
	return true
}

// detail is what one case shows at some releases.
type detail struct {
	cell     Cell
	first    string // the first line of the text, which tells details apart
	text     string
	releases []string
}

func (m *Matrix) detailsOf(one *conformance.Case) []*detail {
	var all []*detail
	for _, c := range m.Columns {
		row, ok := c.Rows[one.ID]
		if !ok || row.Detail() == "" {
			continue
		}
		text := strings.ReplaceAll(row.Detail(), c.Release.String(), "<release>")
		first, _, _ := strings.Cut(text, "\n")
		i := slices.IndexFunc(all, func(d *detail) bool { return d.cell == row.Cell() && d.first == first })
		if i < 0 {
			i = len(all)
			all = append(all, &detail{cell: row.Cell(), first: first, text: text})
		}
		all[i].releases = append(all[i].releases, c.Release.String())
	}
	return all
}

// indented makes a block of text as it is, cut where it gets long.
func indented(text string) string {
	const mostLines, mostBytes = 24, 240
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > mostLines {
		lines = append(lines[:mostLines], "…")
	}
	var b strings.Builder
	for _, line := range lines {
		if len(line) > mostBytes {
			line = strings.ToValidUTF8(line[:mostBytes], "") + "…"
		}
		b.WriteString("    " + line + "\n")
	}
	return b.String()
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
