package analysis

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/report"
)

// Page shows the document.
func (d *Document) Page() report.Page {
	p := report.Page{
		Title: "MONITOR log · " + d.AnomaliesText(), State: "ok", Tag: "fine", Verdict: d.AnomaliesText(), Notes: d.Notices,
		Lead: []string{"Redisson " + redissonText(d), countText(d)},
	}
	if len(d.Anomalies) > 0 {
		p.State, p.Tag = "bad", "anomalies"
	}
	if d.From != "" {
		p.Lead = append(p.Lead, d.From+" to "+d.To)
	}
	for _, g := range d.Groups {
		p.Notes = append(p.Notes, "clients "+groupText(g))
	}
	for _, c := range d.Clocks {
		p.Notes = append(p.Notes, "clock of "+hostClockText(c))
	}
	anomalies := report.Table{ID: "anomalies", Title: "Anomalies", Head: []string{"kind", "queue", "at", "seen"}, Words: 4, Wraps: true}
	for _, a := range d.Anomalies {
		var lines []string
		for _, l := range a.Lines {
			lines = append(lines, strings.TrimSuffix(placeOf(l)+": "+l.Text, ": "))
		}
		anomalies.Rows = append(anomalies.Rows, report.Row{Class: "bad", Cells: []report.Cell{
			{Text: string(a.Kind), Class: "pill"}, {Text: a.Queue}, {Text: a.At}, {Text: a.Detail, Pre: strings.Join(lines, "\n")},
		}})
	}
	queues := report.Table{
		ID: "queues", Title: "Queues", Head: []string{"queue", "layout", "offered", "transfers", "transferred", "taken", "removed", "pending", "late p50", "p99", "max"}, Words: 2,
		Hint: "Late is the instant of the transfer − the due time, by the server's clock; the due time is corrected by how far the clock of the client that offered the message was ahead of it. Due times are whole milliseconds.",
	}
	p.Tables = []report.Table{queues, anomalies}
	for _, q := range d.Queues {
		p.Tables[0].Rows = append(p.Tables[0].Rows, queueRow(q))
	}
	return p
}

func queueRow(q *Queue) report.Row {
	cells := []report.Cell{{Text: queueName(q)}, {Text: cmp.Or(q.Layout, "not seen")}}
	for _, n := range []int64{q.Offers, q.Transfers, q.Transferred, q.Taken, q.Removed, q.StillPending} {
		v := float64(n)
		cells = append(cells, report.Cell{Text: fmt.Sprint(n), Raw: &v})
	}
	for _, of := range []func(*Lateness) float64{func(l *Lateness) float64 { return l.P50 }, func(l *Lateness) float64 { return l.P99 }, func(l *Lateness) float64 { return l.Max }} {
		cell := report.Cell{Text: "–"}
		if q.Lateness != nil {
			ms := of(q.Lateness)
			cell = report.Cell{Text: msText(ms), Raw: &ms}
		}
		cells = append(cells, cell)
	}
	return report.Row{Cells: cells}
}
