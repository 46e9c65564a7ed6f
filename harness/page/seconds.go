package page

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/compare/stats"
	"github.com/dq-bench/dq-bench/harness/run"
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

// timeline returns the intervals of r in steps, the last and shorter one joined
// to the second it ends in: counts as rates per second, pending at the end, the
// p50 that half of the messages had at most, the greatest p99 and max.
func timeline(r *run.Document, step int64) []run.Interval {
	steps := map[int64][]run.Interval{}
	for _, i := range r.Intervals {
		second := int64(math.Round(i.Second))
		end := (second + step - 1) / step * step
		steps[end] = append(steps[end], i)
	}
	line := make([]run.Interval, 0, len(steps))
	for _, end := range slices.Sorted(maps.Keys(steps)) {
		line = append(line, joinSeconds(steps[end], end, step))
	}
	return line
}

func joinSeconds(seconds []run.Interval, end, step int64) run.Interval {
	all := run.Interval{Second: float64(end), Pending: seconds[len(seconds)-1].Pending}
	for _, i := range seconds {
		all.Offered += i.Offered
		if i.Delivered > 0 {
			if all.Delivered == 0 {
				all.P99, all.Max = i.P99, i.Max
			}
			all.P99, all.Max = max(all.P99, i.P99), max(all.Max, i.Max)
			all.Delivered += i.Delivered
		}
	}
	slices.SortFunc(seconds, func(a, b run.Interval) int { return cmp.Compare(a.P50, b.P50) })
	half := all.Delivered
	for _, i := range seconds {
		if half -= 2 * i.Delivered; half <= 0 && i.Delivered > 0 {
			all.P50 = i.P50
			break
		}
	}
	all.Offered, all.Delivered = roundUp(all.Offered, step), roundUp(all.Delivered, step)
	return all
}

// roundUp keeps a rate that is not zero from becoming it.
func roundUp(n, step int64) int64 { return (n + step - 1) / step }

// medianLine is the median over the runs, for each figure of each step.
func medianLine(lines [][]run.Interval) []run.Interval {
	if len(lines) == 1 {
		return lines[0]
	}
	steps := map[float64][]run.Interval{}
	for _, line := range lines {
		for _, i := range line {
			steps[i.Second] = append(steps[i.Second], i)
		}
	}
	var out []run.Interval
	for _, second := range slices.Sorted(maps.Keys(steps)) {
		runs := steps[second]
		delivering := slices.DeleteFunc(slices.Clone(runs), func(i run.Interval) bool { return i.Delivered == 0 })
		out = append(out, run.Interval{
			Second:    second,
			Offered:   medianOf(runs, func(i run.Interval) int64 { return i.Offered }),
			Delivered: medianOf(runs, func(i run.Interval) int64 { return i.Delivered }),
			Pending:   medianOf(runs, func(i run.Interval) int64 { return i.Pending }),
			P50:       medianOf(delivering, func(i run.Interval) int64 { return i.P50 }),
			P99:       medianOf(delivering, func(i run.Interval) int64 { return i.P99 }),
			Max:       medianOf(delivering, func(i run.Interval) int64 { return i.Max }),
		})
	}
	return out
}

func medianOf(intervals []run.Interval, value func(run.Interval) int64) int64 {
	if len(intervals) == 0 {
		return 0
	}
	values := make([]float64, 0, len(intervals))
	for _, i := range intervals {
		values = append(values, float64(value(i)))
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
				last = max(last, line[len(line)-1].Second)
			}
		}
	}
	return last
}

// timeFigure is one column of a table over time.
type timeFigure struct {
	name string
	text func(run.Interval) string
}

func timeTable(sides []*sideView, x *axis, figures []timeFigure) chartTable {
	t := chartTable{Corner: "second"}
	rows := map[float64][]string{}
	for column, s := range sides {
		for _, f := range figures {
			t.Heads = append(t.Heads, tableHead{s.Token + " kind-" + f.name, s.Class, strings.TrimSpace(s.shortName(len(sides)) + " " + f.name)})
		}
		for _, i := range s.line {
			if rows[i.Second] == nil {
				rows[i.Second] = make([]string, len(sides)*len(figures))
			}
			for k, f := range figures {
				rows[i.Second][column*len(figures)+k] = f.text(i)
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
	offered := func(i run.Interval) int64 { return i.Offered }
	delivered := func(i run.Interval) int64 { return i.Delivered }
	high := max(highest(sides, offered), highest(sides, delivered))
	v := chartView{X: secondsAxis(lastSecond(sides)), Y: countAxis(high), Zero: -1}
	v.Marks = offerEnds(sides, v.X)
	for _, s := range sides {
		v.addCounts(s, "delivered", delivered)
		v.Lines = append(v.Lines, chartLine{s.Token + " kind-offered", s.Class + " offered", v.linePath(countPoints(s.line, offered))})
	}
	c.Views = []chartView{v}
	c.Table = timeTable(sides, v.X, []timeFigure{
		{"offered", func(i run.Interval) string { return groupDigits(i.Offered) }},
		{"delivered", func(i run.Interval) string { return groupDigits(i.Delivered) }},
	})
	return c
}

// pendingChart is what the queue held at the end of each second.
func pendingChart(sides []*sideView, step int64) chart {
	pending := func(i run.Interval) int64 { return i.Pending }
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
	c.Table = timeTable(sides, v.X, []timeFigure{{"pending", func(i run.Interval) string { return groupDigits(i.Pending) }}})
	return c
}

// addCounts draws the single runs of a side faintly and its median.
func (v *chartView) addCounts(s *sideView, kind string, value func(run.Interval) int64) {
	if len(s.lines) > 1 {
		for _, line := range s.lines {
			v.Lines = append(v.Lines, chartLine{s.Token + " kind-" + kind + " runs", s.Class + " run", v.linePath(countPoints(line, value))})
		}
	}
	v.Lines = append(v.Lines, chartLine{s.Token + " kind-" + kind, s.Class + " " + kind, v.linePath(countPoints(s.line, value))})
}

func countPoints(line []run.Interval, value func(run.Interval) int64) []point {
	points := make([]point, 0, len(line))
	for _, i := range line {
		points = append(points, point{x: i.Second, y: float64(value(i))})
	}
	return points
}

func highest(sides []*sideView, value func(run.Interval) int64) float64 {
	high := int64(0)
	for _, s := range sides {
		for _, line := range s.lines {
			for _, i := range line {
				high = max(high, value(i))
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
