package forensics

import (
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
)

const heldPrefix = "redisson_delay_queue_guard"

// HeldKey returns the name of the ZSET of members that a guard has taken out of the queue with
// the destination dest, and delivers when they are due. It is in the slot of the other keys.
func HeldKey(dest string) string { return wire.PrefixName(heldPrefix, dest) }

// destinationOf is wire.DestinationOf, also of a HeldKey.
func destinationOf(key string) (string, bool) {
	if rest, ok := strings.CutPrefix(key, heldPrefix+":"); ok {
		key = "redisson_delay_queue:" + rest
	}
	return wire.DestinationOf(key)
}
