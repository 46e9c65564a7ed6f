package wire

import "strings"

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

// NamesOf returns the names that belong to the destination queue dest. They are
// the same in every Redisson release since 2.7.0.
func NamesOf(dest string) Names {
	return Names{
		Destination: dest,
		TimeoutSet:  PrefixName("redisson_delay_queue_timeout", dest),
		Pending:     PrefixName("redisson_delay_queue", dest),
		Channel:     PrefixName("redisson_delay_queue_channel", dest),
	}
}

// PrefixName joins prefix and name as Redisson does: prefix:{name}, so that both
// share a hash slot in a cluster, or prefix:name where name holds a '{' already.
// Only the opening brace is looked for, so that "a{b" is left unbraced too and
// its keys fall into different slots.
func PrefixName(prefix, name string) string {
	if strings.Contains(name, "{") {
		return prefix + ":" + name
	}
	return prefix + ":{" + name + "}"
}
