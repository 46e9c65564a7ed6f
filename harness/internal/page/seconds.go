package page

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/compare/stats"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// mostSteps is how many points a line over time has at most: a longer run is
// shown in steps of several seconds.
const mostSteps = 600

// stepOf is how many seconds one point stands for, so that the longest run fits.
func stepOf(sides []Side) int64 {
	last := int64(1)
	for _, s := range sides {
		for _, r := range s.Runs {
			for _, i := range r.Intervals {
				last = max(last, int64(i.Second))
			}
		}
	}
	return (last + mostSteps - 1) / mostSteps
}

func stepText(step int64) string {
	if step == 1 {
		return "second"
	}
	return fmt.Sprintf("%d seconds", step)
}

// moment is one second of a run, or a step of several.
type moment struct {
	second             float64 // its end, since the start of the measured phase
	offered, delivered int64   // a second
	pending            int64   // at its end
	late               quantiles
}

// timeline returns the intervals of r in steps, the last and shorter one joined
// to the second it ends in: counts as rates per second, pending at the end, the
// p50 that half of the messages had at most, the greatest p99 and max.
func timeline(r *run.Document, late latency, step int64) []moment {
	steps := map[int64][]moment{}
	for _, i := range r.Intervals {
		second := int64(math.Round(i.Second))
		end := (second + step - 1) / step * step
		steps[end] = append(steps[end], moment{i.Second, i.Offered, i.Delivered, i.Pending, late.second(i)})
	}
	line := make([]moment, 0, len(steps))
	for _, end := range slices.Sorted(maps.Keys(steps)) {
		line = append(line, joinSeconds(steps[end], end, step))
	}
	return line
}

func joinSeconds(seconds []moment, end, step int64) moment {
	all := moment{second: float64(end), pending: seconds[len(seconds)-1].pending}
	for _, m := range seconds {
		all.offered += m.offered
		if m.delivered > 0 {
			if all.delivered == 0 {
				all.late = m.late
			}
			all.late.p99, all.late.max = max(all.late.p99, m.late.p99), max(all.late.max, m.late.max)
			all.delivered += m.delivered
		}
	}
	slices.SortFunc(seconds, func(a, b moment) int { return cmp.Compare(a.late.p50, b.late.p50) })
	half := all.delivered
	for _, m := range seconds {
		if half -= 2 * m.delivered; half <= 0 && m.delivered > 0 {
			all.late.p50 = m.late.p50
			break
		}
	}
	all.offered, all.delivered = roundUp(all.offered, step), roundUp(all.delivered, step)
	return all
}

// roundUp keeps a rate that is not zero from becoming it.
func roundUp(n, step int64) int64 { return (n + step - 1) / step }

// medianLine is the median over the runs, for each figure of each step.
func medianLine(lines [][]moment) []moment {
	if len(lines) == 1 {
		return lines[0]
	}
	steps := map[float64][]moment{}
	for _, line := range lines {
		for _, m := range line {
			steps[m.second] = append(steps[m.second], m)
		}
	}
	var out []moment
	for _, second := range slices.Sorted(maps.Keys(steps)) {
		runs := steps[second]
		delivering := slices.DeleteFunc(slices.Clone(runs), func(m moment) bool { return m.delivered == 0 })
		out = append(out, moment{
			second:    second,
			offered:   medianOf(runs, func(m moment) int64 { return m.offered }),
			delivered: medianOf(runs, func(m moment) int64 { return m.delivered }),
			pending:   medianOf(runs, func(m moment) int64 { return m.pending }),
			late: quantiles{
				p50: medianOf(delivering, func(m moment) int64 { return m.late.p50 }),
				p99: medianOf(delivering, func(m moment) int64 { return m.late.p99 }),
				max: medianOf(delivering, func(m moment) int64 { return m.late.max }),
			},
		})
	}
	return out
}

func medianOf(moments []moment, value func(moment) int64) int64 {
	if len(moments) == 0 {
		return 0
	}
	values := make([]float64, 0, len(moments))
	for _, m := range moments {
		values = append(values, float64(value(m)))
	}
	return int64(stats.Median(values))
}

func medianRemark(sides []*sideView) string {
	for _, s := range sides {
		if len(s.Runs) > 1 {
			return " Strong lines are the median over the runs of a side, faint ones its single runs."
		}
	}
	return ""
}

func lastSecond(sides []*sideView) float64 {
	last := 0.0
	for _, s := range sides {
		for _, line := range s.lines {
			if len(line) > 0 {
				last = max(last, line[len(line)-1].second)
			}
		}
	}
	return last
}

// timeFigure is one column of a table over time.
type timeFigure struct {
	name string
	text func(moment) string
}

func timeTable(sides []*sideView, x *axis, figures []timeFigure) chartTable {
	t := chartTable{Corner: "second"}
	rows := map[float64][]string{}
	for column, s := range sides {
		for _, f := range figures {
			t.Heads = append(t.Heads, tableHead{s.Token + " kind-" + f.name, s.Class, strings.TrimSpace(s.shortName(len(sides)) + " " + f.name)})
		}
		for _, m := range s.line {
			if rows[m.second] == nil {
				rows[m.second] = make([]string, len(sides)*len(figures))
			}
			for k, f := range figures {
				rows[m.second][column*len(figures)+k] = f.text(m)
			}
		}
	}
	for _, second := range slices.Sorted(maps.Keys(rows)) {
		t.Rows = append(t.Rows, tableRow{X: x.at(second), Label: fmt.Sprintf("%g s", second), Cells: rows[second]})
	}
	return t
}

// flowChart is what was offered and delivered in each second.
func flowChart(sides []*sideView) chart {
	c := chart{
		ID: "flow", Title: "Offered and delivered", XLabel: "since the start of the measured phase",
		Caption: "Messages per second." + medianRemark(sides), Alt: "Messages offered and delivered per second. " + countWords(sides),
		Kinds: []toggle{{"kind-offered", "offered", "offered"}, {"kind-delivered", "delivered", "delivered"}},
	}
	offered := func(m moment) int64 { return m.offered }
	delivered := func(m moment) int64 { return m.delivered }
	high := max(highest(sides, offered), highest(sides, delivered))
	v := chartView{X: secondsAxis(lastSecond(sides)), Y: countAxis(high), Zero: -1}
	v.Marks = offerEnds(sides, v.X)
	for _, s := range sides {
		v.addCounts(s, "delivered", delivered)
		v.Lines = append(v.Lines, chartLine{s.Token + " kind-offered", s.Class + " offered", v.linePath(countPoints(s.line, offered))})
	}
	c.Views = []chartView{v}
	c.Table = timeTable(sides, v.X, []timeFigure{
		{"offered", func(m moment) string { return groupDigits(m.offered) }},
		{"delivered", func(m moment) string { return groupDigits(m.delivered) }},
	})
	return c
}

// pendingChart is what the queue held at the end of each second.
func pendingChart(sides []*sideView, step int64) chart {
	pending := func(m moment) int64 { return m.pending }
	c := chart{
		ID: "pending", Title: "Pending", XLabel: "since the start of the measured phase",
		Caption: "Messages offered and not yet delivered, at the end of each " + stepText(step) + "." + medianRemark(sides),
		Alt:     "Messages pending over time. " + countWords(sides),
	}
	v := chartView{X: secondsAxis(lastSecond(sides)), Y: countAxis(highest(sides, pending)), Zero: -1}
	v.Marks = offerEnds(sides, v.X)
	for _, s := range sides {
		v.Lines = append(v.Lines, chartLine{s.Token, s.Class + " area", v.areaPath(countPoints(s.line, pending))})
		v.addCounts(s, "pending", pending)
	}
	c.Views = []chartView{v}
	c.Table = timeTable(sides, v.X, []timeFigure{{"pending", func(m moment) string { return groupDigits(m.pending) }}})
	return c
}

// addCounts draws the single runs of a side faintly and its median.
func (v *chartView) addCounts(s *sideView, kind string, value func(moment) int64) {
	if len(s.lines) > 1 {
		for _, line := range s.lines {
			v.Lines = append(v.Lines, chartLine{s.Token + " kind-" + kind + " runs", s.Class + " run", v.linePath(countPoints(line, value))})
		}
	}
	v.Lines = append(v.Lines, chartLine{s.Token + " kind-" + kind, s.Class + " " + kind, v.linePath(countPoints(s.line, value))})
}

func countPoints(line []moment, value func(moment) int64) []point {
	points := make([]point, 0, len(line))
	for _, m := range line {
		points = append(points, point{x: m.second, y: float64(value(m))})
	}
	return points
}

func highest(sides []*sideView, value func(moment) int64) float64 {
	high := int64(0)
	for _, s := range sides {
		for _, line := range s.lines {
			for _, m := range line {
				high = max(high, value(m))
			}
		}
	}
	return float64(high)
}

func countWords(sides []*sideView) string {
	var words []string
	for _, s := range sides {
		words = append(words, fmt.Sprintf("%s: %d offered, %d delivered, %d pending at the end.",
			s.Name, s.Counts.Offered, s.Counts.Delivered, s.Counts.Pending))
	}
	return strings.Join(words, " ")
}
