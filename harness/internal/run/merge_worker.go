package run

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// wholeOf refuses runs that are not all the workers of one scenario: only with
// every worker's sets can be told what was lost.
func wholeOf(runs []*Document) error {
	first := runs[0]
	present := make(map[int]*Document)
	for _, r := range runs {
		switch {
		case first.Worker == nil || r.Worker == nil:
			return fmt.Errorf("merge: expected workers of one scenario only, or none; run %s is no worker's", partNot(first, r).RunID)
		case r.RunID != first.RunID || r.Worker.Count != first.Worker.Count:
			return fmt.Errorf("merge: expected workers of one run, got worker %s of run %s and worker %s of run %s",
				first.Worker, first.RunID, r.Worker, r.RunID)
		case present[r.Worker.index()] != nil:
			return fmt.Errorf("merge: workers %s and %s of run %s are the same share", present[r.Worker.index()].Worker, r.Worker, r.RunID)
		}
		present[r.Worker.index()] = r
		differences := Differ(first.Configuration(), r.Configuration())
		if len(differences) == 0 && !reflect.DeepEqual(first.Scenario, r.Scenario) {
			differences = []string{fmt.Sprintf("scenario: %+v is not %+v", first.Scenario, r.Scenario)}
		}
		if len(differences) > 0 {
			return &DifferenceError{Differences: differences}
		}
	}
	if missing := first.Worker.Count - len(present); missing > 0 {
		return fmt.Errorf("merge: %d of the %d workers of run %s are missing; what was lost can be told from all of them only",
			missing, first.Worker.Count, first.RunID)
	}
	return nil
}

// partNot returns the one of two that is no worker's.
func partNot(a, b *Document) *Document {
	if a.Worker == nil {
		return a
	}
	return b
}

// unite reads the sets of one worker after the other. What is held is what the last of them was told.
func unite(runs []*Document) (*Sets, error) {
	n := runs[0].Scenario.Messages
	last := lastAsked(runs)
	var all Sets
	for _, r := range runs {
		own, err := r.Worker.sets(n)
		if err != nil {
			return nil, fmt.Errorf("merge: worker %s: %w", r.Worker, err)
		}
		if got := Ones(own.Delivered); got != r.Counts.Delivered {
			return nil, fmt.Errorf("merge: worker %s: damaged: delivered holds %d messages, the counts say %d", r.Worker, got, r.Counts.Delivered)
		}
		if r.asked() < last {
			own.Held, own.NotDue = nil, nil
		}
		if common := all.Add(*own); common > 0 {
			return nil, fmt.Errorf("merge: worker %s: %d of its messages were offered by another worker too", r.Worker, common)
		}
	}
	return &all, nil
}

// joinWorkers makes a run, to which the parts have been added, the one of all
// workers of a scenario.
func (r *Document) joinWorkers(parts []*Document) error {
	u, err := unite(parts)
	if err != nil {
		return err
	}
	sums := r.Counts
	r.Counts = u.Counts()
	last := lastAsked(parts)
	if slices.ContainsFunc(parts, func(p *Document) bool { return p.Worker.Unread && p.asked() >= last }) {
		r.Counts.Unknown, r.Counts.Lost = r.Counts.Lost, 0
	}
	// Each worker saw its own only; what all saw of one message is in the sets.
	r.Counts.Duplicate += sums.Duplicate
	r.Counts.Early, r.Counts.OfferErrors = sums.Early, sums.OfferErrors
	r.Counts.Foreign, r.Counts.Corrupt = sums.Foreign, sums.Corrupt
	r.Scenario, r.Worker = parts[0].Scenario, nil
	if r.kept, err = keptObjectives(parts); err != nil {
		return err
	}
	r.Environment.ClockOffsetNs, r.Environment.ClockErrorNs = nil, 0
	for i := range r.Intervals {
		// The workers' seconds do not end at quite the same instant.
		r.Intervals[i].Pending = max(r.Intervals[i].Pending, 0)
	}
	var drivers []string
	for _, p := range parts {
		if name := p.Driver.String(); !slices.Contains(drivers, name) {
			drivers = append(drivers, name)
		}
	}
	if len(drivers) > 1 {
		r.Driver = Driver{Name: strings.Join(drivers, "+")}
	}
	if u.Again > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d messages were taken by two workers; each delivery has its own value of lateness", u.Again))
	}
	if note := clockNote(parts); note != "" {
		r.Notes = append(r.Notes, note)
	}
	return nil
}

// keptSLOs are what a run is to be judged by.
type keptSLOs struct{ slos, expected []SLO }

// keptObjectives are those that any of the workers was given, each once.
func keptObjectives(parts []*Document) (keptSLOs, error) {
	var kept keptSLOs
	for _, p := range parts {
		for _, list := range []struct {
			from []string
			to   *[]SLO
		}{{p.Worker.Objectives, &kept.slos}, {p.Worker.Expected, &kept.expected}} {
			for _, text := range list.from {
				slo, err := ParseSLO(text)
				if err != nil {
					return kept, fmt.Errorf("merge: worker %s: damaged: %w", p.Worker, err)
				}
				if !slices.Contains(texts(*list.to), text) {
					*list.to = append(*list.to, slo)
				}
			}
		}
	}
	return kept, nil
}

// clockNote tells how far the clocks of the workers are apart. It is empty if
// fewer than two of them measured that.
func clockNote(parts []*Document) string {
	var texts []string
	var low, high, bound int64
	for _, p := range parts {
		offset := p.Environment.ClockOffsetNs
		if offset == nil {
			continue
		}
		if len(texts) == 0 {
			low, high = *offset, *offset
		}
		low, high, bound = min(low, *offset), max(high, *offset), max(bound, p.Environment.ClockErrorNs)
		texts = append(texts, fmt.Sprintf("%s %s ±%s", p.Worker, time.Duration(*offset), time.Duration(p.Environment.ClockErrorNs)))
	}
	if len(texts) < 2 {
		return ""
	}
	return fmt.Sprintf("the server's clock minus the worker's: %s. The clocks of two workers are at most %s apart, which the lateness of "+
		"messages that one offered and the other took contains: it is not corrected", strings.Join(texts, ", "),
		time.Duration(high-low+2*bound).Round(time.Microsecond))
}

// partName says whose a note is.
func (r *Document) partName() string {
	if r.Worker != nil {
		return "worker " + r.Worker.String()
	}
	return "run " + r.RunID
}
