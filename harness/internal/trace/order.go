package trace

import (
	"fmt"
	"maps"
	"slices"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// dependency is an order between two roles that behaviour fixes, not timing.
type dependency struct {
	// what names it, equally in two recordings that mean the same.
	what string
	// found is the order found.
	found string
	// at is the event that shows it.
	at *Event
}

// dependencies returns the orders across roles: whether a transfer or removal of a member came after its offer, whether
// the first transfer of a queue came after the subscription, and how many consumers waited on a queue at a time.
func dependencies(t *Trace) []dependency {
	var all []dependency
	offered, subscribed, transferred := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for _, e := range t.Events {
		if e.Role.Name == Subscriber {
			for _, channel := range e.Args[1:] {
				subscribed[channel] = true
			}
		}
		isOffer := e.offers()
		for _, id := range e.ids {
			if isOffer {
				offered[id] = true
			} else {
				all = append(all, dependency{fmt.Sprintf("%s on %s", e.Role, id), after(offered[id], "the offer"), e})
			}
		}
		if e.Role.Name == TransferTask && !transferred[e.Role.Of] {
			transferred[e.Role.Of] = true
			channel := wire.NamesOf(e.Role.Of).Channel
			all = append(all, dependency{"first call of the " + e.Role.String(), after(subscribed[channel], "the subscription"), e})
		}
	}
	return append(all, waitingConsumers(t)...)
}

// offers reports whether a script puts a member into a timeout set.
func (e *Event) offers() bool {
	return e.Offer != nil || slices.ContainsFunc(e.Inner, func(l Line) bool { return l.Name() == "zadd" })
}

func after(seen bool, what string) string {
	if seen {
		return "after " + what
	}
	return "before " + what
}

// waitingConsumers returns for each queue how many consumers waited without a time limit at once. A consumer is served
// by a push.
func waitingConsumers(t *Trace) (all []dependency) {
	waiting, most, at := map[string]int{}, map[string]int{}, map[string]*Event{}
	for _, e := range t.Events {
		if of := e.Role.Of; e.Role.Name == Consumer && e.Args[len(e.Args)-1] == "0" {
			if waiting[of]++; waiting[of] > most[of] {
				most[of], at[of] = waiting[of], e
			}
			continue
		}
		for _, l := range e.commands() {
			if name := l.Name(); (name == "rpush" || name == "lpush") && len(l.Args) > 2 {
				waiting[l.Args[1]] -= len(l.Args) - 2
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(at)) {
		all = append(all, dependency{"consumers of " + Quoted(name), fmt.Sprintf("%d waiting at a time", most[name]), at[name]})
	}
	return all
}
