package ops

import (
	"crypto/sha1"
	_ "embed"
	"encoding/hex"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
)

var (
	//go:embed guard.lua
	guardBody string
	//go:embed change.lua
	changeBody string

	// guardStep takes members out of a queue that come due until the horizon, and delivers the due ones.
	//
	//	KEYS    D, T, Q, H (HeldKey), X, U1, U2, V (see scripts.Unlisting)
	//	ARGV    now and horizon in Unix ms, -1 takes no member out; limit
	//	returns [score of the first member left in T that can come due, or nil; of the first in H, or nil; how many are in H;
	//	        taken out; of these delivered before, by a transfer that failed; delivered of dLc0; of Bc0Lc0; set aside in X]
	//	cost    O(limit × length of Q), as Redisson's: one LREM for each member
	guardStep = redis.NewScript(scripts.Prelude() + guardBody)

	// change does one thing to some members.
	//
	//	KEYS    T, Q, D, X, G (GhostsKey), U1, U2, P, H
	//	ARGV    action; the index in Q from which on the members were seen, or -1; channel; for each member: it, what becomes
	//	        of it, a due time
	//	returns [changed; not there any more; what it would become is there already]
	//	cost    O(members × log n), and O(nodes of Q) for each that is listed
	change = redis.NewScript(scripts.Prelude() + changeBody)
)

// Scripts are the texts that this package sends, for the analysis of logs.
func Scripts() (all []scripts.Script) {
	for _, s := range [][2]string{{"guard-step", guardBody}, {"change", changeBody}} {
		body := scripts.Prelude() + s[1]
		sum := sha1.Sum([]byte(body))
		all = append(all, scripts.Script{Name: s[0], Body: body, SHA1: hex.EncodeToString(sum[:])})
	}
	return all
}

// HeldKey returns the name of the ZSET of members that a guard has taken out of the queue with the destination dest, and
// delivers when they are due. Like the key of GhostsKey it is in the slot of the other keys.
func HeldKey(dest string) string { return wire.PrefixName("redisson_delay_queue_guard", dest) }

// GhostsKey returns the name of the LIST that keeps the ghosts that were removed.
func GhostsKey(dest string) string { return wire.PrefixName("redisson_delay_queue_ghosts", dest) }

// guardKeys are the keys of guardStep.
func guardKeys(dest string) []string {
	n, u := wire.NamesOf(dest), scripts.UnlistingOf(dest)
	return []string{n.Destination, n.TimeoutSet, n.Pending, HeldKey(dest), scripts.Quarantine(dest), u.Unlisted[0], u.Unlisted[1], u.Leaving}
}

// changeKeys are the keys of change.
func changeKeys(dest string) []string {
	n, u := wire.NamesOf(dest), scripts.UnlistingOf(dest)
	return []string{n.TimeoutSet, n.Pending, n.Destination, scripts.Quarantine(dest), GhostsKey(dest), u.Unlisted[0], u.Unlisted[1], u.Pass, HeldKey(dest)}
}
