package wire

import (
	"strings"
)

// Names are the three keys and the channel of one delayed queue.
type Names struct {
	// Destination is the LIST that consumers read.
	Destination string
	// TimeoutSet is the ZSET of packed members, scored by due time in Unix ms.
	TimeoutSet string
	// Pending is the LIST of the same packed members in order of arrival.
	Pending string
	// Channel carries the due time of each new head as decimal text.
	Channel string
}

// NamesOf returns the names that belong to the destination queue dest. They are the same in every Redisson release since 2.7.0.
func NamesOf(dest string) Names {
	return Names{
		Destination: dest,
		TimeoutSet:  PrefixName(timeoutSetPrefix, dest),
		Pending:     PrefixName(pendingPrefix, dest),
		Channel:     PrefixName(channelPrefix, dest),
	}
}

const (
	timeoutSetPrefix = "redisson_delay_queue_timeout"
	pendingPrefix    = "redisson_delay_queue"
	channelPrefix    = "redisson_delay_queue_channel"
)

// DestinationOf returns the destination queue that a timeout set or a pending list belongs to; false for any other key.
//
// Queues called "orders" and "{orders}" share these keys, so that the name cannot be derived from them: the former is returned.
func DestinationOf(key string) (string, bool) {
	for _, prefix := range [...]string{timeoutSetPrefix, pendingPrefix} {
		rest, ok := strings.CutPrefix(key, prefix+":")
		if !ok || !strings.Contains(rest, "{") {
			continue
		}
		if inner, ok := strings.CutPrefix(rest, "{"); ok && strings.HasSuffix(inner, "}") && inner != "}" {
			if inner = inner[:len(inner)-1]; !strings.Contains(inner, "{") {
				return inner, true
			}
		}
		return rest, true
	}
	return "", false
}

// PrefixName joins prefix and name as Redisson does: prefix:{name}, so that both share a hash slot in a cluster, or prefix:name if name
// holds a '{' already. Only the opening brace is looked for, so that "a{b" is left unbraced too and its keys fall into different slots.
func PrefixName(prefix, name string) string {
	if strings.Contains(name, "{") {
		return prefix + ":" + name
	}
	return prefix + ":{" + name + "}"
}

// Slots is the number of hash slots of a Redis Cluster.
const Slots = 16384

// Slot returns the hash slot of a key, 0 to 16383: CRC-16/XMODEM of the part between the first '{' and the next '}', or of the whole key if
// there is no such part or it is empty, modulo Slots. The rule is from the Redis Cluster specification.
func Slot(key string) int {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			key = tag
		}
	}
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			carry := crc & 0x8000
			crc <<= 1
			if carry != 0 {
				crc ^= 0x1021
			}
		}
	}
	return int(crc) % Slots
}
