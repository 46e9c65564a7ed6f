package inspect

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/forensics"
	"github.com/dq-bench/dq-bench/internal/text"
)

// WriteText shows the inspection to people, 100 columns wide or so.
func (i *Inspection) WriteText(w io.Writer) error {
	var b strings.Builder
	where := i.Server.Address
	if i.Server.Cluster {
		where += " (cluster)"
	}
	fmt.Fprintf(&b, "%s %s at %s, %s\n", i.Server.Product, i.Server.Version, where, i.At.UTC().Format("2006-01-02 15:04:05.000 MST"))
	if len(i.Queues) == 0 {
		b.WriteString("no delayed queue\n")
	}
	for _, q := range i.Queues {
		q.write(&b)
	}
	if scripts := scriptLines(i.Scripts); len(scripts) > 0 {
		b.WriteString("\nscripts of Redisson that somebody has run on the server, for whichever queue:\n")
		for _, line := range scripts {
			b.WriteString("  " + line + "\n")
		}
	}
	for _, u := range i.Uncertain {
		fmt.Fprintf(&b, "uncertain: %s\n", u)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// scriptLines shows the scripts that tell the sides apart.
func scriptLines(scripts []Script) []string {
	var lines []string
	for _, s := range scripts {
		if strings.HasPrefix(s.Variant, "offer-") || strings.HasPrefix(s.Variant, "transfer-") {
			lines = append(lines, fmt.Sprintf("%-12s %s", s.Variant, s.Sent))
		}
	}
	return lines
}

// line writes one labelled line.
func line(b *strings.Builder, label, format string, args ...any) {
	fmt.Fprintf(b, "  %-13s%s\n", label, fmt.Sprintf(format, args...))
}

// Text is the long form of a queue.
func (q *Queue) Text() string {
	var b strings.Builder
	q.write(&b)
	return b.String()
}

func (q *Queue) write(b *strings.Builder) {
	c := q.Counts
	fmt.Fprintf(b, "\n%s\n", text.Line(q.Name))
	line(b, "waiting", "%s in the timeout set, %s in the pending list; %s delivered and not taken",
		count(c.TimeoutSet), count(c.PendingList), count(c.Destination))
	if c.TimeoutSet+c.PendingList+c.Destination+c.Quarantine+c.Held+c.Reserved+c.Dead == 0 && len(q.Findings) == 0 && q.Subscribers.Count == 0 {
		line(b, "note", "no key of it is there: nothing was offered, all was taken, or the name is another")
	}
	if c.Reserved+c.Dead > 0 {
		line(b, "worker", "%s held by Workers, %s given up", count(c.Reserved), count(c.Dead))
	}
	if c.Unlisted > 0 {
		line(b, "unlisted", "%s by a dq client, for they are due soon: in the timeout set alone", members(c.Unlisted))
	}
	if q.Head != nil {
		line(b, "head", "%s", q.Head.text(q.At))
	}
	if q.Overdue.Count > 0 {
		line(b, "overdue", "%s, the oldest since %s", count(q.Overdue.Count), moment(q.Overdue.SinceMS))
	} else {
		line(b, "overdue", "none")
	}
	q.writeDue(b)
	for i, l := range q.Layouts {
		line(b, label(i, "layouts"), "%-15s %11s   %s", l.Layout, count(int64(l.Count)), l.WrittenBy)
	}
	for i, v := range q.Values {
		line(b, label(i, "values"), "%-15s %11s   %s", v.Codec, count(int64(v.Count)), v.Class)
	}
	for i, m := range q.Samples {
		line(b, label(i, "samples"), "%s", m.text(q.At))
	}
	q.writeSubscribers(b)
	line(b, "memory", "%s timeout set, %s pending list, %s destination",
		size(q.Memory.TimeoutSet), size(q.Memory.PendingList), size(q.Memory.Destination))
	if t := q.Transfer; t.Members > 0 {
		how := "usual"
		if t.Measured {
			how = "measured here"
		}
		line(b, "transfer", "of the next %d passes %s entries of the list: about %.1f ms (%.0f ns each, %s)",
			t.Members, count(t.Entries), t.BlockedMS, t.EntryNS, how)
	}
	line(b, "read", "in %d calls, the longest %.1f ms with the way there and back; %s", q.Reading.Calls, q.Reading.LongestMS, size(q.Reading.Bytes))
	for _, u := range q.Uncertain {
		line(b, "uncertain", "%s", u)
	}
	for _, f := range q.Findings {
		f.write(b, q.Name, q.At)
	}
}

// label names the first of some lines.
func label(i int, name string) string {
	if i == 0 {
		return name
	}
	return ""
}

// writeDue draws the histogram, without the empty spans.
func (q *Queue) writeDue(b *strings.Builder) {
	most, first := int64(1), 0
	for _, d := range q.Due {
		most = max(most, d.Count)
	}
	for _, d := range q.Due {
		if d.Count == 0 {
			continue
		}
		bar := strings.Repeat("#", int(max(1, d.Count*30/most)))
		line(b, label(first, "due"), "%-28s %11s %s", d.Name, count(d.Count), bar)
		first++
	}
}

func (q *Queue) writeSubscribers(b *strings.Builder) {
	if q.Subscribers.Unknown != "" {
		line(b, "subscribers", "unknown: %s", q.Subscribers.Unknown)
		return
	}
	line(b, "subscribers", "%d", q.Subscribers.Count)
	for i, c := range q.Subscribers.Clients {
		if i == maxClients {
			line(b, "", "and %d more", len(q.Subscribers.Clients)-i)
			return
		}
		line(b, "", "%s", clientText(c))
	}
	if n := len(q.Subscribers.Clients); n > q.Subscribers.Count {
		line(b, "", "(%d of these %d: the server does not tell which)", q.Subscribers.Count, n)
	}
}

// maxClients is how many clients the text lists.
const maxClients = 10

func clientText(c forensics.Client) string {
	library := "names no library (Redisson names none)"
	if c.Library != "" {
		library = strings.TrimSpace(c.Library + " " + c.Version)
	}
	if c.Name != "" {
		library += fmt.Sprintf(", called %q", c.Name)
	}
	return fmt.Sprintf("%-21s %s, for %s s", c.Address, library, c.Age)
}

func (m *Member) text(now time.Time) string {
	text := fmt.Sprintf("%s, %s", m.Layout, strings.TrimSpace(m.Codec+" "+m.Class))
	if m.Codec == "" {
		text = fmt.Sprintf("%s, %d bytes, begins with %s", m.Layout, m.Bytes, m.Start)
	}
	if m.DueMS != nil {
		from := fromNow(*m.DueMS, now)
		if _, never := fateOf(*m.DueMS); never {
			from = fmt.Sprintf("score %.17g", *m.DueMS)
		}
		text = fmt.Sprintf("%s (%s), %s", moment(m.DueMS), from, text)
	}
	if m.Value != "" {
		text += ": " + m.Value
	}
	if m.Shortened {
		text += "…"
	}
	return text
}

// fromNow shows how far a due time in Unix ms is from now.
func fromNow(ms float64, now time.Time) string {
	if _, never := fateOf(ms); never {
		return "never"
	}
	if ms -= float64(now.UnixMilli()); ms < 0 {
		return span(-ms) + " ago"
	}
	return "in " + span(ms)
}

// maxHours is up to where spans are in hours: 100 days.
const maxHours = 2400 * time.Hour

// span shows a length of time in ms.
func span(ms float64) string {
	if ms > float64(maxHours.Milliseconds()) {
		return count(int64(ms/24/3600e3)) + " days"
	}
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d >= time.Minute:
		d = d.Round(time.Second)
	case d >= time.Second:
		d = d.Round(100 * time.Millisecond)
	}
	return d.String()
}

func (f *Finding) write(b *strings.Builder, dest string, now time.Time) {
	mark := "note"
	if f.Anomaly {
		mark = "ANOMALY"
	}
	fmt.Fprintf(b, "\n  %s %s: %s\n", mark, f.Kind, f.What)
	for _, m := range f.Members {
		fmt.Fprintf(b, "    %s\n", m.text(now))
	}
	if f.Old == f.New {
		paragraph(b, "Redisson "+f.Old)
	} else {
		paragraph(b, "Redisson "+oldReleases+" "+f.Old)
		paragraph(b, "Redisson "+newReleases+" "+f.New)
	}
	paragraph(b, "→ "+f.Do, dest)
}

// textWidth is where lines of text end.
const textWidth = 100

// paragraph writes words indented, in lines of textWidth where they allow it. Names of queues in
// commands are not broken.
func paragraph(b *strings.Builder, words string, names ...string) {
	const indent, blank = "    ", "\x00"
	for _, name := range names {
		quoted := strings.Trim(text.Shell(name), "$'")
		words = strings.ReplaceAll(words, quoted, strings.ReplaceAll(quoted, " ", blank))
	}
	column := 0
	for word := range strings.FieldsSeq(words) {
		word = strings.ReplaceAll(word, blank, " ")
		switch {
		case column == 0:
			b.WriteString(indent)
			column = len(indent)
		case column+1+len(word) > textWidth:
			b.WriteString("\n" + indent + "  ")
			column = len(indent) + 2
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	b.WriteByte('\n')
}

// size shows a number of bytes.
func size(n int64) string {
	units := []string{"B", "KB", "MB", "GB", "TB"}
	value, unit := float64(n), 0
	for value >= 1000 && unit < len(units)-1 {
		value, unit = value/1000, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}
