package simulate_test

import (
	"maps"
	"slices"
	"time"
)

// sleepUntil waits, but not for what comes after a violation, nor once enough holds.
func (w *world) sleepUntil(at time.Time, enough ...func() bool) {
	for left := time.Until(at); left > 0; left = time.Until(at) {
		w.mu.Lock()
		broken := len(w.report.Violations) > 0
		w.mu.Unlock()
		if broken || len(enough) > 0 && enough[0]() {
			return
		}
		time.Sleep(min(left, time.Second))
		w.overdue()
	}
}

// settle mends all that is broken, has a client in good health come, and waits until what is pending is due and taken.
func (w *world) settle() {
	w.sleepUntil(w.began.Add(w.plan.Length))
	w.over.Store(true)
	flooded := false // under which the server went down, a violation already
	if w.locked(func() { flooded = w.flood }); !flooded {
		w.net.heal()
		w.do(Event{At: time.Since(w.began), Kind: Start, Client: "last", Text: "4.7.0", N: 2})
		w.revive(w.clients["last"], Event{})
		w.sleepUntil(time.Now().Add(callTimeout)) // for offers under way
		due := time.Now()
		w.server.Exclusive(func() {
			for _, score := range w.model.pending {
				due = later(due, time.UnixMilli(score))
			}
		})
		w.sleepUntil(due.Add(callTimeout))
		w.sleepUntil(due.Add(settleFor), w.spent)
		w.revive(w.clients["last"], Event{}) // what was lost in its last attempt
		w.sleepUntil(time.Now().Add(time.Minute), w.spent)
	}
	w.mu.Lock()
	names := slices.Sorted(maps.Keys(w.clients))
	w.mu.Unlock()
	for _, name := range names {
		w.leave(w.clients[name])
	}
	w.restarts.Wait()
	if err := w.server.Close(); err != nil {
		w.violate("the server does not close: %v", err)
	}
}

// spent reports whether nothing is left to come, to be taken or settled.
func (w *world) spent() bool {
	left := len(w.ready()) + len(w.waiting())
	w.server.Exclusive(func() { left += len(w.model.held) })
	return left == 0
}

// judge holds what came to what was promised.
func (w *world) judge() {
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.finished = true
	}()
	if len(w.report.Violations) > 0 {
		return // and it did not end
	}
	for _, v := range slices.Sorted(maps.Keys(w.model.seen)) {
		m := w.model.seen[v]
		if m.offered && !m.removed && m.popped+m.settled == 0 && v[0] == 'm' && (m.unheard == "" || w.offers[v] == "ok") {
			w.violate("%s is still there at the end", v)
		}
	}
	for _, c := range w.left {
		if len(c.open) > 0 {
			w.violate("%s has shut down, and has not told what became of %v", c.name, slices.Collect(maps.Keys(c.open)))
		}
	}
	for v, m := range w.model.seen {
		if v[0] == 'g' && m.removed && !w.cleared {
			w.violate("%s fits no layout, and was not set aside", v)
		}
	}
	for _, v := range slices.Sorted(maps.Keys(w.offers)) {
		m := w.model.seen[v]
		came := w.taken[v] > 0
		switch {
		case w.offers[v] == "ok" && m == nil:
			w.violate("%s was confirmed and never seen", v)
		case w.offers[v] == "no" && m != nil && m.offered:
			w.violate("%s was not queued, says its offer, and was there", v)
		case w.cancels[v] == "yes" && came:
			w.violate("%s was cancelled and came", v)
		case w.cancels[v] == "no" && w.asking[v] == 0 && m != nil && m.removed && !w.cleared:
			w.violate("%s does not wait, says its Cancel, and is gone", v)
		case m == nil || m.removed || came || m.unheard != "" && w.offers[v] != "ok":
		case !w.plan.Reliable && w.net.lost[v]: // its taker's connection broke
		default:
			w.violate("%s was offered (%s) and nobody has it", v, w.offers[v])
		}
		most := 1
		if m != nil && m.torn {
			most = map[bool]int{false: 2, true: 1000}[w.stops || w.model.tears] // a Redisson tries every 5 s
		}
		if !w.plan.Reliable && w.taken[v] > most {
			w.violate("%s came %d times", v, w.taken[v])
		}
	}
	if w.plan.Reliable && w.report.Kinds["faults"] == 0 && w.report.Kinds["leases lost"] > 0 {
		w.violate("%d leases were lost though nothing went wrong", w.report.Kinds["leases lost"])
	}
}
