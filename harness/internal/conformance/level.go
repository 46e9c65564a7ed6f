package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// Level is how like Redisson an implementation must be.
type Level string

// The levels, the strictest first. What a level asks for, those before it do too.
const (
	// Wire asks for the same commands, byte for byte.
	Wire Level = "wire"
	// Exchange asks for the same calls with the same changes. How a command or a script is
	// written does not matter, nor what is read besides.
	Exchange Level = "exchange"
	// State asks for the same replies, keys and order of delivery, and that what Redisson
	// changes at once is changed at once.
	State Level = "state"
)

// Levels are all of them.
func Levels() []Level { return []Level{Wire, Exchange, State} }

// ParseLevel reads the name of a level.
func ParseLevel(name string) (Level, error) {
	if l := Level(name); slices.Contains(Levels(), l) {
		return l, nil
	}
	return "", fmt.Errorf("--level %q: expected wire, exchange or state", name)
}

// keyKind is what a key is to a delayed queue.
type keyKind string

const (
	destinationKey keyKind = "destination"
	pendingKey     keyKind = "pending list"
	timeoutsKey    keyKind = "timeout set"
)

// queueKeys are the keys of a case's queues.
func (c *Case) queueKeys() map[string]keyKind {
	kinds := map[string]keyKind{}
	add := func(names wire.Names) {
		kinds[names.Destination], kinds[names.Pending], kinds[names.TimeoutSet] = destinationKey, pendingKey, timeoutsKey
	}
	add(c.names())
	prefix, _ := c.Options["nameMapperPrefix"].(string)
	for _, s := range c.Steps {
		if s.Open != nil && s.Open.Queue != "" {
			add(wire.NamesOf(prefix + s.Open.Queue))
		}
	}
	return kinds
}

// The commands that add elements to a key, by where the key is among the arguments, and
// those that take some out of a sorted set.
var (
	adds = map[string]int{
		"rpush": 1, "lpush": 1, "rpushx": 1, "lpushx": 1, "linsert": 1, "zadd": 1,
		"rpoplpush": 2, "brpoplpush": 2, "lmove": 2, "blmove": 2,
	}
	takes = []string{"zrem", "zpopmin", "zpopmax", "bzpopmin", "bzpopmax", "zremrangebyscore", "zremrangebyrank", "zremrangebylex"}
)

// together is what of a queue a unit changes: the kinds of its keys, in alphabetical order.
func together(u trace.Unit, kinds map[string]keyKind) (changed []keyKind, telling bool) {
	for _, l := range u {
		for i, arg := range l.Args[1:] {
			kind, ok := kinds[arg]
			if !ok {
				continue
			}
			if !slices.Contains(changed, kind) {
				changed = append(changed, kind)
			}
			telling = telling || adds[l.Name()] == i+1 || kind == timeoutsKey && slices.Contains(takes, l.Name())
		}
	}
	slices.Sort(changed)
	return changed, telling
}

// checkAtomic says which changes to a queue's keys are not made at once although Redisson
// makes them at once. An offer changes the pending list and the timeout set, a transfer the
// destination besides; recorded, the lines of the real one, tell what else it does. Without
// any, anybody may push to the destination. Only what puts elements in, or takes them out of
// the timeout set, tells: to remove what is not there changes nothing. lines lack what a case
// itself did to its server.
func checkAtomic(lines, recorded []monitor.Line, kinds map[string]keyKind) (failures []string) {
	known := map[string][]keyKind{}
	know := func(changed ...keyKind) { known[fmt.Sprint(changed)] = changed }
	know(pendingKey, timeoutsKey)
	know(destinationKey, pendingKey, timeoutsKey)
	if recorded == nil {
		know(destinationKey)
	}
	for _, u := range trace.Units(recorded) {
		if changed, telling := together(u, kinds); telling {
			know(changed...)
		}
	}
	for _, u := range trace.Units(lines) {
		changed, telling := together(u, kinds)
		if !telling || known[fmt.Sprint(changed)] != nil {
			continue
		}
		failures = append(failures, apart(u, changed, known))
	}
	return slices.Compact(failures)
}

// apart says what a unit leaves out that Redisson changes at the same time.
func apart(u trace.Unit, changed []keyKind, known map[string][]keyKind) string {
	name := strings.ToUpper(u[0].Name())
	if len(u) > 1 {
		name = "a script or transaction that begins with " + name
	}
	var left []keyKind
	for _, kinds := range known {
		missing := slices.DeleteFunc(slices.Clone(kinds), func(k keyKind) bool { return slices.Contains(changed, k) })
		if len(kinds)-len(missing) == len(changed) && (left == nil || len(missing) < len(left)) {
			left = missing
		}
	}
	if left == nil {
		return fmt.Sprintf("%s changes the %s at the same time; Redisson changes %s", name, list(changed), allOf(known))
	}
	return fmt.Sprintf("%s changes the %s, but not the %s at the same time, as Redisson does", name, list(changed), list(left))
}

func list(kinds []keyKind) string {
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = string(k)
	}
	if last := len(words) - 1; last > 0 {
		return strings.Join(words[:last], ", ") + " and " + words[last]
	}
	return strings.Join(words, "")
}

func allOf(known map[string][]keyKind) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(known)) {
		all = append(all, "the "+list(known[name]))
	}
	return strings.Join(all, ", or ")
}

// checkEarly says which messages went to the destination before they were due, by the clock
// of the server.
func checkEarly(lines []monitor.Line, kinds map[string]keyKind, clock serverClock) (failures []string) {
	due := map[string]int64{}
	for _, u := range trace.Units(lines) {
		pushes := slices.ContainsFunc(u, func(l monitor.Line) bool {
			return adds[l.Name()] == 1 && len(l.Args) > 1 && kinds[l.Args[1]] == destinationKey
		})
		for _, l := range u {
			if len(l.Args) < 3 || kinds[l.Args[1]] != timeoutsKey {
				continue
			}
			switch l.Name() {
			case "zadd":
				if at, ok := trace.Score(l.Args[2]); ok && len(l.Args) == 4 {
					due[l.Args[3]] = at
				}
			case "zrem":
				for _, m := range l.Args[2:] {
					_, latest := clock.here(l)
					if at, ok := due[m]; ok && pushes && at > latest.UnixMilli() {
						failures = append(failures, fmt.Sprintf("a message was delivered %d ms before it was due", at-latest.UnixMilli()))
					}
					delete(due, m)
				}
			}
		}
	}
	return failures
}
