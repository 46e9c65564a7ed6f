package page

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/dq-bench/dq-bench/harness/internal/history"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// WriteHistoryFile writes a history as one page for a browser to path, whole or not at
// all: a chart and a table of each figure. It needs no network.
func WriteHistoryFile(path string, h *history.History) error {
	var out bytes.Buffer
	if err := WriteHistoryPage(&out, h, ""); err != nil {
		return err
	}
	return run.WriteWhole(filepath.Clean(path), out.Bytes())
}

// WriteHistoryPage writes the page of a history. home links to the list of all runs; it is
// empty for a page of its own.
func WriteHistoryPage(w io.Writer, h *history.History, home string) error {
	v := historyView{
		Title: h.Implementation + " by " + h.By + " · " + string(h.Outcome), State: historyState(h.Outcome),
		History: h, Lead: historyLead(h), Figures: h.Figures, Ratio: h.Reference != "", Home: home,
	}
	for i, f := range h.Figures {
		v.Charts = append(v.Charts, historyChart(i, f, h))
	}
	v.Changes, v.Points, v.Runs = changeRows(h), pointRows(h), historyRuns(h)
	return writeLayout(w, "history.tmpl", false, func(assets assetsView) any { v.assetsView = assets; return v })
}

// historyView is everything the template shows.
type historyView struct {
	assetsView
	*history.History
	Title, State string
	Home         string
	Lead         []string
	Figures      []history.Figure
	Charts       []chart
	Changes      []changeRow
	Points, Runs []historyRow
	Ratio        bool
}

// historyState is how an outcome is coloured.
func historyState(o history.Outcome) string {
	switch o {
	case history.Better, history.Unchanged:
		return "ok"
	case history.Worse:
		return "bad"
	}
	return "open"
}

// changeRow is one change of one figure, or of what was done wrong to messages.
type changeRow struct {
	Since, Figure, Before, After, Times, Chance, Outcome, State string
}

func changeRows(h *history.History) []changeRow {
	var rows []changeRow
	for _, f := range h.Faults {
		for _, c := range f.Told() {
			rows = append(rows, changeRow{
				c.Name, faultName(f), faultShare(c.Before), faultShare(c.After), "–", "–", string(c.Outcome), historyState(c.Outcome),
			})
		}
	}
	for _, f := range h.Figures {
		for _, c := range f.Changes {
			rows = append(rows, changeRow{
				c.Name, f.Name(), minus(f.ValueText(c.Before)), minus(f.ValueText(c.After)), minus(timesText(c)),
				strconv.FormatFloat(c.P, 'g', 2, 64), string(c.Outcome), historyState(c.Outcome),
			})
		}
	}
	return rows
}

// historyRow is a point, or a run.
type historyRow struct {
	Name, Started string
	ID            string // of a run
	Runs          int    // of a point
	Figures       []figure
}

func pointRows(h *history.History) []historyRow {
	var rows []historyRow
	for i, p := range h.Points {
		row := historyRow{Name: p.Name, Started: p.Runs[0].Started.UTC().Format(time.DateTime), Runs: len(p.Runs)}
		wrong := int64(0)
		for _, r := range p.Runs {
			wrong += r.Wrong
		}
		for k, f := range h.Figures {
			row.Figures = append(row.Figures, historyFigure(fmt.Sprintf("point-%d.figure-%d", i, k), f, f.Medians[i]))
		}
		rows = append(rows, withWrong(row, wrong))
	}
	return rows
}

func historyRuns(h *history.History) []historyRow {
	var rows []historyRow
	for i, p := range h.Points {
		for k, r := range p.Runs {
			row := historyRow{Name: p.Name, Started: r.Started.UTC().Format(time.DateTime), ID: r.RunID}
			for n, f := range h.Figures {
				row.Figures = append(row.Figures, historyFigure(fmt.Sprintf("run-%s.figure-%d", r.RunID, n), f, f.Values[i][k]))
			}
			rows = append(rows, withWrong(row, r.Wrong))
		}
	}
	return rows
}

func historyFigure(name string, f history.Figure, v *float64) figure {
	if v == nil {
		return figure{Name: name, Text: notTold}
	}
	return figure{Name: name, Text: minus(f.ValueText(*v)), Raw: strconv.FormatFloat(*v, 'g', -1, 64)}
}

// notTold stands for a figure that a run does not tell.
const notTold = "–"

// toldText writes a value, or that there is none.
func toldText(f history.Figure, v *float64) string {
	if v == nil {
		return notTold
	}
	return f.ValueText(*v)
}

func withWrong(row historyRow, wrong int64) historyRow {
	f := countFigure("", wrong)
	f.Bad = wrong > 0
	row.Figures = append(row.Figures, f)
	return row
}

// historyChart is one figure over all runs: a dot for each, and the median of each level.
func historyChart(index int, f history.Figure, h *history.History) chart {
	c := chart{
		ID: "figure-" + strconv.Itoa(index), Title: f.Name(), XLabel: h.By,
		Caption: "A dot is a run, the line the median of the runs between two changes.",
		Alt:     f.Name() + " of each run. " + h.Text,
		Kinds:   []toggle{{"kind-max", "runs", "max"}, {"kind-p99", "levels", "p99"}},
	}
	low, high := math.Inf(1), 0.
	for _, v := range slices.Concat(f.Values...) {
		if v != nil {
			low, high = min(low, *v), max(high, *v)
		}
	}
	x := pointsAxis(h.Points)
	if f.Unit == "ratio" {
		c.Views = []chartView{historyChartView("", x, ratioAxis(low, high), f)}
	} else {
		for _, scale := range scales {
			c.Views = append(c.Views, historyChartView(scale, x, timeAxis(scale == "log", min(low, 0), high), f))
		}
	}
	c.Table = chartTable{Corner: h.By, Heads: []tableHead{{"", "c0", "median"}, {"kind-p99", "c1", "level"}}}
	for i, p := range h.Points {
		level := f.Levels[slices.IndexFunc(f.Levels, func(l history.Level) bool { return i <= l.To })]
		c.Table.Rows = append(c.Table.Rows, tableRow{x.at(float64(i)), p.Name, []string{minus(toldText(f, f.Medians[i])), minus(f.ValueText(level.Median))}})
	}
	return c
}

func historyChartView(scale string, x, y *axis, f history.Figure) chartView {
	v := chartView{Scale: scale, X: x, Y: y, Zero: -1}
	var dots, steps []point
	for i, values := range f.Values {
		for k, value := range values {
			spread := (float64(k+1)/float64(len(values)+1) - .5) / 2 // runs of a point beside each other
			if value != nil {
				dots = append(dots, point{x: float64(i) + spread, y: *value})
			}
		}
	}
	for _, l := range f.Levels {
		steps = append(steps, point{x: float64(l.From) - .5, y: l.Median}, point{x: float64(l.To) + .5, y: l.Median}, point{gap: true})
	}
	for _, c := range f.Changes {
		v.Marks = append(v.Marks, tick{At: x.at(float64(c.At) - .5)})
	}
	v.Lines = []chartLine{{"kind-max", "c0 max", v.dotPath(dots)}, {"kind-p99", "c1 p99", v.linePath(steps)}}
	return v
}

// longestTick is how many letters of a point's name stand at an axis.
const longestTick = 11

// pointsAxis is a horizontal axis with a place for each point, of which the newest is named
// first.
func pointsAxis(points []history.Point) *axis {
	const plot = 900 // pixels that a plot is wide
	a := newAxis(linear, -.5, float64(len(points))-.5, 0, 0)
	for i := len(points) - 1; i >= 0; i-- {
		name := tickName(points[i].Name)
		a.tick(float64(i), name, 100*letter*float64(longestTick+1)/plot)
	}
	return a.across()
}

func tickName(name string) string {
	if at, err := time.Parse(time.DateTime, name); err == nil {
		return at.Format("01-02 15:04")
	}
	if utf8.RuneCountInString(name) <= longestTick {
		return name
	}
	return string([]rune(name)[:longestTick-1]) + "…"
}

// ratioAxis is a vertical axis of ratios, with 1 in it.
func ratioAxis(low, high float64) *axis {
	a := newAxis(linear, min(low, 1), max(high, 1), .08, .08)
	step := niceStep((a.high - a.low) / 6)
	a.tick(1, "1×", yGap)
	for k := math.Ceil(a.low / step); k*step <= a.high; k++ {
		a.tick(k*step, strconv.FormatFloat(k*step, 'g', 4, 64)+"×", yGap)
	}
	return a
}
