package trace

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/dq-bench/dq-bench/internal/resp"
)

// compareLine says what differs between two lines; "" for nothing.
func compareLine(want, got Line) string {
	if want.Inner() != got.Inner() {
		who := map[bool]string{true: "a script", false: "a client"}
		return fmt.Sprintf("recorded is a command of %s, seen is one of %s", who[want.Inner()], who[got.Inner()])
	}
	if want.DB != got.DB {
		return fmt.Sprintf("recorded is database %d, seen is %d", want.DB, got.DB)
	}
	for i := range min(len(want.Args), len(got.Args)) {
		if w, g := want.Args[i], got.Args[i]; w != g {
			at := firstDifference([]byte(w), []byte(g))
			return fmt.Sprintf("argument %d differs from byte %d on: recorded %s, seen %s", i, at, around(w, at, 12, 12, Quoted), around(g, at, 12, 12, Quoted))
		}
	}
	if w, g := len(want.Args), len(got.Args); w != g {
		return fmt.Sprintf("recorded are %d arguments, seen are %d", w-1, g-1)
	}
	return says(want.Peer != got.Peer, "the command is one of %s, and came on the connection of %s", want.Peer, got.Peer)
}

const (
	windowContext = 3  // lines before and after the difference
	windowWidth   = 80 // bytes of a line of a window
)

// Column is one side of a window.
type Column struct {
	// Title names the side.
	Title string
	// Lines are all lines of the side.
	Lines []Line
	// At is the index of the differing line; len(Lines) where there is none.
	At int
	// Note stands in for the differing line where there is none.
	Note string
}

// Window shows two sides around their first difference: three lines before and after, none longer than 80 bytes.
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
	return b.String()
}

// row returns the line at a distance from the difference, with its number.
func (c Column) row(offset int) string {
	i := c.At + offset
	switch {
	case offset == 0 && c.missing():
		return clip("(" + cmp.Or(c.Note, "nothing") + ")")
	case i < 0 || i >= len(c.Lines):
		return ""
	case c.Lines[i].Number == 0:
		return clip(short(c.Lines[i]))
	}
	return clip(fmt.Sprintf("%5d: %s", c.Lines[i].Number, short(c.Lines[i])))
}

// missing reports whether the side has no line at the difference.
func (c Column) missing() bool { return c.At >= len(c.Lines) || c.Note != "" }

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
