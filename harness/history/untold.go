package history

import (
	"fmt"
	"strings"

	"github.com/dq-bench/dq-bench/harness/compare"
)

// What the runs cannot tell, and what else may be the reason, is said with the judgement.

// judgeUnjudged says that the newest points have no run that could be judged: then nothing is known of
// them, whatever those before are like.
func (h *History) judgeUnjudged() {
	if len(h.Unjudged) == 0 {
		return
	}
	text := fmt.Sprintf("no run of %s, which is newer than %s, could be judged", strings.Join(h.Unjudged, ", "), h.Points[len(h.Points)-1].Name)
	switch h.Outcome {
	case Worse:
		h.Text += " Of what is newest nothing is known: " + text + "."
	default:
		h.Text = "Inconclusive: " + text + ". Up to there: " + h.Text
		h.Outcome = Inconclusive
	}
}

// maybeEarlier names the points before the one at which something changed of which no run could be judged.
func (h *History) maybeEarlier(at int) string {
	before := h.unjudged[h.Points[at].Name]
	if len(before) == 0 {
		return ""
	}
	return fmt.Sprintf(" No run of %s, before it, could be judged.", strings.Join(before, ", "))
}

// wrong says in how many runs messages were treated wrongly, where that is no change.
func (h *History) wrong() string {
	wrong, all := 0, 0
	for _, p := range h.Points {
		for _, r := range p.Runs {
			all++
			if r.Wrong > 0 {
				wrong++
			}
		}
	}
	if wrong == 0 {
		return ""
	}
	return fmt.Sprintf("; messages were lost, duplicated, early or delivered although cancelled in %d of %d runs, and not more often of late", wrong, all)
}

// tooFew says that the newest point has so few runs that whatever they are nothing could be seen there,
// and how many it takes; it is empty if there are enough.
func (h *History) tooFew(runs int) string {
	newest := h.Points[len(h.Points)-1]
	older, level := runs-len(newest.Runs), significance/float64(len(h.Figures))
	takes, p := 0, 1. // that by chance the newest are the greatest of all
	for p > level && takes < runs {
		takes++
		p *= float64(takes) / float64(older+takes)
	}
	if takes <= len(newest.Runs) || h.By == ByRun.String() {
		return ""
	}
	return fmt.Sprintf("; %s of %s tells nothing yet, it takes %d at the least", compare.CountRuns(len(newest.Runs)), newest.Name, takes)
}

// judgeUnread says that the files that could not be read may be those of a newer version.
func (h *History) judgeUnread(files int) {
	if files == 0 || h.Outcome == Inconclusive {
		return
	}
	text := "1 run file could not be read, and may be newer"
	if files > 1 {
		text = fmt.Sprintf("%d run files could not be read, and may be newer", files)
	}
	if h.Outcome == Worse {
		h.Text += " Besides, " + text + "."
		return
	}
	h.Text = "Inconclusive: " + text + ". Of the others: " + h.Text
	h.Outcome = Inconclusive
}
