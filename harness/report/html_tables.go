package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// htmlFigure is one number: as text, and as Raw for programs that read the page.
type htmlFigure struct {
	Name string // such as side-0.lateness.p99
	Text string
	Raw  string
	Bad  bool // a number that should be 0
	Thin bool // too few messages beyond the quantile
}

// htmlTile is one key figure of all sides.
type htmlTile struct {
	Label, Hint string
	Rows        []htmlTileRow
}

type htmlTileRow struct {
	Side   *htmlSide
	Figure htmlFigure
}

// htmlQuantiles is the table of the three distributions.
type htmlQuantiles struct {
	Heads  []string
	Groups []htmlQuantileGroup
	Thin   bool
}

type htmlQuantileGroup struct {
	Name, Hint string
	Rows       []htmlQuantileRow
}

type htmlQuantileRow struct {
	Side    *htmlSide
	Figures []htmlFigure
}

func (v *htmlPage) setTables() {
	v.Tiles = tiles(v.Sides)
	v.Counts = countsTable(v.Sides)
	v.Quantile = quantilesTable(v.Sides)
	v.SLO = objectives(v.Sides)
	v.Config = configRows(v.Sides)
	v.Runs = runRows(v.Sides)
	for _, s := range v.Sides {
		for i, r := range s.Runs {
			for _, note := range r.Notes {
				v.Notes = append(v.Notes, strings.TrimPrefix(v.runName(s, i)+": "+note, ": "))
			}
		}
	}
}

// runName tells the run from the others of the page, if there are any.
func (v *htmlPage) runName(s *htmlSide, i int) string {
	name := s.shortName(len(v.Sides))
	if len(s.Runs) > 1 {
		name = strings.TrimSpace(name + " run " + strconv.Itoa(i+1))
	}
	return name
}

func timeFigureOf(name string, h *Histogram, ns int64) htmlFigure {
	if h.Count() == 0 {
		return htmlFigure{Name: name, Text: "–"}
	}
	return htmlFigure{Name: name, Text: htmlTime(ns), Raw: strconv.FormatInt(ns, 10)}
}

// htmlTime is FormatNs with a minus sign as wide as a plus.
func htmlTime(ns int64) string { return minus(FormatNs(ns)) }

// minus sets the signs of formatted numbers; a lone - stands for no number.
func minus(text string) string {
	if text == "-" {
		return "–"
	}
	return strings.ReplaceAll(text, "-", "−")
}

func countFigure(name string, n int64) htmlFigure {
	return htmlFigure{Name: name, Text: groupDigits(n), Raw: strconv.FormatInt(n, 10)}
}

func tiles(sides []*htmlSide) []htmlTile {
	quantile := func(q float64) func(*htmlSide) htmlFigure {
		return func(s *htmlSide) htmlFigure {
			f := timeFigureOf("", s.lateness(), s.lateness().Quantile(q))
			f.Thin = s.lateness().Count() > 0 && !Bears(s.lateness().Count(), q)
			return f
		}
	}
	all := []struct {
		label, hint string
		figure      func(*htmlSide) htmlFigure
	}{
		{"lateness p50", "half are later", quantile(.5)},
		{"lateness p99", "1 in 100 is later", quantile(.99)},
		{"lateness max", "the latest message", func(s *htmlSide) htmlFigure { return timeFigureOf("", s.lateness(), s.lateness().Max()) }},
		{"delivered", "of " + offeredText(sides) + " offered", func(s *htmlSide) htmlFigure { return countFigure("", s.Counts.Delivered) }},
		{"wrong", "lost, duplicate or early", func(s *htmlSide) htmlFigure {
			f := countFigure("", s.Counts.faults())
			f.Bad = s.Counts.faults() > 0
			return f
		}},
		{"transfer calls", "per message", callsFigure},
	}
	var out []htmlTile
	for _, t := range all {
		tile := htmlTile{Label: t.label, Hint: t.hint}
		for _, s := range sides {
			tile.Rows = append(tile.Rows, htmlTileRow{s, t.figure(s)})
		}
		out = append(out, tile)
	}
	return out
}

// offeredText is what the sides offered, once if they offered the same.
func offeredText(sides []*htmlSide) string {
	var texts []string
	for _, s := range sides {
		if text := groupDigits(s.Counts.Offered); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, " / ")
}

func callsFigure(s *htmlSide) htmlFigure {
	calls, ok := costs[0].median(s)
	if !ok {
		return htmlFigure{Text: "–"}
	}
	return htmlFigure{Text: trimFloat(calls), Raw: strconv.FormatFloat(calls, 'g', -1, 64)}
}

var countColumns = []struct {
	name  string
	value func(Counts) int64
	kind  countKind
}{
	{"offered", func(c Counts) int64 { return c.Offered }, 0},
	{"delivered", func(c Counts) int64 { return c.Delivered }, 0},
	{"lost", func(c Counts) int64 { return c.Lost }, fault},
	{"duplicate", func(c Counts) int64 { return c.Duplicate }, fault},
	{"early", func(c Counts) int64 { return c.Early }, fault},
	{"pending", func(c Counts) int64 { return c.Pending }, 0},
	{"of it not due", func(c Counts) int64 { return c.NotDue }, rare},
	{"removed", func(c Counts) int64 { return c.Removed }, rare},
	{"revived", func(c Counts) int64 { return c.Revived }, rare | fault},
	{"offer errors", func(c Counts) int64 { return c.OfferErrors }, rare | fault},
	{"foreign", func(c Counts) int64 { return c.Foreign }, rare | fault},
}

// countKind says how a count is shown.
type countKind int

const (
	fault countKind = 1 << iota // red unless it is 0
	rare                        // left out where all sides have 0
)

// htmlCounts is the accounting of every side.
type htmlCounts struct {
	Heads []string
	Rows  []htmlQuantileRow
}

func countsTable(sides []*htmlSide) htmlCounts {
	t := htmlCounts{Rows: make([]htmlQuantileRow, len(sides))}
	for _, c := range countColumns {
		var figures []htmlFigure
		sum := int64(0)
		for _, s := range sides {
			n := c.value(s.Counts)
			f := countFigure(s.Token+".counts."+strings.ReplaceAll(c.name, " ", "_"), n)
			f.Bad = c.kind&fault != 0 && n > 0
			figures, sum = append(figures, f), sum+n
		}
		if c.kind&rare != 0 && sum == 0 {
			continue
		}
		t.Heads = append(t.Heads, c.name)
		for i, s := range sides {
			t.Rows[i].Side, t.Rows[i].Figures = s, append(t.Rows[i].Figures, figures[i])
		}
	}
	return t
}

func quantilesTable(sides []*htmlSide) htmlQuantiles {
	t := htmlQuantiles{Heads: []string{"min"}}
	for _, q := range Quantiles {
		t.Heads = append(t.Heads, QuantileName(q))
	}
	t.Heads = append(t.Heads, "max", "mean")
	hints := map[string]string{
		"lateness": "delivered − due", "offer RTT": "how long an offer took", "schedule lag": "actual − intended send instant",
		"remove RTT": "how long a removal took",
	}
	var names []string
	for _, s := range sides {
		for _, row := range s.histograms {
			if !slices.Contains(names, row.name) {
				names = append(names, row.name)
			}
		}
	}
	for _, name := range names {
		group := htmlQuantileGroup{Name: name, Hint: hints[name]}
		key := strings.ToLower(strings.ReplaceAll(name, " ", "_"))
		for _, s := range sides {
			r := htmlQuantileRow{Side: s, Figures: quantileFigures(s.Token+"."+key, s.histogram(name))}
			for _, f := range r.Figures {
				t.Thin = t.Thin || f.Thin
			}
			group.Rows = append(group.Rows, r)
		}
		t.Groups = append(t.Groups, group)
	}
	return t
}

func quantileFigures(key string, h *Histogram) []htmlFigure {
	figures := []htmlFigure{timeFigureOf(key+".min", h, h.Min())}
	for _, q := range Quantiles {
		f := timeFigureOf(key+"."+QuantileName(q), h, h.Quantile(q))
		f.Thin = h.Count() > 0 && !Bears(h.Count(), q)
		figures = append(figures, f)
	}
	return append(figures, timeFigureOf(key+".max", h, h.Max()), timeFigureOf(key+".mean", h, int64(h.Mean())))
}

// htmlObjective is one objective of one side over its runs.
type htmlObjective struct {
	Side         *htmlSide
	Expr, Actual string
	State, Text  string
}

func objectives(sides []*htmlSide) []htmlObjective {
	var out []htmlObjective
	for _, s := range sides {
		byExpr := map[string][]Objective{}
		var order []string
		for _, r := range s.Runs {
			for _, o := range r.SLO {
				if byExpr[o.Expr] == nil {
					order = append(order, o.Expr)
				}
				byExpr[o.Expr] = append(byExpr[o.Expr], o)
			}
		}
		for _, expr := range order {
			out = append(out, newHTMLObjective(s, byExpr[expr]))
		}
	}
	return out
}

func newHTMLObjective(s *htmlSide, results []Objective) htmlObjective {
	o := htmlObjective{Side: s, Expr: results[0].Expr, State: "ok", Text: "met"}
	if results[0].Expected {
		o.Expr += " (expected)"
	}
	met := 0
	for _, r := range results {
		if r.Met {
			met++
		}
	}
	if met < len(results) {
		o.State, o.Text = "bad", "missed"
	}
	if len(results) > 1 {
		o.Text = fmt.Sprintf("met by %d of %d", met, len(results))
	}
	low := slices.MinFunc(results, byActual)
	high := slices.MaxFunc(results, byActual)
	o.Actual = low.actualText()
	if high.actualText() != o.Actual {
		o.Actual += " … " + high.actualText()
	}
	return o
}

// byActual sorts what was not measured first.
func byActual(a, b Objective) int {
	if a.Actual == nil || b.Actual == nil {
		return cmp.Compare(boolInt(a.Actual != nil), boolInt(b.Actual != nil))
	}
	return cmp.Compare(*a.Actual, *b.Actual)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// htmlComparison sets one side against another.
type htmlComparison struct {
	Old, New *htmlSide
	Text     string
	Rows     []htmlComparisonRow
}

// htmlComparisonRow is one judged or shown figure of a comparison.
type htmlComparisonRow struct {
	Name, Old, New, Shift, Change, Interval, Chance string
	Outcome, State                                  string
	First                                           bool // of its histogram
}

func comparisonRows(c *Comparison) []htmlComparisonRow {
	var rows []htmlComparisonRow
	for i, row := range c.Rows {
		rows = append(rows, htmlComparisonRow{
			Name: strings.Replace(strings.ReplaceAll(row.Histogram, "_", " "), "rtt", "RTT", 1) + " " + row.Stat,
			Old:  htmlTime(int64(row.Old)), New: htmlTime(int64(row.New)),
			Shift: minus(signed(row.Shift)), Change: minus(row.changeText()), Interval: minus(row.intervalText()), Chance: minus(row.chanceText()),
			Outcome: string(row.Outcome), State: outcomeState(row.Outcome),
			First: i == 0 || c.Rows[i-1].Histogram != row.Histogram,
		})
	}
	return rows
}

// htmlRun is one run in the list of all.
type htmlRun struct {
	Side                       *htmlSide
	Started, ID, Verdict       string
	State                      string
	P50, P99, Max, Calls, Lost string
}

// runRows lists the runs where there are several.
func runRows(sides []*htmlSide) []htmlRun {
	var rows []htmlRun
	for _, s := range sides {
		for _, r := range s.Runs {
			h := r.Histograms.Lateness
			row := htmlRun{
				Side: s, Started: r.Started.UTC().Format(time.DateTime), ID: r.RunID, Verdict: r.Verdict.Text, State: "bad",
				P50: minus(orDash(h, h.Quantile(.5))), P99: minus(orDash(h, h.Quantile(.99))), Max: minus(orDash(h, h.Max())), Calls: "–",
				Lost: groupDigits(r.Counts.faults()),
			}
			if r.Verdict.Passed {
				row.State = "ok"
			}
			if r.ServerStats != nil {
				row.Calls = trimFloat(r.ServerStats.TransferCallsPerMessage)
			}
			rows = append(rows, row)
		}
	}
	if len(rows) < 2 {
		return nil
	}
	return rows
}
