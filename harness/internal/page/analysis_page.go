package page

import (
	"cmp"
	"fmt"
	"html/template"
	"io"

	"github.com/dq-bench/dq-bench/harness/internal/analysis"
)

var analysisStyle = style + readAsset("analysis.css")

// analysisView is everything that the template of an analysis shows.
type analysisView struct {
	Style                    template.CSS // ours alone
	State, StateTag, Verdict string
	Lead, Groups, Notes      []string
	Queues                   []queueRow
	Drawn                    []livesView
	Anomalies                []*analysis.Anomaly
}

type queueRow struct {
	Name          string
	Q             *analysis.Queue
	P50, P99, Max string
}

// livesView draws the lives of a queue's messages, a row of rowHeight for each.
type livesView struct {
	Name, Caption string
	Height        int
	Bars          []bar
	Axis          *axis
}

// bar is a part of a life; X and Width are in thousandths of the drawing.
type bar struct {
	Class    string
	X, Width float64
	Y        int
	Title    string
}

const rowHeight = 5

// WriteAnalysis writes a page with the result of an analysis and a timeline of the messages. It needs no
// network and runs no script.
func WriteAnalysis(w io.Writer, d *analysis.Document) error {
	v := analysisView{
		Style: template.CSS(analysisStyle), State: "ok", StateTag: "fine", Verdict: AnomaliesText(d),
		Notes: d.Notices, Anomalies: d.Anomalies,
	}
	if len(d.Anomalies) > 0 {
		v.State, v.StateTag = "bad", "anomalies"
	}
	v.Lead = append(v.Lead, "Redisson "+redissonText(d), countText(d))
	if d.From != "" {
		v.Lead = append(v.Lead, d.From+" to "+d.To)
	}
	for _, g := range d.Groups {
		v.Groups = append(v.Groups, groupText(g))
	}
	for _, c := range d.Clocks {
		v.Notes = append(v.Notes, "clock of "+hostClockText(c))
	}
	for _, q := range d.Queues {
		v.Queues = append(v.Queues, rowOf(q))
		if len(q.Lives) > 0 {
			v.Drawn = append(v.Drawn, drawLives(q))
		}
	}
	if err := layout.ExecuteTemplate(w, "analysis.tmpl", v); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

func rowOf(q *analysis.Queue) queueRow {
	row := queueRow{Name: queueName(q), Q: q, P50: "–", P99: "–", Max: "–"}
	if l := q.Lateness; l != nil {
		row.P50, row.P99, row.Max = msText(l.P50), msText(l.P99), msText(l.Max)
	}
	return row
}

func drawLives(q *analysis.Queue) livesView {
	begin, end := q.Lives[0].Offered, q.Lives[0].Ended
	for _, l := range q.Lives {
		begin, end = min(begin, l.Offered), max(end, l.Ended)
	}
	span := max(float64(end-begin), 1)
	v := livesView{
		Name: queueName(q), Height: rowHeight * len(q.Lives), Axis: secondsAxis(span / 1e6),
		Caption: fmt.Sprintf("%s of %d.", plural(int64(len(q.Lives)), "message"), q.Offers+q.Added),
	}
	// The axis shows a second at least.
	scale := 1000 / max(span, 1e6)
	for row, l := range q.Lives {
		part := func(class string, from, to int64, title string) {
			if to > from {
				v.Bars = append(v.Bars, bar{
					Class: class, X: scale * float64(from-begin), Width: max(scale*float64(to-from), 1), Y: row * rowHeight, Title: title,
				})
			}
		}
		moved := cmp.Or(l.Transferred, l.Removed, l.Ended)
		title := fmt.Sprintf("line %d", l.Line)
		if l.Transferred > 0 {
			title += fmt.Sprintf(": moved %s after it was due", msText(float64(l.Transferred-l.Due)/1000))
		}
		due := max(l.Offered, min(l.Due, moved))
		part("waits", l.Offered, due, title)
		part("late", due, moved, title)
		if l.Transferred > 0 {
			part("ready", l.Transferred, max(cmp.Or(l.Taken, l.Ended), l.Transferred+1), title)
		}
		if l.Removed > 0 && l.Transferred == 0 {
			part("removed", l.Removed, l.Removed+1, title+": removed")
		}
	}
	return v
}
