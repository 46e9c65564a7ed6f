package report

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// scales are the two that the lateness charts are drawn on.
var scales = []string{"log", "linear"}

// percentileChart is the lateness curve of every side.
func percentileChart(sides []*htmlSide) htmlChart {
	c := htmlChart{
		ID: "percentiles", Title: "Lateness by percentile",
		Caption: "How late the messages came: a share of them, read below, was at most this late. Dotted where fewer than " +
			fmt.Sprint(minTail) + " messages lie beyond." + togetherRemark(sides),
		XLabel: "share of messages; every further nine is as wide",
		Alt:    "Percentile curves of lateness. " + latenessWords(sides),
	}
	n, low, high := int64(0), 0.0, 0.0
	for _, s := range sides {
		n = max(n, s.lateness().Count())
		low, high = min(low, float64(s.lateness().Min())), max(high, float64(s.lateness().Max()))
	}
	x := percentileAxis(n)
	for _, scale := range scales {
		v := htmlView{Scale: scale, X: x, Y: timeAxis(scale == "log", low, high)}
		v.Zero = v.Y.at(0)
		for _, s := range sides {
			if len(s.Runs) > 1 {
				for _, r := range s.Runs {
					points, _ := spectrumPoints(r.Histograms.Lateness)
					v.Lines = append(v.Lines, htmlLine{s.Token + " runs", s.Class + " run", v.linePath(points)})
				}
			}
		}
		for _, s := range sides {
			points, borne := spectrumPoints(s.lateness())
			v.Lines = append(v.Lines,
				htmlLine{s.Token, s.Class + " strong", v.linePath(points[:borne])},
				htmlLine{s.Token, s.Class + " strong thin-tail", v.linePath(points[max(borne-1, 0):])})
		}
		c.Views = append(c.Views, v)
	}
	c.Table = percentileTable(sides, x)
	return c
}

func togetherRemark(sides []*htmlSide) string {
	if medianRemark(sides) == "" {
		return ""
	}
	return " Strong lines are all runs of a side together, faint ones its single runs."
}

func latenessWords(sides []*htmlSide) string {
	var words []string
	for _, s := range sides {
		h := s.lateness()
		if h.Count() == 0 {
			words = append(words, s.Name+": nothing delivered.")
			continue
		}
		words = append(words, fmt.Sprintf("%s: p50 %s, p99 %s, max %s.", s.Name,
			FormatNs(h.Quantile(.5)), FormatNs(h.Quantile(.99)), FormatNs(h.Max())))
	}
	return strings.Join(words, " ")
}

// spectrumPoints returns the curve of h and how many of its points are borne by
// enough values.
func spectrumPoints(h *Histogram) (points []htmlPoint, borne int) {
	last := 1 - 1/float64(max(h.Count(), 1))
	for _, p := range h.spectrum() {
		q := min(p.percentile/100, last)
		points = append(points, htmlPoint{x: q, y: float64(p.value)})
		if Bears(h.Count(), q) {
			borne = len(points)
		}
	}
	return points, borne
}

// percentileTable has a row for every percentile that any side has a point at;
// sides share the grid of percentiles.
func percentileTable(sides []*htmlSide, x *htmlAxis) htmlTable {
	t := htmlTable{Corner: "percentile"}
	var longest []spectrumPoint
	columns := make([][]spectrumPoint, len(sides))
	for i, s := range sides {
		t.Heads = append(t.Heads, htmlHead{s.Token, s.Class, s.Name})
		columns[i] = s.lateness().spectrum()
		if len(columns[i]) > len(longest) {
			longest = columns[i]
		}
	}
	for row, p := range longest {
		r := htmlTableRow{Label: significantPercent(p.percentile), X: 100}
		if p.percentile < 100 {
			r.X = x.at(p.percentile / 100)
		} else {
			r.Label = "max"
		}
		for _, column := range columns {
			cell := ""
			switch {
			case p.percentile == 100 && len(column) > 0:
				cell = htmlTime(column[len(column)-1].value)
			case row < len(column)-1:
				cell = htmlTime(column[row].value)
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

// latenessStats are the figures of lateness per second.
var latenessStats = []struct {
	name  string
	value func(Interval) int64
}{
	{"p50", func(i Interval) int64 { return i.P50 }},
	{"p99", func(i Interval) int64 { return i.P99 }},
	{"max", func(i Interval) int64 { return i.Max }},
}

// latenessTimeChart is p50, p99 and max of each second.
func latenessTimeChart(sides []*htmlSide, step int64) htmlChart {
	c := htmlChart{
		ID: "lateness-time", Title: "Lateness over time", XLabel: "since the start of the measured phase",
		Caption: "Of the messages delivered in each " + stepText(step) + "." + medianRemark(sides),
		Alt:     "Median, 99th percentile and maximum of lateness in each " + stepText(step) + ". " + latenessWords(sides),
	}
	low, high := 0.0, 0.0
	for _, s := range sides {
		for _, line := range append(s.lines, s.line) {
			for _, i := range line {
				low, high = min(low, float64(i.P50)), max(high, float64(i.Max))
			}
		}
	}
	for _, stat := range latenessStats {
		c.Kinds = append(c.Kinds, htmlToggle{"kind-" + stat.name, stat.name, stat.name})
	}
	x := secondsAxis(lastSecond(sides))
	for _, scale := range scales {
		v := htmlView{Scale: scale, X: x, Y: timeAxis(scale == "log", low, high), Marks: offerEnds(sides, x)}
		v.Zero = v.Y.at(0)
		for _, s := range sides {
			v.addLateness(s)
		}
		c.Views = append(c.Views, v)
	}
	var figures []timeFigure
	for _, stat := range latenessStats {
		figures = append(figures, timeFigure{stat.name, func(i Interval) string {
			if i.Delivered == 0 {
				return ""
			}
			return htmlTime(stat.value(i))
		}})
	}
	c.Table = timeTable(sides, x, figures)
	return c
}

// addLateness draws a side: p99 of its single runs faintly, then its own lines.
func (v *htmlView) addLateness(s *htmlSide) {
	for _, stat := range latenessStats {
		points := func(line []Interval) []htmlPoint {
			var points []htmlPoint
			for _, i := range line {
				points = append(points, htmlPoint{i.Second, float64(stat.value(i)), i.Delivered == 0})
			}
			return points
		}
		if stat.name == "p99" && len(s.lines) > 1 {
			for _, line := range s.lines {
				v.Lines = append(v.Lines, htmlLine{s.Token + " kind-p99 runs", s.Class + " run", v.linePath(points(line))})
			}
		}
		draw := v.linePath
		if stat.name == "max" {
			draw = v.dotPath
		}
		v.Lines = append(v.Lines, htmlLine{s.Token + " kind-" + stat.name, s.Class + " " + stat.name, draw(points(s.line))})
	}
}

// offerEnds marks where the offers stop and the drain begins.
func offerEnds(sides []*htmlSide, x *htmlAxis) []htmlTick {
	var marks []htmlTick
	for _, s := range sides {
		for _, r := range s.Runs {
			d, err := time.ParseDuration(r.Scenario.Duration)
			at := x.at(d.Seconds())
			if err != nil || at <= 0 || at >= 100 || len(marks) > 0 && marks[0].At != at {
				continue
			}
			marks = []htmlTick{{at, "offers end"}}
		}
	}
	return marks
}
