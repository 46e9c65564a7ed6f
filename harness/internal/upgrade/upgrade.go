// Package upgrade answers: what changes when a service goes from one Redisson release to
// another, and what does that mean for a queue that is running?
//
//	dq/wire      layout, scripts, timing ─┐
//	dq/codec/java the codec by default    ├─► Changes ─► text, JSON
//	conformance  cases that hold for one  │
//	docs/spec    statements by release    │
//	recordings   what each one sent,
//	             and how late it was     ─┘
//
// Nothing is written by hand here but what a change means: which changes there are follows
// from what was recorded of the releases.
package upgrade

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/docs/spec"
	"github.com/dq-bench/dq-bench/dq/codec/java"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
)

// Schema names the form of the JSON document.
const Schema = "dq-bench/releases/v1"

// Changes is what is different between two releases.
type Changes struct {
	Schema string `json:"schema"`
	From   string `json:"from"`
	To     string `json:"to"`
	// Facts are changes with a meaning for a running queue, the gravest first.
	Facts []Change `json:"facts"`
	// Scripts are those of which another text is sent.
	Scripts []Script `json:"scripts"`
	// Behaviour are the conformance cases that hold for one of the two only.
	Behaviour []Behaviour `json:"behaviour"`
	// Commands is how the recorded commands of cases that hold for both differ.
	Commands Commands `json:"commands"`
	// Lateness is how late each was, where something was measured with timers like its own.
	Lateness struct {
		From *Lateness `json:"from,omitempty"`
		To   *Lateness `json:"to,omitempty"`
		// Told says how far that tells a difference; empty where it does.
		Told string `json:"told,omitempty"`
	} `json:"lateness"`
	// Statements are those of the specification that hold for one of the two only.
	Statements []Statement `json:"statements"`
	// Steps are what to do, in order.
	Steps []string `json:"steps"`
}

// Change is one fact that differs.
type Change struct {
	// What it is about, such as "members".
	What string `json:"what"`
	From string `json:"from"`
	To   string `json:"to"`
	// Came is the first release that has the newer of the two.
	Came string `json:"came"`
	// Means says what it does to a queue that is running.
	Means string `json:"means"`
	// Stops is true where messages are not delivered, or lost, if nothing is done.
	Stops bool `json:"stops"`
	// Statements say what changes, and what a running queue meets then.
	Statements []spec.Citation `json:"statements"`
}

// Script is a script of the catalogue; From or To is empty where the release has none.
type Script struct {
	Name string `json:"name"`
	From string `json:"from"`
	To   string `json:"to"`
	// Came is the first release that sends the newer of the two.
	Came string `json:"came"`
	// Statements are about the script, and hold for one of the two at least.
	Statements []spec.Citation `json:"statements"`
}

// Behaviour is a requirement that holds for one of the two only.
type Behaviour struct {
	Case        string `json:"case"`
	Requirement string `json:"requirement"`
	// Holds is the release of the two for which it does.
	Holds string `json:"holds"`
	// Range says for which releases it holds.
	Range string `json:"range"`
	// Statements are what the case shows.
	Statements []spec.Citation `json:"statements"`
}

// Statement holds for one of the two only.
type Statement struct {
	spec.Citation
	// Holds is the release of the two for which it does, and Releases all of them.
	Holds    string `json:"holds"`
	Releases string `json:"releases"`
}

// Between says what is different. Cases and recordings are those of this project; both
// releases must exist.
func Between(from, to wire.Release, cases []*conformance.Case, recordings Recordings) (*Changes, error) {
	c := &Changes{
		Schema: Schema, From: from.String(), To: to.String(),
		Facts: factsBetween(from, to), Scripts: scriptsBetween(from, to), Behaviour: []Behaviour{},
		Statements: statementsBetween(from, to),
	}
	for _, one := range cases {
		before, after := one.HoldsFor(from), one.HoldsFor(to)
		if before != after && !strings.HasPrefix(one.ID, "DQ.codec/") { // of which the facts tell
			holds, other := from, to
			if after {
				holds, other = to, from
			}
			c.Behaviour = append(c.Behaviour, Behaviour{
				one.ID, one.Requirement, holds.String(), one.Range(), spec.Cite(statementsOf(one.ID, holds, other)),
			})
		}
	}
	var err error
	if c.Commands, err = recordings.between(from, to); err != nil {
		return nil, err
	}
	var err1, err2 error
	c.Lateness.From, err1 = recordings.lateness(from)
	c.Lateness.To, err2 = recordings.lateness(to)
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("what was measured of releases: %w", err)
	}
	c.Lateness.Told = toldByLateness(from, to, c.Lateness.From, c.Lateness.To)
	c.Steps = steps(c, from, to)
	return c, nil
}

// scriptsBetween compares the catalogue's rows.
func scriptsBetween(from, to wire.Release) (changed []Script) {
	var names []wire.ScriptName
	for _, s := range wire.Scripts() {
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	for _, name := range names {
		variant := func(r wire.Release) string {
			if s, ok := r.Script(name); ok {
				return s.Variant
			}
			return ""
		}
		if variant(from) != variant(to) {
			changed = append(changed, Script{string(name), variant(from), variant(to), came(from, to, variant), statementsAbout(name, from, to)})
		}
	}
	return changed
}

// came is the first release that has what the newer of two has and the older has not.
func came(a, b wire.Release, of func(wire.Release) string) string {
	newer := a
	if b.AtLeast(a) {
		newer = b
	}
	first := newer
	all := wire.Releases()
	for i := len(all) - 1; i >= 0; i-- {
		r := all[i]
		if !newer.AtLeast(r) || (r.Major == 2) != (newer.Major == 2) {
			continue
		}
		if of(r) != of(newer) {
			break
		}
		first = r
	}
	return first.String()
}

// steps are what to do to go from one to the other.
func steps(c *Changes, from, to wire.Release) (all []string) {
	stops := slices.ContainsFunc(c.Facts, func(f Change) bool { return f.Stops })
	if !stops {
		return []string{
			fmt.Sprintf("Replace %s by %s instance by instance: both read what the other writes.", c.From, c.To),
		}
	}
	all = append(all, fmt.Sprintf("Look at what each queue holds before anything else: dq-bench doctor QUEUE --release %s.", c.To))
	packed := false
	for _, f := range c.Facts { // first, for after a migration the old release delivers nothing
		name, named := strings.CutPrefix(f.What, codecNamed)
		switch {
		case f.What == members:
			packed = true
		case f.What == codecByDefault && java.Has(to, f.From):
			jars := ""
			if f.From == "marshalling" && to.AtLeast(kryoByDefault) {
				jars = fmt.Sprintf(" (and bring the jars of JBoss Marshalling, which %s no longer depends on)", c.To)
			}
			if f.From == "kryo5" && !to.AtLeast(kryoByDefault) {
				jars = fmt.Sprintf(" (and bring Kryo 5, com.esotericsoftware:kryo, which %s does not depend on)", c.To)
			}
			all = append(all, fmt.Sprintf("Where the code names no codec, name the one that %s uses by default (%s) before you go, so that %s reads what waits%s%s.", c.From, f.From, c.To, jars, or(rewrite(f.From, to))))
		case f.What == codecByDefault:
			all = append(all, fmt.Sprintf("Where the code names no codec, let %s deliver everything: %s has no codec that reads its values (%s)%s.", c.From, c.To, f.From, or(rewrite(f.From, to))))
		case named && f.Stops && f.What != codecByDefault && java.Default(from) != name:
			all = append(all, fmt.Sprintf("Where the code names the codec %s, let %s deliver everything: %s has not got it%s.", name, c.From, c.To, or(rewrite(name, to))))
		}
	}
	if packed {
		all = append(all,
			fmt.Sprintf("Stop every %s that has the queue open. What waits then is rewritten by dq-bench migrate QUEUE --to %s, and with --yes to do it; due times and order stay. Or let %s, or dq, which reads both layouts, deliver all before. Where not all can stop at once, dq-bench guard QUEUE runs beside both.", c.From, c.To, c.From),
			fmt.Sprintf("Start %s. Never run both releases on one queue without a guard: each stops at what the other offers. The way back is the same, with --to %s.", c.To, c.From))
	} else {
		all = append(all, fmt.Sprintf("Replace %s by %s: each reads the members that the other writes, and the values where both use the same codec.", c.From, c.To))
	}
	return append(all, fmt.Sprintf("Verify afterwards that nothing is foreign or overdue: dq-bench doctor QUEUE --release %s.", c.To))
}

// rewrite is the command that has values of a codec in the one that a release uses by default; empty where
// one of them is not written here.
func rewrite(name string, to wire.Release) string {
	if name == "fst" || java.Default(to) == "fst" {
		return ""
	}
	return fmt.Sprintf("dq-bench migrate QUEUE --codec %s:%s", name, java.Default(to))
}

// or offers a command as another way, while nobody offers or takes.
func or(command string) string {
	if command == "" {
		return ""
	}
	return "; or stop all that offer or take, and rewrite the values: " + command + ", and with --yes to do it"
}

// kryoByDefault is the first release that depends on the jar of its codec kryo5, and no longer on those
// of its codec marshalling: so the POMs of the releases say.
var kryoByDefault = wire.Release{Major: 3, Minor: 19}
