package analysis

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/template"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Schema names the form of a Document.
const Schema = "dq-bench/analysis/v1"

// Document is the content of a log.
type Document struct {
	Schema        string         `json:"schema"`
	Commands      int64          `json:"commands"` // of scripts too
	Unparsed      int64          `json:"unparsed"`
	Redisson      *Span          `json:"redisson"` // the releases that can have sent all commands of the clients of queues
	Queues        []*Queue       `json:"queues"`
	Anomalies     []*Anomaly     `json:"anomalies"` // examples of each kind
	AnomalyCounts map[Kind]int64 `json:"anomaly_counts"`
	Groups        []*Group       `json:"groups"` // distinct clients
	Clocks        []Clock        `json:"clocks"`
	From          string         `json:"from,omitempty"`
	To            string         `json:"to,omitempty"`
	Notices       []string       `json:"notices"`
	Stories       []*Story       `json:"stories,omitempty"` // of the messages that were asked for
}

// Queue is a delayed queue in the log. Offers took effect; Added were added without a script; Removed left otherwise than by a transfer.
type Queue struct {
	Name         string    `json:"name"`
	DB           int       `json:"db,omitempty"`
	Layout       string    `json:"layout"` // dLc0, Bc0Lc0, mixed or empty
	Offers       int64     `json:"offers"`
	Added        int64     `json:"added,omitempty"`
	Transfers    int64     `json:"transfers"`
	Transferred  int64     `json:"transferred"`
	Taken        int64     `json:"taken"`
	Removed      int64     `json:"removed"`
	StillPending int64     `json:"still_pending"`
	Lateness     *Lateness `json:"lateness_ms"`
}

// Lateness is the instant of the transfer minus the due time, by the server's clock, in ms.
type Lateness struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Clock is a host's clock by the server's, in ms.
type Clock struct {
	Host      string `json:"host"`
	AheadMs   int64  `json:"ahead_ms"`
	Transfers int64  `json:"transfers"`
}

// Story is the path of one message.
type Story struct {
	Queue  string  `json:"queue"`
	Value  string  `json:"value"`
	Events []Event `json:"events"`
}

// Event is a step of a message. MONITOR shows no line for a waiting client that was served.
type Event struct {
	At   string `json:"at"`
	What string `json:"what"`
	Line LineOf `json:"line"`
}

// Document ends the log and returns what all logs say, with the texts of lines that files still have.
func (a *Analysis) Document() *Document {
	a.End()
	d := &Document{
		Schema: Schema, Commands: a.commands, Unparsed: a.unparsed, Queues: []*Queue{}, Anomalies: a.anomalies(),
		AnomalyCounts: a.counts, Clocks: []Clock{}, Groups: []*Group{}, Notices: []string{}, Stories: a.stories,
	}
	if a.commands > 0 {
		d.From, d.To = timeText(a.first), timeText(a.latest)
	}
	for _, q := range a.queues {
		if q.Offers+q.Added+q.Transfers+q.Transferred+q.Removed+q.StillPending > 0 {
			d.Queues = append(d.Queues, q.document())
		}
	}
	slices.SortStableFunc(d.Queues, func(x, y *Queue) int { return cmp.Compare(y.Offers, x.Offers) })
	for _, h := range a.hosts {
		if h.Transfers > 0 {
			d.Clocks = append(d.Clocks, h.Clock)
		}
	}
	slices.SortFunc(d.Clocks, func(a, b Clock) int {
		return cmp.Or(cmp.Compare(b.Transfers, a.Transfers), strings.Compare(a.Host, b.Host))
	})
	d.Clocks = d.Clocks[:min(len(d.Clocks), 50)]
	if len(a.clients) > 0 {
		by, redisson := map[bool]releaseSet{true: anyRelease, false: anyRelease}, false
		for key := range a.clients {
			is := key.Client == ""
			by[is], redisson = by[is].and(key.by), redisson || is
		}
		d.Redisson, d.Groups = by[redisson].span(), a.groups()
	}
	a.notices(d)
	for _, anomaly := range d.Anomalies {
		for i := range anomaly.Lines {
			a.complete(&anomaly.Lines[i])
		}
	}
	for _, story := range d.Stories {
		for i := range story.Events {
			a.complete(&story.Events[i].Line)
		}
	}
	return d
}

// document is the queue with its layout and lateness.
func (q *queue) document() *Queue {
	for _, l := range []wire.Layout{wire.LayoutDLc0, wire.LayoutBc0Lc0} {
		if q.layouts[l] {
			q.Layout = map[bool]string{true: l.String(), false: "mixed"}[q.Layout == ""]
		}
	}
	if n := len(q.late); n > 0 {
		slices.Sort(q.late)
		ms := func(rank int) float64 { return float64(q.late[max(0, rank-1)]) / 1000 }
		q.Lateness = &Lateness{ms((n + 1) / 2), ms((99*n + 99) / 100), ms(n)}
	}
	return &q.Queue
}

func (a *Analysis) notices(d *Document) {
	notice := func(when bool, format string, args ...any) {
		if when && len(d.Notices) < 50 {
			d.Notices = append(d.Notices, fmt.Sprintf(format, args...))
		}
	}
	for _, g := range d.Groups {
		notice(len(g.Ranges) == 0, "no single release sends what %s sent", g.Peers[0])
	}
	others := slices.IndexFunc(d.Groups, func(g *Group) bool { return g.Client == "" }) < 0
	notice(others && len(d.Groups) > 0, "no Redisson was connected: other clients speak the wire format of these releases")
	notice(a.scriptCalls > 0 && a.scriptLines == 0, "the log has no command that a script made ([db lua]): offers and transfers cannot be counted; was it filtered?")
	notice(a.leftOut, "more than %d queues: the others were left out", maxQueues)
	notice(a.back, "times run backwards: the lines are not in the order of MONITOR, or the clock was set")
	notice(a.logs > 1, "%d logs, of which each was judged alone", a.logs)
	for _, q := range a.queues {
		notice(q.also != "", "queue %q has the same keys as %q: messages went to either list", q.Name, q.also)
		notice(q.unsure != "", "queue %q: what waits in it is not known after %s", q.Name, q.unsure)
	}
}

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
			p.Notes = append(p.Notes, fmt.Sprintf("clients: %s%s: %s, such as %s", of, rangesText(g.Ranges), text.Plural(g.Connections, "connection"), strings.Join(g.Peers[:min(2, len(g.Peers))], " and ")))
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
			lines = append(lines, strings.TrimSuffix(l.Place()+": "+l.Text, ": "))
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
			if cell.Raw, cell.Text = &ms, fmt.Sprintf("%.3g ms", ms); math.Abs(ms) >= 1_000 {
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
		return rangesText(d.Groups[0].Ranges)
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

// Place is the file of a line, if there are several, and its number.
func (l LineOf) Place() string {
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
	if a.Redact {
		shown = ""
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
	for _, m := range slices.Concat(s.removed, s.unlisted) {
		if m.value == hash(s.values[i]) {
			return m.story
		}
	}
	return nil
}

var storiesText = template.Must(template.New("").Funcs(template.FuncMap{"line": text.Line}).Parse(`
{{- range .Stories}}{{line .Queue}}  {{line .Value}}
{{range .Events}}    {{.At}}  {{.What}}{{if .Line.Number}}  ({{.Line.Place}}){{end}}
{{end}}{{else}}no message that was offered in this log has {{printf "%q" .Where}} in its value; MONITOR prints no replies, so values offered earlier are unknown
{{end}}`))

// WriteStories writes the paths of the messages that were asked for.
func (d *Document) WriteStories(w io.Writer, where string) error {
	return storiesText.Execute(w, map[string]any{"Stories": d.Stories, "Where": where})
}
