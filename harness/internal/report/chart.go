package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Chart is drawn by page.js with uPlot, and is a table without JavaScript.
type Chart struct {
	ID     string   `json:"id"`
	Title  string   `json:"title"`
	Hint   string   `json:"-"`
	XUnit  string   `json:"xUnit"` // "s", "nines" (x stands for the share 1-10^-x) or "name"; charts of one unit share crosshair and zoom
	YUnit  string   `json:"yUnit"` // "ns", "count", "share" or "ratio"
	Log    bool     `json:"log,omitempty"`
	X      []figure `json:"x"`
	Names  []string `json:"names,omitempty"` // of the places on a "name" axis, from 0
	Series []Series `json:"series"`
	Marks  []Mark   `json:"marks,omitempty"`
	Wide   bool     `json:"-"`
}

// Series is a line of a Chart. Side chooses its colour. Style is "line", "dash", "dots", "dotted", "area", "steps", or "high"
// and "low" for the edges of a band.
type Series struct {
	Label string   `json:"label"`
	Side  int      `json:"side"`
	Style string   `json:"style"`
	Y     []figure `json:"y"`
}

// Mark is a vertical line at X, or a band from X to To.
type Mark struct {
	X     float64 `json:"x"`
	To    float64 `json:"to,omitempty"`
	Label string  `json:"label"`
}

// XText writes a place on the x axis for the table without JavaScript.
func (c Chart) XText(i int) string {
	x := float64(c.X[i])
	switch c.XUnit {
	case "nines":
		return run.QuantileName(1 - math.Pow(10, -x))
	case "name":
		return c.Names[min(max(int(math.Round(x)), 0), len(c.Names)-1)]
	}
	return strconv.FormatFloat(x, 'g', 4, 64) + " s"
}

// YText writes a value.
func (c Chart) YText(v figure) string {
	switch {
	case v.none():
		return ""
	case c.YUnit == "ns":
		return minus(run.FormatNs(int64(v)))
	}
	return strconv.FormatFloat(float64(v), 'g', 4, 64)
}

// figure is written with six digits, more than a histogram has, or as null where it is NaN.
type figure float64

func (f figure) none() bool { return math.IsNaN(float64(f)) }

// MarshalJSON implements json.Marshaler.
func (f figure) MarshalJSON() ([]byte, error) {
	if f.none() {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(f), 'g', 6, 64), nil
}

// mostPoints is how many points a chart over time has: longer runs are drawn in steps of several seconds.
const mostPoints = 150

// stat is a figure of each second, or NaN; join makes one value of the seconds of a step.
type stat struct {
	name, style string
	of          func(run.Interval) float64
	join        func([]float64) float64
}

// runCharts are the charts of the runs of each set: percentiles, and the run over time.
func runCharts(sets []compare.Set) []Chart {
	late := lateOf(sets)
	quantile := func(of func(p50, p99, highest int64) int64) func(run.Interval) float64 {
		return func(i run.Interval) float64 {
			if i.Delivered == 0 {
				return math.NaN()
			}
			return float64(of(i.Late(late)))
		}
	}
	rate := func(of func(run.Interval) float64) func(run.Interval) float64 { // a second, also of a last part of one
		return func(i run.Interval) float64 {
			if length := i.Second + 1 - math.Ceil(i.Second); length > .5 {
				return of(i) / length
			}
			return math.NaN()
		}
	}
	charts, end := []Chart{percentiles(sets, late)}, longest(sets)
	seconds := int(math.Ceil(end - .5))
	step := max((seconds+mostPoints-1)/mostPoints, 1)
	for _, c := range []struct {
		id, title, hint, unit string
		stats                 []stat
	}{
		{"late", title(late.Name) + " over time", "Of the messages delivered in each second.", "ns", []stat{
			{"p50", "dash", quantile(func(p50, _, _ int64) int64 { return p50 }), compare.Median},
			{"p99", "line", quantile(func(_, p99, _ int64) int64 { return p99 }), slices.Max[[]float64]},
			{"max", "dots", quantile(func(_, _, highest int64) int64 { return highest }), slices.Max[[]float64]},
		}},
		{"hiccups", "Hiccups of the machine", "How long each second nothing ran that was due. What came late meanwhile was not held up by the implementation.", "ns", []stat{
			{"hiccups", "area", func(i run.Interval) float64 { return float64(i.HiccupNs) }, slices.Max[[]float64]},
		}},
		{"flow", "Offered and delivered", "Messages a second.", "count", []stat{
			{"offered", "dash", rate(func(i run.Interval) float64 { return float64(i.Offered) }), compare.Mean},
			{"delivered", "line", rate(func(i run.Interval) float64 { return float64(i.Delivered) }), compare.Mean},
		}},
		{"pending", "Pending", "Offered and not yet delivered, at the end of each second.", "count", []stat{
			{"pending", "area", func(i run.Interval) float64 { return float64(i.Pending) }, func(step []float64) float64 { return step[len(step)-1] }},
		}},
		{"transfers", "Transfer calls", "Each second, of all clients of the server.", "count", []stat{
			{"calls", "line", rate(func(i run.Interval) float64 { return float64(i.Transfers) }), compare.Mean},
		}},
		{"cpu", "Server processor", "Processor time of the server each second.", "ns", []stat{
			{"processor", "line", rate(func(i run.Interval) float64 { return 1e9 * i.ServerCPUSeconds }), compare.Mean},
		}},
	} {
		first := c.id == "late"
		chart := Chart{ID: c.id, Title: c.title, Hint: c.hint, XUnit: "s", YUnit: c.unit, Log: first, Wide: first, Marks: marks(sets)}
		if step > 1 {
			chart.Hint += fmt.Sprintf(" Drawn in steps of %d s.", step)
		}
		for at := step; at < seconds+step; at += step {
			chart.X = append(chart.X, figure(min(float64(at), end)))
		}
		shown := first
		for i, set := range sets {
			for _, st := range c.stats {
				for _, s := range overTime(i, set, st, len(chart.X), step, len(sets) > 1) {
					chart.Series = append(chart.Series, s)
					shown = shown || slices.ContainsFunc(s.Y, func(v figure) bool { return !v.none() && v != 0 })
				}
			}
		}
		if shown {
			charts = append(charts, chart)
		}
	}
	return charts
}

// overTime is the median over the runs of a set, with the band of all runs around a line.
func overTime(side int, set compare.Set, st stat, points, step int, named bool) (all []Series) {
	values := make([][]float64, points) // of each run
	for _, r := range set.Runs {
		steps := make([][]float64, points)
		for _, interval := range r.Intervals {
			if v := st.of(interval); !math.IsNaN(v) && points > 0 {
				at := min(max(int(math.Ceil(interval.Second))-1, 0)/step, points-1)
				steps[at] = append(steps[at], v)
			}
		}
		for i, s := range steps {
			if len(s) > 0 {
				values[i] = append(values[i], st.join(s))
			}
		}
	}
	label := st.name
	if named {
		label = set.Name + " " + label
	}
	add := func(style, which string, of func([]float64) float64) {
		s := Series{Label: label + which, Side: side, Style: style}
		for _, v := range values {
			y := math.NaN()
			if len(v) > 0 {
				y = of(v)
			}
			s.Y = append(s.Y, figure(y))
		}
		all = append(all, s)
	}
	add(st.style, "", compare.Median)
	if len(set.Runs) > 1 && st.style == "line" {
		add("high", ", highest run", slices.Max[[]float64])
		add("low", ", lowest run", slices.Min[[]float64])
	}
	return all
}

// percentiles is the curve of each set, dotted where fewer than ten messages lie beyond.
func percentiles(sets []compare.Set, late run.Distribution) Chart {
	c := Chart{
		ID: "percentiles", Title: title(late.Name) + " by percentile", XUnit: "nines", YUnit: "ns", Log: true, Wide: true,
		Hint: fmt.Sprintf("Dotted where fewer than %d messages lie beyond.", run.MinTail),
	}
	const step = .05
	most := int64(1)
	for _, set := range sets {
		most = max(most, merged(set, late).Count())
	}
	for x := 0.; x <= math.Log10(float64(most))+step/2; x += step {
		c.X = append(c.X, figure(math.Round(x/step)*step))
	}
	for i, set := range sets {
		h := merged(set, late)
		solid, dotted := Series{set.Name, i, "line", nil}, Series{set.Name + ", few messages beyond", i, "dotted", nil}
		none := figure(math.NaN())
		for k, x := range c.X {
			q := 1 - math.Pow(10, -float64(x))
			a, b := figure(h.Quantile(q)), none
			if !run.Bears(h.Count(), q) {
				if a, b = none, a; float64(h.Count())*(1-q) < 1-1e-6 {
					b = none
				} else if k > 0 && !solid.Y[k-1].none() { // the lines meet
					dotted.Y[k-1] = solid.Y[k-1]
				}
			}
			solid.Y, dotted.Y = append(solid.Y, a), append(dotted.Y, b)
		}
		c.Series = append(c.Series, solid, dotted)
	}
	return c
}

// merged is a histogram over all runs of a set.
func merged(set compare.Set, d run.Distribution) *run.Histogram {
	if len(set.Runs) == 1 {
		if h := d.Of(set.Runs[0].Histograms); h != nil {
			return h
		}
	}
	all := run.NewHistogram()
	for _, r := range set.Runs {
		all.Merge(d.Of(r.Histograms))
	}
	return all
}

func lateOf(sets []compare.Set) run.Distribution { return run.LateOf(compare.All(sets)...) }

func longest(sets []compare.Set) (seconds float64) {
	for _, r := range compare.All(sets) {
		seconds = max(seconds, r.ElapsedSeconds)
		if n := len(r.Intervals); n > 0 {
			seconds = max(seconds, r.Intervals[n-1].Second)
		}
	}
	return seconds
}

// marks are the end of the offers, and what was made to break in the runs.
func marks(sets []compare.Set) (all []Mark) {
	if d, err := time.ParseDuration(sets[0].Runs[0].Scenario.Duration); err == nil {
		all = append(all, Mark{X: d.Seconds(), Label: "offers end"})
	}
	for _, s := range sets {
		if f := s.Runs[0].Faults; f != nil && (len(sets) == 1 || len(s.Runs) == 1) {
			for _, e := range f.Events {
				m := Mark{X: e.From, Label: e.Kind}
				if e.To-e.From > .05 { // else done at once: a line
					m.To = e.To
				}
				all = append(all, m)
			}
		}
	}
	return all
}

// rateChart draws how late messages were at each rate of a ramp, and how many of the offers were made.
func rateChart(steps []run.RateStep) Chart {
	c := Chart{ID: "rate", Title: "Past due by rate", Hint: "The median of each step's seconds, and the latest p99 of them.", XUnit: "name", YUnit: "ns", Log: true, Wide: true}
	p50, p99 := Series{"p50", 0, "dash", nil}, Series{"p99", 0, "line", nil}
	for i, s := range steps {
		low, high := figure(s.PastDueP50), figure(s.PastDueP99)
		if high == 0 {
			low, high = figure(math.NaN()), figure(math.NaN())
		}
		c.X, c.Names = append(c.X, figure(i)), append(c.Names, plan.FormatFloat(s.Rate)+"/s")
		p50.Y, p99.Y = append(p50.Y, low), append(p99.Y, high)
		if s.Dropped > 0 && len(c.Marks) == 0 {
			c.Marks = []Mark{{X: float64(i), Label: "offers dropped"}}
		}
	}
	c.Series = []Series{p50, p99}
	return c
}

// trackCharts have a dot for each run, steps for the levels, and a mark at each change; the charts with changes first.
func trackCharts(c *compare.Comparison) []Chart {
	var charts []Chart
	for i, t := range c.Tracks {
		chart := Chart{ID: "track-" + strconv.Itoa(i), Title: title(t.Figure), XUnit: "name", YUnit: t.Unit, Log: t.Unit == "ns"}
		if t.Unit == "ratio" {
			chart.Hint = "How many times the same figure of " + c.Reference + "."
		}
		for _, change := range t.Changes {
			chart.Marks = append(chart.Marks, Mark{X: float64(change.At) - .5, Label: change.Since})
		}
		dots, level := Series{"run", 0, "dots", nil}, Series{"level", 1, "steps", nil}
		for p, values := range t.Values {
			chart.Names = append(chart.Names, c.Sets[p].Name)
			from, to := 0, len(t.Values)
			for _, change := range t.Changes {
				if change.At <= p {
					from = change.At
				} else {
					to = min(to, change.At)
				}
			}
			for k, v := range values {
				y := math.NaN()
				if v != nil {
					y = *v
				}
				chart.X = append(chart.X, figure(float64(p)+float64(k+1)/float64(len(values)+1)-.5))
				dots.Y, level.Y = append(dots.Y, figure(y)), append(level.Y, figure(t.Level(from, to)))
			}
		}
		if chart.Series = []Series{dots, level}; !t.Judged {
			chart.Series = chart.Series[:1]
		}
		charts = append(charts, chart)
	}
	slices.SortStableFunc(charts, func(a, b Chart) int { return len(b.Marks) - len(a.Marks) })
	return charts
}

func title(text string) string {
	first := min(1, len(text))
	return strings.ToUpper(text[:first]) + text[first:]
}

func minus(text string) string { return strings.ReplaceAll(text, "-", "−") }
