package main

import (
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
)

// nameVector is the names of one queue, as a real Redisson sent them.
type nameVector struct {
	Destination string `json:"destination_queue"`
	TimeoutSet  string `json:"timeout_set"`
	Pending     string `json:"pending_list"`
	Channel     string `json:"channel"`
	// Slots are those of a Redis Cluster, in the order of the names above. A script works only
	// where they are all the same.
	Slots    [4]int `json:"slots"`
	Recorded string `json:"recorded"`
	Case     string `json:"case"`
}

func nameVectors() (all []nameVector, err error) {
	recording, err := redisson("4.7.0", "DQ.names/")
	if err != nil {
		return nil, err
	}
	for _, c := range recording.Cases() {
		for _, call := range trace.Group(c.Lines) {
			if call.Offer == nil || len(call.Inner) == 0 {
				continue
			}
			n := call.Offer.Names
			all = append(all, nameVector{
				n.Destination, n.TimeoutSet, n.Pending, n.Channel,
				[4]int{wire.Slot(n.Destination), wire.Slot(n.TimeoutSet), wire.Slot(n.Pending), wire.Slot(n.Channel)},
				recording.Path, c.ID,
			})
		}
	}
	return all, nil
}
