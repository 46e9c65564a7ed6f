package page

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// figure is one number: as text, and as Raw for programs that read the page.
type figure struct {
	Name string // such as side-0.lateness.p99
	Text string
	Raw  string
	Bad  bool // a number that should be 0
	Thin bool // too few messages beyond the quantile
}

// tile is one key figure of all sides.
type tile struct {
	Label, Hint string
	Rows        []tileRow
}

type tileRow struct {
	Side   *sideView
	Figure figure
}

// quantilesView is the table of the three distributions.
type quantilesView struct {
	Heads  []string
	Groups []quantileGroup
	Thin   bool
}

type quantileGroup struct {
	Name, Hint string
	Rows       []quantileRow
}

type quantileRow struct {
	Side    *sideView
	Figures []figure
}

func (v *pageView) setTables() {
	v.Tiles = tiles(v.Sides)
	v.Counts = countsTable(v.Sides)
	v.Quantile = quantilesTable(v.Sides)
	v.SLO = objectives(v.Sides)
	v.Config = configRows(v.Sides)
	v.Runs = runRows(v.Sides)
	for _, s := range v.Sides {
		for i, r := range s.all {
			for _, note := range r.Notes {
				v.Notes = append(v.Notes, strings.TrimPrefix(v.runName(s, i)+": "+note, ": "))
			}
		}
	}
}

// runName tells the run from the others of the page, if there are any.
func (v *pageView) runName(s *sideView, i int) string {
	name := s.shortName(len(v.Sides))
	if len(s.all) > 1 {
		name = strings.TrimSpace(name + " run " + strconv.Itoa(i+1))
	}
	return name
}

func timeFigureOf(name string, h *run.Histogram, ns int64) figure {
	if h.Count() == 0 {
		return figure{Name: name, Text: "–"}
	}
	return figure{Name: name, Text: timeText(ns), Raw: strconv.FormatInt(ns, 10)}
}

// timeText is FormatNs with a minus sign as wide as a plus.
func timeText(ns int64) string { return minus(run.FormatNs(ns)) }

// minus sets the signs of formatted numbers; a lone - stands for no number.
func minus(text string) string {
	if text == "-" {
		return "–"
	}
	return strings.ReplaceAll(text, "-", "−")
}

func countFigure(name string, n int64) figure {
	return figure{Name: name, Text: groupDigits(n), Raw: strconv.FormatInt(n, 10)}
}

func tiles(sides []*sideView) []tile {
	quantile := func(q float64) func(*sideView) figure {
		return func(s *sideView) figure {
			f := timeFigureOf("", s.late(), s.late().Quantile(q))
			f.Thin = s.late().Count() > 0 && !run.Bears(s.late().Count(), q)
			return f
		}
	}
	late := sides[0].latency.name
	all := []struct {
		label, hint string
		figure      func(*sideView) figure
	}{
		{late + " p50", "half are later", quantile(.5)},
		{late + " p99", "1 in 100 is later", quantile(.99)},
		{late + " max", "the latest message", func(s *sideView) figure { return timeFigureOf("", s.late(), s.late().Max()) }},
		{"delivered", "of " + offeredText(sides) + " offered", func(s *sideView) figure { return countFigure("", s.Counts.Delivered) }},
		{"wrong", "lost, twice, early, overdue or refused", func(s *sideView) figure {
			n := int64(0)
			for _, r := range s.Runs {
				n += wrong(r)
			}
			f := countFigure("", n)
			f.Bad = n > 0
			return f
		}},
		{"transfer calls", "per message", callsFigure},
	}
	var out []tile
	for _, t := range all {
		tile := tile{Label: t.label, Hint: t.hint}
		for _, s := range sides {
			tile.Rows = append(tile.Rows, tileRow{s, t.figure(s)})
		}
		out = append(out, tile)
	}
	return out
}

// wrong counts as the list of runs does. Of a run that lasts, which has no verdict, what is pending may
// still come.
func wrong(r *run.Document) int64 {
	if r.Verdict.Text == "" {
		return r.Counts.Faults() + r.Counts.OfferErrors
	}
	return r.Wrong()
}

// offeredText is what the sides offered, once if they offered the same.
func offeredText(sides []*sideView) string {
	var texts []string
	for _, s := range sides {
		if text := groupDigits(s.Counts.Offered); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, " / ")
}

func callsFigure(s *sideView) figure {
	calls, ok := costs[0].median(s)
	if !ok {
		return figure{Text: "–"}
	}
	return figure{Text: run.FormatFloat(calls), Raw: strconv.FormatFloat(calls, 'g', -1, 64)}
}

// countsView is the accounting of every side.
type countsView struct {
	Heads []string
	Rows  []quantileRow
}

func countsTable(sides []*sideView) countsView {
	t := countsView{Rows: make([]quantileRow, len(sides))}
	for _, c := range run.AllCounts {
		var figures []figure
		sum := int64(0)
		for _, s := range sides {
			n := c.Of(s.Counts)
			f := countFigure(s.Token+".counts."+strings.ReplaceAll(c.Title, " ", "_"), n)
			f.Bad = c.Effect.Wrong() && n > 0
			figures, sum = append(figures, f), sum+n
		}
		if c.Rare && sum == 0 {
			continue
		}
		t.Heads = append(t.Heads, c.Title)
		for i, s := range sides {
			t.Rows[i].Side, t.Rows[i].Figures = s, append(t.Rows[i].Figures, figures[i])
		}
	}
	return t
}

func quantilesTable(sides []*sideView) quantilesView {
	t := quantilesView{Heads: []string{"min"}}
	for _, q := range run.Quantiles {
		t.Heads = append(t.Heads, run.QuantileName(q))
	}
	t.Heads = append(t.Heads, "max", "mean")
	hints := map[string]string{
		"lateness": "delivered − due", "past due": "delivered − the score in Redis", "response time": "confirmed − intended send instant",
		"offer RTT": "how long an offer took", "schedule lag": "actual − intended send instant",
		"remove RTT": "how long a removal took",
	}
	var names []string
	for _, s := range sides {
		for _, row := range s.histograms {
			if !slices.Contains(names, row.Name) {
				names = append(names, row.Name)
			}
		}
	}
	for _, name := range names {
		group := quantileGroup{Name: name, Hint: hints[name]}
		key := strings.ToLower(strings.ReplaceAll(name, " ", "_"))
		for _, s := range sides {
			r := quantileRow{Side: s, Figures: quantileFigures(s.Token+"."+key, s.histogram(name))}
			for _, f := range r.Figures {
				t.Thin = t.Thin || f.Thin
			}
			group.Rows = append(group.Rows, r)
		}
		t.Groups = append(t.Groups, group)
	}
	return t
}

func quantileFigures(key string, h *run.Histogram) []figure {
	figures := []figure{timeFigureOf(key+".min", h, h.Min())}
	for _, q := range run.Quantiles {
		f := timeFigureOf(key+"."+run.QuantileName(q), h, h.Quantile(q))
		f.Thin = h.Count() > 0 && !run.Bears(h.Count(), q)
		figures = append(figures, f)
	}
	return append(figures, timeFigureOf(key+".max", h, h.Max()), timeFigureOf(key+".mean", h, int64(h.Mean())))
}

// objectiveView is one objective of one side over its runs.
type objectiveView struct {
	Side         *sideView
	Expr, Actual string
	State, Text  string
}

func objectives(sides []*sideView) []objectiveView {
	var out []objectiveView
	for _, s := range sides {
		byExpr := map[string][]run.Objective{}
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
			out = append(out, newObjectiveView(s, byExpr[expr]))
		}
	}
	return out
}

func newObjectiveView(s *sideView, results []run.Objective) objectiveView {
	o := objectiveView{Side: s, Expr: results[0].Expr, State: "ok", Text: "met"}
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
	o.Actual = low.ActualText()
	if high.ActualText() != o.Actual {
		o.Actual += " … " + high.ActualText()
	}
	return o
}

// byActual sorts what was not measured first.
func byActual(a, b run.Objective) int {
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

// comparisonView sets one side against another.
type comparisonView struct {
	Old, New *sideView
	Text     string
	Rows     []comparisonRow
}

// comparisonRow is one judged or shown figure of a comparison.
type comparisonRow struct {
	Name, Old, New, Shift, Change, Interval, Chance string
	Outcome, State                                  string
	First                                           bool // of its histogram
}

func comparisonRows(c *compare.Comparison) []comparisonRow {
	var rows []comparisonRow
	for i, row := range c.Rows {
		rows = append(rows, comparisonRow{
			Name: strings.Replace(strings.ReplaceAll(row.Histogram, "_", " "), "rtt", "RTT", 1) + " " + row.Stat,
			Old:  timeText(int64(row.Old)), New: timeText(int64(row.New)),
			Shift: minus(signed(row.Shift)), Change: minus(changeText(row)), Interval: minus(intervalText(row)), Chance: minus(ChanceText(row)),
			Outcome: string(row.Outcome), State: outcomeState(row.Outcome),
			First: i == 0 || c.Rows[i-1].Histogram != row.Histogram,
		})
	}
	return rows
}

// runRow is one run in the list of all.
type runRow struct {
	Side                       *sideView
	Started, ID, Verdict       string
	State, Outcome             string
	P50, P99, Max, Calls, Lost string
}

// runRows lists the runs where there are several.
func runRows(sides []*sideView) []runRow {
	var rows []runRow
	for _, s := range sides {
		for _, r := range s.all {
			h := s.latency.histogram(r.Histograms)
			row := runRow{
				Side: s, Started: r.Started.UTC().Format(time.DateTime), ID: r.RunID, Verdict: r.Verdict.Text,
				P50: minus(orDash(h, h.Quantile(.5))), P99: minus(orDash(h, h.Quantile(.99))), Max: minus(orDash(h, h.Max())), Calls: "–",
				Lost: groupDigits(wrong(r)),
			}
			row.State, row.Outcome = stateOf(r)
			if !slices.Contains(s.Runs, r) {
				row.Outcome += ", not compared"
			}
			if r.ServerStats != nil {
				row.Calls = run.FormatFloat(r.ServerStats.TransferCallsPerMessage)
			}
			rows = append(rows, row)
		}
	}
	if len(rows) < 2 {
		return nil
	}
	return rows
}
