package scripts

import (
	"fmt"
	"slices"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// LeaseNames are the keys of the messages that Workers hold, all in the slot of D. Redisson does not know them.
//
// A message has an id of 20 hex digits as long as it is held. A reader may conclude: the members of Leases are
// handled now or wait for their next attempt, the members of Dead wait for Replay or Drop, and the values of
// Staged belong at the front of D. An id only in Bodies is impossible.
type LeaseNames struct {
	// Staged (M) is the LIST of values that BLMOVE took from D to wake a Worker. The next take of any Worker empties it.
	Staged string
	// Leases (L) is the ZSET of ids by the instant in Unix ms, of the server's clock, at which the message is handed out again.
	Leases string
	// Bodies (V) is the HASH of the values, by id; and of the reasons of dead letters, by "r" and the id.
	Bodies string
	// Counts (N) is the HASH of how often a message was handed out, by id; and of the last of these that was settled
	// for a retry, by "f" and the id.
	Counts string
	// Dead (X) is the ZSET of the ids of dead letters, by the instant in Unix ms at which they became one.
	Dead string
}

// LeaseNamesOf returns the keys for the destination queue dest.
func LeaseNamesOf(dest string) LeaseNames {
	name := func(part string) string { return wire.PrefixName("dq_"+part, dest) }
	return LeaseNames{Staged: name("staged"), Leases: name("leases"), Bodies: name("bodies"), Counts: name("counts"), Dead: name("dead")}
}

// Take hands out messages, each under a lease: first those whose lease or pause is over, then the values of M and of D. A message that two
// holders in a row did not settle, or one right before its last attempt, may crash its holder: it is claimed for one lease, and does not
// count as handed out until asked for by its id. A message not settled in its last attempt becomes a dead letter.
//
//	KEYS    D, M, L, V, N, X
//	ARGV    how many at most, 0 to end a claim; the lease in ms; the first 16 digits of their ids; how many attempts, 0 for any number;
//	        1 if a message may be claimed, or the id of a claimed one; how often that was handed out
//	returns [for each: [id, how often it was handed out, 0 or 1 for by itself or 2 for dead or 3 for claimed, value];
//	        ms until the next lease or pause is over, or -1, and -1 with as many as asked for; 1 if there is more]: see ReadHandedOut
//	cost    O(how many × log n), and 1,000 messages that it passes over. It stops behind 4 MB of values
//
// Take, Settle and Dead write nothing if the user lacks a right, before Redis 7 nothing that loses a message, and go on out of memory.
func Take() Script { return named("take") }

// Settle ends or extends leases. A lease is an id and the number of its hand-out, so that an earlier holder can do
// nothing, and sending a call twice does no harm.
//
//	KEYS    L, V, N, X, D
//	ARGV    "ack", "extend", "retry", "bury" or "release"; ms from now for extend and retry, the reason for bury; then an id
//	        and the number of its hand-out for each
//	returns for each 1; 0 if it is settled already; -1 if it was handed out again
//	cost    O(how many × log n)
//
// A release puts the value at the front of D, and forgets how often it was handed out.
func Settle() Script { return named("settle") }

// Dead drops dead letters, or puts their values at the end of D.
//
//	KEYS    X, V, N, D
//	ARGV    "drop" or "replay"; ids
//	returns how many there were
//	cost    O(how many × log n)
func Dead() Script { return named("dead") }

// HandedOut is a message that Take has handed out.
type HandedOut struct {
	ID string
	// Delivery is how often the message was handed out, this time included.
	Delivery int64
	// Alone says that the message may have ended its holders. Buried says that it is a dead letter, and Claimed that it is to be
	// handled by itself: neither is handed out.
	Alone, Buried, Claimed bool
	Value                  []byte
}

// ReadHandedOut reads the reply of Take. next is in ms, -1 if no lease and no pause ends.
func ReadHandedOut(reply any) (all []HandedOut, next int64, more bool, err error) {
	var list []any
	if err := scan(Take(), reply, &list, &next, &more); err != nil {
		return nil, 0, false, err
	}
	for _, item := range list {
		var m HandedOut
		var kind int
		var value string
		if err := scan(Take(), item, &m.ID, &m.Delivery, &kind, &value); err != nil {
			return nil, 0, false, err
		}
		m.Alone, m.Buried, m.Claimed, m.Value = kind == 1, kind == 2, kind == 3, []byte(value)
		all = append(all, m)
	}
	return all, next, more, nil
}

// Unlisting has the names of the keys of Unlist for one queue. All are in the slot of the
// queue's other keys, have a time to live, and no Redisson knows them.
type Unlisting struct {
	// State is S, a HASH with the coverage of the last pass.
	State string
	// Pass is P, a HASH that says how far a pass is. It is there while one is under way.
	Pass string
	// Next is N, the LIST that becomes the pending list, and Leaving V, the SET of the members that it lacks.
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
	// Length is the length of the pending list. If it is below the least length, Due, Seen and Far are 0.
	Length int
	// Covered is the due time up to which members are unlisted, in Unix ms; 0 for no members.
	Covered int64
	// Passing says that a pass is under way, and Unlisted that there are members that are not in the list.
	Passing, Unlisted bool
	// Window is how far a pass would reach, in ms: ten times as long as it takes, 1 to 30 s.
	Window int64
	// Due is how many members are due after Covered and within the Window. Of the first of
	// them, Seen in number, Far are not among the first 1000 entries of the list.
	Due, Seen, Far int
}

// ReadSurveyed reads the reply of Survey.
func ReadSurveyed(reply any) (s Surveyed, err error) {
	err = scan(Survey(), reply, &s.Length, &s.Covered, &s.Passing, &s.Unlisted, &s.Window, &s.Due, &s.Seen, &s.Far)
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
	known := []Stage{UnlistMore, UnlistDone, UnlistBusy, UnlistFull, UnlistGone, UnlistLost, UnlistRaced}
	if err = scan(Unlist(), reply, &text, &n); err == nil && !slices.Contains(known, Stage(text)) {
		err = fmt.Errorf("script unlist: expected a stage from the server, got %.80q", text)
	}
	return Stage(text), n, err
}
