// Package report answers: how do people look at it?
//
// Whatever dq-bench shows is a Page of Tables and Charts: on a terminal, as Markdown, CSV, JUnit or HTML, stored or while a
// run lasts. The package judges nothing.
package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Table is figures in rows and columns.
type Table struct {
	ID, Title, Hint string
	Head            []string
	Rows            []Row
	Words           int      // how many columns, from the left, hold words: they are set flush left
	Wraps           bool     // marks a table of long texts, whose last column wraps on a page
	Said            bool     // has the text on a terminal end with Hint
	PageOnly        bool     // leaves the table out of text and Markdown
	Scale           []string // labels the left end, the middle and the right end of drawn intervals
}

// Row is a line of a Table. Class marks it: "ok", "bad" or "open".
type Row struct {
	Class string
	Cells []Cell
}

// Cell is a figure or some words.
type Cell struct {
	Text        string
	Raw         *float64 // the figure in its base unit, for CSV and for sorting; nil for words
	Class, Link string
	Choice      string    // the value of a tick box
	Interval    *Interval // and Squares are drawn on a page
	Squares     []Square
	Pre         string // laid out text, which a page shows on demand
}

// Interval is drawn as a bar from Low to High with a mark at Mid, over the band of changes that do not matter; in per cent of the width.
type Interval struct{ Low, Mid, High, FloorLow, FloorHigh float64 }

// Square is one of many small marks.
type Square struct{ Class, Title string }

// columns returns the texts of head and rows without columns that are only drawn.
func (t Table) columns() (rows [][]string) {
	drawn := map[int]bool{}
	for _, r := range t.Rows {
		for i, c := range r.Cells {
			drawn[i] = drawn[i] || c.Interval != nil || c.Squares != nil
		}
	}
	head := Row{}
	for _, h := range t.Head {
		head.Cells = append(head.Cells, Cell{Text: h})
	}
	for _, r := range append([]Row{head}, t.Rows...) {
		var row []string
		for i, c := range r.Cells {
			if !drawn[i] {
				row = append(row, strings.ReplaceAll(c.Text, "\n", " "))
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// Text writes the table for a terminal.
func (t Table) Text(out *strings.Builder) {
	rows := t.columns()
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	lead := 0 // of the last column, if it wraps
	if t.Wraps && len(widths) > 0 && t.Words >= len(widths) {
		for _, w := range widths[:len(widths)-1] {
			lead += w + 2
		}
	}
	for _, row := range rows {
		line := ""
		for i, c := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if i < t.Words {
				line += c + pad + "  "
			} else {
				line += pad + c + "  "
			}
		}
		if line = strings.TrimRight(line, " "); line == "" {
			continue
		}
		if runes := []rune(line); lead > 0 && len(runes) > width {
			out.WriteString(text.WrapAt(width, lead, string(runes[:lead]), strings.Join(strings.Fields(string(runes[lead:])), " ")))
			continue
		}
		out.WriteString(line + "\n")
	}
}

var markdown = strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ")

// Markdown writes the table for a pull request.
func (t Table) Markdown(out *strings.Builder) {
	if t.Title != "" {
		out.WriteString("### " + markdown.Replace(t.Title) + "\n\n")
	}
	for n, row := range t.columns() {
		for i := range row {
			row[i] = markdown.Replace(row[i])
		}
		out.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if n == 0 {
			out.WriteString("|" + strings.Repeat("---|", min(t.Words, len(row))) + strings.Repeat("---:|", max(len(row)-t.Words, 0)) + "\n")
		}
	}
}

// CSV writes the table for other programs, figures in their base unit.
func (t Table) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write(t.Head) // kept by the writer until the end
	for _, r := range t.Rows {
		cells := make([]string, len(r.Cells))
		for i, c := range r.Cells {
			if cells[i] = c.Text; c.Raw != nil {
				cells[i] = strconv.FormatFloat(*c.Raw, 'g', -1, 64)
			}
		}
		_ = out.Write(cells)
	}
	out.Flush()
	return out.Error()
}

// Stored is a stored run in a list.
type Stored struct {
	ID  string // its folder, from the folder of the list on
	row Row
	at  time.Time
}

// NewStored keeps of a run only what a list shows.
func NewStored(id string, r *run.Document) Stored {
	o := stateOf(r)
	h := run.LateOf(r).Of(r.Histograms)
	return Stored{id, Row{o.state, []Cell{
		{Choice: url.PathEscape(id)}, {Text: r.Started.UTC().Format(time.DateTime), Link: "run?id=" + url.QueryEscape(id)}, {Text: setOf(id)}, {Text: r.Driver.String()}, {Text: r.Scenario.Name},
		{Text: strings.TrimSpace(serverOf(r))}, {Text: labelsOf(r)}, {Text: o.tag, Class: "pill"}, quantile(h, .5), quantile(h, .99), count(r.Wrong(), true),
	}}, r.Started}
}

// setOf is the folder in which a series keeps the runs of one side, or the folder of the run.
func setOf(id string) string {
	if strings.Trim(path.Base(id), "0123456789") == "" && strings.Contains(id, "/") {
		return path.Dir(id)
	}
	return id
}

// OfStored is the page of the runs below a folder, the newest first: what is ticked is compared.
func OfStored(folder string, all []Stored, unreadable []string, notice string) Page {
	p := Page{Title: folder + " · dq-bench", Verdict: text.Plural(int64(len(all)), "run") + " in " + folder, Choose: "compare"}
	if notice != "" {
		p.Banners = append(p.Banners, Banner{true, "", notice})
	}
	slices.SortStableFunc(all, func(a, b Stored) int { return b.at.Compare(a.at) })
	sets := Table{ID: "sets", Title: "Sets", Head: []string{"", "set", "newest, UTC", "implementation", "runs"}, Words: 4}
	list := Table{ID: "stored", Title: "Runs", Head: []string{"", "started, UTC", "set", "implementation", "scenario", "server", "labels", "", "p50", "p99", "wrong"}, Words: 8}
	for _, s := range all {
		list.Rows = append(list.Rows, s.row)
		set := setOf(s.ID)
		if set == s.ID {
			continue
		}
		i := slices.IndexFunc(sets.Rows, func(r Row) bool { return r.Cells[1].Text == set })
		if i < 0 {
			i = len(sets.Rows)
			sets.Rows = append(sets.Rows, Row{"", []Cell{{Choice: url.PathEscape(set)}, {Text: set}, s.row.Cells[1], s.row.Cells[3], count(0, false)}})
		}
		runs := &sets.Rows[i].Cells[4]
		*runs = count(int64(*runs.Raw)+1, false)
	}
	for _, t := range []Table{sets, list} {
		if len(t.Rows) > 0 {
			p.Headline = append(p.Headline, t)
		}
	}
	const most = 20
	if n := len(unreadable); n > most {
		unreadable = append(slices.Clone(unreadable[:most]), fmt.Sprintf("%d more", n-most))
	}
	for _, u := range unreadable {
		p.Banners = append(p.Banners, Banner{false, "Not readable.", u})
	}
	return p
}
