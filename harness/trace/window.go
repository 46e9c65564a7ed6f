package trace

import (
	"fmt"
	"strings"

	"github.com/dq-bench/dq-bench/harness/monitor"
)

const (
	windowContext = 3  // lines before and after the difference
	columnWidth   = 72 // bytes of a line that a column shows
	markedBytes   = 60 // bytes shown on either side of a marked difference
)

// Column is one side of a window.
type Column struct {
	// Title names the side, such as "recorded".
	Title string
	// Lines are all lines of the side.
	Lines []monitor.Line
	// At is the index of the differing line; len(Lines) where there is none.
	At int
	// Arg and Byte are the place in that line; Arg is -1 for the whole line.
	Arg, Byte int
	// Note stands in for the differing line where there is none.
	Note string
}

// Window shows two sides around their first difference: three lines before and
// after, then both differing lines with the first differing byte marked. Lines
// are shown as a server prints them and clipped where they are long.
func Window(left, right Column) string {
	var b strings.Builder
	fmt.Fprintf(&b, "    %-*s | %s\n", columnWidth, left.Title, right.Title)
	for offset := -windowContext; offset <= windowContext; offset++ {
		l, r := left.row(offset), right.row(offset)
		if l == "" && r == "" {
			continue
		}
		mark := "   "
		if offset == 0 {
			mark = ">>>"
		}
		fmt.Fprintf(&b, "%s %-*s | %s\n", mark, columnWidth, l, r)
	}
	left.markTo(&b)
	right.markTo(&b)
	return b.String()
}

// row returns the line at a distance from the difference, with its number.
func (c Column) row(offset int) string {
	i := c.At + offset
	if offset == 0 && (i >= len(c.Lines) || c.Note != "") {
		return clip("(" + c.note() + ")")
	}
	if i < 0 || i >= len(c.Lines) {
		return ""
	}
	l := c.Lines[i]
	if l.Number > 0 {
		return clip(fmt.Sprintf("%d: %s", l.Number, l.Text()))
	}
	return clip(l.Text())
}

func (c Column) note() string {
	if c.Note != "" {
		return c.Note
	}
	return "nothing"
}

// clip leaves out the middle of a long line: the command is at its beginning, the
// member or value at its end.
func clip(s string) string {
	if len(s) > columnWidth {
		half := (columnWidth - len("...")) / 2
		return s[:columnWidth-3-half] + "..." + s[len(s)-half:]
	}
	return s
}

// markTo writes the differing line and, below it, a caret at the place.
func (c Column) markTo(b *strings.Builder) {
	if c.At >= len(c.Lines) || c.Note != "" {
		fmt.Fprintf(b, "%s: %s\n", c.Title, c.note())
		return
	}
	l := c.Lines[c.At]
	text, at := l.String(), c.column(l)
	from, to := max(0, at-markedBytes), min(len(text), at+markedBytes)
	if at < 0 {
		from, to = 0, min(len(text), 2*markedBytes)
	}
	shown := text[from:to]
	lead := fmt.Sprintf("%-10s", c.Title+":")
	if from > 0 {
		lead += "..."
	}
	if to < len(text) {
		shown += "..."
	}
	fmt.Fprintf(b, "%s%s\n", lead, shown)
	if at >= 0 {
		fmt.Fprintf(b, "%s^\n", strings.Repeat(" ", len(lead)+at-from))
	}
	if l.Raw != "" && l.Raw != text {
		fmt.Fprintf(b, "before its declared deviation: %.*s\n", 4*markedBytes, l.Raw)
	}
}

// column returns the offset in l.String() at which the place is printed, or -1.
func (c Column) column(l monitor.Line) int {
	if c.Arg < 0 {
		return -1
	}
	prefix := l
	prefix.Args = l.Args[:min(c.Arg, len(l.Args))]
	n := len(prefix.String())
	if c.Arg >= len(l.Args) {
		return n
	}
	quoted := monitor.AppendQuoted(nil, l.Args[c.Arg][:min(c.Byte, len(l.Args[c.Arg]))])
	return n + len(" ") + len(quoted) - len(`"`)
}
