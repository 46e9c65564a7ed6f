package dq

import (
	"strconv"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// The place of partition i of a logical queue among the slots: at most partitionReach from
// (partitionFirst + i × partitionStep) modulo wire.Slots. The numbers were searched for: the first 1 to 6, 8 and
// 12 partitions have equal shares on any number of masters that divides their number, and so do 24 on up to 6 and
// on 12, if each master has one run of slots, all equally long.
const (
	partitionFirst = 14736
	partitionStep  = 6258
	partitionReach = 32
)

// maxPartitionK bounds the search for k. All values of CRC-16 were tried: for i below 1024 a k is below the bound.
const maxPartitionK = 2000

// PartitionName returns the name of partition i, from 0, of a logical queue: NAME-i-k, k being the first
// number from 0 for which the slot of that name (wire.Slot) is at most 32 from (14736 + 6258 × i) modulo 16384,
// with the last slot next to the first. So the names for more partitions begin with the names for fewer, and any
// first few of them are spread over the slots, unlike names with numbers only: of orders-0 to orders-5 two of
// six masters have two each, and two have no name.
//
// The slot of a name with a hash tag, such as {orders}, depends only on the tag: k is then 0.
func PartitionName(name string, i int) string {
	home := (partitionFirst + partitionStep*i) % wire.Slots
	prefix := name + "-" + strconv.Itoa(i) + "-"
	for k := range maxPartitionK {
		candidate := prefix + strconv.Itoa(k)
		if (wire.Slot(candidate)-home+partitionReach+wire.Slots)%wire.Slots <= 2*partitionReach {
			return candidate
		}
	}
	return prefix + "0"
}
