package trace

import (
	"crypto/sha1"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// reduced leaves of events what they change, without reads, names and texts of scripts, and the order of changes to different keys. A
// command with several elements is as many with one.
func reduced(events []*Event) []*Event {
	return slices.DeleteFunc(events, func(e *Event) bool { return !e.reduce() })
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

// Script is the script of an EVAL or EVALSHA.
type Script struct {
	SHA1       string       // the lower-case digest of the text
	Known      *wire.Script // the entry of the catalogue; nil for a text that no Redisson sends
	Keys, Args []string     // KEYS and ARGV
}

// Offer has the arguments of an offer script.
type Offer struct {
	Names  wire.Names
	Layout wire.Layout // of the member that the script packs
	Due    int64       // in Unix ms
	Random string      // makes the id: a decimal number for LayoutDLc0, the bytes of the id for LayoutBc0Lc0
	Value  string      // encoded
}

// Transfer has the arguments of a transfer script.
type Transfer struct {
	Names  wire.Names // without the channel, which the script does not use
	Layout wire.Layout
	Now    int64 // the client's clock in Unix ms
	Limit  int   // of the members to move
}

// newCall reads a line: each line once, here.
func newCall(l Line) Call {
	c := Call{Line: l}
	if len(l.Args) < 3 {
		return c
	}
	sha := ""
	switch l.Name() {
	case "eval", "eval_ro":
		c.Body, c.BodySHA1 = l.Args[1], digest(l.Args[1])
		sha = c.BodySHA1
	case "evalsha", "evalsha_ro":
		sha = strings.ToLower(l.Args[1])
	case "script":
		if len(l.Args) == 3 && strings.EqualFold(l.Args[1], "load") {
			c.Body, c.BodySHA1 = l.Args[2], digest(l.Args[2])
		}
		return c
	default:
		return c
	}
	rest := l.Args[3:]
	n, err := strconv.Atoi(l.Args[2])
	if err != nil || n < 0 || n > len(rest) {
		return c
	}
	s := &Script{SHA1: sha, Keys: rest[:n], Args: rest[n:]}
	s.Known, _ = wire.ScriptBySHA1(sha)
	c.Script = s
	switch {
	case s.Known == nil:
	case s.Known.Name == wire.ScriptOffer && len(s.Keys) == 4 && len(s.Args) == 3:
		if due, err := strconv.ParseInt(s.Args[0], 10, 64); err == nil {
			names := wire.Names{Destination: s.Keys[0], TimeoutSet: s.Keys[1], Pending: s.Keys[2], Channel: s.Keys[3]}
			c.Offer = &Offer{names, LayoutOf(s.Known), due, s.Args[1], s.Args[2]}
		}
	case s.Known.Name == wire.ScriptTransfer && len(s.Keys) == 3 && len(s.Args) == 2:
		now, err1 := strconv.ParseInt(s.Args[0], 10, 64)
		limit, err2 := strconv.Atoi(s.Args[1])
		if err1 == nil && err2 == nil {
			names := wire.Names{Destination: s.Keys[0], TimeoutSet: s.Keys[1], Pending: s.Keys[2]}
			c.Transfer = &Transfer{names, LayoutOf(s.Known), now, limit}
		}
	}
	return c
}

// digests are of the texts that every Redisson sends, of which some releases send one with each command.
var digests = func() map[string]string {
	all := map[string]string{}
	for _, s := range wire.Scripts() {
		all[s.Body] = s.SHA1
	}
	return all
}()

// digest returns the name of a script for EVALSHA.
func digest(body string) string {
	if sum, ok := digests[body]; ok {
		return sum
	}
	sum := sha1.Sum([]byte(body))
	return hex.EncodeToString(sum[:])
}

// Name returns the variant of a known script, such as "offer-v1", or the SHA-1.
func (s *Script) Name() string {
	if s.Known != nil {
		return s.Known.Variant
	}
	return s.SHA1
}

// LayoutOf returns the layout that a variant packs or reads: the text holds its format string.
func LayoutOf(s *wire.Script) wire.Layout {
	if strings.Contains(s.Body, "'"+wire.LayoutBc0Lc0.String()+"'") {
		return wire.LayoutBc0Lc0
	}
	return wire.LayoutDLc0
}
