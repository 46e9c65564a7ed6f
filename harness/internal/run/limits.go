package run

import (
	"fmt"
	"time"
)

// The shares of processors' time, from 0 to 1 while messages were offered, from which on
// somebody was at his limit. A machine is shared: who makes the load is also at his
// limit where nothing is left of it and the most was his. One that is busy with other
// work does not give him that much.
const (
	atLimit = .9
	mostOf  = .75
)

// leastOffering is how long messages must be offered for such shares to mean something.
const leastOffering = time.Second

// bottlenecks say that what made the load was itself at its limit: dq-bench, or the
// program that the implementation is in. Then the figures are of it, not of the queue.
func (r *Document) bottlenecks() []string {
	var all []string
	if r.offeredFor() < leastOffering.Seconds() {
		return all
	}
	for _, made := range []struct {
		by   string
		used *ToolUsage
	}{{"dq-bench itself", r.ToolUsage}, {"the program that made the load", r.ProgramUsage}} {
		if made.used == nil {
			continue
		}
		share := made.used.CPUShare
		text := fmt.Sprintf("%s was at its limit: while messages were offered it used %s of its processors' time", made.by, percent(share))
		switch {
		case share >= atLimit:
			all = append(all, text)
		case r.machineFull() && r.ofMachine(share) >= mostOf*r.Machine.BusyShare:
			all = append(all, fmt.Sprintf("%s, of %s that were taken", text, percent(r.Machine.BusyShare)))
		}
	}
	return all
}

// othersTook says that other programs took the machine, which explains late answers as well as the system under
// test does; empty if they did not.
func (r *Document) othersTook() string {
	if !r.machineFull() || r.Environment.CPUs == 0 {
		return ""
	}
	ours := 0.
	for _, used := range []*ToolUsage{r.ToolUsage, r.ProgramUsage} {
		if used != nil {
			ours += r.ofMachine(used.CPUShare)
		}
	}
	if r.ServerStats != nil {
		ours += r.ServerStats.CPUShare / float64(r.Environment.CPUs)
	}
	if ours >= r.Machine.BusyShare/2 {
		return ""
	}
	return fmt.Sprintf("the machine was at its limit: while messages were offered %s of its processors' time was taken, and %s by the run",
		percent(r.Machine.BusyShare), percent(ours))
}

// machineFull reports whether the processors of the machine had nothing left.
func (r *Document) machineFull() bool { return r.Machine != nil && r.Machine.BusyShare >= atLimit }

// ofMachine is a share of the processors that this process may use as one of all that the
// machine has.
func (r *Document) ofMachine(share float64) float64 {
	if e := r.Environment; e.GOMAXPROCS > 0 && e.GOMAXPROCS < e.CPUs {
		return share * float64(e.GOMAXPROCS) / float64(e.CPUs)
	}
	return share
}

// elsewhere says what else was at its limit while the load was not made, empty if
// nothing is known of that. By itself that is no fault of a run: a server that is busy is
// what some implementations make of it.
func (r *Document) elsewhere() string {
	switch {
	case r.offeredFor() < leastOffering.Seconds():
		return ""
	case r.ServerStats != nil && r.ServerStats.CPUShare >= atLimit:
		return fmt.Sprintf("the server was at its limit: while messages were offered it used %s of a processor", percent(r.ServerStats.CPUShare))
	case r.machineFull():
		text := fmt.Sprintf("the machine was at its limit: while messages were offered %s of its processors' time was taken", percent(r.Machine.BusyShare))
		if r.ToolUsage != nil && r.ToolUsage.CPUShare > 0 {
			text += fmt.Sprintf(", and dq-bench had %s of its own", percent(r.ToolUsage.CPUShare))
		}
		return text
	}
	return r.waiting()
}

// waiting says how many offers the producers can make that wait for each answer, empty if
// that is enough for the rate.
func (r *Document) waiting() string {
	rtt := r.Histograms.OfferRTT
	if rtt == nil || rtt.Count() == 0 || rtt.Mean() <= 0 {
		return ""
	}
	most := float64(r.Scenario.Producers) * float64(time.Second) / rtt.Mean()
	if most >= r.Scenario.Rate {
		return ""
	}
	return fmt.Sprintf("the producers were at their limit: %d that wait for each answer, %s on average, make %.0f offers a second",
		r.Scenario.Producers, FormatNs(int64(rtt.Mean())), most)
}

// offeredFor is for how many seconds offers were made: until the end of the last second with
// one, or as planned where that is within this second.
func (r *Document) offeredFor() float64 {
	last := 0.
	for _, i := range r.Intervals {
		if i.Offered > 0 {
			last = i.Second
		}
	}
	if planned, err := time.ParseDuration(r.Scenario.Duration); err == nil && last-1 < planned.Seconds() {
		last = min(last, planned.Seconds())
	}
	return last
}
