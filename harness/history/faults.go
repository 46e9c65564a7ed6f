package history

import (
	"math"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/compare"
	"github.com/dq-bench/dq-bench/harness/compare/stats"
	"github.com/dq-bench/dq-bench/harness/run"
)

// moreFaults says since which point messages are treated worse than at the best level before, and how;
// the text is empty where they are not. Each kind of fault has levels of its own; the earliest
// point is that of the kind that got worse first.
func (s *sorted) moreFaults() (since int, text string) {
	counts := make([]run.Counts, len(s.points))
	for i, p := range s.points {
		for _, r := range p.runs {
			counts[i] = counts[i].Plus(r.Counts)
		}
	}
	var texts []string
	for _, kind := range compare.Faults {
		at, more := s.worseSince(counts, kind)
		if more == "" {
			continue
		}
		if len(texts) == 0 || at < since {
			since = at
		}
		texts = append(texts, more)
	}
	return since, strings.Join(texts, "; ")
}

// worseSince compares the newest level of a kind of fault with the best before it.
func (s *sorted) worseSince(counts []run.Counts, kind compare.Fault) (since int, text string) {
	starts := s.faultLevels(counts, kind)
	newest := starts[len(starts)-1]
	best, share := run.Counts{}, math.Inf(1)
	for i, from := range starts[:len(starts)-1] {
		level := sum(counts[from:starts[i+1]])
		if s := shareOf(kind, level); s <= share {
			best, share, since = level, s, starts[i+1]
		}
	}
	if math.IsInf(share, 1) {
		return 0, ""
	}
	if s.fewOf(since, kind) {
		return 0, ""
	}
	return since, kind.More(best, sum(counts[newest:]), "those before")
}

// fewOf reports whether the runs since a point do not treat messages wrongly more than those before, run by run:
// one bad day of hundreds of messages is no more evidence than one of a few. It is asked only where there are
// enough runs to tell; and never of a fault that comes for the first time at the newest point.
func (s *sorted) fewOf(since int, kind compare.Fault) bool {
	shares := func(from, to int) (all []float64) {
		for _, p := range s.points[from:to] {
			for _, r := range p.runs {
				all = append(all, shareOf(kind, r.Counts))
			}
		}
		return all
	}
	before, after := shares(0, since), shares(since, len(s.points))
	if since == len(s.points)-1 && slices.Max(before) == 0 || byChance(len(before)+len(after), len(after), len(before)) > .01 {
		return false
	}
	_, p := stats.MannWhitney(before, after) // both ways, as the point was chosen by the same runs
	return p > significance
}

// faultLevels are the first points of the stretches of which each treats as many messages wrongly, but for
// chance. Messages that are lost together are no evidence for each other, so what comes for the first
// time begins a level only if few orders of the runs would have it come so late, and what does not come
// back ends one likewise. At the newest point the first time is always one.
func (s *sorted) faultLevels(counts []run.Counts, kind compare.Fault) []int {
	starts := []int{0}
	var divide func(from, to int)
	divide = func(from, to int) {
		at := clearest(counts[from:to], kind)
		if at == 0 {
			return
		}
		divide(from, from+at)
		starts = append(starts, from+at)
		divide(from+at, to)
	}
	divide(0, len(counts))
	from := starts[len(starts)-1]
	clean := func(i int) bool { return kind.Of(counts[i]) == 0 }
	first, last := from, len(counts)
	for first < last && clean(first) {
		first++
	}
	for last > first && clean(last-1) {
		last--
	}
	if first == last {
		return starts
	}
	all, bad := s.runsOf(from, len(counts), kind)
	before, _ := s.runsOf(from, first, kind)
	after, _ := s.runsOf(last, len(counts), kind)
	if first > from && (first == len(counts)-1 || byChance(all, bad, before) <= significance) {
		starts = append(starts, first)
	}
	if last < len(counts) && byChance(all, bad, after) <= significance {
		starts = append(starts, last)
	}
	return starts
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

// byChance is how likely the first, or the last, of all runs are all clean if the bad ones are anywhere.
func byChance(all, bad, clean int) float64 {
	p := 1.
	for i := range bad {
		p *= float64(all-clean-i) / float64(all-i)
	}
	return p
}

// clearLikelihood is twice the logarithm of how much likelier two shares must make what was counted at
// so many points than one share, to be two.
func clearLikelihood(points int) float64 { return 3.84 + 2*math.Log(float64(points)) }

// clearest is where counts divide best in two levels, 0 for nowhere.
func clearest(counts []run.Counts, kind compare.Fault) (at int) {
	all, left := sum(counts), run.Counts{}
	one, most := likelihood(kind, all), clearLikelihood(len(counts))/2
	var lefts []float64
	for _, c := range counts {
		left = left.Plus(c)
		lefts = append(lefts, likelihood(kind, left))
	}
	right := run.Counts{}
	for i := len(counts) - 1; i > 0; i-- {
		right = right.Plus(counts[i])
		if gain := lefts[i-1] + likelihood(kind, right) - one; gain >= most {
			at, most = i, gain
		}
	}
	return at
}

// likelihood is the logarithm of that of what was counted, if its share is the true one.
func likelihood(kind compare.Fault, c run.Counts) float64 {
	n, bad := float64(messagesOf(c)), float64(kind.Of(c))
	if bad <= 0 || bad >= n {
		return 0
	}
	return bad*math.Log(bad/n) + (n-bad)*math.Log1p(-bad/n)
}

func shareOf(kind compare.Fault, c run.Counts) float64 {
	return float64(kind.Of(c)) / float64(messagesOf(c))
}

// messagesOf counts those that were to be offered.
func messagesOf(c run.Counts) int64 { return max(c.Offered+c.OfferErrors, 1) }

func sum(counts []run.Counts) (all run.Counts) {
	for _, c := range counts {
		all = all.Plus(c)
	}
	return all
}
