package web

import (
	"cmp"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/page"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// sides makes a side of each set that was chosen, also of one run. Runs of sets that were
// chosen one by one make a side for each implementation, or each its own where there is only
// one. The oldest side is the first.
func sides(choice []chosen) []page.Side {
	var all []page.Side
	var single []chosen
	for _, c := range choice {
		if len(c.runs) > 1 || setOf(c.id) == c.id {
			all = append(all, page.Side{Name: c.id, Runs: c.runs})
		} else {
			single = append(single, c)
		}
	}
	all = append(all, ofSingle(single)...)
	slices.SortStableFunc(all, func(a, b page.Side) int { return cmp.Compare(oldest(a), oldest(b)) })
	shorten(all)
	return all
}

// ofSingle makes sides of single runs.
func ofSingle(single []chosen) []page.Side {
	var sides, each []page.Side
	at := map[string]int{}
	for _, c := range single {
		r := c.runs[0]
		name := r.Driver.String()
		if _, there := at[name]; !there {
			at[name] = len(sides)
			sides = append(sides, page.Side{Name: name})
		}
		side := &sides[at[name]]
		side.Runs = append(side.Runs, r)
		each = append(each, page.Side{Name: c.id, Runs: c.runs})
	}
	if len(sides) == 1 {
		return each
	}
	return sides
}

func oldest(s page.Side) int64 {
	first := slices.MinFunc(s.Runs, func(a, b *run.Document) int { return a.Started.Compare(b.Started) })
	return first.Started.UnixNano() / int64(time.Millisecond)
}

// shorten calls sides by their implementations, where that tells them apart.
func shorten(sides []page.Side) {
	names := map[string]bool{}
	for _, s := range sides {
		for _, r := range s.Runs {
			if r.Driver != s.Runs[0].Driver {
				return
			}
		}
		names[s.Runs[0].Driver.String()] = true
	}
	if len(names) < len(sides) {
		return
	}
	for i := range sides {
		sides[i].Name = sides[i].Runs[0].Driver.String()
	}
}
