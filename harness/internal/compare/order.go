package compare

import (
	"fmt"
	"slices"

	"github.com/dq-bench/dq-bench/harness/internal/compare/stats"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

const notInTurn = "the sides were not measured in turn (as 'dq-bench run' with both drivers does)"

// checkOrder looks at when the runs were made. Sides that took turns had the same hours;
// one that came after the other may differ by the hour alone, so a trend within a side
// then takes the judgement back. One that came first in sitting after sitting is warned of.
func (c *Comparison) checkOrder(old, new []*run.Document) {
	if c.Outcome != Better && c.Outcome != Worse && c.Outcome != NoDifference {
		return
	}
	if _, p := stats.MannWhitney(starts(old), starts(new)); p > significance {
		if text := firstInSittings(old, new); text != "" && old[0].Beside == nil {
			c.Warnings = append(c.Warnings, notInTurn+": "+text+", so what differs may be what a sitting does to its later runs: a machine that warms, or whose first run is a cold one")
		}
		return
	}
	const warning = notInTurn + ", so what differs may be the hour"
	if trends := c.trends(old, new); len(trends) > 0 {
		if c.faults == "" {
			c.Outcome = Inconclusive
			c.Text = "Inconclusive: " + warning + ", for from run to run " + trends[0] + ". Otherwise: " + c.Text
			return
		}
	}
	c.Warnings = append(c.Warnings, warning+"; no side rises or falls from run to run")
}

// trends says which judged figures of a side rise or fall from run to run, by Kendall's
// test, adjusted for their number.
func (c *Comparison) trends(old, new []*run.Document) []string {
	var texts []string
	var p []float64
	for _, side := range []struct {
		name string
		runs []*run.Document
	}{{"OLD", old}, {"NEW", new}} {
		inOrder := byStart(side.runs)
		for i := range c.Rows {
			row := &c.Rows[i]
			if row.P == nil {
				continue
			}
			s, chance := stats.Kendall(row.figure.values(inOrder))
			way := "rises"
			if s < 0 {
				way = "falls"
			}
			texts, p = append(texts, fmt.Sprintf("%s of %s %s", row.name(), side.name, way)), append(p, chance)
		}
	}
	var trends []string
	for i, chance := range stats.Holm(p) {
		if chance <= significance {
			trends = append(trends, texts[i])
		}
	}
	return trends
}

// starts are when runs were made, in seconds.
func starts(runs []*run.Document) []float64 {
	var at []float64
	for _, r := range runs {
		at = append(at, float64(r.Started.UnixMilli())/1000)
	}
	return at
}

// byStart returns the runs in the order in which they were made.
func byStart(runs []*run.Document) []*run.Document {
	inOrder := slices.Clone(runs)
	slices.SortStableFunc(inOrder, func(a, b *run.Document) int { return a.Started.Compare(b.Started) })
	return inOrder
}
