package trace

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/dq-bench/dq-bench/internal/resp"
)

// Difference is the first place at which two lists of lines differ.
type Difference struct {
	// At is the index of the differing lines; the length of a list where it ended too early.
	At int
	// Arg is the index of the first differing argument and Byte the offset in it; Arg is -1 where the difference is not
	// in an argument.
	Arg, Byte int
	// Reason says in one sentence what differs.
	Reason string
}

// CompareLines compares what a recording expects, by Deviations.Expected, with what a server showed, line by line:
// database, recorded peer and every byte of every argument, the case of names included. Times are not compared. It returns nil
// for equal lists.
func CompareLines(want, got []Line) *Difference {
	for i := range max(len(want), len(got)) {
		differ := func(format string, args ...any) *Difference {
			return &Difference{i, -1, 0, fmt.Sprintf(format, args...)}
		}
		switch {
		case i >= len(got):
			return differ("the recording has a command that the server did not show")
		case i >= len(want):
			return differ("the server showed a command that the recording does not have")
		}
		if d := compareLine(want[i], got[i]); d != nil {
			d.At = i
			return d
		}
		if w, g := want[i].Peer, got[i].Peer; w != g {
			return differ("the command is one of %s, and came on the connection of %s", w, g)
		}
	}
	return nil
}

func compareLine(want, got Line) *Difference {
	if want.Inner() != got.Inner() {
		who := map[bool]string{true: "a script", false: "a client"}
		return &Difference{Arg: -1, Reason: fmt.Sprintf("recorded is a command of %s, seen is one of %s", who[want.Inner()], who[got.Inner()])}
	}
	if want.DB != got.DB {
		return &Difference{Arg: -1, Reason: fmt.Sprintf("recorded is database %d, seen is %d", want.DB, got.DB)}
	}
	for i := range min(len(want.Args), len(got.Args)) {
		if w, g := want.Args[i], got.Args[i]; w != g {
			at := firstDifference([]byte(w), []byte(g))
			return &Difference{Arg: i, Byte: at, Reason: fmt.Sprintf("argument %d differs from byte %d on: recorded %s, seen %s",
				i, at, around(w, at, 12, 12, Quoted), around(g, at, 12, 12, Quoted))}
		}
	}
	if len(want.Args) != len(got.Args) {
		return &Difference{
			Arg: min(len(want.Args), len(got.Args)), Reason: fmt.Sprintf("recorded are %d arguments, seen are %d", len(want.Args)-1, len(got.Args)-1),
		}
	}
	return nil
}

const (
	windowContext = 3  // lines before and after the difference
	windowWidth   = 80 // bytes of a line of a window
	markedBytes   = 30 // bytes shown on either side of a marked difference
)

// Column is one side of a window.
type Column struct {
	// Title names the side, such as "recorded", or "left: the recorded one" where the word before the colon is enough
	// to know it by.
	Title string
	// Lines are all lines of the side.
	Lines []Line
	// At is the index of the differing line; len(Lines) where there is none.
	At int
	// Arg and Byte are the place in that line; Arg is -1 for the whole line.
	Arg, Byte int
	// Note stands in for the differing line where there is none.
	Note string
}

// Window shows two sides around their first difference: three lines before and after, then both differing lines with
// the first differing byte marked. No line is longer than 80 bytes.
func Window(left, right Column) string {
	var b strings.Builder
	for _, side := range []Column{left, right} {
		fmt.Fprintf(&b, "    %s\n", side.Title)
		for offset := -windowContext; offset <= windowContext; offset++ {
			row := side.row(offset)
			if row == "" {
				continue
			}
			mark := "   "
			if offset == 0 {
				mark = ">>>"
			}
			fmt.Fprintf(&b, "%s %s\n", mark, row)
		}
	}
	left.markTo(&b)
	right.markTo(&b)
	return b.String()
}

// row returns the line at a distance from the difference, with its number.
func (c Column) row(offset int) string {
	i := c.At + offset
	switch {
	case offset == 0 && c.missing():
		return clip("(" + c.note() + ")")
	case i < 0 || i >= len(c.Lines):
		return ""
	case c.Lines[i].Number == 0:
		return clip(short(c.Lines[i]))
	}
	return clip(fmt.Sprintf("%5d: %s", c.Lines[i].Number, short(c.Lines[i])))
}

// missing reports whether the side has no line at the difference.
func (c Column) missing() bool { return c.At >= len(c.Lines) || c.Note != "" }

func (c Column) note() string { return cmp.Or(c.Note, "nothing") }

// short is a line without its time: the port of the client, and the command; the database unless it is the first.
func short(l Line) string {
	b := []byte(l.Peer[max(0, strings.LastIndexByte(l.Peer, ':')):])
	if l.DB != 0 {
		b = fmt.Appendf(b, " [%d]", l.DB)
	}
	for _, arg := range l.Args {
		b = resp.AppendQuoted(append(b, ' '), arg)
	}
	return string(b)
}

// clip leaves out the middle of a long line: the command is at its beginning, the member or value at its end.
func clip(s string) string {
	const room = windowWidth - len(">>> ")
	if len(s) > room {
		half := (room - len("...")) / 2
		return s[:room-3-half] + "..." + s[len(s)-half:]
	}
	return s
}

// markTo writes the differing line and, below it, a caret at the place.
func (c Column) markTo(b *strings.Builder) {
	title, _, _ := strings.Cut(c.Title, ":")
	lead := fmt.Sprintf("%-11s", title+":")
	if c.missing() {
		fmt.Fprintf(b, "%s%s\n", lead, c.note())
		return
	}
	l := c.Lines[c.At]
	text, at := short(l), c.column(l)
	from, to := max(0, at-markedBytes), min(len(text), at+markedBytes)
	if at < 0 {
		from, to = 0, min(len(text), 2*markedBytes)
	}
	shown := text[from:to]
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
	if l.Raw != "" && l.Raw != l.String() {
		fmt.Fprintf(b, "before its declared deviation:\n  %.*s\n", windowWidth-2, l.Raw)
	}
}

// column returns the offset in short(l) of the difference, or -1.
func (c Column) column(l Line) int {
	if c.Arg < 0 {
		return -1
	}
	prefix := l
	prefix.Args = l.Args[:min(c.Arg, len(l.Args))]
	n := len(short(prefix))
	if c.Arg >= len(l.Args) {
		return n
	}
	return n + len(" ") + len(Quoted(l.Args[c.Arg][:min(c.Byte, len(l.Args[c.Arg]))])) - len(`"`)
}
