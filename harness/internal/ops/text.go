package ops

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/dq-bench/dq-bench/docs/spec"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/harness/internal/web"
	"github.com/dq-bench/dq-bench/internal/text"
)

// maxFine is how many queues without a finding the text lists.
const maxFine = 50

// files are the forms of texts, and the parts of the page.
//
//go:embed *.tmpl desk.*
var files embed.FS

// views are functions of the texts and of the page.
var views = map[string]any{
	"finding": Finding.text, "line": (*Queue).line, "message": Item.line, "item": Item.Line, "now": time.Now, "fields": func(i Item) (string, error) {
		fields, err := json.MarshalIndent(i, "", "  ")
		return string(fields), err
	},
	"parts":   func() []string { return Parts },
	"layouts": func() []string { return []string{"dLc0", "Bc0Lc0", "unreadable"} },
	"count":   text.Count, "plural": text.Plural, "name": text.Line, "base": filepath.Base,
	"wrap": text.Wrap, "ids": spec.IDs, "variant": variant, "add": func(a, b int) int { return a + b },
}

var forms = template.Must(template.New("").Funcs(views).ParseFS(files, "*.tmpl"))

// form is a form that is filled in.
func form(name string, data any) string {
	var b strings.Builder
	if err := forms.ExecuteTemplate(&b, name, data); err != nil {
		panic(err) // the form is part of the program
	}
	return b.String()
}

// Text is the look for people: the gravest queues first, in a line each, or in the long form.
func (l *Look) Text() string {
	shown := l.Queues
	if i := slices.IndexFunc(shown, func(q *Queue) bool { return q.State == Fine && q.Census == nil }); i >= 0 {
		shown = shown[:min(len(shown), i+maxFine)] // the others are fine, too
	}
	return text.Inert(form("doctor.tmpl", map[string]any{"Look": l, "Shown": shown, "More": int64(len(l.Queues) - len(shown))}))
}

// Notes name the missing parts.
func (l *Look) Notes() (all []string) {
	for _, u := range l.Unseen {
		all = append(all, "not seen: "+u)
	}
	if l.Partial != "" {
		all = append(all, "partial: "+l.Partial)
	}
	return all
}

// Title names the server.
func (l *Look) Title() string {
	s := l.Server
	return fmt.Sprintf("%s at %s, database %d, %s, %s", strings.TrimSpace(cmp.Or(s.Product, "server")+" "+s.Version), s.Address, s.Database, cmp.Or(s.Role, "role unknown"),
		l.At.Format("2006-01-02 15:04:05 MST"))
}

func (q *Queue) line(now time.Time) string {
	parts := []string{fmt.Sprintf("%s waiting", text.Count(q.Waiting))}
	for i, n := range []int64{q.Overdue, q.Ready, q.Ahead, q.Leased, q.Dead, q.Aside} {
		if n > 0 {
			parts = append(parts, text.Count(n)+" "+[]string{"overdue", "delivered, not taken", "taken ahead by a guard", "leased", "in dead letters", "set aside"}[i])
		}
	}
	if q.NextMS > 0 {
		parts = append(parts, "next in "+text.Span(q.NextMS-now.UnixMilli()))
	}
	listeners := "listeners unknown"
	if q.Listeners >= 0 {
		listeners = text.Plural(q.Listeners, "listener")
	}
	return fmt.Sprintf("%-7s %s  %s, %s", strings.ToUpper(string(q.State)), text.Line(q.Name), strings.Join(parts, ", "), listeners)
}

// text is a finding, and its command in a line of its own.
func (f Finding) text(of string) string {
	lead := fmt.Sprintf("  %-7s ", f.State)
	s := text.WrapAt(100, len(lead), lead, strings.TrimSpace(of+" "+f.Kind)+": "+f.Why)
	if f.Next != "" {
		s += fmt.Sprintf("  next    %s\n", f.Next)
	}
	return s
}

// line is a message in a line, without its part.
func (i Item) line(now time.Time) string {
	due, in := "never", int64(i.DueMS)-now.UnixMilli()
	switch {
	case i.Layout == "value":
		return strings.TrimSpace(fmt.Sprintf("%s  %s %s  %s", i.ID, i.Codec, i.Class, text.Inert(i.Value)))
	case isNever(i.DueMS):
	case in >= 0:
		due = "in " + text.Span(in)
	default:
		due = text.Span(-in) + " ago"
	}
	return strings.TrimSpace(fmt.Sprintf("%s  %s, %s, %s %s  %s", cmp.Or(i.ID, "(empty)"), due, i.Layout, i.Codec, i.Class, text.Inert(i.Value)))
}

// Page shows the look with a row for each finding and each queue.
func (l *Look) Page() report.Page {
	findings := report.Table{ID: "findings", Title: "Findings", Head: []string{"queue", "state", "kind", "why", "next"}, Words: 5, Wraps: true}
	queues := report.Table{ID: "queues", Title: "Queues", Head: []string{"queue", "waiting", "overdue", "delivered", "listeners"}, Words: 1}
	add := func(name string, all []Finding) {
		for _, f := range all {
			findings.Rows = append(findings.Rows, report.Row{Class: map[State]string{Red: "bad", Yellow: "open"}[f.State], Cells: []report.Cell{{Text: name}, {Text: string(f.State)}, {Text: f.Kind, Class: "pill"}, {Text: f.Why}, {Text: f.Next}}})
		}
	}
	add("the server", l.Findings)
	for _, q := range l.Queues {
		name := text.Line(q.Name)
		add(name, q.Findings)
		row := report.Row{Cells: []report.Cell{{Text: name}}}
		for _, n := range []int64{q.Waiting, q.Overdue, q.Ready, q.Listeners} {
			row.Cells = append(row.Cells, report.Cell{Text: fmt.Sprint(n), Raw: new(float64(n))})
		}
		queues.Rows = append(queues.Rows, row)
	}
	in := text.Plural(int64(len(l.Queues)), "queue")
	p := report.Page{
		Title: "Queues of " + l.Server.Address, State: "ok", Tag: "fine", Verdict: fmt.Sprintf("No red or yellow finding in %s.", in),
		Lead: []string{l.Title()}, Notes: l.Notes(), Tables: []report.Table{findings, queues},
	}
	if l.Red > 0 {
		p.State, p.Tag, p.Verdict = "bad", "red", fmt.Sprintf("Red findings: %d; examined: %s.", l.Red, in)
	} else if l.Yellow > 0 {
		p.State, p.Tag, p.Verdict = "open", "yellow", fmt.Sprintf("Yellow findings: %d, none red; examined: %s.", l.Yellow, in)
	}
	return p
}

// WriteMetrics writes the last look: a scrape asks no server. Before the first look it writes nothing.
func (d *Desk) WriteMetrics(w *web.Families) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.seen
	if l == nil && d.err == nil {
		return
	}
	all := func(name, help string, value float64) {
		w.Family("dq_queues"+name, web.Gauge, help)
		w.Sample(value)
	}
	if all("_up", "1 if the last look reached the server, else 0, and there is no other metric.", float64(web.Flag(d.err == nil))); d.err != nil {
		return
	}
	all("_last_seen_timestamp_seconds", "The last look, by the server's clock.", float64(l.At.UnixNano())/float64(time.Second))
	all("", "Queues.", float64(len(l.Queues)))
	each := func(name, help string, write func(q *Queue, sample func(value float64, labels ...string))) {
		w.Family("dq_queue_"+name, web.Gauge, help)
		for _, q := range l.Queues { // a label must be text, a key any bytes
			write(q, func(value float64, labels ...string) { w.Sample(value, append(labels, "queue", text.Valid(q.Name))...) })
		}
	}
	one := func(name, help string, value func(*Queue) float64) {
		each(name, help, func(q *Queue, sample func(float64, ...string)) { sample(value(q)) })
	}
	one("waiting_members", "Members of the timeout set.", func(q *Queue) float64 { return float64(q.Waiting) })
	one("listed_entries", "Entries of the pending list.", func(q *Queue) float64 { return float64(q.Listed) })
	one("delivered_values", "Values in the destination queue.", func(q *Queue) float64 { return float64(q.Ready) })
	one("delivered_still_seconds", "For how long the first delivered value has not moved; 0 if it moves.", func(q *Queue) float64 { return q.StillSeconds })
	one("overdue_members", "Members that have been due for more than a second.", func(q *Queue) float64 { return float64(q.Overdue) })
	one("overdue_seconds", "For how long the oldest overdue member has been due; 0 if no member is.", func(q *Queue) float64 { return float64(q.OldestMS) / 1000 })
	each("members", "Members by layout: of the first ones, or of all of a queue that was named.", func(q *Queue, sample func(float64, ...string)) {
		for layout, n := range q.Layouts {
			sample(float64(n), "layout", layout)
		}
	})
	one("ahead_members", "Members taken ahead by a guard.", func(q *Queue) float64 { return float64(q.Ahead) })
	one("leased_values", "Messages that Workers of dq hold.", func(q *Queue) float64 { return float64(q.Leased) })
	one("dead_letters", "Dead letters of Workers of dq.", func(q *Queue) float64 { return float64(q.Dead) })
	one("quarantined_members", "Members that were set aside.", func(q *Queue) float64 { return float64(q.Aside) })
	each("subscribers", "Subscriptions to the queue's channel; absent if unknown.", func(q *Queue, sample func(float64, ...string)) {
		if q.Listeners >= 0 {
			sample(float64(q.Listeners))
		}
	})
	each("findings", "Members or values of each finding; absent without one.", func(q *Queue, sample func(float64, ...string)) {
		for _, f := range q.Findings {
			sample(float64(f.Count), "kind", f.Kind, "state", string(f.State))
		}
	})
}

// WriteMetrics writes a sample for each queue.
func (g *Guard) WriteMetrics(w *web.Families) {
	queues := g.Counts()
	one := func(name, kind, help string, value func(GuardCounts) int64) {
		w.Family("dq_guard_"+name, kind, help)
		for _, q := range queues {
			w.Sample(float64(value(q)), "queue", q.Queue)
		}
	}
	one("delivered_messages_total", web.Counter, "Messages delivered.", func(q GuardCounts) int64 { return q.Delivered })
	one("delivered_before_total", web.Counter, "Messages not delivered again: a transfer that failed has delivered them.", func(q GuardCounts) int64 { return q.Before })
	one("ahead_members", web.Gauge, "Members that were taken ahead and are not due yet.", func(q GuardCounts) int64 { return q.Ahead })
	one("quarantined_members_total", web.Counter, "Unreadable members that were set aside.", func(q GuardCounts) int64 { return q.Aside })
	one("wakes_total", web.Counter, "Times that a Redisson which listens was woken.", func(q GuardCounts) int64 { return q.Woken })
	one("ahead", web.Gauge, "1 where members of both layouts wait and are taken out ahead, else 0.", func(q GuardCounts) int64 { return web.Flag(q.Mode == "ahead") })
	one("calls_total", web.Counter, "Scripts that were run.", func(q GuardCounts) int64 { return q.Calls })
	one("failed_calls_total", web.Counter, "Scripts that failed.", func(q GuardCounts) int64 { return q.FailedCalls })
	one("failing", web.Gauge, "1 if the last call failed, else 0.", func(q GuardCounts) int64 { return web.Flag(q.Error != "") })
}

// Progress reports how many messages were read or changed. A nil Progress reports nothing.
type Progress struct {
	Every time.Duration // at most
	say   func(format string, args ...any)
	last  time.Time
}

// NewProgress returns a Progress that speaks every two seconds.
func NewProgress(say func(format string, args ...any)) *Progress {
	return &Progress{2 * time.Second, say, time.Now()}
}

func (p *Progress) tell(queue string, n int, done string) {
	if p != nil && time.Since(p.last) >= p.Every {
		p.last = time.Now()
		p.say("queue %q: %d %s", queue, n, done)
	}
}
