package cli

import (
	"fmt"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/forensics/inspect"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/internal/text"
)

// inspectionPage shows an inspection: the findings, a row for each queue, and the long form of each on demand.
func inspectionPage(i *inspect.Inspection) report.Page {
	p := report.Page{
		Title: "Queues of " + i.Server.Address, State: "ok", Tag: "fine", Verdict: fmt.Sprintf("No anomaly in %d queues.", len(i.Queues)), Notes: i.Uncertain,
		Lead: []string{fmt.Sprintf("%s %s at %s, %s", i.Server.Product, i.Server.Version, i.Server.Address, i.At.UTC().Format("2006-01-02 15:04:05.000 MST"))},
	}
	if i.Anomalies > 0 {
		p.State, p.Tag, p.Verdict = "bad", "anomalies", fmt.Sprintf("Anomalies found: %d, in %d queues.", i.Anomalies, len(i.Queues))
	}
	findings := report.Table{ID: "findings", Title: "Findings", Head: []string{"queue", "kind", "finding"}, Words: 3, Wraps: true}
	queues := report.Table{ID: "queues", Title: "Queues", Head: []string{"queue", "waiting", "overdue", "delivered, not taken", "ghosts", "orphans", "subscribers", "all"}, Words: 1, Wraps: true}
	for _, q := range i.Queues {
		name := text.Line(q.Name)
		row := report.Row{Cells: []report.Cell{{Text: name}}}
		for _, n := range []int64{q.Counts.TimeoutSet, q.Overdue.Count, q.Counts.Destination, int64(q.Counts.Ghosts), int64(q.Counts.Orphans), int64(q.Subscribers.Count)} {
			v := float64(n)
			row.Cells = append(row.Cells, report.Cell{Text: fmt.Sprint(n), Raw: &v})
		}
		queues.Rows = append(queues.Rows, report.Row{Cells: append(row.Cells, report.Cell{Text: "show", Pre: strings.TrimSpace(text.Inert(q.Text()))})})
		for _, f := range q.Findings {
			state := "open"
			if f.Anomaly {
				state = "bad"
			}
			findings.Rows = append(findings.Rows, report.Row{Class: state, Cells: []report.Cell{{Text: name}, {Text: f.Kind, Class: "pill"}, {Text: strings.TrimSpace(f.What + ". " + f.Do)}}})
		}
	}
	p.Tables = []report.Table{findings, queues}
	return p
}
