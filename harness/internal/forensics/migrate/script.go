package migrate

import (
	_ "embed"
	"fmt"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/internal/redis"
)

var (
	//go:embed pack.lua
	packingBody string
	//go:embed guard.lua
	guardBody string
	//go:embed list.lua
	listBody string
	//go:embed unlisted.lua
	unlistedBody string
	//go:embed recode.lua
	recodeBody string

	packing = scripts.Prelude() + packingBody + guardBody
)

// rewriteListed rewrites the entries of the pending list from one index to another, and
// their members in the timeout set.
//
//	KEYS    T, Q, X, G, P (see scripts.Unlisting)
//	ARGV    layout ("dLc0" or "Bc0Lc0"); first and last index; "repair" or ""; bytes
//	returns [first index; entries rewritten; members rewritten; ghosts removed; quarantined; clashes]
//	cost    O(entries × (log n + nodes of Q to the index)); with something to remove
//	        O(entries of Q to the nearer end) besides
//
// It begins with the last index, and ends before the entry with which there would be more
// bytes, unless that is the only one: the index that it returns is where it has ended.
//
// A member keeps its score: as text, of 17 digits, which every server reads as the same
// double. A clash is a member whose rewritten form is another member of T already: it is
// left as it is, for two messages would become one.
//
// With "repair", an entry that T has no member for in either layout goes to the head of
// G, and one of neither layout to X with its score.
var rewriteListed = redis.NewScript(packing + listBody)

// rewriteUnlisted rewrites members of the timeout set that have no entry in the list.
//
//	KEYS    T, Q, X, P, U1, U2 (see scripts.Unlisting)
//	ARGV    layout; "repair" or ""; members
//	returns [rewritten; put on the list; quarantined; clashes]
//	cost    O(members × log n); with "repair" O(members × length of Q)
//
// With "repair", each is put at the end of Q too, unless a dq client has taken it out of
// Q for it is due soon, and one of neither layout goes to X.
// Members that are gone are passed over.
var rewriteUnlisted = redis.NewScript(packing + unlistedBody)

// rewriteValues replaces entries of a list, and with them members of the timeout set, by others; or members of
// the timeout set alone.
//
//	KEYS    L, J; for L = Q also T, P; for members alone T, J, T, P, U1, U2 (see scripts.Unlisting)
//	ARGV    "list" or "members"; index of the first in the list; codec; seconds; then of each, in the order
//	        of the list: old, new, "both" where either codec reads the new one, else ""
//	returns [entries or members replaced; members of T among them; not there any more; clashes]
//	cost    O(entries × (log n + nodes of L to the index))
//
// J is a HASH of the codecs of what either codec reads: "T" and a member, or "D" and a value of the
// destination queue → codec. What it has as of the codec already is left alone. It lives for the seconds
// after the last change.
//
// Entries that have moved towards the head by up to 64 are found there; those that have moved further are not
// there any more. A clash is as in rewriteListed.
var rewriteValues = redis.NewScript(scripts.Prelude() + guardBody + recodeBody)

// integers reads the reply of a script.
func integers(reply any, into ...*int) error {
	items, ok := reply.([]any)
	if !ok || len(items) != len(into) {
		return fmt.Errorf("expected %d integers from the script, got %.80q", len(into), fmt.Sprint(reply))
	}
	for i, field := range into {
		n, ok := items[i].(int64)
		if !ok {
			return fmt.Errorf("expected %d integers from the script, got %.80q", len(into), fmt.Sprint(reply))
		}
		*field = int(n)
	}
	return nil
}
