package ops

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/dq-bench/dq-bench/docs/spec"
	"github.com/dq-bench/dq-bench/dq/codec/java"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/web"
)

// ChangesSchema names the form of Changes.
const ChangesSchema = "dq-bench/changes/v1"

// Changes are the differences between two Redisson releases.
type Changes struct {
	Schema  string         `json:"schema"`
	From    string         `json:"from"`
	To      string         `json:"to"`
	Facts   []Fact         `json:"facts"`   // changes with a meaning for a running queue, the gravest first
	Scripts []ScriptChange `json:"scripts"` // with another text
	Steps   []string       `json:"steps"`
}

// Fact is a property of a release that a running queue depends on, and that differs.
type Fact struct {
	What       string           `json:"what"`
	From       string           `json:"from"`
	To         string           `json:"to"`
	Came       string           `json:"came"` // the first release with the newer of the two
	Means      string           `json:"means"`
	Stops      bool             `json:"stops"` // without a step, messages are lost or not delivered
	Statements []spec.Statement `json:"statements"`

	Back         string   `json:"-"` // the meaning of a way back
	Cases, Meets []string `json:"-"` // ids, or prefixes with a star: that show it, and with its effects

	codec string // that some releases lack
	of    func(wire.Release) string
}

// ScriptChange is a script of the catalogue; From or To is empty for a release without it.
type ScriptChange struct {
	Name       string           `json:"name"`
	From       string           `json:"from"`
	To         string           `json:"to"`
	Came       string           `json:"came"`
	Statements []spec.Statement `json:"statements"`
}

// ChangesBetween compares two releases, which exist.
func ChangesBetween(from, to wire.Release) *Changes {
	c := &Changes{Schema: ChangesSchema, From: from.String(), To: to.String(), Facts: factsBetween(from, to), Scripts: scriptsBetween(from, to)}
	c.Steps = steps(c, from, to)
	return c
}

// The facts that steps depend on.
const (
	layoutFact     = "layout of members"
	codecByDefault = "codec by default"
	codecThere     = "included"
)

// factsText has the meaning of each change for a running queue, the gravest first.
//
//go:embed changes.yaml
var factsText []byte

// properties are the facts of a release, by name. Each was watched on real releases.
var properties = map[string]func(wire.Release) string{
	layoutFact:                   func(r wire.Release) string { return r.Layout().String() },
	codecByDefault:               java.Default,
	"RDelayedQueue":              yes(Between("3.46.0", ""), "deprecated", "supported"),
	"the jar of Jackson":         yes(Between("4.0.0", ""), "not a dependency", "a dependency"),
	"scripts":                    yes(wire.Release.CachesScripts, "EVALSHA, and SCRIPT LOAD after a miss", "EVAL with the whole text"),
	"a negative delay":           yes(wire.Release.RefusesNegativeDelay, "refused with an IllegalArgumentException", "taken, and never delivered if due before 1970"),
	"the last destroy()":         yes(wire.Release.StopsOnDestroy, "cancels the timer", "leaves the timer"),
	"expire(…)":                  yes(wire.Release.ExpiresConditionally, "sends a condition, which may be empty", "sends none"),
	"an offer without an answer": yes(Between("", "3.16.3"), "is sent again after a time-out", "is sent once"),
	"the timer":                  yes(Between("3.5.6", "3.45.0"), "can be lost", "is kept"),
	"the tick of timers":         func(r wire.Release) string { return r.TimerTick().String() },

	"a blocking call of less than a second": func(r wire.Release) string { return fmt.Sprint("BLPOP ", r.BlockingSeconds(time.Second/2)) },
	"a blocking call with a negative time":  yes(wire.Release.SkipsNegativeTimeout, "returns without a command", "is sent"),
}

func yes(is func(wire.Release) bool, with, without string) func(wire.Release) string {
	return func(r wire.Release) string { return map[bool]string{true: with, false: without}[is(r)] }
}

// Between has the releases from one to another; empty is no bound.
func Between(from, to string) func(wire.Release) bool {
	first, _ := wire.ParseRelease(cmp.Or(from, "0.0.0")) // the program names them
	last, _ := wire.ParseRelease(cmp.Or(to, "99.0.0"))
	return func(r wire.Release) bool { return r.AtLeast(first) && last.AtLeast(r) }
}

// facts are all of them, in the order of the text, with one for each codec that some releases lack.
func facts() (all []Fact) {
	var texts []Fact
	_ = yaml.Unmarshal(factsText, &texts) // a test reads them
	for _, f := range texts {
		if f.of = properties[f.What]; f.of != nil {
			all = append(all, f)
			continue
		}
		for _, name := range java.Optional() {
			f.What, f.codec, f.Cases = "codec "+name, name, []string{"DQ.codec/" + name + "-*"}
			f.of = yes(func(r wire.Release) bool { return java.Has(r, name) }, codecThere, "not included")
			all = append(all, f)
		}
	}
	return all
}

func factsBetween(from, to wire.Release) []Fact {
	changed := []Fact{}
	for _, f := range facts() {
		if f.From, f.To = f.of(from), f.of(to); f.From == f.To {
			continue
		}
		if f.Back != "" && from.AtLeast(to) {
			f.Means = f.Back
		}
		f.Came, f.Statements = came(from, to, f.of), f.statementsOn(from, to)
		f.Stops = f.What == layoutFact || f.What == codecByDefault || f.codec != "" && f.To != codecThere
		changed = append(changed, f)
	}
	slices.SortStableFunc(changed, func(a, b Fact) int { return cmp.Compare(web.Flag(b.Stops), web.Flag(a.Stops)) })
	return changed
}

// scriptsBetween compares the catalogue's rows.
func scriptsBetween(from, to wire.Release) []ScriptChange {
	changed := []ScriptChange{}
	for _, script := range slices.CompactFunc(wire.Scripts(), func(a, b wire.Script) bool { return a.Name == b.Name }) {
		variant := func(r wire.Release) string {
			s, _ := r.Script(script.Name)
			return cmp.Or(s, &wire.Script{}).Variant
		}
		if variant(from) != variant(to) {
			about := spec.All().Where(func(s spec.Statement) bool {
				return slices.Contains(s.Scripts, string(script.Name)) && (s.Releases.Contain(from) || s.Releases.Contain(to))
			})
			changed = append(changed, ScriptChange{string(script.Name), variant(from), variant(to), came(from, to, variant), about})
		}
	}
	return changed
}

// came is the first release with a property of the newer of two releases that the older lacks.
func came(a, b wire.Release, of func(wire.Release) string) string {
	newer := map[bool]wire.Release{true: b, false: a}[b.AtLeast(a)]
	line := slices.DeleteFunc(wire.Releases(), func(r wire.Release) bool { return !newer.AtLeast(r) || (r.Major == 2) != (newer.Major == 2) })
	for len(line) > 1 && of(line[len(line)-2]) == of(newer) {
		line = line[:len(line)-1]
	}
	return line[len(line)-1].String()
}

func steps(c *Changes, from, to wire.Release) (all []string) {
	if !slices.ContainsFunc(c.Facts, func(f Fact) bool { return f.Stops }) {
		return []string{fmt.Sprintf("Replace %s by %s instance by instance: both read what the other writes.", c.From, c.To)}
	}
	all = append(all, fmt.Sprintf("Look at what each queue holds before anything else: dq-bench doctor QUEUE --release %s.", c.To))
	back, kryo := "", Between("3.19.0", "")(to) // its POM has the jar of kryo5, and no jar of marshalling any more
	for _, f := range c.Facts {                 // first, for after a migration the old release delivers nothing
		if flags := recodes(f.To, to, from); f.What == codecByDefault && flags != nil {
			back = ", and with " + strings.Join(flags, " ") + " where values were rewritten"
		}
		switch {
		case f.What == codecByDefault && java.Has(to, f.From):
			jars := ""
			if f.From == "marshalling" && kryo {
				jars = fmt.Sprintf(" (and bring the jars of JBoss Marshalling, org.jboss.marshalling:jboss-marshalling-river, which %s no longer depends on)", c.To)
			}
			if f.From == "kryo5" && !kryo {
				jars = fmt.Sprintf(" (and bring Kryo 5, com.esotericsoftware:kryo, which %s does not depend on)", c.To)
			}
			all = append(all, fmt.Sprintf("If the code names no codec, name the one that %s uses by default (%s) before you go, so that %s reads what waits%s%s.", c.From, f.From, c.To, jars, or(f.From, from, to)))
		case f.What == codecByDefault:
			all = append(all, fmt.Sprintf("If the code names no codec, let %s deliver everything: %s has no codec that reads its values (%s)%s.", c.From, c.To, f.From, or(f.From, from, to)))
		case f.codec != "" && f.Stops && java.Default(from) != f.codec:
			all = append(all, fmt.Sprintf("If the code names the codec %s, let %s deliver everything: %s lacks it%s.", f.codec, c.From, c.To, or(f.codec, from, to)))
		}
	}
	if from.Layout() != to.Layout() {
		all = append(all,
			fmt.Sprintf("Stop every %s that has the queue open. What waits then is rewritten by dq-bench migrate QUEUE --to %s, and with --yes to do it; due times and order stay. Or let %s, or dq, which reads both layouts, deliver everything first. If not all can stop at once, and all use one codec, dq-bench guard QUEUE runs beside both until it is interrupted.", c.From, c.To, c.From),
			fmt.Sprintf("Start %s. Never run both releases on one queue without a guard: each stops at what the other offers. To roll back, do the same with --to %s%s.", c.To, c.From, back))
	} else {
		all = append(all, fmt.Sprintf("Replace %s by %s: each reads the members that the other writes, and the values where both use the same codec.", c.From, c.To))
	}
	return append(all, fmt.Sprintf("Verify afterwards that nothing is foreign or overdue: dq-bench doctor QUEUE --release %s.", c.To))
}

// or offers another way; empty if one of the codecs is not written here.
func or(name string, from, to wire.Release) string {
	flags := recodes(name, from, to)
	if flags == nil {
		return ""
	}
	return "; or stop all clients and rewrite the values: dq-bench migrate QUEUE " + strings.Join(flags, " ") + ", and with --yes to do it"
}

// recodes are the flags of migrate that rewrite the values of a codec, which the Redisson from reads, for the default codec of
// another; nil if one of the codecs is not written here.
func recodes(codec string, from, to wire.Release) []string {
	if codec == "fst" || java.Default(to) == "fst" || codec == java.Default(to) {
		return nil
	}
	return []string{"--codec", codec + ":" + java.Default(to), "--release", from.String() + ":" + to.String()}
}

// wrote is the newest Redisson that wrote a codec by default.
func wrote(codec string) (r wire.Release) {
	for _, r = range slices.Backward(wire.Releases()) {
		if java.Default(r) == codec {
			break
		}
	}
	return r
}

// statementsOn are the statements about a fact that hold for one of the two releases only, and all statements about its effects.
func (f Fact) statementsOn(from, to wire.Release) []spec.Statement {
	return spec.All().Where(func(s spec.Statement) bool {
		before, after := s.Releases.Contain(from), s.Releases.Contain(to)
		shows := func(patterns []string) bool {
			return slices.ContainsFunc(patterns, func(p string) bool {
				start, open := strings.CutSuffix(p, "*")
				return slices.ContainsFunc(s.Cases, func(id string) bool { return id == p || open && strings.HasPrefix(id, start) })
			})
		}
		return before != after && shows(f.Cases) || (before || after) && shows(f.Meets)
	})
}

// Text returns the changes for people, in 80 columns.
func (c *Changes) Text() string { return form("changes.tmpl", c) }

// Verdict says if a queue that holds messages needs anything.
func (c *Changes) Verdict() string {
	var named []string
	for _, f := range c.Facts {
		switch {
		case f.Stops && f.codec == "":
			what := map[bool]string{true: "a migration or a guard", false: "a step if the code names no codec"}[f.What == layoutFact]
			return fmt.Sprintf("%s → %s: queues that hold messages need %s.", c.From, c.To, what)
		case f.Stops:
			named = append(named, f.codec)
		}
	}
	if len(named) > 0 {
		return fmt.Sprintf("%s → %s: each reads what the other has written, except if the code names a codec that %s lacks: %s.",
			c.From, c.To, c.To, strings.Join(named, ", "))
	}
	return fmt.Sprintf("%s → %s: each reads what the other has written.", c.From, c.To)
}

// variant is the number at the end of a script's variant.
func variant(name string) string { return cmp.Or(name[strings.LastIndex(name, "-")+1:], "none") }
