package compare

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/text"
)

const (
	// minRunsOfTrack is the shortest track in which a change can be found; mostOfTrack is the longest that is searched run by
	// run: above it each set counts by its median.
	minRunsOfTrack, mostOfTrack = 12, 500
)

// Track follows a figure over all sets: its ratio to the reference, or without one the figure itself, which is then not
// judged. Of faults it is the share of the messages.
type Track struct {
	Figure  string       `json:"figure"`
	Unit    string       `json:"unit"` // "ns", "ratio" or "share"
	Judged  bool         `json:"judged"`
	Values  [][]*float64 `json:"values"` // of the runs of each set; null if a run lacks it
	Changes []Change     `json:"changes,omitempty"`
}

// Change is where one level of a Track ends and the next begins.
type Change struct {
	At      int     `json:"at"` // index of the set
	Since   string  `json:"since"`
	Before  float64 `json:"before"`
	After   float64 `json:"after"`
	P       float64 `json:"p"`
	Outcome Outcome `json:"outcome"`
}

// follow makes the tracks and finds their changes. The newest change of each decides.
func (c *Comparison) follow(ctx context.Context) {
	runs := All(c.sets)
	for _, f := range figures(slices.AppendSeq(slices.Clone(runs), maps.Values(c.of))) {
		t := &Track{Figure: f.name, Unit: "ns", Judged: c.of != nil}
		if t.Judged {
			t.Unit = "ratio"
		}
		t.fill(c.sets, func(r *run.Document) float64 { return f.value(r, c.of) })
		c.Tracks = append(c.Tracks, t)
	}
	for _, f := range faults {
		if f.share(runs...) > 0 {
			t := &Track{Figure: f.what, Unit: "share", Judged: true}
			t.fill(c.sets, func(r *run.Document) float64 { return f.share(r) })
			c.Tracks = append(c.Tracks, t)
		}
	}
	c.concludeTracks(ctx, len(runs))
}

func (t *Track) fill(sets []Set, of func(*run.Document) float64) {
	for _, s := range sets {
		all := make([]*float64, len(s.Runs))
		for i, r := range s.Runs {
			if v := of(r); !math.IsNaN(v) {
				all[i] = &v
			}
		}
		t.Values = append(t.Values, all)
	}
}

func (c *Comparison) concludeTracks(ctx context.Context, runs int) {
	first, judged := len(c.sets), slices.DeleteFunc(slices.Clone(c.Tracks), func(t *Track) bool { return !t.Judged })
	for _, t := range judged {
		if t.divide(ctx, c.sets, significance/float64(len(judged))); t.newest().Outcome == Worse {
			first = min(first, t.newest().At)
		}
	}
	var worse, better []string
	for _, t := range judged {
		switch newest := t.newest(); newest.Outcome {
		case Worse:
			worse = append(worse, t.sentence(newest, first))
		case Better:
			better = append(better, t.sentence(newest, -1))
		}
	}
	const beside = " Lateness over all sets is drawn, not judged: measure each beside one reference (dq-bench run --driver REFERENCE --driver VERSION --beside) to judge each."
	switch {
	case len(worse) > 0:
		c.Outcome, c.FirstWorse, c.Text, c.Next = Worse, c.sets[first].Name, "Worse since "+c.sets[first].Name+": "+strings.Join(worse, "; ")+".", ""
	case c.of == nil:
		c.Text += beside
	case runs < minRunsOfTrack:
		c.Outcome, c.Text = Inconclusive, fmt.Sprintf("Inconclusive: a change needs %d runs or more beside %s, here are %d.", minRunsOfTrack, c.Reference, runs)
		c.Next = ""
	case len(better) > 0:
		c.Outcome, c.Text, c.Next = Better, "Better: "+strings.Join(better, "; ")+".", ""
	default:
		c.Outcome, c.Text, c.Next = NoDifference, fmt.Sprintf("No change in %s of %d sets, each beside %s.", text.Plural(int64(runs), "run"), len(c.sets), c.Reference), ""
	}
}

// divide finds where the track changes by more than matters.
func (t *Track) divide(ctx context.Context, sets []Set, level float64) {
	var series []float64
	var at, may []int // the set of each value, and where sets begin
	long := len(slices.Concat(t.Values...))
	for i, of := range t.Values {
		values := given(of)
		if long > mostOfTrack && len(values) > 0 {
			values = []float64{t.level(values)}
		}
		if len(values) > 0 && len(series) > 0 {
			may = append(may, len(series))
		}
		series, at = append(series, values...), append(at, slices.Repeat([]int{i}, len(values))...)
	}
	scaled, ok := logs(series)
	for _, v := range series {
		if !ok { // the chance of a root varies about as much at every level
			scaled = append(scaled, math.Sqrt(v))
		}
	}
	found := findSteps(ctx, scaled, may, level)
	if t.Unit == "share" && len(may) > 0 {
		newest := may[len(may)-1]
		if slices.Max(series[:newest]) == 0 && slices.Max(series[newest:]) > 0 { // a first fault is no chance
			found = []step{{At: newest}}
		}
	}
	from := 0
	for i, c := range found {
		to := len(series)
		if i+1 < len(found) {
			to = found[i+1].At
		}
		before, after := t.level(series[from:c.At]), t.level(series[c.At:to])
		if from = c.At; math.Abs(after-before) <= minEffect*before {
			continue
		}
		change := Change{At: at[c.At], Since: sets[at[c.At]].Name, Before: before, After: after, P: c.P, Outcome: Worse}
		if after < before {
			change.Outcome = Better
		}
		t.Changes = append(t.Changes, change)
	}
}

// Level returns the median of some sets, of shares the mean; NaN without a value.
func (t *Track) Level(from, to int) float64 { return t.level(given(t.Values[from:to]...)) }

// given are the values that there are.
func given(all ...[]*float64) (values []float64) {
	for _, v := range slices.Concat(all...) {
		if v != nil {
			values = append(values, *v)
		}
	}
	return values
}

func (t *Track) level(values []float64) float64 {
	if t.Unit != "share" {
		return Median(values)
	}
	return Mean(values)
}

// newest returns the last change, or none.
func (t *Track) newest() Change { return append([]Change{{}}, t.Changes...)[len(t.Changes)] }

// sentence writes "past due p50: 1.35×, before 0.997× (p 0.001)", with the set at which it changed unless that is known.
func (t *Track) sentence(c Change, known int) string {
	figure := t.Figure
	if c.At != known {
		figure += " since " + c.Since
	}
	return fmt.Sprintf("%s: %s, before %s (p %.2g)", figure, t.Text(c.After), t.Text(c.Before), c.P)
}

// Text writes a value of the track.
func (t *Track) Text(v float64) string {
	switch t.Unit {
	case "share":
		return percent(v)
	case "ratio":
		return fmt.Sprintf("%.3g×", v)
	}
	return run.FormatNs(int64(v))
}
