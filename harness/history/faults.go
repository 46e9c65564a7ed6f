package history

import (
	"context"
	"math"
	"slices"

	"github.com/dq-bench/dq-bench/harness/compare"
	"github.com/dq-bench/dq-bench/harness/compare/stats"
	"github.com/dq-bench/dq-bench/harness/run"
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

	kind compare.Fault
	text string // of the change
}

// Name is what people call it: "lost", "delivered early".
func (f Fault) Name() string { return f.kind.Few }

// FaultChange is where messages begin or cease to be treated wrongly.
type FaultChange struct {
	// At is the first point behind the best level so far where it is worse, and of the newest level where it is
	// better; Name is what it is called.
	At   int    `json:"at"`
	Name string `json:"name"`
	// Before and After are shares of the messages that were to be offered: Before that of the best level
	// so far where it is worse, and of all points before where it is better.
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
			if all, bad := s.runsOf(0, len(s.points), kind); leastChance(bad, all) <= worseShare*faultSignificance/float64(n) {
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

// change compares the newest level of a kind of fault with the best before it, and with all before it.
func (s *sorted) change(ctx context.Context, f *Fault, counts []run.Counts, level float64) {
	starts := s.levels(ctx, counts, f.kind, level)
	if len(starts) == 1 {
		return
	}
	at := starts[len(starts)-1]
	from, since := 0, starts[1]
	for i, start := range starts[1 : len(starts)-1] {
		if next := starts[i+2]; f.kind.Share(sum(counts[start:next])) <= f.kind.Share(sum(counts[from:since])) {
			from, since = start, next
		}
	}
	best, newest, beside := s.sides(from, since, at)
	all, ofAll, allBeside := s.sides(0, at, at)
	switch {
	case f.kind.More(best, newest, level):
		f.set(s, from, since, best, newest, Worse, beside)
	case s.made() >= MinRuns && f.kind.More(ofAll, all, level):
		f.set(s, 0, at, all, ofAll, Better, allBeside)
	}
}

// set makes the change since a point, set against those from another.
func (f *Fault) set(s *sorted, from, since int, before, newest run.Counts, outcome Outcome, beside bool) {
	f.Change = &FaultChange{since, s.points[since].name, f.kind.Share(before), f.kind.Share(newest), outcome}
	old := s.points[from].name
	if from < since-1 {
		old += " to " + s.points[since-1].name
	}
	if beside {
		old += " in the same sittings"
	}
	f.text = f.kind.Text(before, newest, "those of "+old)
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
	// faultSignificance is the level of all kinds of fault together, and worseShare the share of it at which it is
	// judged whether there are more of them.
	faultSignificance = .04
	worseShare        = .8
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
