package dq

import (
	"fmt"
	"strconv"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// Where partition i of a logical queue lies among the slots: at most partitionReach from
// (partitionFirst + i × partitionStep) modulo wire.Slots. The numbers were searched for: the first 1 to 6, 8 and
// 12 partitions come to equal shares on any number of masters that divides theirs, and so do 24 on up to 6 and
// on 12, where each master has one run of slots and all of these are equally long.
const (
	partitionFirst = 14736
	partitionStep  = 6258
	partitionReach = 32
)

// maxPartitions is how many partitions Partitions makes at most; for so many of any name there is a k below
// maxPartitionK, which all values of CRC-16 were tried for.
const (
	maxPartitions = 1024
	maxPartitionK = 2000
)

// PartitionName returns the name of partition i, from 0, of a logical queue: NAME-i-k, k being the first
// number from 0 for which the slot of that name (wire.Slot) is at most 32 from (14736 + 6258 × i) modulo 16384,
// with the last slot next to the first. So the names for more partitions begin with those for fewer, and any
// first few of them are spread over the slots, as those of numbers alone are not: of orders-0 to orders-5 two of
// six masters have two each, and two have none.
//
// The slot of a name with a hash tag, such as {orders}, depends on the tag alone, so that nothing is spread: k is 0
// then.
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

// Partitions returns the first n partitions, 1 to 1024, of a logical queue, each an ordinary queue, called by
// PartitionName. What is wrong with the arguments each queue's Err tells, as NewBlockingQueue's does.
func Partitions[T any](c *Client, name string, n int, values codec.Codec[T]) []*BlockingQueue[T] {
	count := min(max(n, 1), maxPartitions)
	queues := make([]*BlockingQueue[T], count)
	for i := range queues {
		own := ""
		if name != "" {
			own = PartitionName(name, i)
		}
		queues[i] = NewBlockingQueue(c, own, values)
		if n != count {
			err := fmt.Errorf("dq: Partitions of %q: expected 1 to %d, got %d", name, maxPartitions, n)
			queues[i] = &BlockingQueue[T]{client: brokenClient(err), names: wire.NamesOf(own), codec: brokenCodec[T]{err}, err: err}
		}
	}
	return queues
}
