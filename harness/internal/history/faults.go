package history

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/compare/stats"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Fault is one kind of wrong that was done to messages, in any of the runs.
type Fault struct {
	// Kind is the name of the count, such as "lost", or "overdue" for messages that were due and never came.
	Kind string `json:"kind"`
	// Messages counts them at each point, Runs the runs of the point that have any.
	Messages []int64 `json:"messages"`
	Runs     []int   `json:"runs"`
	// Change is how the newest points differ from those before; it is missing where that may be chance.
	Change *FaultChange `json:"change,omitempty"`
	// Changes are all, in order, each against the level before it.
	Changes []FaultChange `json:"changes,omitempty"`

	kind compare.Fault
	text string // of the change, and of those before it that it takes back
}

// Name is what people call it: "lost", "delivered early".
func (f Fault) Name() string { return f.kind.Few }

// Told are the changes that are told, in order: all, and that of the newest level where it is none of these.
func (f Fault) Told() []FaultChange {
	told := slices.Clone(f.Changes)
	if c := f.Change; c != nil && !slices.ContainsFunc(told, func(o FaultChange) bool { return o.At == c.At && o.Outcome == c.Outcome }) {
		told = append(told, *c)
		slices.SortStableFunc(told, func(a, b FaultChange) int { return cmp.Compare(a.At, b.At) })
	}
	return told
}

// FaultChange is where messages begin or cease to be treated wrongly.
type FaultChange struct {
	// At is the first point behind the best level so far where it is worse, and of the newest level where it is
	// better; Name is what it is called.
	At   int    `json:"at"`
	Name string `json:"name"`
	// Before and After are shares of the messages that were to be offered. Of the Change of a Fault that is worse Before
	// is that of the best level so far and After that of the newest; else they are those of the level before and of that
	// which begins.
	Before  float64 `json:"before"`
	After   float64 `json:"after"`
	Outcome Outcome `json:"outcome"`
}

// faults are all kinds of wrong that were done to messages. Each is judged by itself, at a level that is that
// of all together that could be told.
func (s *sorted) faults(ctx context.Context) []Fault {
	counts := make([]run.Counts, len(s.points))
	for i, p := range s.points {
		for _, r := range p.runs {
			counts[i] = counts[i].Plus(r.Counts)
		}
	}
	kinds := compare.FaultsIn(counts...)
	var all []Fault
	for _, kind := range kinds {
		f := Fault{Kind: kind.Name, kind: kind}
		for i, c := range counts {
			_, bad := s.runsOf(i, i+1, kind)
			f.Messages, f.Runs = append(f.Messages, kind.Of(c)), append(f.Runs, bad)
		}
		all = append(all, f)
	}
	level, beside := faultSignificance/float64(s.sharing(kinds)), s.units()
	byOrder := *s
	byOrder.strata = nil
	for i := range all {
		beside.change(ctx, &all[i], counts, level)
		if s.strata == nil || all[i].Change != nil {
			continue
		}
		runs := all[i]
		byOrder.change(ctx, &runs, counts, level)
		if c := runs.Change; c != nil && c.Outcome == Worse && s.outdoes(runs.kind, c.At) {
			all[i] = runs
		}
	}
	return all
}

// sharing is how many kinds share the level: those that could be told at their part of it (Tarone 1990). One that
// a single run of a dozen has could not, wherever that stands, and takes nothing from the others.
func (s *sorted) sharing(kinds []compare.Fault) int {
	for n := 1; n < len(kinds); n++ {
		could := 0
		for _, kind := range kinds {
			if all, bad := s.runsOf(0, len(s.points), kind); leastChance(bad, all) <= riseShare*faultSignificance/float64(n) {
				could++
			}
		}
		if could <= n {
			return n
		}
	}
	return len(kinds)
}

// leastChance is that of the clearest order that runs can come in of which so many are bad: all of these last.
func leastChance(bad, runs int) float64 {
	p := 1.
	for i := range min(bad, runs/2) {
		p *= float64(i+1) / float64(runs-i)
	}
	return p
}

// change compares the newest level of a kind of fault with the best before it, and each level with the one before.
func (s *sorted) change(ctx context.Context, f *Fault, counts []run.Counts, level float64) {
	f.Change, f.Changes, f.text = nil, nil, ""
	starts := s.levels(ctx, counts, f.kind, level)
	if len(starts) == 1 {
		return
	}
	at, end := starts[len(starts)-1], len(s.points)
	from, since := 0, starts[1]
	for i, start := range starts[1 : len(starts)-1] {
		if next := starts[i+2]; f.kind.Share(sum(counts[start:next])) <= f.kind.Share(sum(counts[from:since])) {
			from, since = start, next
		}
	}
	var texts []string // of the changes
	for i, start := range starts[1:] {
		next := append(starts, end)[i+2]
		before, after, beside := s.sides(starts[i], start, start, next)
		outcome := Worse
		switch {
		case f.kind.More(before, after, level):
		case s.made() >= MinRuns && f.kind.More(after, before, level):
			outcome = Better
		default:
			continue
		}
		f.Changes = append(f.Changes, s.faultChange(f.kind, start, before, after, outcome))
		texts = append(texts, f.kind.Text(before, after, s.those(starts[i], start, beside)))
	}
	best, newest, beside := s.sides(from, since, at, end)
	last := len(f.Changes) - 1
	switch {
	case f.kind.More(best, newest, level):
		c := s.faultChange(f.kind, since, best, newest, Worse)
		f.Change, f.text = &c, f.kind.Text(best, newest, s.those(from, since, beside))
	case last >= 0 && f.Changes[last].Outcome == Better:
		f.Change, f.text = &f.Changes[last], texts[last]
		for i := last - 1; i >= 0; i-- {
			if c := f.Changes[i]; c.Outcome == Worse {
				f.text += fmt.Sprintf("; before, it was worse since %s: %s", c.Name, texts[i])
				break
			}
		}
	}
}

// faultChange is the one since a point.
func (s *sorted) faultChange(kind compare.Fault, since int, before, after run.Counts, outcome Outcome) FaultChange {
	return FaultChange{since, s.points[since].name, kind.Share(before), kind.Share(after), outcome}
}

// those names the points whose messages others are set against.
func (s *sorted) those(from, since int, beside bool) string {
	old := "those of " + s.points[from].name
	if from < since-1 {
		old += " to " + s.points[since-1].name
	}
	if beside {
		old += " in the same sittings"
	}
	return old
}

// levels are the first points of the stretches of which each treats as many messages wrongly, but for chance.
// Messages that are lost together are no evidence for each other, so it is the runs that tell, by their order:
// one bad day of hundreds is no more than one of a few. Beside the order it is enough that a fault stands out in all
// runs since some point, or for the first time in the newest; of fewer than MinRuns no order would tell.
func (s *sorted) levels(ctx context.Context, counts []run.Counts, kind compare.Fault, level float64) []int {
	starts := []int{0}
	if s.made() < MinRuns {
		if at := s.standOut(kind, 0); at > 0 {
			starts = append(starts, at)
		}
		return starts
	}
	starts = append(starts, s.steps(ctx, kind, level)...)
	newest, last := starts[len(starts)-1], len(counts)-1
	if at := s.standOut(kind, newest); at > 0 {
		starts = append(starts, at)
	} else if 0 < newest && newest < last && s.isOver(kind, newest, last) {
		starts = append(starts, last)
	}
	return starts
}

// isOver reports whether all runs of the newest point are without a fault, which few orders of the runs of its
// level, in each sitting, would have: what began with that level is then no longer so.
func (s *sorted) isOver(kind compare.Fault, from, newest int) bool {
	_, wrong := s.runsOf(newest, newest+1, kind)
	p := 1.
	for _, level := range s.bySitting(from, newest+1) {
		all, bad := level.runsOf(from, newest+1, kind)
		clean, _ := level.runsOf(newest, newest+1, kind)
		for i := range min(bad, all) {
			p *= max(float64(all-clean-i), 0) / float64(all-i)
		}
	}
	return wrong == 0 && p <= significance
}

// standOut is a point since which a fault stands out that was there before, if at all, from a point on: no
// run had it and each has it since, or the newest in any of its runs; or each has many times as many as any of
// those. Of several it is the one at which the shares rise most. It is 0 if there is none. A fault that the newest two
// have is rarer by chance than one that the newest alone has, so what was told of that is told still.
func (s *sorted) standOut(kind compare.Fault, from int) int {
	last := len(s.points) - 1
	most, bad := make([]float64, last+1), make([]int, last+1) // of the runs before a point
	var roots []float64
	first := make([]int, last+1) // run of each point
	for i := from; i <= last; i++ {
		shares := s.shares(kind, i, i+1)
		first[i] = len(roots)
		roots = append(roots, squareRoots(shares)...)
		if i < last {
			_, n := s.runsOf(i, i+1, kind)
			bad[i+1] = bad[i] + n
			most[i+1] = max(most[i], slices.Max(shares))
		}
	}
	least := math.Inf(1) // of the runs since
	var places []int
	for at := last; at > from && least > 0; at-- {
		shares := s.shares(kind, at, at+1)
		least = min(least, slices.Min(shares))
		many := farBeyond
		if bad[at] >= MinRuns {
			many = beyond
		}
		if least > many*most[at] || at == last && most[at] == 0 && slices.Max(shares) > 0 {
			places = append(places, first[at])
		}
	}
	if len(places) == 0 {
		return 0
	}
	slices.Sort(places)
	return slices.Index(first, stats.Steepest(roots, nil, places, false))
}

const (
	// faultSignificance is the level of all kinds of fault together, riseShare the share of it at which it is
	// judged whether there are more of them, fallShare whether there are less, and backShare whether there were more, or
	// less, for a while.
	faultSignificance = .04
	riseShare         = .77
	fallShare         = .17
	backShare         = .06
	// How many times as many as ever before stand out: where many runs say how much it varies, and where few do;
	// and as many as in any session, where the runs show a change already.
	beyond    = 2.
	farBeyond = 10.
	outdone   = 2.5
)

// shares are those of the runs of points.
func (s *sorted) shares(kind compare.Fault, from, to int) (all []float64) {
	for _, p := range s.points[from:to] {
		for _, r := range p.runs {
			all = append(all, kind.Share(r.Counts))
		}
	}
	return all
}

// runsOf counts the runs of points, and those of them with such a fault.
func (s *sorted) runsOf(from, to int, kind compare.Fault) (all, bad int) {
	for _, p := range s.points[from:to] {
		for _, r := range p.runs {
			all++
			if kind.Of(r.Counts) > 0 {
				bad++
			}
		}
	}
	return all, bad
}

func sum(counts []run.Counts) (all run.Counts) {
	for _, c := range counts {
		all = all.Plus(c)
	}
	return all
}
