package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/text"
)

// OfComparison is the page of two sets or more: the verdict, a forest plot of the judged figures, and the runs.
func OfComparison(c *compare.Comparison) Page {
	sets := c.Judged()
	if len(sets) == 2 {
		r := Result{Sets: make([]compare.Set, 2), Comparisons: []*compare.Comparison{c}}
		for i := range sets {
			r.Sets[i] = compare.Set{Name: c.Sets[i].Driver, Runs: sets[i].Runs}
		}
		return OfSets(r)
	}
	p := OfSets(Result{Sets: []compare.Set{sets[0], sets[len(sets)-1]}})
	p.State, p.Tag, p.Verdict = stateOfOutcome(c.Outcome), string(c.Outcome), c.Text
	p.Title, p.Data = strings.Join(setNames(sets), ", ")+" · "+p.Tag, runsAsData(sets)
	p.Lead = slices.Insert(p.Lead, 1, text.Plural(int64(len(sets)-2), "set")+" between them")
	p.compared(c, "")
	p.Headline[0].Title = fmt.Sprintf("%s against %s", sets[len(sets)-1].Name, sets[0].Name)
	p.Headline[0].Hint += fmt.Sprintf(" Two sets are judged from %d runs each.", compare.MinRuns)
	p.Charts = append(trackCharts(c), p.Charts...)
	p.Tables = append([]Table{changeTable(c), levels(c)}, p.Tables...)
	p.Tables[len(p.Tables)-1] = runs(sets)
	return p
}

// compared shows a comparison on a page, under the name of its last set if the page has several.
func (p *Page) compared(c *compare.Comparison, name string) {
	p.Headline = append(p.Headline, forest(c, name))
	if p.Next == "" {
		p.Next = c.Next
	}
	prefix := strings.TrimPrefix(name+": ", ": ")
	for _, left := range c.LeftOut {
		p.Banners = append(p.Banners, Banner{false, "Left out.", prefix + left + "."})
	}
	for _, note := range c.Notes {
		p.Banners = append(p.Banners, Banner{false, "Note.", prefix + note + "."})
	}
	if c.Paired {
		p.Banners = append(p.Banners, Banner{false, "Pairs.", prefix + "Each run was made beside a run of the other set; the pairs are compared."})
	}
	if c.Reference != "" {
		p.Banners = append(p.Banners, Banner{false, "Reference.", prefix + "Figures are compared by their ratios to the runs of " + c.Reference + " beside them."})
	}
}

// forest has a row for each judged figure: its change, the interval of the change, and the band of changes that do not matter.
func forest(c *compare.Comparison, name string) Table {
	t := Table{
		ID: "compared", Title: "What changed", Words: 1, Head: []string{"medians of runs", "change", "", "95 % interval", "", "BASE", "NEW", "p"},
		Hint: "BASE and NEW are medians over the runs. The change is the Hodges–Lehmann estimate from the pairs of runs, not their quotient. The bar is its 95 % interval, the grey band changes that do not matter. p is adjusted by Holm for all figures, the interval is not.",
	}
	if name != "" {
		t.ID, t.Title = t.ID+"-"+Slug(name), "What changed: "+name
	}
	widest := .1
	for _, r := range c.Rows {
		if r.Ratio != nil && r.Ratio.Low != nil {
			widest = max(widest, math.Abs(math.Log(*r.Ratio.Low)), math.Abs(math.Log(*r.Ratio.High)))
		}
	}
	widest = min(widest*1.1, math.Log(4))
	t.Scale = []string{minus(fmt.Sprintf("%+.0f %%", 100*(math.Exp(-widest)-1))), "0", fmt.Sprintf("%+.0f %%", 100*(math.Exp(widest)-1))}
	for _, r := range c.Rows {
		change, interval := r.Change()
		t.Rows = append(t.Rows, Row{stateOfOutcome(r.Outcome), []Cell{
			{Text: r.Figure}, {Text: change}, {Interval: drawnInterval(r, widest)}, {Text: cmp.Or(interval, "–")}, {Text: string(r.Outcome), Class: "pill"},
			{Text: minus(run.FormatNs(int64(r.Old))), Raw: &r.Old}, {Text: minus(run.FormatNs(int64(r.New))), Raw: &r.New}, {Text: chance(r.P), Raw: &r.P},
		}})
	}
	return t
}

// Slug makes an id of a name.
func Slug(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
}

func chance(p float64) string {
	if p < .001 {
		return "<0.001"
	}
	return fmt.Sprintf("%.3f", p)
}

// drawnInterval is on a logarithmic scale, no change in the middle.
func drawnInterval(r compare.Row, widest float64) *Interval {
	at := func(ratio float64) float64 {
		return math.Round(1e3*min(max(50+50*math.Log(max(ratio, 1e-9))/widest, 0), 100)) / 1e3
	}
	if r.Ratio == nil || r.Old <= 0 {
		return &Interval{50, 50, 50, 50, 50}
	}
	floor := r.Floor / r.Old
	i := &Interval{at(r.Ratio.Value), at(r.Ratio.Value), at(r.Ratio.Value), at(1 / (1 + floor)), at(1 + floor)}
	if r.Ratio.Low != nil {
		i.Low, i.High = at(*r.Ratio.Low), at(*r.Ratio.High)
	}
	return i
}

// changeTable lists where a figure became greater or less.
func changeTable(c *compare.Comparison) Table {
	t := Table{ID: "changes", Title: "Changes", Head: []string{"since", "figure", "", "before", "after", "times", "p"}, Words: 3}
	for _, track := range c.Tracks {
		for _, change := range track.Changes {
			times := "–"
			if change.Before > 0 {
				times = fmt.Sprintf("%.3g×", change.After/change.Before)
			}
			t.Rows = append(t.Rows, Row{stateOfOutcome(change.Outcome), []Cell{
				{Text: change.Since}, {Text: track.Figure}, {Text: string(change.Outcome), Class: "pill"},
				{Text: track.Text(change.Before)}, {Text: track.Text(change.After)}, {Text: times}, {Text: chance(change.P)},
			}})
		}
	}
	return t
}

// levels has the median of each set. A terminal has room for a few figures, a page for all.
func levels(c *compare.Comparison) Table {
	t := Table{ID: "levels", Title: "Medians", Head: []string{"set", "runs"}, Words: 1}
	if c.Reference != "" {
		t.Hint, t.Said = "Ratios to "+c.Reference+".", true
	}
	shown := slices.DeleteFunc(slices.Clone(c.Tracks), func(t *compare.Track) bool {
		return t.Unit != "share" && len(t.Changes) == 0 && !slices.ContainsFunc([]string{"p50", "p99", "per message"}, func(end string) bool { return strings.HasSuffix(t.Figure, end) })
	})
	shown = shown[:min(len(shown), 5)]
	for _, track := range shown {
		t.Head = append(t.Head, strings.NewReplacer("response time", "response", " per message", "", "server ", "").Replace(track.Figure))
	}
	for i, s := range c.Sets {
		row := Row{Cells: []Cell{{Text: s.Name}, count(int64(s.Runs), false)}}
		for _, track := range shown {
			cell := Cell{Text: "–"}
			if v := track.Level(i, i+1); !math.IsNaN(v) {
				cell = Cell{Text: track.Text(v), Raw: &v}
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
