package run

import (
	"fmt"
	"math/bits"
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

// union is what all workers together know of every message, as bitmaps.
type union struct {
	confirmed, delivered, removed, held, notDue []byte
	// again counts deliveries of messages that another worker took as well.
	again int64
}

// unite reads the sets of one worker after the other.
func unite(runs []*Document) (*union, error) {
	n := runs[0].Scenario.Messages
	var u union
	for _, r := range runs {
		w := r.Worker
		for _, set := range []struct {
			name string
			all  *[]byte
			of   MessageSet
			// want is how many the counts say it holds, below 0 if they do not.
			want  int64
			twice *int64
		}{
			{"confirmed", &u.confirmed, w.Confirmed, -1, nil},
			{"delivered", &u.delivered, w.Delivered, r.Counts.Delivered, &u.again},
			{"removed", &u.removed, w.Removed, -1, nil},
			{"held", &u.held, w.Held, -1, nil},
			{"not_due", &u.notDue, w.NotDue, -1, nil},
		} {
			bitmap, err := set.of.Bitmap(n)
			if err != nil {
				return nil, fmt.Errorf("merge: worker %s: %s: %w", w, set.name, err)
			}
			if got := ones(bitmap); set.want >= 0 && got != set.want {
				return nil, fmt.Errorf("merge: worker %s: damaged: %s holds %d messages, the counts say %d", w, set.name, got, set.want)
			}
			if *set.all == nil {
				*set.all = bitmap
				continue
			}
			common := int64(0)
			for i, b := range bitmap {
				common += int64(bits.OnesCount8(b & (*set.all)[i]))
				(*set.all)[i] |= b
			}
			if set.twice != nil {
				*set.twice += common
			}
			if common > 0 && set.name == "confirmed" {
				return nil, fmt.Errorf("merge: worker %s: %d of its messages were offered by another worker too", w, common)
			}
		}
	}
	return &u, nil
}

func ones(bitmap []byte) int64 {
	n := 0
	for _, b := range bitmap {
		n += bits.OnesCount8(b)
	}
	return int64(n)
}

// counts strikes the balance over all workers, by the rules that one worker alone
// has: delivered before called off before held before lost.
func (u *union) counts() Counts {
	c := Counts{Duplicate: u.again}
	for i := range u.delivered {
		removed := u.removed[i] &^ u.delivered[i]
		held := u.held[i] &^ u.delivered[i] &^ removed
		c.Delivered += int64(bits.OnesCount8(u.delivered[i]))
		c.Removed += int64(bits.OnesCount8(removed))
		c.Revived += int64(bits.OnesCount8(u.removed[i] & u.delivered[i]))
		c.Pending += int64(bits.OnesCount8(held))
		c.NotDue += int64(bits.OnesCount8(held & u.notDue[i]))
		c.Lost += int64(bits.OnesCount8(u.confirmed[i] &^ u.delivered[i] &^ removed &^ held))
	}
	c.Offered = c.Delivered + c.Removed + c.Pending + c.Lost
	return c
}

// joinWorkers makes a run, to which the parts have been added, the one of all
// workers of a scenario.
func (r *Document) joinWorkers(parts []*Document) error {
	u, err := unite(parts)
	if err != nil {
		return err
	}
	sums := r.Counts
	r.Counts = u.counts()
	// Each worker saw its own only; what all saw of one message is in the sets.
	r.Counts.Duplicate += sums.Duplicate
	r.Counts.Early, r.Counts.OfferErrors, r.Counts.Foreign = sums.Early, sums.OfferErrors, sums.Foreign
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
	if u.again > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d messages were taken by two workers; each delivery has its own value of lateness", u.again))
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
