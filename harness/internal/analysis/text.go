package analysis

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Limits of the text, which --json does not have.
const (
	textQueues   = 20
	textExamples = 3 // of each kind of anomaly
	maxStories   = 1000
	maxEvents    = 100 // of a story
)

// Page shows the document.
func (d *Document) Page() report.Page {
	p := report.Page{
		Title: "MONITOR log · " + d.AnomaliesText(), State: "ok", Tag: "fine", Verdict: d.AnomaliesText(), Notes: slices.Clone(d.Notices),
		Lead: []string{text.Plural(d.Commands, "command") + ", " + text.Plural(d.Unparsed, "line") + " that MONITOR did not print", "Redisson " + d.redisson()},
	}
	if len(d.Anomalies) > 0 {
		p.State, p.Tag = "bad", "anomalies"
	}
	if d.From != "" {
		p.Lead = append(p.Lead, "from "+d.From+" to "+d.To)
	}
	for _, g := range d.Groups {
		of := ""
		if g.Client != "" {
			of = g.Client + " as "
		}
		if len(d.Groups) > 1 || of != "" {
			p.Notes = append(p.Notes, fmt.Sprintf("clients: %s%s: %s, such as %s", of, g.text(), text.Plural(g.Connections, "connection"), strings.Join(g.Peers[:min(2, len(g.Peers))], " and ")))
		}
	}
	for _, c := range d.Clocks {
		p.Notes = append(p.Notes, fmt.Sprintf("clock of %s: %+d ms by the server's, seen by %s", c.Host, c.AheadMs, text.Plural(c.Transfers, "transfer")))
	}
	queues := report.Table{
		ID: "queues", Title: "Queues", Head: []string{"queue", "layout", "offered", "transfers", "moved", "taken", "removed", "pending", "late p50", "p99", "max"}, Words: 2,
		Hint: "Late is the instant of the transfer − the due time, by the server's clock; the due time is corrected by how far the clock of the client that offered the message was ahead of it. Due times are whole milliseconds.",
	}
	for _, q := range d.Queues {
		queues.Rows = append(queues.Rows, q.row())
	}
	anomalies := report.Table{ID: "anomalies", Title: "Anomalies", Head: []string{"kind", "queue", "at", "seen"}, Words: 4, Wraps: true}
	for _, a := range d.Anomalies {
		var lines []string
		for _, l := range a.Lines {
			lines = append(lines, strings.TrimSuffix(l.place()+": "+l.Text, ": "))
		}
		anomalies.Rows = append(anomalies.Rows, report.Row{Class: "bad", Cells: []report.Cell{
			{Text: string(a.Kind), Class: "pill"}, {Text: cut(fmt.Sprintf("%q", a.Queue), 40)}, {Text: a.At}, {Text: a.Detail, Pre: strings.Join(lines, "\n")},
		}})
	}
	p.Tables = []report.Table{queues, anomalies}
	return p
}

func (q *Queue) row() report.Row {
	name := cut(fmt.Sprintf("%q", q.Name), 40)
	if q.DB != 0 {
		name += fmt.Sprintf(" in database %d", q.DB)
	}
	cells := []report.Cell{{Text: name}, {Text: cmp.Or(q.Layout, "not seen")}}
	for _, n := range []int64{q.Offers + q.Added, q.Transfers, q.Transferred, q.Taken, q.Removed, q.StillPending} {
		cells = append(cells, report.Cell{Text: fmt.Sprint(n), Raw: new(float64(n))})
	}
	late := cmp.Or(q.Lateness, &Lateness{})
	for _, ms := range []float64{late.P50, late.P99, late.Max} {
		cell := report.Cell{Text: "–"}
		if q.Lateness != nil {
			if cell.Raw, cell.Text = &ms, fmt.Sprintf("%.3g ms", ms); math.Abs(ms) >= 10_000 {
				cell.Text = fmt.Sprintf("%.1f s", ms/1000)
			}
		}
		cells = append(cells, cell)
	}
	return report.Row{Cells: cells}
}

// WriteText writes the page for a terminal: some queues, and some anomalies of each kind with their lines.
func (d *Document) WriteText(w io.Writer) error {
	p := d.Page()
	if more := len(d.Queues) - textQueues; more > 0 {
		p.Tables[0].Rows = p.Tables[0].Rows[:textQueues]
		p.Notes = append(p.Notes, fmt.Sprintf("%d more queues: see --json", more))
	}
	shown := map[string]int{}
	p.Tables[1].Rows = slices.DeleteFunc(p.Tables[1].Rows, func(r report.Row) bool {
		kind, seen := r.Cells[0].Text, &r.Cells[3]
		for line := range strings.Lines(seen.Pre) {
			seen.Text += "; " + cut(strings.TrimSpace(line), 120)
		}
		shown[kind]++
		return shown[kind] > textExamples
	})
	if len(p.Tables[1].Rows) < len(d.Anomalies) {
		p.Notes = append(p.Notes, fmt.Sprintf("%d anomalies of each kind are shown: see --json for more", textExamples))
	}
	return p.Text(w)
}

func (d *Document) redisson() string {
	switch {
	case len(d.Groups) == 0:
		return "sent nothing for a delayed queue"
	case d.Redisson == nil:
		return "of no single release: these clients differ"
	case len(d.Groups) == 1:
		return d.Groups[0].text()
	case len(d.Redisson.Ranges) > 0:
		return rangesText(d.Redisson.Ranges)
	}
	return d.Redisson.From + " to " + d.Redisson.To
}

func rangesText(ranges []Range) string {
	var parts []string
	for _, r := range ranges {
		if r.From != r.To {
			r.From += " to " + r.To
		}
		parts = append(parts, r.From)
	}
	return cmp.Or(strings.Join(parts, " or "), "no release")
}

// text names the releases of a group, and the ones with default settings if they are fewer.
func (g *Group) text() string {
	if slices.Equal(g.Ranges, g.Usual) || len(g.Usual) == 0 {
		return rangesText(g.Ranges)
	}
	return rangesText(g.Ranges) + "; with default settings " + rangesText(g.Usual)
}

// AnomaliesText counts the anomalies by kind.
func (d *Document) AnomaliesText() string {
	var parts []string
	total := int64(0)
	for _, kind := range slices.Sorted(maps.Keys(d.AnomalyCounts)) {
		total += d.AnomalyCounts[kind]
		parts = append(parts, fmt.Sprintf("%d %s", d.AnomalyCounts[kind], kind))
	}
	if total == 0 {
		return "no anomaly"
	}
	return fmt.Sprintf("%d %s: %s", total, map[bool]string{true: "anomaly", false: "anomalies"}[total == 1], strings.Join(parts, ", "))
}

func (l LineOf) place() string {
	if l.File != "" {
		return fmt.Sprintf("%s:%d", l.File, l.Number)
	}
	return fmt.Sprintf("line %d", l.Number)
}

// story begins the story of a value that Where asks for; nil for every other.
func (a *Analysis) story(q *queue, value []byte) *Story {
	if a.Where == "" || len(a.stories) == maxStories {
		return nil
	}
	shown, err := ops.ShowValue(ops.DetectValue(value).Likeliest(), value)
	if err != nil {
		shown = fmt.Sprintf("%q", value)
	}
	if !a.Match(value, shown) {
		return nil
	}
	s := &Story{Queue: q.Name, Value: cut(shown, longestText), Events: []Event{}}
	a.stories = append(a.stories, s)
	return s
}

func (s *Story) add(what string, at place, us int64) {
	if s != nil && len(s.Events) < maxEvents {
		s.Events = append(s.Events, Event{timeText(us), what, earlier(at)})
	}
}

// storyOf is the story of the i-th value that the step pushed.
func (s *step) storyOf(i int) *Story {
	if i >= len(s.values) {
		return nil
	}
	value := hash(s.values[i])
	for _, m := range slices.Concat(s.removed, s.unlisted) {
		if m.value == value {
			return m.story
		}
	}
	return nil
}

// WriteStories writes the paths of the messages that were asked for.
func (d *Document) WriteStories(w io.Writer, where string) error {
	var b strings.Builder
	for _, s := range d.Stories {
		fmt.Fprintf(&b, "%s  %s\n", text.Line(s.Queue), text.Line(s.Value))
		for _, e := range s.Events {
			line := map[bool]string{true: "  (" + e.Line.place() + ")"}[e.Line.Number > 0]
			fmt.Fprintf(&b, "%s%s  %s%s\n", "    ", e.At, e.What, line)
		}
	}
	if len(d.Stories) == 0 {
		fmt.Fprintf(&b, "no message of a delayed queue in this log has %q in its value\n", where)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
