package scripts

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// Unlisting has the names of the keys of Unlist for one queue. All are in the slot of the
// queue's other keys, have a time to live, and no Redisson knows them.
type Unlisting struct {
	// State is S, a HASH with the coverage of the last pass.
	State string
	// Pass is P, a HASH that says how far a pass is. It is there while one is under way.
	Pass string
	// Next is N, the LIST that becomes the pending list, and Leaving V, the SET of the
	// members that it lacks.
	Next, Leaving string
	// Unlisted are U1 and U2, the SETs of members that are in the timeout set and were taken
	// out of the pending list, for they are due soon.
	Unlisted [2]string
}

// UnlistingOf returns the names for the destination queue dest.
func UnlistingOf(dest string) Unlisting {
	name := func(part string) string { return wire.PrefixName("redisson_delay_queue_"+part, dest) }
	return Unlisting{
		State: name("unlisting"), Pass: name("unlisting_pass"), Next: name("unlisting_next"), Leaving: name("unlisting_leaving"),
		Unlisted: [2]string{name("unlisted_1"), name("unlisted_2")},
	}
}

// All returns the names.
func (u Unlisting) All() []string {
	return []string{u.State, u.Pass, u.Next, u.Leaving, u.Unlisted[0], u.Unlisted[1]}
}

// Surveyed is what Survey returns.
type Surveyed struct {
	// Length is the length of the pending list. If it is below the least length, Due, Seen and
	// Far are 0.
	Length int
	// Covered is the due time up to which members are unlisted, in Unix ms; 0 for no members.
	Covered int64
	// Passing says that a pass is under way, and Unlisted that there are members
	// that are not in the list.
	Passing, Unlisted bool
	// Window is how far a pass would reach, in ms: ten times as long as it takes, 1 to 30 s.
	Window int64
	// Due is how many members are due after Covered and within the Window. Of the first of
	// them, Seen in number, Far are not among the first 1000 entries of the list.
	Due, Seen, Far int
}

// ReadSurveyed reads the reply of Survey.
func ReadSurveyed(reply any) (s Surveyed, err error) {
	covered := "0"
	err = scan(Survey(), reply, &s.Length, &covered, &s.Passing, &s.Unlisted, &s.Window, &s.Due, &s.Seen, &s.Far)
	if err == nil {
		if s.Covered, err = strconv.ParseInt(covered, 10, 64); err != nil {
			err = fmt.Errorf("script survey: expected a time in ms, or nil, from the server, got %.80q", covered)
		}
	}
	return s, err
}

// Stage is the state of a pass of Unlist.
type Stage string

// The stages.
const (
	// UnlistMore: the next call goes on.
	UnlistMore Stage = "more"
	// UnlistDone: N is the pending list now.
	UnlistDone Stage = "done"
	// UnlistBusy: another pass is under way; this one has not begun.
	UnlistBusy Stage = "busy"
	// UnlistFull: members of the two passes before are not delivered yet.
	UnlistFull Stage = "full"
	// UnlistGone: the lease was over, or the pass was ended by deleting P.
	UnlistGone Stage = "gone"
	// UnlistLost: so much was removed from Q that the place was not found again.
	UnlistLost Stage = "lost"
	// UnlistRaced: copied entries were removed.
	UnlistRaced Stage = "raced"
)

// ReadUnlisted reads the reply of Unlist. n is how many entries were passed so far
// (UnlistMore), or how many members have left the list (UnlistDone).
func ReadUnlisted(reply any) (stage Stage, n int, err error) {
	var text string
	items, _ := reply.([]any)
	if len(items) == 1 {
		err = scan(Unlist(), reply, &text)
	} else {
		err = scan(Unlist(), reply, &text, &n, new(int))
	}
	moving := []Stage{UnlistMore, UnlistDone}
	ended := []Stage{UnlistBusy, UnlistFull, UnlistGone, UnlistLost, UnlistRaced}
	if err == nil && !slices.Contains(map[int][]Stage{1: ended, 3: moving}[len(items)], Stage(text)) {
		err = fmt.Errorf("script unlist: expected a stage, and with more and done two integers, from the server, got %.80q", fmt.Sprint(reply))
	}
	return Stage(text), n, err
}
