package run

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// Merge joins the run files of several workers that loaded one server at the
// same time into one. Counts and histograms are added exactly; producers,
// consumers, rate and messages of the scenarios are added; everything else of
// the configuration must be the same in all, the queue too, and they must have been
// under way together, or a *DifferenceError names what is not.
//
// The workers of one scenario (Document.Worker) are joined message by message, all of
// them or none: the result has the scenario and the counts that one worker alone
// would have.
//
// Server statistics are those of the worker that saw most, as each counts the
// whole server; what is of one machine or one process is in the parts only;
// intervals are joined by the second they ended in. Objectives that
// were judged on parts are not carried over; those of the workers of one scenario,
// which were not, are what the result will be judged by, beside what Judge is given.
func Merge(runs []*Document) (*Document, error) {
	if len(runs) == 0 {
		return nil, errors.New("merge: expected at least one run file")
	}
	if err := mergeable(runs); err != nil {
		return nil, err
	}
	first := *runs[0]
	out := &first
	out.Histograms = Histograms{}
	out.Counts, out.Workers, out.Interrupted, out.SLO = Counts{}, 0, false, nil
	out.Notes, out.ServerStats = nil, nil
	out.Machine, out.ToolUsage, out.ProgramUsage, out.partBottlenecks = nil, nil, nil, nil
	out.Scenario.Producers, out.Scenario.Consumers, out.Scenario.Rate, out.Scenario.Messages = 0, 0, 0, 0
	out.Scenario.Unscaled = maps.Clone(out.Scenario.Unscaled)
	delete(out.Scenario.Unscaled, "rate") // which was that of one part
	ended := out.Started
	for _, r := range runs {
		if err := out.add(r); err != nil {
			return nil, err
		}
		out.Started = earlier(out.Started, r.Started)
		if end := r.Started.Add(time.Duration(r.ElapsedSeconds * float64(time.Second))); end.After(ended) {
			ended = end
		}
	}
	out.ElapsedSeconds = ended.Sub(out.Started).Seconds()
	out.Intervals = mergeIntervals(runs, out.Started)
	if s := out.ServerStats; s != nil && out.Counts.Delivered > 0 {
		s.TransferCallsPerMessage = float64(s.TransferCalls) / float64(out.Counts.Delivered)
	}
	if out.Worker != nil {
		return out, out.joinWorkers(runs)
	}
	return out, nil
}

// mergeable refuses runs that were not parts of one load, and a file given twice.
func mergeable(runs []*Document) error {
	if slices.ContainsFunc(runs, func(r *Document) bool { return r.Worker != nil }) {
		return wholeOf(runs)
	}
	seen := map[string]bool{}
	for _, r := range runs {
		key := r.RunID + r.Started.Format(time.RFC3339Nano)
		if seen[key] {
			return fmt.Errorf("merge: run %s of %s is given twice", r.RunID, r.Started.Format(time.RFC3339))
		}
		seen[key] = true
		differences := Differ(runs[0].mergeKey(), r.mergeKey())
		if !runs[0].overlaps(r) {
			differences = append(differences, fmt.Sprintf("time: %s is not %s: they did not load the server at the same time", runs[0].span(), r.span()))
		}
		if len(differences) > 0 {
			return &DifferenceError{Differences: differences}
		}
	}
	return nil
}

// overlaps reports whether two runs were under way together for most of the shorter one.
func (r *Document) overlaps(other *Document) bool {
	length := func(r *Document) time.Duration { return time.Duration(r.ElapsedSeconds * float64(time.Second)) }
	begin, end := r.Started, r.Started.Add(length(r))
	if other.Started.After(begin) {
		begin = other.Started
	}
	if e := other.Started.Add(length(other)); e.Before(end) {
		end = e
	}
	return end.Sub(begin) >= min(length(r), length(other))/2
}

func (r *Document) span() string {
	end := r.Started.Add(time.Duration(r.ElapsedSeconds * float64(time.Second)))
	return r.Started.Format(time.RFC3339) + " to " + end.Format(time.RFC3339)
}

// mergeKey is what the parts of one load have in common: also the queue, for a load on
// several would be several loads.
func (r *Document) mergeKey() []Field {
	return append(slices.DeleteFunc(r.Configuration(), func(f Field) bool {
		return f.Name == "producers" || f.Name == "consumers" || f.Name == "rate"
	}), Field{"queue", r.Scenario.Queue})
}

func (r *Document) add(part *Document) error {
	if err := r.Histograms.Add(part.Histograms); err != nil {
		return err
	}
	r.Counts = r.Counts.Plus(part.Counts)
	s, q := &r.Scenario, part.Scenario
	s.Producers += q.Producers
	s.Consumers += q.Consumers
	s.Rate += q.Rate
	s.Messages += q.Messages
	r.Workers += max(part.Workers, 1)
	r.Interrupted = r.Interrupted || part.Interrupted
	r.ServerGone = cmp.Or(r.ServerGone, part.ServerGone)
	if part.ServerStats != nil && (r.ServerStats == nil || part.ServerStats.Commands > r.ServerStats.Commands) {
		stats := *part.ServerStats
		r.ServerStats = &stats
	}
	for _, text := range part.bottlenecks() {
		r.partBottlenecks = append(r.partBottlenecks, part.partName()+": "+text)
	}
	for _, note := range part.Notes {
		r.Notes = append(r.Notes, part.partName()+": "+note)
	}
	return nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// mergeIntervals adds counts, and keeps the highest lateness: quantiles of single
// seconds cannot be merged, so the worst worker stands for all.
func mergeIntervals(runs []*Document, start time.Time) []Interval {
	bySecond := map[int64]Interval{}
	for _, r := range runs {
		for second, i := range r.intervalsBySecond(r.Started.Sub(start).Seconds()) {
			if have, ok := bySecond[second]; ok {
				i = have.join(i, have.Pending+i.Pending)
			}
			bySecond[second] = i
		}
	}
	intervals := make([]Interval, 0, len(bySecond))
	for _, second := range slices.Sorted(maps.Keys(bySecond)) {
		intervals = append(intervals, bySecond[second])
	}
	return intervals
}

// intervalsBySecond moves the intervals by offset seconds and joins those that
// end in the same second: the last one of a run is shorter than the others.
func (r *Document) intervalsBySecond(offset float64) map[int64]Interval {
	bySecond := map[int64]Interval{}
	for _, i := range r.Intervals {
		i.Second += offset
		second := int64(math.Round(i.Second))
		if have, ok := bySecond[second]; ok {
			i = have.join(i, i.Pending)
		}
		bySecond[second] = i
	}
	return bySecond
}

func (i Interval) join(other Interval, pending int64) Interval {
	joined := Interval{
		Second: max(i.Second, other.Second), Offered: i.Offered + other.Offered, Delivered: i.Delivered + other.Delivered,
		Pending: pending, P50: i.P50, P99: i.P99, Max: i.Max,
		PastDueP50: i.PastDueP50, PastDueP99: i.PastDueP99, PastDueMax: i.PastDueMax,
		HiccupNs: max(i.HiccupNs, other.HiccupNs),
	}
	switch {
	case other.Delivered == 0:
	case i.Delivered == 0: // its zeros are no lateness, which may be negative
		joined.P50, joined.P99, joined.Max = other.P50, other.P99, other.Max
		joined.PastDueP50, joined.PastDueP99, joined.PastDueMax = other.PastDueP50, other.PastDueP99, other.PastDueMax
	default:
		joined.P50, joined.P99, joined.Max = max(i.P50, other.P50), max(i.P99, other.P99), max(i.Max, other.Max)
		joined.PastDueP50, joined.PastDueP99 = max(i.PastDueP50, other.PastDueP50), max(i.PastDueP99, other.PastDueP99)
		joined.PastDueMax = max(i.PastDueMax, other.PastDueMax)
	}
	return joined
}
