package history

import (
	"fmt"
	"math"
	"strings"
)

// alikeFrom is from how many standard deviations on neighbours are more alike than by chance, at 0.05.
const alikeFrom = 1.645

// neighbours is the correlation of each value with the next one of its level, and how many standard deviations that is
// above what chance has.
func (f *Figure) neighbours() (correlation, deviations float64) {
	scaled, products, squares, n := f.scaled(), 0., 0., 0
	for _, l := range f.Levels {
		level := told(scaled[l.From : l.To+1]...)
		mean := 0.
		for _, v := range level {
			mean += v / float64(len(level))
		}
		for i, v := range level {
			squares += (v - mean) * (v - mean)
			if i > 0 {
				products += (v - mean) * (level[i-1] - mean)
			}
		}
		n += len(level)
	}
	if squares == 0 {
		return 0, 0
	}
	// The mean of a level is that of its values, which takes about 1/n from the correlation.
	correlation = products/squares + float64(len(f.Levels))/float64(n)
	return correlation, correlation * math.Sqrt(float64(n))
}

// tellNeighbours says of which figures that changed the runs resemble the ones beside them, within their levels: the test
// takes them for draws in any order, and a drift that comes and goes for a change; and which come and go. Runs that share
// their hour are judged by that.
func (h *History) tellNeighbours(s *sorted) {
	if s.strata != nil && s.references == nil {
		return
	}
	var alike, restless []string
	for i := range h.Figures {
		f := &h.Figures[i]
		if correlation, deviations := f.neighbours(); f.newest() != nil && deviations > alikeFrom {
			alike = append(alike, fmt.Sprintf("%s (correlation %.1f)", f.Name(), correlation))
		}
		if n := f.turns(); n >= manyTurns {
			restless = append(restless, fmt.Sprintf("%s (%d times)", f.Name(), n))
		}
	}
	const but = ": what changed may be a drift of the machine that comes and goes; measure beside a reference, or in turn"
	if len(alike) > 0 {
		h.Notes = append(h.Notes, "neighbouring runs are alike, between the changes too, in "+strings.Join(alike, ", ")+but)
	}
	if len(restless) > 0 {
		h.Notes = append(h.Notes, "what rose fell again, or the other way round, in "+strings.Join(restless, ", ")+but)
	}
}

// manyTurns is how often a figure turns round that may well follow the hours of a day.
const manyTurns = 2

// turns is how many changes are in the other direction than the one before.
func (f *Figure) turns() (n int) {
	for i := 1; i < len(f.Changes); i++ {
		if f.Changes[i].Outcome != f.Changes[i-1].Outcome {
			n++
		}
	}
	return n
}
