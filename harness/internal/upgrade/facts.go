package upgrade

import (
	"fmt"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/dq/codec/java"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// The facts that steps depend on.
const (
	members        = "layout of members"
	codecByDefault = "codec by default"
	codecNamed     = "codec " // and its name
)

// fact is something about a release that a running queue depends on.
type fact struct {
	what  string
	of    func(wire.Release) string
	means string
	// back is what it means to go from the newer to the older; empty where that is the same.
	back string
	// stops says whether nothing is delivered, or something is lost, if one goes from one to
	// the other and does nothing; nil for never.
	stops func(from, to wire.Release) bool
	// cases are those that show what changes, and meets those that show what a queue that is
	// running meets then; an id that ends with a star stands for all that begin so.
	cases, meets []string
}

func always(wire.Release, wire.Release) bool { return true }

// codecFacts are about codecs that one release has and another has not.
func codecFacts() (all []fact) {
	for _, name := range java.Optional() {
		has := func(r wire.Release) bool { return java.Has(r, name) }
		all = append(all, fact{
			what: codecNamed + name, of: yes(has, "there", "none"),
			means: "A queue whose code names this codec cannot be read by a release that has not got it.",
			stops: func(from, to wire.Release) bool { return has(from) && !has(to) },
			cases: []string{"DQ.codec/" + name + "-*"},
		})
	}
	return all
}

func yes(is func(wire.Release) bool, with, without string) func(wire.Release) string {
	return func(r wire.Release) string {
		if is(r) {
			return with
		}
		return without
	}
}

// resendsOffers holds to 3.16.3.
func resendsOffers(r wire.Release) bool {
	return !r.AtLeast(wire.Release{Major: 3, Minor: 16, Patch: 4})
}

// losesTimer holds from 3.5.6 to 3.45.0.
func losesTimer(r wire.Release) bool {
	return r.AtLeast(wire.Release{Major: 3, Minor: 5, Patch: 6}) && !r.AtLeast(wire.Release{Major: 3, Minor: 45, Patch: 1})
}

// facts are all of them, the gravest first. Each was watched on real releases.
var facts = []fact{
	{
		what: members, of: func(r wire.Release) string { return r.Layout().String() },
		means: "A release of one layout cannot read members of the other. Its transfer stops at the first one: what is behind it waits for good, and " +
			"what is before it in a batch is delivered again every 5 s. A poll destroys the member.",
		stops: always,
		cases: []string{"DQ.offer/equal-values-are-two"},
		meets: []string{"DQ.transfer/foreign-head-stops-the-queue", "DQ.transfer/foreign-member-repeats-those-before", "DQ.poll/foreign-member-is-destroyed"},
	},
	{
		what: codecByDefault, of: java.Default,
		means: "Where the configuration names no codec, values that wait are taken by the other release all the same: it fails at them, or makes other values of them without an error.",
		stops: always,
		cases: []string{"DQ.codec/default*"},
	},
	{
		what: "scripts", of: yes(wire.Release.CachesScripts, "EVALSHA, and SCRIPT LOAD after a miss", "EVAL with the whole text"),
		means: "The server's user must be allowed EVALSHA, EVALSHA_RO for what only reads, and SCRIPT LOAD. Less is sent for each call.",
		back:  "The server's user must be allowed EVAL. More is sent for each call.",
		cases: []string{"DQ.script/*"},
	},
	{
		what: "a negative delay", of: yes(wire.Release.RefusesNegativeDelay, "refused with an IllegalArgumentException", "taken, and never delivered if due before 1970"),
		means: "Code that computes a delay which may be negative must be ready for the exception.",
		back:  "No exception tells of a negative delay any more: code that computes one must see to it itself.",
		cases: []string{"DQ.offer/negative-delay-*"},
	},
	{
		what: "the last destroy()", of: yes(wire.Release.StopsOnDestroy, "cancels the timer", "leaves the timer"),
		means: "After destroy() nothing is delivered any more by this instance, not even what the timer was set for.",
		back:  "After destroy() this instance still delivers once, what the timer was set for.",
		cases: []string{"DQ.destroy/timer-*"},
	},
	{
		what: "expire(…)", of: yes(wire.Release.ExpiresConditionally, "sends a condition, which may be empty", "sends none"),
		means: "The scripts of expire and expireAt have one more argument.",
		back:  "The scripts of expire and expireAt have one argument less.",
		cases: []string{"DQ.expire/condition"},
	},
	{
		what: "an offer without an answer", of: yes(resendsOffers, "is sent again after a time-out", "is sent once"),
		means: "The older one leaves an entry of the pending list for good (a ghost) each time; dq-bench doctor finds them, dq-bench queue repair removes them.",
		back:  "Each time-out of an offer may leave an entry of the pending list for good (a ghost).",
	},
	{
		what: "the timer", of: yes(losesTimer, "can be lost", "is kept"),
		means: "The older one may stand still with messages due until another is offered or it connects anew; dq-bench doctor and analyze call it a stall.",
		back:  "The older one may stand still with messages due until another is offered or it connects anew.",
	},
	{
		what: "a blocking call of less than a second", of: func(r wire.Release) string { return fmt.Sprintf("BLPOP %d", r.BlockingSeconds(time.Second/2)) },
		means: "BLPOP 0 waits for ever.",
		cases: []string{"Q.blocking/poll-less-than-a-second*"},
	},
	{
		what: "a blocking call with a negative time", of: yes(wire.Release.SkipsNegativeTimeout, "returns without a command", "is sent"),
		means: "The server refused it before.", back: "The server refuses it.",
		cases: []string{"Q.blocking/poll-negative-*"},
	},
	{
		what: "the tick of timers", of: func(r wire.Release) string { return r.TimerTick().String() },
		means: "A message comes up to a tick late; from 3.49.0 on the tick is drawn at each start, between 10 and 49 ms.",
	},
}

func factsBetween(from, to wire.Release) (changed []Change) {
	for _, f := range slices.Concat(facts[:2], codecFacts(), facts[2:]) {
		if a, b := f.of(from), f.of(to); a != b {
			stops := f.stops != nil && f.stops(from, to)
			means := f.means
			if f.back != "" && from.AtLeast(to) {
				means = f.back
			}
			changed = append(changed, Change{f.what, a, b, came(from, to, f.of), means, stops, f.statementsOn(from, to)})
		}
	}
	slices.SortStableFunc(changed, func(a, b Change) int {
		switch {
		case a.Stops == b.Stops:
			return 0
		case a.Stops:
			return -1
		}
		return 1
	})
	return changed
}
