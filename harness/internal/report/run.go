package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// OfRun is the page of one run.
func OfRun(r *run.Document) Page {
	return OfSets(Result{Sets: []compare.Set{{Name: r.Driver.String(), Runs: []*run.Document{r}}}})
}

// Result is runs of several sets side by side.
type Result struct {
	Sets []compare.Set
	// Comparisons judge sets against the first one: the i-th judges set i+1. Empty if the sets were not compared.
	Comparisons []*compare.Comparison
	// Verdicts has the verdicts of the runs count beside the comparisons.
	Verdicts bool
	// Interrupted says how many of the planned runs were made; empty if all were.
	Interrupted string
	// Quantiles are the quantiles of the table; run.Quantiles if nil.
	Quantiles []float64
}

// mostSides is how many sets have a colour of their own.
const mostSides = 8

// OfSets is the page of runs side by side.
func OfSets(r Result) Page {
	sets := called(r)
	p := Page{Tiles: tiles(sets), Charts: runCharts(drawn(sets)), Data: runsAsData(sets)}
	o := r.outcome()
	p.State, p.Tag, p.Verdict = o.state, o.tag, o.text
	p.Title = strings.Join(setNames(sets), " against ") + " · " + p.Tag
	p.Lead, p.Banners = lead(sets), banners(sets)
	if r.Interrupted != "" {
		p.Banners = append(p.Banners, Banner{false, "Interrupted.", r.Interrupted + "."})
	}
	for i, c := range r.Comparisons {
		name := ""
		if len(r.Comparisons) > 1 {
			name = sets[i+1].Name
		}
		p.compared(c, name)
	}
	p.Tables = append(p.Tables, counts(sets), quantiles(sets, r.Quantiles), costs(sets), objectives(sets))
	if len(sets) == 1 && len(sets[0].Runs) == 1 {
		if climb := rateChart(sets[0].Runs[0]); len(climb.X) > 0 {
			p.Charts = append([]Chart{climb}, p.Charts...)
		}
		p.Tables = append(p.Tables, rates(sets[0].Runs[0]), faultTables(sets[0].Runs[0].Faults))
	}
	p.Tables = append(p.Tables, machines(sets), configuration(sets), runs(sets))
	p.Tables = slices.DeleteFunc(p.Tables, func(t Table) bool { return len(t.Rows) == 0 })
	for _, r := range allRuns(sets) {
		for _, note := range r.Notes {
			if !slices.Contains(p.Notes, note) {
				p.Notes = append(p.Notes, note)
			}
		}
	}
	return p
}

// called names two compared sets BASE and NEW, and leaves out the runs that were not compared.
func called(r Result) []compare.Set {
	sets := slices.Clone(r.Sets)
	for i, c := range r.Comparisons {
		if judged := c.Judged(); len(judged) == 2 {
			sets[0].Runs, sets[i+1].Runs = judged[0].Runs, judged[1].Runs
		}
	}
	if len(r.Comparisons) == 1 && len(sets) == 2 {
		sets[0].Name, sets[1].Name = "BASE "+sets[0].Name, "NEW "+sets[1].Name
	}
	return sets
}

// drawn are the sets whose runs are drawn: of more than have colours the first and the last.
func drawn(sets []compare.Set) []compare.Set {
	if len(sets) > mostSides {
		return []compare.Set{sets[0], sets[len(sets)-1]}
	}
	return sets
}

func setNames(sets []compare.Set) (names []string) {
	for _, s := range sets {
		names = append(names, s.Name)
	}
	if n := len(names); n > 4 {
		return []string{names[0], fmt.Sprintf("%d others", n-2), names[n-1]}
	}
	return names
}

// lead says what ran where, and what was asked for.
func lead(sets []compare.Set) (lines []string) {
	var shared []string
	for i, s := range sets {
		r := s.Runs[0]
		text := s.Name
		if name, _, _ := strings.Cut(s.Name, " "); s.Name != r.Driver.String() && !strings.Contains(s.Name, r.Driver.String()) && name != "" {
			text += " (" + r.Driver.String() + ")"
		}
		text += " on " + serverOf(r)
		if len(s.Runs) > 1 {
			text += ", " + compare.CountRuns(len(s.Runs))
		}
		if len(sets) <= mostSides || i == 0 || i == len(sets)-1 {
			lines = append(lines, text)
		}
		q := r.Scenario
		own := []string{
			fmt.Sprintf("%d producers, %d consumers, %s msg/s for %s, delay %s, payload %d B", q.Producers, q.Consumers, run.FormatFloat(q.Rate), q.Duration, q.Delay, q.PayloadSize),
			more(r), q.ScaleText(), measured(r), warmup(r.Warmup), labelsOf(r),
		}
		if len(sets) == 1 && len(s.Runs) == 1 {
			own[0] += fmt.Sprintf(", queue %q", q.Queue)
		}
		if i == 0 {
			shared = own
		}
		shared = slices.DeleteFunc(shared, func(line string) bool { return line == "" || !slices.Contains(own, line) })
	}
	return append(lines, shared...)
}

func measured(r *run.Document) string {
	text := ""
	switch r.Measured {
	case run.OverProtocol:
		text = "measured over the protocol: each figure holds the way to the program and back"
	case run.InProgram:
		text = "measured in the program: no figure holds the way there"
	}
	if r.Agents > 0 {
		text = strings.TrimPrefix(text+"; made by "+plural(int64(r.Agents), "agent"), "; ")
	}
	return text
}

// warmup says how a warm-up without a fixed length went.
func warmup(w *run.Warmup) string {
	switch {
	case w == nil || w.Fixed:
		return ""
	case w.Warm:
		return fmt.Sprintf("warm after %.0f s", w.Seconds)
	}
	return fmt.Sprintf("not warm after %.0f s", w.Seconds)
}

// rare are the settings that not every run has.
var rare = []string{"ramp", "queues", "poll", "work", "cancel", "horizon", "drain_limit", "fleet"}

// more lists them.
func more(r *run.Document) string {
	var parts []string
	if name := r.Scenario.Name; name != "" {
		parts = append(parts, "scenario "+name)
	}
	for _, f := range settings {
		text := f.of(r)
		if steps := strings.Split(text, ", "); f.name == "ramp" && r.Scenario.Climb {
			first, _, _ := strings.Cut(steps[0], " for ")
			highest, _, _ := strings.Cut(steps[len(steps)-1], " for ")
			text = fmt.Sprintf("%s..%s in %d steps", first, highest, len(steps))
		}
		if slices.Contains(rare, f.name) && text != "" {
			parts = append(parts, strings.NewReplacer("_", " ", "ramp", "rate").Replace(f.name)+" "+text)
		}
	}
	return strings.Join(parts, "; ")
}

func banners(sets []compare.Set) (all []Banner) {
	for _, s := range sets {
		if slices.ContainsFunc(s.Runs, func(r *run.Document) bool { return r.Server != nil && r.Server.Embedded }) {
			all = append(all, Banner{true, "EMBEDDED server.", s.Name + " ran on an imitation of Redis inside dq-bench. The figures say nothing about a real server."})
		}
	}
	return all
}

func serverOf(r *run.Document) string {
	if r.Server == nil {
		return "no server"
	}
	return strings.TrimSpace(r.Server.Product+" "+r.Server.Version) + " (" + r.Server.How + ")"
}

func labelsOf(r *run.Document) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(r.Labels)) {
		all = append(all, key+"="+r.Labels[key])
	}
	return strings.Join(all, " ")
}

// total adds up the counts of a set, and the messages that were treated wrongly. Of a run that lasts, what is pending may
// still come.
func total(s compare.Set) (sum run.Counts, wrong int64) {
	for _, r := range s.Runs {
		sum = sum.Plus(r.Counts)
		if r.Verdict.Text == "" {
			wrong += r.Counts.Faults() + r.Counts.OfferErrors
		} else {
			wrong += r.Wrong()
		}
	}
	return sum, wrong
}

// tiles are the key figures.
func tiles(sets []compare.Set) []Tile {
	sets = drawn(sets)
	late, name := lateOf(sets)
	name = strings.ToLower(name)
	tile := func(label, hint string, of func(compare.Set) Cell) Tile {
		t := Tile{Label: label, Hint: hint}
		for i, s := range sets {
			c := of(s)
			if len(sets) == 1 {
				i = -1
			}
			t.Values = append(t.Values, TileValue{i, short(s.Name), c.Text, c.Class})
		}
		return t
	}
	at := func(q float64) func(compare.Set) Cell {
		return func(s compare.Set) Cell { return quantile(merged(s, late), q) }
	}
	return []Tile{
		tile(name+" p50", "half are later", at(.5)), tile(name+" p99", "1 in 100 is later", at(.99)), tile(name+" max", "the latest message", at(1)),
		tile("delivered", "messages", func(s compare.Set) Cell { sum, _ := total(s); return count(sum.Delivered, false) }),
		tile("wrong", "lost, twice, early, overdue, refused", func(s compare.Set) Cell { _, wrong := total(s); return count(wrong, true) }),
		tile("by the machine", "of the latest messages came late in a hiccup of the machine", func(s compare.Set) Cell {
			held, of, text := int64(0), int64(0), "–"
			for _, r := range s.Runs {
				if r.Machine != nil && r.Machine.Late != nil {
					held, of, text = held+r.Machine.Late.InHiccups, of+r.Machine.Late.Messages, "none late"
				}
			}
			if of > 0 {
				text = fmt.Sprintf("%d of %d", held, of)
			}
			return Cell{Text: text}
		}),
	}
}

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
			cells = append(cells, count(c.Of(sum), c.Effect.Wrong()))
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

var hints = map[string]string{
	"lateness": "delivered − due", "past due": "delivered − the score in Redis", "response time": "confirmed − intended send instant",
	"offer RTT": "how long an offer took", "schedule lag": "actual − intended send instant", "remove RTT": "how long a removal took",
}

// quantiles has a row for each histogram and set.
func quantiles(sets []compare.Set, of []float64) Table {
	if of == nil {
		of = run.Quantiles
	}
	t := Table{ID: "quantiles", Title: "Quantiles", Head: []string{"", "min"}, Words: 1}
	for _, q := range of {
		t.Head = append(t.Head, run.QuantileName(q))
	}
	t.Head = append(t.Head, "max", "mean")
	var names, said []string
	for _, s := range sets {
		for _, r := range s.Runs {
			for _, h := range r.Histograms.Rows() {
				if !slices.Contains(names, h.Name) {
					names, said = append(names, h.Name), append(said, h.Name+": "+hints[h.Name])
				}
			}
		}
	}
	few := false
	for _, name := range names {
		for i, s := range sets {
			h := merged(s, strings.ToLower(strings.ReplaceAll(name, " ", "_")))
			row := Row{Cells: []Cell{{Text: rowName(name, i, sets)}, quantile(h, 0)}}
			for _, q := range of {
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
			var values []float64
			for _, r := range s.Runs {
				if r.ServerStats != nil {
					values = append(values, of(r))
				}
			}
			if values == nil {
				return Cell{}
			}
			median := compare.Median(values)
			return Cell{Text: run.FormatFloat(median) + unit, Raw: &median}
		}
	}
	each := func(n float64, r *run.Document) float64 { return n / float64(max(r.Counts.Delivered, 1)) }
	t := perSet("costs", "Cost on the server", sets, []row{
		{"transfer calls per message", of("", func(r *run.Document) float64 { return r.ServerStats.TransferCallsPerMessage })},
		{"commands per message", of("", func(r *run.Document) float64 { return each(float64(r.ServerStats.Commands), r) })},
		{"processor time per message", of(" µs", func(r *run.Document) float64 { return each(1e6*r.ServerStats.CPUSeconds, r) })},
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
			met := 0
			var actual []string
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
func rates(r *run.Document) Table {
	t := Table{ID: "rates", Title: "Rates", Head: []string{"rate", "offered", "dropped", "past due p50", "p99", "server CPU"}}
	for _, s := range r.RateSteps() {
		p50, p99 := Cell{Text: "–"}, Cell{Text: "–"}
		if s.PastDueP99 > 0 {
			p50.Text, p99.Text = run.FormatNs(s.PastDueP50), run.FormatNs(s.PastDueP99)
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{{Text: fmt.Sprintf("%.4g/s", s.Rate)}, {Text: fmt.Sprintf("%.4g/s", s.Offered)}, count(s.Dropped, true), p50, p99, {Text: fmt.Sprintf("%.0f %%", 100*s.ServerCPU)}}})
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
	late, _ := lateOf(sets)
	for i, s := range sets {
		for _, r := range s.Runs {
			o := stateOf(r)
			h := r.Histograms.Histogram(late)
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

// runsAsData has a row for each run, as programs that read CSV want it: times in ns, the instant in seconds since 1970.
func runsAsData(sets []compare.Set) Table {
	t := Table{Head: []string{"time", "set", "run", "driver", "server", "verdict"}}
	for _, c := range run.AllCounts {
		t.Head = append(t.Head, c.Name)
	}
	histograms := []string{"lateness", "past_due", "offer_rtt", "response_time", "schedule_lag"}
	for _, h := range histograms {
		for _, q := range run.Quantiles {
			t.Head = append(t.Head, h+"_"+run.QuantileName(q))
		}
	}
	t.Head = append(t.Head, "server_cpu_ns_per_message", "transfer_calls_per_message")
	for _, s := range sets {
		for _, r := range s.Runs {
			at := float64(r.Started.Unix())
			row := []Cell{{Raw: &at}, {Text: s.Name}, {Text: r.RunID}, {Text: r.Driver.String()}, {Text: serverOf(r)}, {Text: stateOf(r).tag}}
			for _, c := range run.AllCounts {
				row = append(row, count(c.Of(r.Counts), false))
			}
			for _, name := range histograms {
				for _, q := range run.Quantiles {
					cell := Cell{}
					if h := r.Histograms.Histogram(name); h != nil && h.Count() > 0 {
						cell = duration(h, h.Quantile(q))
					}
					row = append(row, cell)
				}
			}
			cpu, calls := Cell{}, Cell{}
			if st := r.ServerStats; st != nil {
				ns := 1e9 * st.CPUSeconds / float64(max(r.Counts.Delivered, 1))
				cpu, calls = Cell{Raw: &ns}, Cell{Raw: &st.TransferCallsPerMessage}
			}
			t.Rows = append(t.Rows, Row{Cells: append(row, cpu, calls)})
		}
	}
	return t
}

// quantile is marked if fewer than ten messages lie beyond; 0 and 1 are minimum and maximum.
func quantile(h *run.Histogram, q float64) Cell {
	ns := h.Quantile(q)
	switch q {
	case 0:
		ns = h.Min()
	case 1:
		ns = h.Max()
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
