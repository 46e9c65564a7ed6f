package page

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// latency is which of the two latenesses a page plots.
type latency struct {
	name      string // as tables call it
	title     string // at the head of a chart
	since     string // what it counts from
	histogram func(run.Histograms) *run.Histogram
	second    func(run.Interval) quantiles
}

// quantiles are those of the messages delivered in a second, in ns.
type quantiles struct{ p50, p99, max int64 }

var (
	lateness = latency{
		"lateness", "Lateness", "the instant that the caller asked for",
		func(h run.Histograms) *run.Histogram { return h.Lateness },
		func(i run.Interval) quantiles { return quantiles{i.P50, i.P99, i.Max} },
	}
	pastDue = latency{
		"past due", "Past due", "their due time in Redis",
		func(h run.Histograms) *run.Histogram { return h.PastDue },
		func(i run.Interval) quantiles { return quantiles{i.PastDueP50, i.PastDueP99, i.PastDueMax} },
	}
)

// latencyOf is the one by which all runs are judged.
func latencyOf(sides []Side) latency {
	var runs []*run.Document
	for _, s := range sides {
		runs = append(runs, s.Runs...)
	}
	if run.LateOf(runs) == "past_due" {
		return pastDue
	}
	return lateness
}

// scales are the two that the charts of latency are drawn on.
var scales = []string{"log", "linear"}

// percentileChart is the curve of every side.
func percentileChart(sides []*sideView) chart {
	late := sides[0].latency
	c := chart{
		ID: "percentiles", Title: late.title + " by percentile",
		Caption: "How long after " + late.since + " the messages came: a share of them, read below, at most this long. Dotted where fewer than " +
			fmt.Sprint(run.MinTail) + " messages lie beyond." + togetherRemark(sides),
		XLabel: "share of messages; every further nine is as wide",
		Alt:    "Percentile curves of " + late.name + ". " + lateWords(sides),
	}
	n, low, high := int64(0), 0.0, 0.0
	for _, s := range sides {
		n = max(n, s.late().Count())
		low, high = min(low, float64(s.late().Min())), max(high, float64(s.late().Max()))
	}
	x := percentileAxis(n)
	for _, scale := range scales {
		v := chartView{Scale: scale, X: x, Y: timeAxis(scale == "log", low, high)}
		v.Zero = v.Y.at(0)
		for _, s := range sides {
			if len(s.Runs) > 1 {
				for _, r := range s.Runs {
					points, _ := spectrumPoints(late.histogram(r.Histograms))
					v.Lines = append(v.Lines, chartLine{s.Token + " runs", s.Class + " run", v.linePath(points)})
				}
			}
		}
		for _, s := range sides {
			points, borne := spectrumPoints(s.late())
			v.Lines = append(v.Lines,
				chartLine{s.Token, s.Class + " strong", v.linePath(points[:borne])},
				chartLine{s.Token, s.Class + " strong thin-tail", v.linePath(points[max(borne-1, 0):])})
		}
		c.Views = append(c.Views, v)
	}
	c.Table = percentileTable(sides, x)
	return c
}

func togetherRemark(sides []*sideView) string {
	if medianRemark(sides) == "" {
		return ""
	}
	return " Strong lines are all runs of a side together, faint ones its single runs."
}

func lateWords(sides []*sideView) string {
	var words []string
	for _, s := range sides {
		h := s.late()
		if h.Count() == 0 {
			words = append(words, s.Name+": nothing delivered.")
			continue
		}
		words = append(words, fmt.Sprintf("%s: p50 %s, p99 %s, max %s.", s.Name,
			run.FormatNs(h.Quantile(.5)), run.FormatNs(h.Quantile(.99)), run.FormatNs(h.Max())))
	}
	return strings.Join(words, " ")
}

// spectrumPoints returns the curve of h and how many of its points are borne by
// enough values.
func spectrumPoints(h *run.Histogram) (points []point, borne int) {
	last := 1 - 1/float64(max(h.Count(), 1))
	for _, p := range h.Spectrum() {
		q := min(p.Percentile/100, last)
		points = append(points, point{x: q, y: float64(p.Value)})
		if run.Bears(h.Count(), q) {
			borne = len(points)
		}
	}
	return points, borne
}

// percentileTable has a row for every percentile that any side has a point at;
// sides share the grid of percentiles.
func percentileTable(sides []*sideView, x *axis) chartTable {
	t := chartTable{Corner: "percentile"}
	var longest []run.SpectrumPoint
	columns := make([][]run.SpectrumPoint, len(sides))
	for i, s := range sides {
		t.Heads = append(t.Heads, tableHead{s.Token, s.Class, s.Name})
		columns[i] = s.late().Spectrum()
		if len(columns[i]) > len(longest) {
			longest = columns[i]
		}
	}
	for row, p := range longest {
		r := tableRow{Label: significantPercent(p.Percentile), X: 100}
		if p.Percentile < 100 {
			r.X = x.at(p.Percentile / 100)
		} else {
			r.Label = "max"
		}
		for _, column := range columns {
			cell := ""
			switch {
			case p.Percentile == 100 && len(column) > 0:
				cell = timeText(column[len(column)-1].Value)
			case row < len(column)-1:
				cell = timeText(column[row].Value)
			}
			r.Cells = append(r.Cells, cell)
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

// significantPercent writes a percentile with two digits of what is missing to
// 100: 50 %, 99.22 %, 99.9988 %.
func significantPercent(percent float64) string {
	digits := max(0, 1-int(math.Floor(math.Log10(100-min(percent, 99.9999999)))))
	text := fmt.Sprintf("%.*f", digits, percent)
	if digits > 0 {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return text + " %"
}

// lateStats are the figures of latency per second.
var lateStats = []struct {
	name  string
	value func(quantiles) int64
}{
	{"p50", func(q quantiles) int64 { return q.p50 }},
	{"p99", func(q quantiles) int64 { return q.p99 }},
	{"max", func(q quantiles) int64 { return q.max }},
}

// lateTimeChart is p50, p99 and max of each second.
func lateTimeChart(sides []*sideView, step int64) chart {
	late := sides[0].latency
	c := chart{
		ID: "late-time", Title: late.title + " over time", XLabel: "since the start of the measured phase",
		Caption: "Of the messages delivered in each " + stepText(step) + "." + medianRemark(sides),
		Alt:     "Median, 99th percentile and maximum of " + late.name + " in each " + stepText(step) + ". " + lateWords(sides),
	}
	low, high := 0.0, 0.0
	for _, s := range sides {
		for _, line := range append(s.lines, s.line) {
			for _, m := range line {
				low, high = min(low, float64(m.late.p50)), max(high, float64(m.late.max))
			}
		}
	}
	for _, stat := range lateStats {
		c.Kinds = append(c.Kinds, toggle{"kind-" + stat.name, stat.name, stat.name})
	}
	x := secondsAxis(lastSecond(sides))
	for _, scale := range scales {
		v := chartView{Scale: scale, X: x, Y: timeAxis(scale == "log", low, high), Marks: offerEnds(sides, x)}
		v.Zero = v.Y.at(0)
		for _, s := range sides {
			v.addLate(s)
		}
		c.Views = append(c.Views, v)
	}
	var figures []timeFigure
	for _, stat := range lateStats {
		figures = append(figures, timeFigure{stat.name, func(m moment) string {
			if m.delivered == 0 {
				return ""
			}
			return timeText(stat.value(m.late))
		}})
	}
	c.Table = timeTable(sides, x, figures)
	return c
}

// addLate draws a side: p99 of its single runs faintly, then its own lines.
func (v *chartView) addLate(s *sideView) {
	for _, stat := range lateStats {
		points := func(line []moment) []point {
			var points []point
			for _, m := range line {
				points = append(points, point{m.second, float64(stat.value(m.late)), m.delivered == 0})
			}
			return points
		}
		if stat.name == "p99" && len(s.lines) > 1 {
			for _, line := range s.lines {
				v.Lines = append(v.Lines, chartLine{s.Token + " kind-p99 runs", s.Class + " run", v.linePath(points(line))})
			}
		}
		draw := v.linePath
		if stat.name == "max" {
			draw = v.dotPath
		}
		v.Lines = append(v.Lines, chartLine{s.Token + " kind-" + stat.name, s.Class + " " + stat.name, draw(points(s.line))})
	}
}

// offerEnds marks where the offers stop and the drain begins.
func offerEnds(sides []*sideView, x *axis) []tick {
	var marks []tick
	for _, s := range sides {
		for _, r := range s.Runs {
			d, err := time.ParseDuration(r.Scenario.Duration)
			at := x.at(d.Seconds())
			if err != nil || at <= 0 || at >= 100 || len(marks) > 0 && marks[0].At != at {
				continue
			}
			marks = []tick{{At: at, Label: "offers end"}}
		}
	}
	return marks
}
