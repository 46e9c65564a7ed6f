package trace

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// NormaliseExchange brings lines into the normal form of their changes, without reads, names and texts of scripts, and the
// order of changes to different keys. A command with several elements is as many with one.
func NormaliseExchange(rec *Recording, name string, lines []Line) (*Trace, error) {
	reduced := func(events []*Event) []*Event {
		return slices.DeleteFunc(events, func(e *Event) bool { return !e.reduce() })
	}
	return normalised(rec, name, lines, reduced, (*normaliser).change)
}

// reduce leaves of an event what it changes; it reports whether that is anything.
func (e *Event) reduce() bool {
	made := slices.DeleteFunc(slices.Clone(e.commands()), func(l Line) bool { return !Changes(l) })
	if len(made) == 0 {
		return false
	}
	if !callsScript(e.Line) {
		return true
	}
	var single []Line
	for _, l := range made {
		single = append(single, split(l)...)
	}
	slices.SortStableFunc(single, func(a, b Line) int { return strings.Compare(a.Arg(1), b.Arg(1)) })
	e.Inner = single
	if dest, ok := movesTo(single); ok {
		e.Role = Role{TransferTask, dest}
	}
	var names []string
	for _, l := range made {
		names = append(names, strings.ToUpper(l.Args[0]))
	}
	slices.Sort(names)
	e.title = "script of " + strings.Join(slices.Compact(names), ", ")
	return true
}

// split makes one command for each element of one that adds or removes several.
func split(l Line) []Line {
	kept := 2 // the name and the key
	switch l.Name() {
	case "rpush", "lpush", "zrem":
	case "del", "unlink":
		kept = 1
	default:
		return []Line{l}
	}
	var all []Line
	for _, element := range l.Args[min(kept, len(l.Args)):] {
		one := l
		one.Args = append(slices.Clone(l.Args[:kept]), element)
		all = append(all, one)
	}
	return all
}

// movesTo is the destination of a script that takes members out of the timeout set of a queue and pushes to the queue.
func movesTo(lines []Line) (dest string, ok bool) {
	for _, push := range lines {
		if name := push.Name(); name != "rpush" && name != "lpush" {
			continue
		}
		timeouts := wire.NamesOf(push.Arg(1)).TimeoutSet
		if slices.ContainsFunc(lines, func(l Line) bool {
			return strings.HasPrefix(l.Name(), "z") && l.Arg(1) == timeouts && l.Name() != "zadd"
		}) {
			return push.Arg(1), true
		}
	}
	return "", false
}

// change writes the form of an event's changes. The due time of a message is the score of the script's ZADD.
func (n *normaliser) change(e *Event) {
	tokens := map[string]string{}
	for _, l := range e.Inner {
		if l.Name() != "zadd" || len(l.Args) != 4 {
			continue
		}
		if due, ok := Score(l.Args[2]); ok && !e.HasDelay {
			tokens[l.Args[2]] = "due"
			e.Delay, e.HasDelay = n.delay(e, due), true
		}
	}
	if callsScript(e.Line) {
		e.Form = append(e.Form, "script")
	} else {
		e.Form = append(e.Form, n.line(e, upper(e.Line), tokens))
	}
	for _, l := range e.Inner {
		e.Form = append(e.Form, "  "+n.line(e, upper(l), tokens))
	}
}

// upper is the command with its name in capitals.
func upper(l Line) Line {
	l.Args = slices.Clone(l.Args)
	l.Args[0] = strings.ToUpper(l.Args[0])
	return l
}

// Score reads a score that is a whole number.
func Score(score string) (int64, bool) {
	if n, err := strconv.ParseInt(score, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(score, 64)
	return int64(f), err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53
}
