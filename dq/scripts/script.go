package scripts

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// Script is one of our own Lua scripts.
type Script struct {
	// Name is the name of the file, such as "take-out".
	Name string
	// Body is the text for SCRIPT LOAD and EVAL.
	Body string
	// SHA1 is the lower-case hex digest of Body, for EVALSHA.
	SHA1 string
}

//go:embed *.lua
var files embed.FS

// all has the scripts, each behind the texts that it begins with.
var all = []Script{
	newScript("plain", "prelude", "calls", "transfer"), newScript("calls", "prelude", "survey"), newScript("calls", "prelude", "unlist"),
	newScript("calls", "prelude", "find"), newScript("calls", "prelude", "cancel"), newScript("guard"),
	newScript("calls", "take"), newScript("calls", "settle"), newScript("calls", "dead"),
}

// newScript joins the texts of files. The last one names the script.
func newScript(texts ...string) (s Script) {
	for _, s.Name = range texts {
		text, _ := files.ReadFile(s.Name + ".lua") // part of the program
		s.Body += string(text)
	}
	sum := sha1.Sum([]byte(s.Body))
	s.SHA1 = hex.EncodeToString(sum[:])
	return s
}

// named returns the script of a file.
func named(name string) Script {
	return all[slices.IndexFunc(all, func(s Script) bool { return s.Name == name })]
}

// Prelude is the Lua text that begins each script that reads members of any layout:
//
//	id_in(member, layout, size)   the offset of the id, or nil: size is the size of the length field, 8 or 4
//	unpack_any(member, own)       the value, its layout and the size, or nothing
//	error_of(command, ...)        the error of a command, to be returned, or nil
//	call_with_all(command, key, arguments)
//	lacks(command, key, …)        the refusal of a call that the user lacks a right to, or nil
//
// It is one text so that all of them read alike; wire.Layout.UnpackAny is the same rule in Go.
func Prelude() string { return newScript("calls", "prelude").Body }

// WaitForWritePause does nothing. A transaction that contains a script waits while a server's writes
// are paused. CLIENT UNBLOCK is sent in one, because it must not meet a postponed client.
//
//	KEYS    –
//	ARGV    –
//	returns 1
//	cost    O(1)
func WaitForWritePause() Script { return named("guard") }

// Transfer moves due members of either layout to the destination.
//
//	KEYS    D, T, Q, X, S, U1, U2, V; or the first four, while nothing is unlisted
//	ARGV    now in Unix ms; limit; own layout ("dLc0" or "Bc0Lc0")
//	returns the score of the first member left that becomes due, or nil; of a rare transfer [that score, or nil;
//	        delivered values not of the own layout; quarantined; 1 if a score below 0 is first]: see ReadTransferred
//	cost    O(limit × length of Q), as Redisson's: one LREM for each member, which
//	        is O(1) if members are due in the order of their offers; O(limit) for
//	        members that Unlist has taken out of Q; of a list of 10,000 and more at most two
//	        sixteenths for a member in the last sixteenth of it
//
// Members with a score from 0 to now are moved, limit of them at most, in the order of the set, which is by score and then by bytes: RPUSH
// D of the values, LREM Q 1 and ZREM T of the members, and LREM Q -1 of members that LPOS finds near the tail of a long list and not near
// its head. A member that is of neither layout goes to X with its score instead. Members that Unlist has taken out of Q are taken out of U1
// or U2 instead, if these keys are named, and one that was offered since, and is due within what Unlist has covered, is LREM Q -1.
//
// LREM stops at the first copy. A member that an old release of Redisson sent twice (to 3.16.3, after a time-out) is twice in Q and once in
// T: the other copy stays, as with Redisson, because finding it would mean reading all of Q for every member.
//
// A Redisson transfer that fails at a member of the other layout has pushed the values before it, and removed their
// members from Q but not from T: these values are delivered again.
//
// It writes nothing if the user lacks a right to write; an error for which LacksRedisson is true means that
// Redisson's script would fail as well, after its first write.
func Transfer() Script { return named("transfer") }

// LacksRedisson reports whether an error of Transfer says that the user lacks a right which Redisson's own script needs too.
func LacksRedisson(err error) bool {
	lacks, ok := strings.CutPrefix(err.Error(), "NOPERM this user lacks ")
	command, _, _ := strings.Cut(lacks, " ")
	return ok && slices.Contains([]string{"RPUSH", "LREM", "ZREM"}, command)
}

// Survey reports whether it pays to Unlist.
//
//	KEYS    T, Q, S, P, U1, U2
//	ARGV    now in Unix ms; what Unlist takes for an entry, in µs; length of Q below which
//	        it never pays
//	returns [length of Q; covered in Unix ms, or 0; 1 if a pass is under way; how many of U1
//	        and U2 there are; window in ms; due; seen; far]: see ReadSurveyed
//	cost    O(log n), and 1000 entries of Q: about 0.2 ms
func Survey() Script { return named("survey") }

// Unlist takes members that are due until a horizon out of Q in one pass of many calls,
// before they are due, so that their transfer needs no LREM, which walks Q.
//
//	KEYS    T, Q, S, P, N, V, U1, U2
//	ARGV    token of the pass; horizon in Unix ms, or empty in all calls but the first; count;
//	        lease in ms; how long S, U1 and U2 are kept, in ms
//	returns [its state; a number]: see ReadUnlisted
//	cost    O(count), and O(nodes of Q to its place)
//
// A call passes count entries of Q: entries due from 0 to the horizon go to the set V, the others to the list N, in their order. The last
// call, which finds the end of Q, renames V to U1 or U2, whichever is free, and N to Q. No client sees anything before that, and after it Q
// is unchanged except for members due by the horizon: these can no longer be found, polled or removed, and are delivered.
//
// Other clients may change Q during a pass. The place is found by the last entries passed; pushed entries are passed later; transferred
// ones are forgotten. If an entry that was copied to N is removed (poll, remove, clear), Q is shorter than N and V imply, and the pass is
// abandoned without any change.
//
// P has the state and the owner of the pass. P, N and V live for the lease: an abandoned pass leaves nothing. S has the horizon of the last
// pass, as "covered", and the horizons of U1 and U2.
func Unlist() Script { return named("unlist") }

// Find reads the waiting members of a value, the earliest first. A call passes at most 2,000 members and half a
// megabyte, in 1 to 3 ms, so a long queue takes many calls.
//
//	KEYS    T
//	ARGV    own layout; the first place: a score and the number of members of that score before it, at first empty
//	        and 0; the value
//	returns [score; how many]: the next place; after them each member that was found and its score. Nothing behind
//	        the last member
//	cost    O(log n + members)
func Find() Script { return named("find") }

// Cancel removes the member of a due time and an id, in any layout and with any value: migrating a queue keeps both.
//
//	KEYS    T, Q, U1, U2, V, N; or the first two
//	ARGV    due in Unix ms; the 8 bytes of the id; now in Unix ms; to offer it anew: the new due time, the own
//	        layout, the channel of offers, a new id
//	returns 1, or 0 when it is not in T, or due and not in Q: it was transferred or removed, or will be
//	cost    O(log² n) to find it; to take it out of Q, about 36 ns for each entry between it and an
//	        end: the nearer one if delays are equal, or if it is one of the last 1000; nothing
//	        if Unlist has taken it out
//
// It is ZREM T, and LREM Q 1 or -1, or SREM of U1 or U2; while a pass of Unlist is under way SREM V or LREM N; and to offer it anew ZADD T,
// RPUSH Q, and PUBLISH if it is the first, as an offer does, of the new id and the value in the own layout: a pass knows members by their
// bytes. A due member that is not in Q stays: a Redisson transfer that failed may have pushed it, and the next transfer does.
func Cancel() Script { return named("cancel") }

// All returns the scripts.
func All() []Script { return slices.Clone(all) }

// Quarantine returns the name of X, the ZSET of members that are of neither
// layout, for the destination queue dest. It is in the slot of the other keys.
func Quarantine(dest string) string {
	return wire.PrefixName("redisson_delay_queue_quarantine", dest)
}
