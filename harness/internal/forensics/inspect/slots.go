package inspect

import (
	"fmt"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// apart reports whether the queue's keys are in different slots of a cluster, as of a name with a "{" and
// no "}" behind it.
func (l *look) apart() bool {
	n := l.reader.Names
	slot := wire.Slot(n.Destination)
	return l.client.Topology() == redis.Cluster && (wire.Slot(n.TimeoutSet) != slot || wire.Slot(n.Pending) != slot)
}

func (l *look) differentSlots() (Finding, bool) {
	n := l.reader.Names
	const fails = "can neither offer nor transfer: each script fails with CROSSSLOT"
	return Finding{
		Kind: DifferentSlots, Anomaly: true, Count: l.q.Counts.TimeoutSet, Old: fails, New: fails,
		What: fmt.Sprintf("the keys are in different slots of the cluster: %s in %d, %s in %d, %s in %d", l.key(n.Destination), wire.Slot(n.Destination),
			l.key(n.TimeoutSet), wire.Slot(n.TimeoutSet), l.key(n.Pending), wire.Slot(n.Pending)),
		Do: "use a name without a \"{\", or with a whole {tag}; neither dq-bench migrate nor guard can work on this one: put the members into the keys of that name one by one",
	}, l.q.Counts.TimeoutSet+l.q.Counts.PendingList > 0 && l.apart()
}
