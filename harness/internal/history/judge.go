package history

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/compare/stats"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// nameOf is what people call a figure.
func nameOf(histogram, stat string) string {
	name := strings.Replace(strings.ReplaceAll(histogram, "_", " "), "rtt", "RTT", 1)
	return strings.Replace(name, "cpu", "CPU", 1) + " " + stat
}

// figure reads a figure of all runs. It is nil if not most of them tell it; the note says
// which do not, if some do.
func (s *sorted) figure(f compare.Figure) (*Figure, string) {
	out := &Figure{Histogram: f.Histogram, Stat: f.Stat, Unit: "ns", Changes: []Change{}, isTime: f.IsTime}
	if s.references != nil {
		out.Unit = "ratio"
	}
	n := 0
	var silent []string
	for _, p := range s.points {
		values := make([]*float64, len(p.runs))
		for i, r := range p.runs {
			if values[i] = s.value(f, n); values[i] == nil {
				silent = append(silent, r.RunID)
			}
			n++
		}
		out.Values = append(out.Values, values)
		out.Medians = append(out.Medians, medianOf(values))
	}
	told := n - len(silent)
	switch {
	case len(silent) == 0:
	case told == 0:
		return nil, ""
	case told <= n/2 || n >= MinRuns && told < MinRuns:
		return nil, fmt.Sprintf("%s is not judged: %s of %d tell it, or have enough messages for it", out.Name(), compare.CountRuns(told), n)
	}
	out.Levels = out.levels(nil)
	return out, without(out.Name(), silent, n)
}

// value is the figure of the nth run, nil if that does not tell.
func (s *sorted) value(f compare.Figure, n int) *float64 {
	if !f.Tells(s.runs[n]) {
		return nil
	}
	v := f.Of(s.runs[n])
	if s.references != nil {
		if !f.Tells(s.references[n]) {
			return nil
		}
		v = f.Ratio(s.references[n], s.runs[n])
	}
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// mostNamed is how many runs a note names.
const mostNamed = 3

// without says of a figure which runs do not tell it, nothing if all do.
func without(figure string, silent []string, n int) string {
	if len(silent) == 0 {
		return ""
	}
	names := strings.Join(silent[:min(len(silent), mostNamed)], ", ")
	if more := len(silent) - mostNamed; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s is that of %s of %d: not told, or of too few messages, in %s", figure, compare.CountRuns(n-len(silent)), n, names)
}

// told are the values that there are.
func told(values ...[]*float64) []float64 {
	var all []float64
	for _, v := range slices.Concat(values...) {
		if v != nil {
			all = append(all, *v)
		}
	}
	return all
}

func medianOf(values []*float64) *float64 {
	all := told(values)
	if len(all) == 0 {
		return nil
	}
	median := stats.Median(all)
	return &median
}

// divide finds the changes that matter, and, where runs share their hours, that more than these make.
func (f *Figure) divide(ctx context.Context, points []Point, strata *strata, level float64, o Options) {
	if strata != nil {
		f.divideBeside(ctx, points, strata, level, o)
		return
	}
	scaled := f.scaled()
	series := told(scaled...)
	starts, at := []int{}, 0
	pointOf := map[int]int{}
	for i, values := range scaled {
		n := len(told(values))
		if at > 0 && n > 0 {
			starts = append(starts, at)
			pointOf[at] = i
		}
		at += n
	}
	var found []Change
	for _, c := range stats.Changes(ctx, series, starts, level) {
		at := pointOf[c.At]
		found = append(found, Change{At: at, Name: points[at].Name, P: c.P})
	}
	f.set(found, f.levels, o)
}

// divideBeside finds the changes that the sittings bear.
func (f *Figure) divideBeside(ctx context.Context, points []Point, strata *strata, level float64, o Options) {
	c := strata.contrasts(f)
	f.set(c.find(ctx, points, level), c.levels, o)
	f.hours, f.hoursAreSittings = len(c.hours.values), !c.hoursAreSessions
	if strata.sittings == 1 {
		f.hours, f.hoursAreSittings = len(c.sessions.values), false
	}
	if by := c.ofHours(ctx, points, level); by != nil && (f.newest() == nil || f.newest().At < by.At) {
		byRuns := *f
		byRuns.set([]Change{*by}, f.levels, o)
		f.ofHours = byRuns.newest()
	}
	if len(c.unborne) > 0 {
		at := slices.Max(c.unborne)
		bySittings := *f
		bySittings.set([]Change{{At: at, Name: points[at].Name, within: true}}, c.levels, o)
		if by := bySittings.newest(); by != nil && (f.newest() == nil || f.newest().At < at) {
			f.unborne, f.ofOneRun = by, !c.isOfMany(at)
		}
	}
}

// scaled are the values, or their logarithms where all are above 0.
func (f *Figure) scaled() [][]*float64 {
	if !f.areLogarithms() {
		return f.Values
	}
	scaled := make([][]*float64, len(f.Values))
	for i, values := range f.Values {
		for _, v := range values {
			if v != nil {
				log := math.Log(*v)
				v = &log
			}
			scaled[i] = append(scaled[i], v)
		}
	}
	return scaled
}

// areLogarithms reports whether all values are above 0, so that they are judged by their logarithms.
func (f *Figure) areLogarithms() bool {
	return !slices.ContainsFunc(told(f.Values...), func(v float64) bool { return v <= 0 })
}

// set makes those changes the figure's that matter.
func (f *Figure) set(found []Change, levels func([]Change) []Level, o Options) {
	f.Changes = slices.Clone(found)
	if found == nil {
		f.Changes = []Change{}
	}
	for {
		f.Levels = levels(f.Changes)
		least := f.measure(o)
		if least < 0 {
			return
		}
		f.Changes = slices.Delete(f.Changes, least, least+1)
	}
}

// measure fills in how great the changes are, and returns the least of those that do not
// matter, -1 if all do.
func (f *Figure) measure(o Options) int {
	least, by := -1, math.Inf(1)
	for i := range f.Changes {
		c := &f.Changes[i]
		c.Before, c.After = f.Levels[i].Median, f.Levels[i+1].Median
		c.Ratio, c.Outcome = nil, Worse
		if c.After < c.Before {
			c.Outcome = Better
		}
		if c.Before > 0 {
			ratio := c.After / c.Before
			c.Ratio = &ratio
		}
		size, matters := math.Abs(c.After-c.Before), o.MinEffect*math.Abs(c.Before)
		if f.Unit == "ns" && f.isTime {
			matters = max(matters, float64(o.MinDelta))
		}
		if share := size / math.Max(math.Abs(c.Before), 1e-9); size <= matters && share < by {
			least, by = i, share
		}
	}
	return least
}

// levels are the stretches between changes.
func (f *Figure) levels(changes []Change) []Level {
	var levels []Level
	from := 0
	for i := 0; i <= len(changes); i++ {
		to := len(f.Values)
		if i < len(changes) {
			to = changes[i].At
		}
		levels = append(levels, Level{From: from, To: to - 1, Median: stats.Median(told(f.Values[from:to]...))})
		from = to
	}
	return levels
}

// newest is the last change, nil if there is none.
func (f *Figure) newest() *Change {
	if len(f.Changes) == 0 {
		return nil
	}
	return &f.Changes[len(f.Changes)-1]
}

// judge looks at the newest level of each figure.
func (h *History) judge(ctx context.Context, runs int) {
	h.Outcome = Inconclusive
	switch {
	case len(h.Points) == 1 && h.By != ByRun.String():
		h.Text = fmt.Sprintf("Inconclusive: %s of one %s, %s: there is nothing before it; add older runs, or try --by run.", compare.CountRuns(runs), h.By, h.Points[0].Name)
		return
	case runs < MinRuns:
		h.Text = fmt.Sprintf("Inconclusive: %s; at least %d are needed to see a change.", compare.CountRuns(runs), MinRuns)
		return
	case len(h.Figures) == 0:
		h.Text = fmt.Sprintf("Inconclusive: the %s have too few messages for any figure to be judged.", compare.CountRuns(runs))
		return
	}
	h.Outcome = Unchanged
	h.Text = fmt.Sprintf("No change was seen in %s at %d points.", compare.CountRuns(runs), len(h.Points))
	worse, better := h.changed(Worse), h.changed(Better)
	switch {
	case len(worse) > 0:
		h.Outcome, h.FirstWorse = Worse, worse[0].newest().Name
		h.Text = "Worse since " + h.sentence(worse) + h.maybeEarlier(worse[0].newest().At)
	case len(better) > 0:
		h.Outcome = Better
		h.Text = "Better since " + h.sentence(better) + h.maybeEarlier(better[0].newest().At)
	case h.unborne() != nil:
		h.Outcome = Inconclusive
		h.Text = fmt.Sprintf("Inconclusive: %s at %d points show a change that may be none.", compare.CountRuns(runs), len(h.Points))
	case h.ofHours() != nil && h.ofHours().hours < MinSessions:
		h.Outcome = Inconclusive
		h.Text = fmt.Sprintf("Inconclusive: %s were made in %s; at least %d are needed to see a change.", compare.CountRuns(runs), h.ofHours().hoursText(), MinSessions)
	}
	if few := h.tooFew(ctx); few != "" {
		if h.Outcome == Unchanged && h.By != ByRun.String() {
			h.Outcome, h.Text = Inconclusive, "Inconclusive: no"+strings.TrimPrefix(h.Text, "No")
		}
		h.Text += " " + few
	}
}

// changed are the figures whose newest change is such, the greatest factor first.
func (h *History) changed(o Outcome) []*Figure {
	var changed []*Figure
	for i := range h.Figures {
		if c := h.Figures[i].newest(); c != nil && c.Outcome == o {
			changed = append(changed, &h.Figures[i])
		}
	}
	slices.SortStableFunc(changed, func(a, b *Figure) int {
		x, y := a.newest().factor(), b.newest().factor()
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return changed
}

// factor is how great a change is, either way.
func (c *Change) factor() float64 {
	if c.Ratio == nil || *c.Ratio <= 0 {
		return math.Inf(1)
	}
	return math.Exp(math.Abs(math.Log(*c.Ratio)))
}

// sentence says of the first figure what changed, and names the others.
func (h *History) sentence(changed []*Figure) string {
	f := changed[0]
	c := f.newest()
	before := f.Levels[len(f.Levels)-2]
	text := fmt.Sprintf("%s: %s is %s, and was %s at %s", c.Name, f.Name(), f.ValueText(c.After), f.ValueText(c.Before), h.span(before))
	if c.Ratio != nil {
		text += ", " + run.FormatFloat(*c.Ratio) + " times as much"
	}
	text += fmt.Sprintf(" (p %.2g)", c.P)
	var others []string
	for _, other := range changed[1:] {
		others = append(others, other.Name()+" since "+other.newest().Name)
	}
	if len(others) > 0 {
		text += "; also " + strings.Join(others, ", ")
	}
	return text + "." + h.otherwise(f) + h.greatest(c)
}

// otherwise says how the newest level of a figure stands to older ones, where that is not what is judged, which is
// how it stands to the one before: to the best for one that is better, and to the first for one that is worse.
func (h *History) otherwise(f *Figure) string {
	c, older := f.newest(), f.Levels[:len(f.Levels)-1]
	best := slices.MinFunc(older, func(a, b Level) int { return cmp.Compare(a.Median, b.Median) })
	const judged = "what is judged is the newest level against the one before it"
	switch {
	case c.Outcome == Better && c.After > best.Median:
		return fmt.Sprintf(" It is still above the %s at %s, the best so far: %s.", f.ValueText(best.Median), h.span(best), judged)
	case c.Outcome == Worse && c.After < older[0].Median:
		return fmt.Sprintf(" It is still below the %s at %s: %s.", f.ValueText(older[0].Median), h.span(older[0]), judged)
	}
	return ""
}

// greatest names the greatest change of the outcome of c, where that is not c.
func (h *History) greatest(c *Change) string {
	text, most := "", c.factor()
	for i := range h.Figures {
		f := &h.Figures[i]
		for k := range f.Changes {
			if o := &f.Changes[k]; o.Outcome == c.Outcome && o.factor() > most {
				most = o.factor()
				text = fmt.Sprintf(" The greatest step that way: %s since %s, from %s to %s.", f.Name(), o.Name, f.ValueText(o.Before), f.ValueText(o.After))
			}
		}
	}
	return text
}

// span names the points of a level.
func (h *History) span(l Level) string {
	if l.From == l.To {
		return h.Points[l.From].Name
	}
	return h.Points[l.From].Name + " to " + h.Points[l.To].Name
}

// ValueText writes a value of the figure for people: a time, or how many times the
// reference.
func (f Figure) ValueText(v float64) string {
	if f.Unit == "ratio" {
		return fmt.Sprintf("%.3g×", v)
	}
	return run.FormatNs(int64(time.Duration(math.Round(v))))
}
