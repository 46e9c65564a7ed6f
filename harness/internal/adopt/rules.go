package adopt

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// Rule is something that holds for a release as a whole.
type Rule struct {
	Name string
	// There and Here are what the nearest release showed, and what this one did.
	There, Here string
	// DQ is what dq takes it to be at this release; empty where no rule of dq says it.
	DQ string
	// Figure marks what is measured, so that it differs from run to run and is no difference.
	Figure bool
}

// Differs reports whether the releases are not alike.
func (r Rule) Differs() bool { return !r.Figure && r.There != r.Here }

// Broken reports whether dq takes the rule for another one than it is.
func (r Rule) Broken() bool { return r.DQ != "" && r.DQ != r.Here }

// Unmeasured are the rules of time that no case shows, for the page.
var Unmeasured = []string{
	"the pause after an error, 5 s",
	"the interval of pings, 30 s",
	"the tick of the wheel that timers sit in, but for what it makes of the time past due",
	"the time-out of a response, and what is sent again after it",
}

const (
	byText   = "EVAL, the text each time"
	byDigest = "EVALSHA, the text after a miss"
)

func compareRules(here, there *sight, cases []*conformance.Case, release, nearest wire.Release, shown Profile) []Rule {
	caches := map[bool]string{false: byText, true: byDigest}
	return []Rule{
		{Name: "default codec", There: string(codec.Default(nearest)), Here: shown.DefaultCodec, DQ: string(codec.Default(release))},
		{Name: "codecs", There: there.codecs(cases), Here: here.codecs(cases)},
		{Name: "members packed as", There: there.layouts(), Here: here.layouts(), DQ: release.Layout().String()},
		{Name: "scripts sent by", There: there.sending(), Here: here.sending(), DQ: caches[release.CachesScripts()]},
		{Name: "moved at most", There: there.limits(), Here: here.limits()},
		{Name: "blocking calls", There: there.blocking(), Here: here.blocking()},
		{Name: "connections", There: there.connecting(), Here: here.connecting()},
		{Name: "transfer past due", There: there.pastDue(), Here: here.pastDue(), Figure: true},
	}
}

// codecs are those of the cases that could run.
func (s *sight) codecs(cases []*conformance.Case) string {
	var names []string
	for _, c := range cases {
		if s.lines[c.ID] != nil && c.Codec != "default" {
			names = append(names, cmp.Or(c.Codec, "string"))
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// layouts are those of the members that scripts have put into timeout sets.
func (s *sight) layouts() string {
	var names []string
	for _, id := range s.ids {
		for _, l := range s.lines[id] {
			if member, _, ok := zadded(l); ok && l.Inner() {
				for _, layout := range []wire.Layout{wire.LayoutDLc0, wire.LayoutBc0Lc0} {
					if _, err := layout.Unpack([]byte(member)); err == nil {
						names = append(names, layout.String())
					}
				}
			}
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// zadded reads ZADD key score member.
func zadded(l monitor.Line) (member string, score int64, ok bool) {
	if l.Name() != "zadd" || len(l.Args) != 4 {
		return "", 0, false
	}
	score, err := strconv.ParseInt(l.Args[2], 10, 64)
	return l.Args[3], score, err == nil
}

// sending is how most of the script calls are sent.
func (s *sight) sending() string {
	texts, digests := 0, 0
	for _, id := range s.ids {
		for _, l := range s.lines[id] {
			switch l.Name() {
			case "eval", "eval_ro":
				texts++
			case "evalsha", "evalsha_ro":
				digests++
			}
		}
	}
	if digests > texts {
		return byDigest
	}
	return byText
}

// limits are the numbers of members that a transfer moves at most.
func (s *sight) limits() string {
	return strings.Join(s.sent(func(c trace.Call) (string, bool) {
		if c.Transfer == nil {
			return "", false
		}
		return strconv.Itoa(c.Transfer.Limit), true
	}), ", ")
}

// blocking are the blocking commands, each with its time-outs in seconds.
func (s *sight) blocking() string {
	timeouts := map[string][]string{}
	for _, command := range s.sent(func(c trace.Call) (string, bool) {
		switch c.Name() {
		case "blpop", "brpop", "brpoplpush":
			return c.Args[0] + " " + c.Args[len(c.Args)-1], true
		case "blmpop":
			return c.Args[0] + " " + c.Args[min(1, len(c.Args)-1)], true
		}
		return "", false
	}) {
		name, seconds, _ := strings.Cut(command, " ")
		timeouts[name] = append(timeouts[name], seconds)
	}
	var parts []string
	for _, name := range []string{"BLPOP", "BRPOP", "BRPOPLPUSH", "BLMPOP"} {
		if len(timeouts[name]) > 0 {
			parts = append(parts, name+" "+strings.Join(timeouts[name], " "))
		}
	}
	return strings.Join(parts, ", ")
}

// connecting is what connections send that says nothing about queues.
func (s *sight) connecting() string {
	var all []string
	for _, id := range s.ids {
		all = append(all, trace.Connecting(s.lines[id])...)
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

// pastDue is how long after a member was due its transfer came, by the server's clock: what
// the tick of the timers and the way to the server make of it.
func (s *sight) pastDue() string {
	var late []time.Duration
	for _, id := range s.ids {
		due := map[string]int64{} // of members that a script added, in Unix ms
		for _, l := range s.lines[id] {
			if member, score, ok := zadded(l); ok && l.Inner() {
				due[member] = score
			}
			if l.Name() != "zrem" || !l.Inner() {
				continue
			}
			for _, member := range l.Args[2:] {
				if at, ok := due[member]; ok && l.Time >= at*1000 {
					late = append(late, time.Duration(l.Time-at*1000)*time.Microsecond)
				}
			}
		}
	}
	if len(late) == 0 {
		return "not seen"
	}
	slices.Sort(late)
	middle := late[len(late)/2]
	return fmt.Sprintf("median %d ms of %d", middle.Round(time.Millisecond).Milliseconds(), len(late))
}
