package history

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/compare/stats"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// What the runs cannot tell, and what else may be the reason, is said with the judgement.

// judgeUnjudged says that the newest points have no run that could be judged: then nothing is known of
// them, whatever those before are like. One that was given up, as others were measured since,
// is named and takes nothing back: else no later run could.
func (h *History) judgeUnjudged(s *sorted) {
	var open, old []string
	for _, name := range h.Unjudged {
		if s.since(h.unfitOf[name]) < MinRuns {
			open = append(open, name+messagesOfUnfit(h.unfitOf[name]))
		} else {
			old = append(old, name+messagesOfUnfit(h.unfitOf[name]))
		}
	}
	newest := h.Points[len(h.Points)-1].Name
	if len(old) > 0 {
		h.Text += fmt.Sprintf(" No run of %s, newer than %s, could be judged, and none was made since.", strings.Join(old, ", "), newest)
	}
	if len(open) == 0 {
		return
	}
	text := fmt.Sprintf("no run of %s, which is newer than %s, could be judged", strings.Join(open, ", "), newest)
	switch h.Outcome {
	case Worse:
		h.Text += " Of what is newest nothing is known: " + text + "."
	default:
		h.Text = "Inconclusive: " + text + ". Up to there: " + h.Text
		h.Outcome = Inconclusive
	}
}

// judgeUnfit names the points of which some runs could be judged, and others, which could not, treated messages
// wrongly. At the newest that leaves open whether it is worse.
func (h *History) judgeUnfit() {
	var texts []string
	open := ""
	for i, p := range h.Points {
		unfit := h.unfitOf[p.Name]
		messages := messagesOfUnfit(unfit)
		if messages == "" {
			continue
		}
		text := fmt.Sprintf("%s of %s that could not be judged%s", compare.CountRuns(len(unfit)), p.Name, messages)
		texts = append(texts, text)
		if i == len(h.Points)-1 && slices.ContainsFunc(unfit, func(r *run.Document) bool { return r.Counts.Faults() > 0 }) {
			open = text
		}
	}
	if len(texts) == 0 {
		return
	}
	if open != "" && h.Outcome != Worse {
		h.Outcome = Inconclusive
		h.Text = fmt.Sprintf("Inconclusive: messages were treated wrongly in %s. Of the others: %s", open, h.Text)
		texts = texts[:len(texts)-1]
	}
	if len(texts) > 0 {
		h.Text += " Left out: " + strings.Join(texts, ", ") + "."
	}
}

// since counts the runs that were made after the last of those.
func (s *sorted) since(runs []*run.Document) (n int) {
	for _, r := range s.runs {
		if !slices.ContainsFunc(runs, func(other *run.Document) bool { return !other.Started.Before(r.Started) }) {
			n++
		}
	}
	return n
}

// messagesOfUnfit says what was done wrong to messages of runs that cannot be judged by their figures.
func messagesOfUnfit(runs []*run.Document) string {
	if told := compare.FaultsTold(runs); told != "" {
		return " (" + told + ")"
	}
	return ""
}

// maybeEarlier names the points before the one at which something changed of which no run could be judged.
func (h *History) maybeEarlier(at int) string {
	before := h.unjudged[h.Points[at].Name]
	if len(before) == 0 {
		return ""
	}
	return fmt.Sprintf(" No run of %s, before it, could be judged.", strings.Join(before, ", "))
}

// tooFew says that the newest point has so few runs that no change there could be told, however great, and how many
// it takes; it is empty if there are enough.
func (h *History) tooFew(ctx context.Context) string {
	if h.By == ByRun.String() {
		if h.Outcome != Unchanged {
			return ""
		}
		ones := slices.Repeat([]int{1}, len(h.Points)-1)
		n := takes(ctx, ones, significance/float64(max(len(h.Figures), 1)))
		if n == 1 {
			return ""
		}
		return fmt.Sprintf("One that begins with the newest runs can be told once there are %d of them.", n)
	}
	newest := h.Points[len(h.Points)-1]
	most, least := 0, 0
	known := map[string]int{} // figures of which the same runs tell need the same number
	for _, f := range h.Figures {
		var runs []int
		for _, values := range f.Values {
			runs = append(runs, len(told(values)))
		}
		older, key := runs[:len(runs)-1], fmt.Sprint(runs)
		if slices.Max(older) == 0 {
			continue
		}
		if known[key] == 0 {
			known[key] = takes(ctx, older, significance/float64(len(h.Figures)))
		}
		n := runs[len(runs)-1]
		if n >= known[key] {
			return ""
		}
		most = max(most, n)
		if least == 0 || known[key] < least {
			least = known[key]
		}
	}
	if least == 0 {
		return ""
	}
	tells := "tells"
	if most != 1 {
		tells = "tell"
	}
	return fmt.Sprintf("%s of %s %s nothing yet: it takes %d at the least.", compare.CountRuns(most), newest.Name, tells, least)
}

// takes is how many runs of one more point it takes behind those of the others for the greatest change to be told:
// the test itself says so of runs that are all alike up to there, and all others from there on.
func takes(ctx context.Context, older []int, level float64) int {
	var series []float64
	var starts []int
	for _, n := range older {
		if len(series) > 0 && n > 0 {
			starts = append(starts, len(series))
		}
		series = append(series, make([]float64, n)...)
	}
	place := len(series)
	starts = append(starts, place)
	for n := 1; ; n++ { // at the latest with so many that their order has no chance
		series = append(series, 1)
		changes := stats.Changes(ctx, series, starts, level)
		if len(changes) > 0 || ctx.Err() != nil {
			return n
		}
	}
}

// judgeUnread says that there are files that could not be read. Their place is not known, so few take
// nothing back: else one damaged file would have the last word for good. But where they are as many as the runs
// of the newest point, they may be what is newest, or most of it.
// Points of one run each, of which any file would be one, are as they are.
func (h *History) judgeUnread(files int) {
	text := fmt.Sprintf("%d run files could not be read, and may be of any version", files)
	switch files {
	case 0:
		return
	case 1:
		text = "1 run file could not be read, and may be of any version"
	}
	newest := h.Points[len(h.Points)-1]
	if h.By == ByRun.String() || len(newest.Runs) > files {
		h.Text += " " + text + "."
		return
	}
	text += fmt.Sprintf(", also of one newer than %s, which has %s", newest.Name, compare.CountRuns(len(newest.Runs)))
	if h.Outcome == Worse {
		h.Text += " " + text + "."
		return
	}
	h.Outcome, h.Text = Inconclusive, "Inconclusive: "+text+". Of the others: "+h.Text
}
