package scripts

import (
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"slices"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// Script is one of our own Lua scripts.
type Script struct {
	// Name is that of the file, such as "take-out".
	Name string
	// Body is the text for SCRIPT LOAD and EVAL.
	Body string
	// SHA1 is the lower-case hex digest of Body, for EVALSHA and EVALSHA_RO.
	SHA1 string
	// ReadOnly says that the script writes nothing: EVALSHA_RO will run it, on a
	// replica too.
	ReadOnly bool
}

var (
	//go:embed transfer.lua
	transferBody string
	//go:embed ahead.lua
	aheadBody string
	//go:embed take-out.lua
	takeOutBody string
	//go:embed move-out.lua
	moveOutBody string
	//go:embed guard.lua
	guardBody string

	transfer = newScript("transfer", transferBody, false)
	ahead    = newScript("ahead", aheadBody, true)
	takeOut  = newScript("take-out", takeOutBody, false)
	moveOut  = newScript("move-out", moveOutBody, false)
	guard    = newScript("guard", guardBody, false)

	all = []Script{transfer, ahead, takeOut, moveOut, guard}
)

// Bounds of the arguments and of the work of a script.
const (
	// MaxLimit is the largest limit of Transfer and count of Ahead; the smallest
	// is 1.
	MaxLimit = 10_000
	// MaxRepair bounds the members that Transfer takes besides limit for a repair.
	MaxRepair = 10_000
)

// Guard does nothing. A transaction with a script in it waits with the writes of a server
// that are paused: CLIENT UNBLOCK is sent in one, for it must not meet a client that
// was postponed.
//
//	KEYS    none
//	ARGV    none
//	returns 1
//	cost    O(1)
func Guard() Script { return guard }

// Transfer moves due members of either layout to the destination, and mends what
// a failed transfer of Redisson's left behind.
//
//	KEYS    D, T, Q, X
//	ARGV    now in Unix ms; limit; own layout ("dLc0" or "Bc0Lc0"); failed
//	returns [score of the first member left, or nil; delivered; of these not of
//	        the own layout; quarantined; delivered already]: see ReadTransferred
//	cost    O(limit × length of Q), as Redisson's: one LREM for each member, which
//	        is O(1) where members come due in the order of their offers
//
// Members with a score from 0 to now are moved, limit of them at most, in the
// order of the set, which is by score and then by bytes: RPUSH D of the values,
// LREM Q 1 and ZREM T of the members. A member that is of neither layout goes to
// X with its score instead, or stays where X is not among KEYS: for a user who has no
// right to it.
//
// failed is empty, or the now of a transfer script of Redisson's that this client
// sent and that failed to unpack a member. That script pushed the values of all
// members before the one it failed at, and took these out of Q, but not out of T.
// So with failed, the first members with a score from 0 to failed are moved
// besides, or only taken out of T where they have left Q: they were pushed. The
// first are those up to one that struct.unpack fails at in the own layout, and 100
// behind it, in case that one was offered since; MaxRepair at most. They do not
// count against limit.
//
// A member that struct.unpack fails at and that is not in Q ends this: Q itself has
// lost members then, such as by eviction, and tells nothing about those behind.
//
// LREM stops at the first copy. A member that an old release of Redisson sent
// twice (to 3.16.3, after a time-out) is twice in Q and once in T: the second copy
// stays, as with Redisson, for to look for one would mean to read all of Q for
// every member. In a repair such a member is delivered again, since a copy in Q
// looks like a member not yet delivered: better twice than never.
func Transfer() Script { return transfer }

// Ahead counts the members, among the first in T, that are not of the own layout:
// what Redisson's transfer will fail at, before it is due.
//
//	KEYS    T
//	ARGV    count; own layout ("dLc0" or "Bc0Lc0")
//	returns the number, 0 to count
//	cost    O(log n + count), about 1 ms for 1000 members of 200 bytes
//
// A member that fits both layouts is of the own one. Bytes that are of neither are
// counted, and so are members with a wire.WindowsLengthSize.
func Ahead() Script { return ahead }

// TakeOut removes members which the client has read and unpacked itself.
//
//	KEYS    Q, T
//	ARGV    members
//	returns for each member, in order: see Taken
//	cost    O(members × length of Q); O(1) for a member near the head of Q
//
// Each is LREM Q 1 and ZREM T. Of a member that is twice in Q, which only re-sent
// offers of old releases are, one copy goes, as with Redisson's poll and remove:
// name it twice to remove both. T is cleaned in any case.
//
// Send hundreds of members a call rather than thousands: the server does nothing
// else meanwhile.
func TakeOut() Script { return takeOut }

// MoveOut removes one member which the client has read and unpacked itself from
// the tail of Q, and puts its value at the front of another list.
//
//	KEYS    Q, T, other
//	ARGV    member; its value
//	returns 1, or 0 when the member was not in Q: then nothing was done
//	cost    O(1) for the member at the tail of Q, else O(length of Q)
//
// It is LREM Q -1, ZREM T and LPUSH other. The copy nearest the tail goes, which
// is the one that Redisson's RPOP takes. A member in T only is left alone: its
// value has been pushed by a transfer that failed later on, or was removed by
// RetainAll, and must not be given out once more.
func MoveOut() Script { return moveOut }

// All returns the scripts.
func All() []Script { return slices.Clone(all) }

// BySHA1 finds the script that a lower-case SHA-1 names.
func BySHA1(sha1 string) (Script, bool) {
	for _, s := range all {
		if s.SHA1 == sha1 {
			return s, true
		}
	}
	return Script{}, false
}

// Quarantine returns the name of X, the ZSET of members that are of neither
// layout, for the destination queue dest. It is in the slot of the other keys.
func Quarantine(dest string) string {
	return wire.PrefixName("redisson_delay_queue_quarantine", dest)
}

func newScript(name, body string, readOnly bool) Script {
	sum := sha1.Sum([]byte(body))
	return Script{Name: name, Body: body, SHA1: hex.EncodeToString(sum[:]), ReadOnly: readOnly}
}
