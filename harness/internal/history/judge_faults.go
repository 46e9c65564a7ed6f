package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
)

// judgeFaults adds to the judgement what was done wrong to messages, whatever the figures: each kind since
// a point of its own.
func (h *History) judgeFaults() {
	worse, better := h.faultText(Worse), h.faultText(Better)
	switch {
	case worse != "":
		first := h.faultsThat(Worse)[0].Change.At
		if later := h.changed(Worse); len(later) > 0 {
			worse += " And worse since " + h.sentence(later)
			first = min(first, later[0].newest().At)
		} else if h.Outcome == Better {
			worse += " " + h.Text
		}
		h.Outcome, h.FirstWorse, h.Text = Worse, h.Points[first].Name, worse
	case better != "" && (h.Outcome == Unchanged || h.Outcome == Inconclusive):
		h.Outcome, h.Text, better = Better, better, ""
	}
	if better != "" {
		h.Text += " " + better
	}
	h.Text += h.allAlong()
}

// faultsThat are the kinds of wrong that changed so, in the order of the points.
func (h *History) faultsThat(o Outcome) []Fault {
	changed := slices.DeleteFunc(slices.Clone(h.Faults), func(f Fault) bool { return f.Change == nil || f.Change.Outcome != o })
	slices.SortStableFunc(changed, func(a, b Fault) int { return cmp.Compare(a.Change.At, b.Change.At) })
	return changed
}

// faultText says of each kind of wrong that changed so since when, and to what share of the messages.
func (h *History) faultText(o Outcome) string {
	head := map[Outcome]string{Worse: "Worse", Better: "Better"}[o]
	var sentences []string
	for changed := h.faultsThat(o); len(changed) > 0; {
		at, name := changed[0].Change.At, changed[0].Change.Name
		var texts []string
		for len(changed) > 0 && changed[0].Change.At == at {
			texts, changed = append(texts, changed[0].text), changed[1:]
		}
		since := "since"
		if at == len(h.Points)-1 {
			since = "at"
		}
		sentences = append(sentences, fmt.Sprintf("%s %s %s: %s.%s", head, since, name, strings.Join(texts, "; "), h.maybeEarlier(at)))
	}
	return strings.Join(sentences, " ")
}

// allAlong says which messages were treated wrongly where that is no change, in how many runs, and how many of
// them at the newest point.
func (h *History) allAlong() string {
	var texts []string
	for _, f := range h.Faults {
		if f.Change != nil {
			continue
		}
		messages, runs := int64(0), 0
		for i := range f.Messages {
			messages, runs = messages+f.Messages[i], runs+f.Runs[i]
		}
		text := fmt.Sprintf("%d %s in %s", messages, f.kind.Few, compare.CountRuns(runs))
		if last := len(h.Points) - 1; last > 0 {
			text += fmt.Sprintf(" (%d of them at %s)", f.Messages[last], h.Points[last].Name)
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return ""
	}
	return " Without a change that could be told: " + strings.Join(texts, ", ") + "."
}
