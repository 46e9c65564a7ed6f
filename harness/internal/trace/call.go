package trace

import (
	"fmt"

	"github.com/dq-bench/dq-bench/internal/monitor"
)

// Call is a command of a client with the commands that its script made, and what it says: that is read once, where the
// calls are grouped.
type Call struct {
	// Line is what the client sent.
	monitor.Line
	// Inner are the commands of the script, in order; empty for other commands.
	Inner []monitor.Line
	// Rebuilt is true where the recording holds Inner only and Line was made from it; its peer is RebuiltPeer and its
	// number that of the first inner line.
	Rebuilt bool
	// Tried is when the client first tried, in Unix microseconds, where Line is what it sent after a script miss; else
	// it is zero.
	Tried int64

	// Script is what an EVAL or EVALSHA says; nil for every other command, and for a call whose number of keys is
	// wrong.
	Script *Script
	// Offer is what an offer script was called with, and Transfer a transfer script; nil for every other call, and
	// where the arguments are not of such a script.
	Offer    *Offer
	Transfer *Transfer
	// Body is the script text that an EVAL or SCRIPT LOAD brings along, and BodySHA1 its digest in lower-case hex; both
	// are empty for every other command.
	Body, BodySHA1 string
}

// RebuiltPeer is the peer of a script call that a recording does not hold.
const RebuiltPeer = "rebuilt"

// LineError says what is wrong with one line of a recording: the recording as such cannot be used.
type LineError struct {
	Line   monitor.Line
	Reason string
}

func (e *LineError) Error() string {
	return fmt.Sprintf("line %d: %s: %.200s", e.Line.Number, e.Reason, e.Line.Text())
}

// MemberError says that a packed member, or what should be one, is not what a Redisson release packs.
type MemberError struct {
	Line monitor.Line
	Err  error
}

func (e *MemberError) Error() string { return fmt.Sprintf("line %d: %v", e.Line.Number, e.Err) }
func (e *MemberError) Unwrap() error { return e.Err }

// Calls groups the lines of a recording into calls. Inner commands belong to the script call right before them: a
// script runs alone. Where a recording holds inner commands only, which its metadata says (script-calls: absent) or the
// lack of any script call shows, the calls are rebuilt from them.
//
// An inner command that belongs to no script call gives a *LineError; a member from which no call can be rebuilt gives
// a *MemberError.
func Calls(rec *monitor.Recording) ([]Call, error) {
	deviations, err := DeviationsOf(rec)
	if err != nil {
		return nil, err
	}
	if deviations.ScriptCallsAbsent {
		return rebuild(rec, deviations)
	}
	calls, orphan := group(rec.Lines)
	if orphan != nil {
		return nil, &LineError{*orphan, "this command was called by a script, but no EVAL, EVALSHA or FCALL comes before it"}
	}
	return calls, nil
}

// Group is Calls for lines without a recording around them: nothing is rebuilt, and an inner command that belongs to no
// script call is a call of its own.
func Group(lines []monitor.Line) []Call {
	calls, _ := group(lines)
	return calls
}

// group puts inner commands under the script call before them, and reads what each call says: nothing behind it reads a
// line again. The first inner command that has no call is returned; it becomes one of its own.
func group(lines []monitor.Line) (calls []Call, orphan *monitor.Line) {
	clients := 0
	for _, l := range lines {
		if !l.Inner() {
			clients++
		}
	}
	calls = make([]Call, 0, clients)
	for i, l := range lines {
		switch {
		case !l.Inner():
			calls = append(calls, newCall(l))
		case len(calls) > 0 && callsScript(calls[len(calls)-1].Line):
			last := &calls[len(calls)-1]
			last.Inner = append(last.Inner, l)
		default:
			calls = append(calls, newCall(l))
			if orphan == nil {
				orphan = &lines[i]
			}
		}
	}
	return calls, orphan
}
