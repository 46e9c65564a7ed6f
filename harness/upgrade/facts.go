package upgrade

import (
	"fmt"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// The facts that steps depend on.
const (
	members        = "layout of members"
	codecByDefault = "codec by default"
)

// fact is something about a release that a running queue depends on.
type fact struct {
	what  string
	of    func(wire.Release) string
	means string
	// stops says whether nothing is delivered, or something is lost, if one goes from one to
	// the other and does nothing; nil for never.
	stops func(from, to wire.Release) bool
}

func always(wire.Release, wire.Release) bool { return true }

// codecs are those that come or go, with the 3.x and later releases that have them, as the
// conformance cases and the classes of the releases show.
var codecs = []struct {
	name        codec.Name
	first, last wire.Release
}{
	{codec.NameKryo5, wire.Release{Major: 3, Minor: 19}, wire.Newest()},
	{codec.NameMarshalling, wire.Release{Major: 3, Minor: 13}, wire.Release{Major: 4}},
	{codec.NameFst, wire.Release{Major: 3, Minor: 10}, wire.Release{Major: 4}},
}

// hasCodec reports whether a release can be told to use a codec.
func hasCodec(r wire.Release, name codec.Name) bool {
	for _, c := range codecs {
		if c.name == name {
			fst2x := name == codec.NameFst && r.Major == 2 && r.AtLeast(wire.Release{Major: 2, Minor: 15})
			return fst2x || r.AtLeast(c.first) && c.last.AtLeast(r)
		}
	}
	return true
}

// codecFacts are about codecs that one release has and another has not.
func codecFacts() (all []fact) {
	for _, c := range codecs {
		has := func(r wire.Release) bool { return hasCodec(r, c.name) }
		all = append(all, fact{
			"codec " + string(c.name), yes(has, "there", "none"),
			"A queue whose code names this codec cannot be read by a release that has not got it.",
			func(from, to wire.Release) bool { return has(from) && !has(to) },
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

// facts are all of them, the gravest first. Each was watched on real releases; the cases
// named show it.
var facts = []fact{
	{members, func(r wire.Release) string { return r.Layout().String() },
		"A release of one layout cannot read members of the other. Its transfer stops at the first one: what is behind it waits for good, and " +
			"what is before it in a batch is delivered again every 5 s. A poll destroys the member (DQ.transfer/foreign-head-stops-the-queue, " +
			"DQ.transfer/foreign-member-repeats-those-before, DQ.poll/foreign-member-is-destroyed).", always},
	{codecByDefault, func(r wire.Release) string { return string(codec.Default(r)) },
		"Where the configuration names no codec, values that wait cannot be decoded by the other release: they are taken, and fail.", always},
	{"scripts", yes(wire.Release.CachesScripts, "EVALSHA, and SCRIPT LOAD after a miss", "EVAL with the whole text"),
		"The server's user must be allowed EVALSHA and SCRIPT LOAD. Less is sent for each call.", nil},
	{"a negative delay", yes(wire.Release.RefusesNegativeDelay, "refused with an IllegalArgumentException", "taken, and never delivered if due before 1970"),
		"Code that computes a delay which may be negative must be ready for the exception.", nil},
	{"the last destroy()", yes(wire.Release.StopsOnDestroy, "cancels the timer", "leaves the timer"),
		"After destroy() nothing is delivered any more by this instance, not even what the timer was set for.", nil},
	{"expire(…)", yes(wire.Release.ExpiresConditionally, "sends a condition, which may be empty", "sends none"),
		"The scripts of expire and expireAt have one more argument.", nil},
	{"a blocking call of less than a second", func(r wire.Release) string { return fmt.Sprintf("BLPOP %d", r.BlockingSeconds(time.Second/2)) },
		"BLPOP 0 waits for ever.", nil},
	{"a blocking call with a negative time", yes(wire.Release.SkipsNegativeTimeout, "returns without a command", "is sent"),
		"The server refused it before.", nil},
	{"the tick of timers", func(r wire.Release) string { return r.TimerTick().String() },
		"A message comes up to a tick late; from 3.49.0 on the tick is drawn at each start, between 10 and 49 ms.", nil},
}

func factsBetween(from, to wire.Release) (changed []Change) {
	for _, f := range slices.Concat(facts[:2], codecFacts(), facts[2:]) {
		if a, b := f.of(from), f.of(to); a != b {
			stops := f.stops != nil && f.stops(from, to)
			changed = append(changed, Change{f.what, a, b, came(from, to, f.of), f.means, stops})
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
