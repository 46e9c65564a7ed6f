package analysis

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Limits of the text: so many queues and examples of each kind of
// anomaly; --json has all.
const (
	textWidth    = 80
	textQueues   = 20
	textExamples = 3
	textIndent   = "    "
)

// WriteText writes the document for a terminal of 80 columns.
func (d *Document) WriteText(w io.Writer) error {
	var out strings.Builder
	writeLog(&out, d)
	for i, q := range d.Queues {
		if i == textQueues {
			fmt.Fprintf(&out, "\n… and %d more queues: see --json\n", len(d.Queues)-i)
			break
		}
		writeQueue(&out, q)
	}
	writeAnomalies(&out, d)
	_, err := io.WriteString(w, out.String())
	return err
}

func writeLog(out *strings.Builder, d *Document) {
	fmt.Fprintf(out, "%s\n", countText(d))
	if d.From != "" {
		fmt.Fprintf(out, "from %s to %s\n", d.From, d.To)
	}
	out.WriteByte('\n')
	row := func(name, words string) { text.Wrap(out, fmt.Sprintf("%-10s", name), words) }
	row("Redisson", redissonText(d))
	if len(d.Groups) > 1 {
		for _, g := range d.Groups {
			row("", groupText(g))
		}
	}
	for _, c := range d.Clocks {
		row("clock", hostClockText(c))
	}
	for _, n := range d.Notices {
		row("note", n)
	}
}

func countText(d *Document) string {
	return plural(d.Commands, "command") + ", " + plural(d.Unparsed, "line") + " that MONITOR did not print"
}

func redissonText(d *Document) string {
	switch {
	case d.Redisson == nil && len(d.Groups) == 0:
		return "nothing that a Redisson sends for a delayed queue"
	case d.Redisson == nil:
		return "no single release sends all of this: these clients differ"
	case len(d.Groups) == 1:
		g := d.Groups[0]
		return rangesText(g.Ranges) + usualText(g)
	}
	if ranges := d.Redisson.Ranges; len(ranges) > 0 {
		return rangesText(ranges)
	}
	return d.Redisson.From + " to " + d.Redisson.To
}

func rangesText(ranges []Range) string {
	var parts []string
	for _, r := range ranges {
		if r.From == r.To {
			parts = append(parts, r.From)
		} else {
			parts = append(parts, r.From+" to "+r.To)
		}
	}
	return cmp.Or(strings.Join(parts, " or "), "none")
}

// usualText is empty if default settings narrow nothing.
func usualText(g *Group) string {
	if slices.Equal(g.Ranges, g.Usual) || len(g.Usual) == 0 {
		return ""
	}
	return "; with default settings " + rangesText(g.Usual)
}

func groupText(g *Group) string {
	client := ""
	if g.Client != "" {
		client = g.Client + " as "
	}
	return fmt.Sprintf("%s%s%s: %s, such as %s", client, rangesText(g.Ranges), usualText(g),
		plural(g.Connections, "connection"), strings.Join(g.Peers[:min(2, len(g.Peers))], " and "))
}

func hostClockText(c Clock) string {
	switch {
	case c.AheadMs > 0:
		return fmt.Sprintf("%s: %d ms ahead of the server's, by %s", c.Host, c.AheadMs, plural(c.Transfers, "transfer"))
	case c.AheadMs < 0:
		return fmt.Sprintf("%s: %d ms behind the server's, by %s", c.Host, -c.AheadMs, plural(c.Transfers, "transfer"))
	}
	return fmt.Sprintf("%s: equal to the server's, to the ms, by %s", c.Host, plural(c.Transfers, "transfer"))
}

func writeQueue(out *strings.Builder, q *Queue) {
	fmt.Fprintf(out, "\n%s  %s\n", queueName(q), cmp.Or(q.Layout, "no layout seen"))
	words := fmt.Sprintf("%d offered, %d transferred by %s, %d taken, %d removed, %d still pending",
		q.Offers, q.Transferred, plural(q.Transfers, "transfer"), q.Taken, q.Removed, q.StillPending)
	if q.Added > 0 {
		words = fmt.Sprintf("%d added by hand, ", q.Added) + words
	}
	text.Wrap(out, textIndent, words)
	if l := q.Lateness; l != nil {
		fmt.Fprintf(out, "%slate by p50 %s, p99 %s, max %s\n", textIndent, msText(l.P50), msText(l.P99), msText(l.Max))
	}
}

func queueName(q *Queue) string {
	name := shortQuoted(q.Name)
	if q.DB != 0 {
		name += fmt.Sprintf(" in database %d", q.DB)
	}
	return name
}

func msText(ms float64) string {
	switch {
	case ms >= 10_000 || ms <= -10_000:
		return fmt.Sprintf("%.1f s", ms/1000)
	default:
		return fmt.Sprintf("%.3g ms", ms)
	}
}

// AnomaliesText counts the anomalies by kind.
func (d *Document) AnomaliesText() string {
	var parts []string
	total := int64(0)
	for _, kind := range slices.Sorted(maps.Keys(d.AnomalyCounts)) {
		total += d.AnomalyCounts[kind]
		parts = append(parts, fmt.Sprintf("%d %s", d.AnomalyCounts[kind], kind))
	}
	if total == 0 {
		return "no anomaly"
	}
	anomalies := "anomalies"
	if total == 1 {
		anomalies = "anomaly"
	}
	return fmt.Sprintf("%d %s: %s", total, anomalies, strings.Join(parts, ", "))
}

func writeAnomalies(out *strings.Builder, d *Document) {
	out.WriteByte('\n')
	text.Wrap(out, "", d.AnomaliesText())
	shown := map[Kind]int{}
	for _, a := range d.Anomalies {
		if shown[a.Kind]++; shown[a.Kind] > textExamples {
			continue
		}
		fmt.Fprintf(out, "\n%s  %s  %s\n", a.Kind, shortQuoted(a.Queue), a.At)
		text.Wrap(out, textIndent, a.Detail)
		for _, l := range a.Lines {
			writeLine(out, l)
		}
	}
	if int64(len(d.Anomalies)) > 0 {
		for _, n := range shown {
			if n > textExamples {
				fmt.Fprintf(out, "\nOf each kind the first %d are shown: see --json for more.\n", textExamples)
				break
			}
		}
	}
}

// writeLine writes a line of the log, its middle left out if it is long: the command
// is at its beginning, the member at its end.
func writeLine(out *strings.Builder, l LineOf) {
	where := placeOf(l)
	if l.Text == "" {
		fmt.Fprintf(out, "%s%s\n", textIndent, where)
		return
	}
	lead := textIndent + where + ": "
	if len(lead) > textWidth/2 {
		fmt.Fprintf(out, "%s\n", strings.TrimRight(lead, " "))
		lead = textIndent + textIndent
	}
	room := textWidth - len(lead)
	text := l.Text
	if utf8.RuneCountInString(text) > room {
		runes := []rune(text)
		head := room/2 - 1
		text = string(runes[:head]) + "…" + string(runes[len(runes)-(room-head-1):])
	}
	fmt.Fprintf(out, "%s%s\n", lead, text)
}

func placeOf(l LineOf) string {
	if l.File != "" {
		return l.File + ":" + fmt.Sprint(l.Number)
	}
	return fmt.Sprintf("line %d", l.Number)
}

// plural writes a number of things.
func plural(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// shortQuoted is a name as MONITOR quotes it, cut if it is long.
func shortQuoted(name string) string {
	const longest = 40
	if len(name) > longest {
		return string(monitor.AppendQuoted(nil, name[:longest-1])) + "…"
	}
	return string(monitor.AppendQuoted(nil, name))
}
