package trace

import (
	"fmt"

	"github.com/dq-bench/dq-bench/internal/monitor"
)

// Difference is the first place at which two lists of lines differ.
type Difference struct {
	// Want and Got are the indices of the differing lines; the length of a list where it ended too early.
	Want, Got int
	// Arg is the index of the first differing argument and Byte the offset in it; Arg is -1 where the difference is not
	// in an argument.
	Arg, Byte int
	// Reason says in one sentence what differs.
	Reason string
}

// CompareLines compares what a recording expects with what a server showed, line by line: database, connection and
// every byte of every argument, the case of names included. Times are not compared, and peers only by whether lines
// share a connection where the recorded ones do. It returns nil for equal lists.
//
// Lines of the recording go through Deviations.Expected first, so that each declared deviation is handled there and
// nothing is ignored here.
func CompareLines(want, got []monitor.Line) *Difference {
	forth, back := map[string]string{}, map[string]string{}
	for i := range max(len(want), len(got)) {
		differ := func(format string, args ...any) *Difference {
			return &Difference{i, i, -1, 0, fmt.Sprintf(format, args...)}
		}
		switch {
		case i >= len(got):
			return differ("the recording has a command that the server did not show")
		case i >= len(want):
			return differ("the server showed a command that the recording does not have")
		}
		if d := compareLine(want[i], got[i]); d != nil {
			d.Want, d.Got = i, i
			return d
		}
		if want[i].Inner() {
			continue
		}
		w, g := want[i].Peer, got[i].Peer
		if other, seen := forth[w]; seen && other != g {
			return differ("the command came on another connection: %s was %s before, here it is %s", w, other, g)
		}
		if other, seen := back[g]; seen && other != w {
			return differ("two recorded connections are one: %s was %s before, here it is %s", g, other, w)
		}
		forth[w], back[g] = g, w
	}
	return nil
}

func compareLine(want, got monitor.Line) *Difference {
	if want.Inner() != got.Inner() {
		who := map[bool]string{true: "a script", false: "a client"}
		return &Difference{Arg: -1, Reason: fmt.Sprintf("recorded is a command of %s, seen is one of %s", who[want.Inner()], who[got.Inner()])}
	}
	if want.DB != got.DB {
		return &Difference{Arg: -1, Reason: fmt.Sprintf("recorded is database %d, seen is %d", want.DB, got.DB)}
	}
	for i := range min(len(want.Args), len(got.Args)) {
		if w, g := want.Args[i], got.Args[i]; w != g {
			at := firstDifference(w, g)
			return &Difference{Arg: i, Byte: at, Reason: fmt.Sprintf("argument %d differs from byte %d on: recorded %s, seen %s", i, at, excerpt(w, at), excerpt(g, at))}
		}
	}
	if len(want.Args) != len(got.Args) {
		return &Difference{
			Arg: min(len(want.Args), len(got.Args)), Reason: fmt.Sprintf("recorded are %d arguments, seen are %d", len(want.Args)-1, len(got.Args)-1),
		}
	}
	return nil
}

// excerpt quotes the neighbourhood of s[at].
func excerpt(s string, at int) string {
	from, to := max(0, at-12), min(len(s), at+12)
	before, after := "", ""
	if from > 0 {
		before = "…"
	}
	if to < len(s) {
		after = "…"
	}
	return before + quoted(s[from:to]) + after
}
