package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// rowName names a row of a set.
func rowName(what string, i int, sets []compare.Set) string {
	if len(sets) == 1 {
		return what
	}
	return strings.TrimPrefix(what+", "+sets[i].Name, ", ")
}

// counts is the accounting of each set.
func counts(sets []compare.Set) Table {
	t := Table{ID: "counts", Title: "Counts", Head: []string{""}, Words: 1, Rows: make([]Row, len(sets))}
	for i, s := range sets {
		t.Rows[i].Cells = []Cell{{Text: s.Name}}
	}
	for _, c := range run.AllCounts {
		var cells []Cell
		any := !c.Rare
		for _, s := range sets {
			sum, _ := total(s)
			cells = append(cells, count(c.Of(sum), c.Effect != run.Harmless))
			any = any || c.Of(sum) > 0
		}
		if !any {
			continue
		}
		t.Head = append(t.Head, c.Title)
		for i := range sets {
			t.Rows[i].Cells = append(t.Rows[i].Cells, cells[i])
		}
	}
	if len(sets) == 1 {
		t.Head, t.Rows[0].Cells, t.Words = t.Head[1:], t.Rows[0].Cells[1:], 0
	}
	return t
}

// quantiles has a row for each histogram and set.
func quantiles(sets []compare.Set) Table {
	t := Table{ID: "quantiles", Title: "Quantiles", Head: []string{"", "min"}, Words: 1}
	if len(compare.All(sets)) > len(sets) {
		t.Head[0] = "all runs together"
	}
	for _, q := range run.Quantiles {
		t.Head = append(t.Head, run.QuantileName(q))
	}
	t.Head = append(t.Head, "max", "mean")
	var said []string
	few := false
	for _, d := range run.Distributions {
		if !slices.ContainsFunc(compare.All(sets), func(r *run.Document) bool { return d.Of(r.Histograms) != nil }) {
			continue
		}
		said = append(said, d.Name+": "+d.Help)
		for i, s := range sets {
			h := merged(s, d)
			row := Row{Cells: []Cell{{Text: rowName(d.Name, i, sets)}, quantile(h, 0)}}
			for _, q := range run.Quantiles {
				cell := quantile(h, q)
				few = few || cell.Class == "few"
				row.Cells = append(row.Cells, cell)
			}
			row.Cells = append(row.Cells, quantile(h, 1), duration(h, int64(h.Mean())))
			t.Rows = append(t.Rows, row)
		}
	}
	if few {
		t.Hint, t.Said = fmt.Sprintf("~ fewer than %d messages lie beyond this quantile", run.MinTail), true
	} else {
		t.Hint = title(strings.Join(said, "; ")) + "."
	}
	return t
}

// costs is the server's cost of a message: the median over the runs of a set.
func costs(sets []compare.Set) Table {
	of := func(unit string, of func(*run.Document) float64) func(compare.Set) Cell {
		return func(s compare.Set) Cell {
			median := s.Median(of)
			if math.IsNaN(median) {
				return Cell{}
			}
			return Cell{Text: plan.FormatFloat(median) + unit, Raw: &median}
		}
	}
	t := perSet("costs", "Cost on the server", sets, []row{
		{"transfer calls per message", of("", func(r *run.Document) float64 { return r.Figure("transfer_calls_per_message") })},
		{"commands per message", of("", func(r *run.Document) float64 { return r.Figure("commands_per_message") })},
		{"processor time per message", of(" µs", func(r *run.Document) float64 { return r.ServerCPUPerMessage() / 1e3 })},
	})
	t.Hint, t.PageOnly = "For each message, of all clients of the server; the median over the runs.", len(sets) == 1
	return t
}

// row is a line of a table with a column for each set.
type row struct {
	name string
	of   func(compare.Set) Cell // empty if a set lacks it
}

// perSet has the rows that any set has.
func perSet(id, title string, sets []compare.Set, rows []row) Table {
	t := Table{ID: id, Title: title, Head: []string{""}, Words: 1}
	for _, s := range sets {
		t.Head = append(t.Head, s.Name)
	}
	for _, r := range rows {
		line, there := Row{Cells: []Cell{{Text: strings.ReplaceAll(r.name, "_", " ")}}}, false
		for _, s := range sets {
			cell := r.of(s)
			there = there || cell.Text != ""
			line.Cells = append(line.Cells, cell)
		}
		if there {
			t.Rows = append(t.Rows, line)
		}
	}
	return t
}

// objectives has a row for each objective of a set: how many runs met it.
func objectives(sets []compare.Set) Table {
	t := Table{ID: "objectives", Title: "Objectives", Head: []string{"objective", "", "measured"}, Words: 2}
	for i, s := range sets {
		byExpr, order := map[string][]run.Objective{}, []string{}
		for _, r := range s.Runs {
			for _, o := range r.SLO {
				if byExpr[o.Expr] == nil {
					order = append(order, o.Expr)
				}
				byExpr[o.Expr] = append(byExpr[o.Expr], o)
			}
		}
		for _, expr := range order {
			results := byExpr[expr]
			slices.SortStableFunc(results, func(a, b run.Objective) int {
				return cmp.Compare(*cmp.Or(a.Actual, new(float64)), *cmp.Or(b.Actual, new(float64)))
			})
			met, actual := 0, []string{}
			for _, o := range results {
				if o.Met {
					met++
				}
				if text := o.ActualText(); !slices.Contains(actual, text) {
					actual = append(actual, text)
				}
			}
			state, text := "ok", "met"
			if met < len(results) {
				state, text = "bad", "MISSED"
			}
			if len(results) > 1 {
				text = fmt.Sprintf("met by %d of %d", met, len(results))
			}
			if results[0].Expected {
				expr += " (expected)"
			}
			t.Rows = append(t.Rows, Row{state, []Cell{{Text: rowName(expr, i, sets)}, {Text: text, Class: "pill"}, {Text: between(actual)}}})
		}
	}
	return t
}

// between names the first and the last of several values.
func between(values []string) string {
	if len(values) > 3 {
		return values[0] + " … " + values[len(values)-1] + fmt.Sprintf(" (%d values)", len(values))
	}
	return strings.Join(values, ", ")
}

// rates has a row for each rate of a ramp.
func rates(steps []run.RateStep) Table {
	t := Table{ID: "rates", Title: "Rates", Head: []string{"rate", "offered", "dropped", "past due p50", "p99", "server CPU"}}
	for _, s := range steps {
		p50, p99 := Cell{Text: "–"}, Cell{Text: "–"}
		if s.PastDueP99 > 0 {
			p50.Text, p99.Text = run.FormatNs(s.PastDueP50), run.FormatNs(s.PastDueP99)
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{{Text: plan.FormatFloat(s.Rate) + "/s"}, {Text: plan.FormatFloat(s.Offered) + "/s"}, count(s.Dropped, true), p50, p99, {Text: fmt.Sprintf("%.0f %%", 100*s.ServerCPU)}}})
	}
	return t
}

// faultTables says what was made to break, and what became of the messages.
func faultTables(f *run.Faults) Table {
	t := Table{ID: "faults", Title: "Faults", Head: []string{"fault", "from", "to", "times", "on time again", "may lose"}, Words: 1, Wraps: true, Said: true}
	if f == nil {
		return t
	}
	for _, e := range f.Events {
		t.Rows = append(t.Rows, Row{Cells: []Cell{
			{Text: e.Text}, {Text: fmt.Sprintf("%.3f s", e.From)}, {Text: fmt.Sprintf("%.3f s", e.To)}, {Text: strconv.Itoa(e.Times)}, {Text: e.ResumedText()}, {Text: e.MayLose},
		}})
	}
	t.Hint = fmt.Sprintf("%d offered, %d acknowledged, %d refused, %d uncertain of which %d came, %d lost, %d duplicate, %d early, %d postponed",
		f.Offered, f.Acknowledged, f.Refused, f.Uncertain, f.UncertainCame, f.Lost, f.Duplicate, f.Early, f.Postponed)
	return t
}

// runs lists the runs, if there are several.
func runs(sets []compare.Set) Table {
	t := Table{ID: "runs", Title: "Runs", Head: []string{"set", "started, UTC", "run", "verdict", "p50", "p99", "max", "wrong"}, Words: 4, PageOnly: true}
	late := lateOf(sets)
	for i, s := range sets {
		for _, r := range s.Runs {
			o := stateOf(r)
			h := late.Of(r.Histograms)
			_, wrong := total(compare.Set{Runs: []*run.Document{r}})
			t.Rows = append(t.Rows, Row{o.state, []Cell{
				{Text: s.Name, Class: fmt.Sprintf("c%d", i%mostSides)}, {Text: r.Started.UTC().Format(time.DateTime)}, {Text: r.RunID}, {Text: o.tag, Class: "pill"},
				quantile(h, .5), quantile(h, .99), quantile(h, 1), count(wrong, true),
			}})
		}
	}
	if len(t.Rows) < 2 {
		t.Rows = nil
	}
	return t
}

// runsAsData has a row for each run, as programs that read CSV want it: times in ns.
func runsAsData(sets []compare.Set) Table {
	t := Table{Head: []string{"time", "set", "run", "driver", "server", "verdict"}}
	for _, c := range run.AllCounts {
		t.Head = append(t.Head, c.Name)
	}
	histograms := run.Distributions[:5] // without cancellations
	for _, h := range histograms {
		for _, q := range run.Quantiles {
			t.Head = append(t.Head, h.Metric+"_"+run.QuantileName(q))
		}
	}
	t.Head = append(t.Head, "server_cpu_ns_per_message", "transfer_calls_per_message")
	for _, s := range sets {
		for _, r := range s.Runs {
			row := []Cell{{Text: r.Started.UTC().Format(time.RFC3339)}, {Text: s.Name}, {Text: r.RunID}, {Text: r.Driver.String()}, {Text: serverOf(r)}, {Text: stateOf(r).tag}}
			for _, c := range run.AllCounts {
				row = append(row, count(c.Of(r.Counts), false))
			}
			for _, d := range histograms {
				for _, q := range run.Quantiles {
					cell := Cell{}
					if h := d.Of(r.Histograms); h != nil && h.Count() > 0 {
						cell = duration(h, h.Quantile(q))
					}
					row = append(row, cell)
				}
			}
			cpu, calls := Cell{}, Cell{}
			if st := r.ServerStats; st != nil {
				calls.Raw = &st.TransferCallsPerMessage
				if ns := r.ServerCPUPerMessage(); !math.IsNaN(ns) {
					cpu.Raw = &ns
				}
			}
			t.Rows = append(t.Rows, Row{Cells: append(row, cpu, calls)})
		}
	}
	return t
}

// quantile is marked if fewer than ten messages lie beyond; 0 and 1 are minimum and maximum.
func quantile(h *run.Histogram, q float64) Cell {
	ns := h.Quantile(q)
	if q == 0 {
		ns = h.Min()
	}
	c := duration(h, ns)
	if q > 0 && q < 1 && h.Count() > 0 && !run.Bears(h.Count(), q) {
		c.Text, c.Class = "~"+c.Text, "few"
	}
	return c
}

func duration(h *run.Histogram, ns int64) Cell {
	if h.Count() == 0 {
		return Cell{Text: "–"}
	}
	v := float64(ns)
	return Cell{Text: minus(run.FormatNs(ns)), Raw: &v}
}

func count(n int64, wrong bool) Cell {
	v := float64(n)
	c := Cell{Text: strconv.FormatInt(n, 10), Raw: &v}
	if wrong && n > 0 {
		c.Class = "fault"
	}
	return c
}
