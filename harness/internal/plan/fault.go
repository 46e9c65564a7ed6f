package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/internal/text"
)

// Fault is something that breaks during the measured phase. A field that its kind lacks is 0.
type Fault struct {
	// Kind is one of FaultKinds.
	Kind string
	// At is when it begins after the start of the measured phase.
	At time.Duration
	// For is how long it lasts; 0 for a fault without a duration.
	For time.Duration
	// Commands are the commands that it affects, EVAL and EVALSHA by default: names, "offer" for scripts that carry a message of
	// dq-bench, or "take" for all that take from a list.
	Commands []string
	// Count is how often it happens.
	Count int
	// Latency is the delay of replies.
	Latency time.Duration
	// AOF says how the server keeps its commands: one of AOFs.
	AOF string
}

// The kinds that are more than a row of FaultKinds.
const (
	LoseReplies  = "lose-replies"
	LoseRequests = "lose-requests"
	// KillMember is the kill of a member of the fleet, by its Kill: a fault of a plan cannot have this kind.
	KillMember = "kill-member"
)

// Reach says which server a fault needs.
type Reach string

// The reaches: each needs more than the one before.
const (
	// Network faults break the connections of the run, which go through a proxy.
	Network Reach = "a server"
	// Settings faults are commands: the server must be a real one.
	Settings Reach = "a server of its own"
	// ServerProcess faults are signals to a server that is a process of our own.
	ServerProcess Reach = "a process"
)

// Loss says which messages a fault may lose although they were acknowledged, because no client could keep them. A take hands a
// message over at most once.
type Loss string

// The losses.
const (
	NoLoss Loss = "nothing"
	// OnTheWay is one message for each consumer whose connection breaks.
	OnTheWay   Loss = "what is on its way to a consumer"
	LastSecond Loss = "what is on its way, or acknowledged within the second before"
	AllBefore  Loss = "what was acknowledged before"
)

// FaultInfo describes a kind of faults.
type FaultInfo struct {
	Kind, Help string
	Reach      Reach
	Loss       Loss
	// Needs are the keys that must be given, in addition to kind and at; May are optional keys.
	Needs, May []string
}

// AOFs are the ways of a server to keep its commands in a file: written through for each, once a second, when the kernel likes,
// and not at all.
var AOFs = []string{"always", "everysec", "no", "off"}

// FaultKinds is the table of faults. Package fault carries them out.
var FaultKinds = []FaultInfo{
	{"cut", "all connections are reset", Network, OnTheWay, nil, nil},
	{LoseReplies, "resets the connections of the next `count` of `commands` before the reply", Network, NoLoss, []string{"count", "for"}, []string{"commands"}},
	{LoseRequests, "resets the connections of the next `count` of `commands` before the server receives them", Network, NoLoss, []string{"count", "for"}, []string{"commands"}},
	{"stall", "nothing arrives, either way", Network, NoLoss, []string{"for"}, nil},
	{"slow", "each reply is `latency` later", Network, NoLoss, []string{"for", "latency"}, nil},
	{"refuse", "all connections are reset, and new ones refused", Network, OnTheWay, []string{"for"}, nil},
	{"flush-scripts", "SCRIPT FLUSH", Settings, NoLoss, nil, nil},
	{"flush-all", "FLUSHALL", Settings, AllBefore, nil, nil},
	{"kill-clients", "CLIENT KILL of all, subscribers too", Settings, OnTheWay, nil, nil},
	{"pause-clients", "CLIENT PAUSE", Settings, NoLoss, []string{"for"}, nil},
	{"oom", "writes fail with OOM: maxmemory is too low", Settings, NoLoss, []string{"for"}, nil},
	{"readonly", "writes fail with READONLY: the server becomes a replica", Settings, NoLoss, []string{"for"}, nil},
	{"max-clients", "all connections are closed, and new ones refused (maxclients)", Settings, OnTheWay, []string{"for"}, nil},
	{"idle-timeout", "the server closes connections idle for a second", Settings, NoLoss, []string{"for"}, nil},
	{"halt", "SIGSTOP of the server", ServerProcess, NoLoss, []string{"for"}, nil},
	{"kill-server", "SIGKILL, and a start with the data in the AOF (`always`, `everysec`, `no` or `off`)", ServerProcess, OnTheWay, []string{"for", "aof"}, nil},
}

// Takes is the word for Pops.
const Takes = "take"

// Pops are the commands that take a value from a list.
var Pops = []string{"BLPOP", "LPOP", "BRPOP", "RPOP", "BLMPOP", "LMPOP", "BLMOVE", "LMOVE", "BRPOPLPUSH", "RPOPLPUSH"}

// Info describes the fault's kind, and what this fault of it may lose.
func (f Fault) Info() FaultInfo {
	info := FaultInfo{Kind: f.Kind, Help: "a process of the fleet is ended by SIGKILL", Reach: Network, Loss: OnTheWay}
	if i := slices.IndexFunc(FaultKinds, func(k FaultInfo) bool { return k.Kind == f.Kind }); i >= 0 {
		info = FaultKinds[i]
	}
	takes := func(command string) bool {
		return strings.EqualFold(command, Takes) || slices.Contains(Pops, strings.ToUpper(command))
	}
	switch {
	case f.AOF == "off":
		info.Loss = AllBefore
	case f.AOF == "everysec":
		info.Loss = LastSecond
	case f.Kind == LoseReplies && slices.ContainsFunc(f.Commands, takes):
		info.Loss = OnTheWay
	}
	return info
}

// Breaks reports whether a fault is planned, or a member is to be killed.
func (p Plan) Breaks() bool {
	return len(p.Faults) > 0 || slices.ContainsFunc(p.Fleet, func(m Member) bool { return m.Kill })
}

// String is "slow at 2s for 1s, latency 100ms".
func (f Fault) String() string {
	text := fmt.Sprintf("%s at %s", f.Kind, f.At)
	if f.For > 0 {
		text += fmt.Sprintf(" for %s", f.For)
	}
	for _, p := range f.parameters()[1:] {
		if p.given {
			text += fmt.Sprintf(", %s %s", p.key, p.text)
		}
	}
	return text
}

// Bounds of a fault.
const (
	maxFaultCount = 10_000
	maxLatency    = time.Hour
)

// parameter is a key of a fault other than kind and at.
type parameter struct {
	key, text    string
	given, wrong bool
	expected     string
}

// parameters are all of them, for first.
func (f Fault) parameters() []parameter {
	return []parameter{
		{"for", f.For.String(), f.For != 0, f.For < 0, "above 0"},
		{"commands", strings.Join(f.Commands, " "), len(f.Commands) > 0, false, ""},
		{"count", fmt.Sprint(f.Count), f.Count != 0, f.Count < 0 || f.Count > maxFaultCount, fmt.Sprintf("1 to %d", maxFaultCount)},
		{"latency", f.Latency.String(), f.Latency != 0, f.Latency < 0 || f.Latency > maxLatency, "above 0, at most " + maxLatency.String()},
		{"aof", f.AOF, f.AOF != "", f.AOF != "" && !slices.Contains(AOFs, f.AOF), "one of " + strings.Join(AOFs, ", ")},
	}
}

// check refuses what can never be right in a phase that offers for so long.
func (f Fault) check(duration time.Duration) error {
	var kinds []string
	for _, info := range FaultKinds {
		kinds = append(kinds, info.Kind)
	}
	if !slices.Contains(kinds, f.Kind) {
		return fmt.Errorf("no kind %q%s; expected one of %s", f.Kind, text.DidYouMean(f.Kind, kinds), strings.Join(kinds, ", "))
	}
	info := f.Info()
	for _, p := range f.parameters() {
		needed := slices.Contains(info.Needs, p.key)
		switch {
		case p.wrong:
			return fmt.Errorf("%s: expected %s to be %s, got %s", f.Kind, p.key, p.expected, p.text)
		case needed && !p.given:
			return fmt.Errorf("%s: expected %s beside it: %s", f.Kind, p.key, info.Help)
		case p.given && !needed && !slices.Contains(info.May, p.key):
			return fmt.Errorf("%s has no %s: %s", f.Kind, p.key, info.Help)
		}
	}
	switch {
	case f.At < 0:
		return fmt.Errorf("%s: expected at to be 0s or more, got %s", f.Kind, f.At)
	case f.For >= duration, f.At >= duration-f.For: // a sum may overflow
		return fmt.Errorf("expected %s to end before the offers do, after %s: later deliveries show the recovery", f, duration)
	}
	return nil
}

// checkFaults refuses faults that can never be right, and faults that overlap.
func (p Plan) checkFaults() error {
	aof := ""
	for _, f := range p.Faults {
		if err := f.check(p.Schedule().Duration()); err != nil {
			return err
		}
		if f.AOF != "" && aof != "" && f.AOF != aof {
			return fmt.Errorf("expected one aof for the server, got %s and %s", aof, f.AOF)
		}
		aof = cmp.Or(f.AOF, aof)
	}
	if len(p.Faults) > 0 && p.Cancel.Share > 0 {
		return errors.New("expected no cancel beside them: the loss of a cancelled message would be unknown")
	}
	faults := slices.SortedFunc(slices.Values(p.Faults), func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	for i := 1; i < len(faults); i++ {
		if a, b := faults[i-1], faults[i]; a.At+a.For > b.At {
			return fmt.Errorf("expected one at a time, got %s and %s", a, b)
		}
	}
	return nil
}
