package page

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/history"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/text"
)

// WriteHistory prints a history as a table for a person: each point with the medians of
// its figures, and each of its runs.
func WriteHistory(w io.Writer, h *history.History) error {
	var out bytes.Buffer
	for _, line := range historyLead(h) {
		fmt.Fprintln(&out, line)
	}
	out.WriteByte('\n')
	figures := shownFigures(h)
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, head := range []func(history.Figure) string{
		func(f history.Figure) string { return strings.TrimSuffix(f.Name(), f.Stat) },
		func(f history.Figure) string { return f.Stat },
	} {
		row := []string{"", ""}
		for _, f := range figures {
			row = append(row, head(f))
		}
		writeCells(t, row)
	}
	for i, p := range h.Points {
		row := []string{text.Inert(p.Name), compare.CountRuns(len(p.Runs))}
		for _, f := range figures {
			row = append(row, toldText(f, f.Medians[i])+changeMark(f, i))
		}
		writeCells(t, append(row, wrongText(p.Runs, faultMark(h, i))))
		if len(p.Runs) < 2 {
			continue
		}
		for k, r := range p.Runs {
			row := []string{r.Started.UTC().Format(time.DateTime), r.RunID}
			for _, f := range figures {
				row = append(row, toldText(f, f.Values[i][k])+" ")
			}
			writeCells(t, append(row, wrongText(p.Runs[k:k+1], " ")))
		}
	}
	_ = t.Flush() // into memory
	writeChanges(&out, h)
	for _, reason := range h.LeftOut {
		fmt.Fprintf(&out, "left out: %s\n", text.Inert(reason))
	}
	for _, note := range h.Notes {
		fmt.Fprintf(&out, "note: %s\n", text.Inert(note))
	}
	fmt.Fprintf(&out, "\n%s\n", text.Inert(h.Text))
	return writeTrimmed(w, out.Bytes())
}

// historyLead says in a few lines what was measured.
func historyLead(h *history.History) []string {
	lead := h.Implementation + " by " + h.By
	if h.Scenario != "" {
		lead += ", scenario " + h.Scenario
	}
	if h.Server != "" {
		lead += ", on " + h.Server
	}
	lines := []string{text.Inert(lead)}
	if h.Reference != "" {
		lines = append(lines, text.Inert("times those of "+h.Reference+", which ran at the same time"))
	}
	return lines
}

// shownFigures are those with a change, and the usual ones.
func shownFigures(h *history.History) []history.Figure {
	usual := []string{"p50", "p99", compare.PerSecond, "per message"}
	var shown []history.Figure
	for _, f := range h.Figures {
		if len(f.Changes) > 0 || slices.Contains(usual, f.Stat) {
			shown = append(shown, f)
		}
	}
	return shown
}

func writeCells(w io.Writer, cells []string) { fmt.Fprintln(w, strings.Join(cells, "\t")+"\t") }

// changeMark marks the first point of a new level.
func changeMark(f history.Figure, point int) string {
	for _, c := range f.Changes {
		switch {
		case c.At != point:
		case c.Outcome == history.Worse:
			return "▲"
		default:
			return "▼"
		}
	}
	return " "
}

// faultMark marks the first point of which more, or fewer, messages were treated wrongly.
func faultMark(h *history.History, point int) string {
	mark := " "
	for _, f := range h.Faults {
		for _, c := range f.Told() {
			switch {
			case c.At != point:
			case c.Outcome == history.Worse:
				return "▲"
			default:
				mark = "▼"
			}
		}
	}
	return mark
}

// wrongText counts the messages that were treated wrongly, if there are any or there is a mark.
func wrongText(runs []history.Run, mark string) string {
	n := int64(0)
	for _, r := range runs {
		n += r.Wrong
	}
	if n == 0 && mark == " " {
		return ""
	}
	return fmt.Sprintf("%d wrong", n) + mark
}

func writeChanges(out io.Writer, h *history.History) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if slices.ContainsFunc(h.Figures, func(f history.Figure) bool { return len(f.Changes) > 0 }) ||
		slices.ContainsFunc(h.Faults, func(f history.Fault) bool { return len(f.Told()) > 0 }) {
		fmt.Fprintln(t)
	}
	for _, f := range h.Faults {
		for _, c := range f.Told() {
			fmt.Fprintf(t, "%s\t%s\tsince %s\t%s → %s\n", c.Outcome, faultName(f), text.Inert(c.Name), faultShare(c.Before), faultShare(c.After))
		}
	}
	for _, f := range h.Figures {
		for _, c := range f.Changes {
			fmt.Fprintf(t, "%s\t%s\tsince %s\t%s → %s\t%s\tp %.2g\n",
				c.Outcome, f.Name(), text.Inert(c.Name), f.ValueText(c.Before), f.ValueText(c.After), timesText(c), c.P)
		}
	}
	_ = t.Flush() // into memory
}

func faultName(f history.Fault) string { return "messages " + f.Name() }

// faultShare writes a share of the messages.
func faultShare(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }

// timesText is by how much a change multiplies, - where that cannot be told.
func timesText(c history.Change) string {
	if c.Ratio == nil {
		return "-"
	}
	return run.FormatFloat(*c.Ratio) + "×"
}
