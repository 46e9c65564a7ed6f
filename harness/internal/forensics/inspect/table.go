package inspect

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dq-bench/dq-bench/internal/text"
)

// Table shows the queues in a line each, and the anomalies below, for a screen of that
// many columns and rows. It always ends with a newline.
func (i *Inspection) Table(columns, rows int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s at %s, %s\n\n", i.Server.Product, i.Server.Version, i.Server.Address, i.At.UTC().Format("2006-01-02 15:04:05 MST"))
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "queue\twaiting\tnext\toverdue\tdelivered\tdLc0\tBc0Lc0\tghosts\torphans\tlisteners\tanomalies\ttransfer\t")
	for _, q := range i.Queues {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\t%d\t%.1f ms\t\n",
			text.Line(q.Name), count(q.Counts.TimeoutSet), q.next(), q.overdue(), count(q.Counts.Destination),
			count(int64(q.of("dLc0"))), count(int64(q.of("Bc0Lc0"))), q.Counts.Ghosts, q.Counts.Orphans,
			q.Subscribers.text("?"), q.anomalies(), q.Transfer.BlockedMS)
	}
	_ = table.Flush() // to memory
	b.WriteByte('\n')
	for _, q := range i.Queues {
		for _, f := range q.Findings {
			if f.Anomaly {
				fmt.Fprintf(&b, "%s: %s: %s\n", text.Line(q.Name), f.Kind, f.What)
			}
		}
	}
	return fit(b.String(), columns, rows)
}

// fit cuts text to a screen, of which the last row stays free for the cursor.
func fit(text string, columns, rows int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if more := len(lines) - (rows - 1); more > 0 && rows > 2 {
		lines = append(lines[:rows-2], fmt.Sprintf("… %d lines more", more+1))
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
		if runes := []rune(lines[i]); len(runes) > columns {
			lines[i] = string(runes[:max(0, columns-1)]) + "…"
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// Lines shows each queue in one line, for a log.
func (i *Inspection) Lines() string {
	var b strings.Builder
	for _, q := range i.Queues {
		fmt.Fprintf(&b, "%s queue=%s waiting=%d next=%s overdue=%d delivered=%d dLc0=%d Bc0Lc0=%d unreadable=%d ghosts=%d orphans=%d subscribers=%s",
			q.At.UTC().Format(time.RFC3339), text.Shell(q.Name), q.Counts.TimeoutSet, strings.ReplaceAll(q.next(), " ", ""), q.Overdue.Count, q.Counts.Destination,
			q.of("dLc0"), q.of("Bc0Lc0"), q.Counts.Unreadable, q.Counts.Ghosts, q.Counts.Orphans, q.Subscribers.text("unknown"))
		kinds := []string{}
		for _, f := range q.Findings {
			if f.Anomaly {
				kinds = append(kinds, f.Kind)
			}
		}
		fmt.Fprintf(&b, " anomalies=%s\n", strings.Join(kinds, ","))
	}
	return b.String()
}

func (s *Subscribers) text(unknown string) string {
	if s.Unknown != "" {
		return unknown
	}
	return strconv.Itoa(s.Count)
}

// of is how many members are of a form.
func (q *Queue) of(form string) int {
	for _, l := range q.Layouts {
		if l.Layout == form {
			return l.Count
		}
	}
	return 0
}

func (q *Queue) anomalies() int {
	n := 0
	for _, f := range q.Findings {
		if f.Anomaly {
			n++
		}
	}
	return n
}

func (q *Queue) next() string {
	if q.Head == nil || q.Head.DueMS == nil {
		return "-"
	}
	return fromNow(*q.Head.DueMS, q.At)
}

func (q *Queue) overdue() string {
	if q.Overdue.Count == 0 {
		return "-"
	}
	return fmt.Sprintf("%s for %s", count(q.Overdue.Count), span(float64(q.At.UnixMilli())-*q.Overdue.SinceMS))
}
