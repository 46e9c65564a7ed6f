package trace

import (
	"fmt"
	"slices"
)

// Call is a command of a client with the commands of its script, read once.
type Call struct {
	Line         // the client's
	Inner []Line // the commands of the script, in order; empty for other commands
	// Rebuilt is true if the recording holds only Inner and Line was made from it; its peer is RebuiltPeer and its number
	// is of the first inner line.
	Rebuilt bool
	Tried   int64 // when the client first tried, in Unix µs, if Line followed a script miss; else zero

	Script   *Script   // of an EVAL or EVALSHA; nil for other commands, and for a wrong number of keys
	Offer    *Offer    // nil unless the script is an offer with its arguments
	Transfer *Transfer // nil unless the script is a transfer with its arguments
	// Body is the script text in an EVAL or SCRIPT LOAD, and BodySHA1 its digest in lower-case hex; else both are empty.
	Body, BodySHA1 string
}

// commands returns the commands of a call's script, or the call's own.
func (c Call) commands() []Line {
	if callsScript(c.Line) {
		return c.Inner
	}
	return []Line{c.Line}
}

// RebuiltPeer is the peer of a script call that a recording does not hold.
const RebuiltPeer = "rebuilt"

// LineError says what is wrong with one line of a recording: the recording as such cannot be used.
type LineError struct {
	Line   Line
	Reason string
}

func (e *LineError) Error() string {
	return fmt.Sprintf("line %d: %s: %.200s", e.Line.Number, e.Reason, e.Line.Text())
}

// MemberError says that a packed member, or what should be one, is not what a Redisson release packs.
type MemberError struct {
	Line Line
	Err  error
}

func (e *MemberError) Error() string { return fmt.Sprintf("line %d: %v", e.Line.Number, e.Err) }
func (e *MemberError) Unwrap() error { return e.Err }

// Calls groups the lines of a recording into calls. Inner commands belong to the script call right before them. Calls of a
// recording with inner commands only are rebuilt. An inner command without a script call gives a *LineError, a member from
// which no call can be rebuilt a *MemberError.
func Calls(rec *Recording, d Deviations) ([]Call, error) {
	if d.ScriptCallsAbsent {
		return rebuild(rec, d)
	}
	calls := Group(rec.Lines)
	if i := slices.IndexFunc(calls, func(c Call) bool { return c.Line.Inner() }); i >= 0 {
		return nil, &LineError{calls[i].Line, "this command was called by a script, but no EVAL, EVALSHA or FCALL comes before it"}
	}
	return calls, nil
}

// Group is Calls for lines without a recording around them: nothing is rebuilt, and an inner command that belongs to no
// script call is a call of its own. It reads what each call says: nothing behind it reads a line again.
func Group(lines []Line) (calls []Call) {
	for _, l := range lines {
		if last := len(calls) - 1; l.Inner() && last >= 0 && callsScript(calls[last].Line) {
			calls[last].Inner = append(calls[last].Inner, l)
			continue
		}
		calls = append(calls, newCall(l))
	}
	return calls
}
