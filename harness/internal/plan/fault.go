package plan

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/internal/text"
)

// Fault is something that breaks during the measured phase. A field that its kind lacks is 0.
type Fault struct {
	Kind string        // one of FaultKinds
	At   time.Duration // when it begins after the start of the measured phase
	For  time.Duration // how long it lasts; 0 for a fault without a duration
	// Commands are the commands that it affects, EVAL and EVALSHA by default: names, "offer" for scripts that carry a message of
	// dq-bench, or "take" for all that take from a list.
	Commands []string
	Count    int           // how often it happens
	Latency  time.Duration // the delay of replies
	// AOF says when the server writes its file of commands through: for each, once a second, when the kernel likes, or "off" without one.
	AOF string
}

// The kinds that are more than a row of FaultKinds.
const (
	LoseReplies  = "lose-replies"
	LoseRequests = "lose-requests"
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
	Needs      []string // further keys, of which only commands may be left out
}

var aofs = []string{"always", "everysec", "no", "off"}

// FaultKinds is the table of faults. Package load carries them out.
var FaultKinds = []FaultInfo{
	{"cut", "all connections are reset", Network, OnTheWay, nil},
	{LoseReplies, "resets the connections of the next `count` of `commands` before the reply", Network, NoLoss, []string{"count", "for", "commands"}},
	{LoseRequests, "resets the connections of the next `count` of `commands` before the server receives them", Network, NoLoss, []string{"count", "for", "commands"}},
	{"stall", "nothing arrives, either way", Network, NoLoss, []string{"for"}},
	{"slow", "each reply is `latency` later", Network, NoLoss, []string{"for", "latency"}},
	{"refuse", "all connections are reset, and new ones refused", Network, OnTheWay, []string{"for"}},
	{"flush-scripts", "SCRIPT FLUSH", Settings, NoLoss, nil},
	{"flush-all", "FLUSHALL", Settings, AllBefore, nil},
	{"kill-clients", "CLIENT KILL of all, subscribers too", Settings, OnTheWay, nil},
	{"pause-clients", "CLIENT PAUSE", Settings, NoLoss, []string{"for"}},
	{"oom", "writes fail with OOM: maxmemory is too low", Settings, NoLoss, []string{"for"}},
	{"readonly", "writes fail with READONLY: the server becomes a replica", Settings, NoLoss, []string{"for"}},
	{"max-clients", "all connections are closed, and new ones refused (maxclients)", Settings, OnTheWay, []string{"for"}},
	{"idle-timeout", "the server closes connections idle for a second", Settings, NoLoss, []string{"for"}},
	{"halt", "SIGSTOP of the server", ServerProcess, NoLoss, []string{"for"}},
	{"kill-server", "SIGKILL, and a start with the data in the AOF (`always`, `everysec`, `no` or `off`)", ServerProcess, OnTheWay, []string{"for", "aof"}},
}

// pops are the commands that take a value from a list.
var pops = []string{"BLPOP", "LPOP", "BRPOP", "RPOP", "BLMPOP", "LMPOP", "BLMOVE", "LMOVE", "BRPOPLPUSH", "RPOPLPUSH"}

// Names are the names of Commands in capitals, and OFFER for the word.
func (f Fault) Names() (all []string) {
	for _, name := range f.Commands {
		if name == "take" {
			all = append(all, pops...)
		}
		all = append(all, strings.ToUpper(name))
	}
	if all == nil {
		return []string{"EVAL", "EVALSHA"}
	}
	return all
}

// Info describes the fault's kind, which must be one, and what this fault of it may lose.
func (f Fault) Info() FaultInfo {
	info := FaultKinds[slices.IndexFunc(FaultKinds, func(k FaultInfo) bool { return k.Kind == f.Kind })]
	switch {
	case f.AOF == "off":
		info.Loss = AllBefore
	case f.AOF == "everysec":
		info.Loss = LastSecond
	case f.Kind == LoseReplies && slices.ContainsFunc(f.Names(), func(name string) bool { return slices.Contains(pops, name) }):
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
	for _, setting := range f.settings() {
		text += ", " + setting[0] + " " + setting[1]
	}
	return strings.Replace(text, ", for", " for", 1)
}

// settings are the further keys that are given, with their texts.
func (f Fault) settings() (given [][2]string) {
	for field, v := range reflect.ValueOf(f).Fields() {
		if key := strings.ToLower(field.Name); key != "kind" && key != "at" && !v.IsZero() {
			given = append(given, [2]string{key, strings.Trim(fmt.Sprint(v), "[]")})
		}
	}
	return given
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
	info, given := f.Info(), []string{"commands"}
	for _, setting := range f.settings() {
		if given = append(given, setting[0]); !slices.Contains(info.Needs, setting[0]) {
			return fmt.Errorf("%s has no %s: %s", f.Kind, setting[0], info.Help)
		}
	}
	for _, key := range info.Needs {
		if !slices.Contains(given, key) {
			return fmt.Errorf("%s: expected %s beside it: %s", f.Kind, key, info.Help)
		}
	}
	switch {
	case f.Latency > f.For:
		return fmt.Errorf("%s: expected a latency of at most its for, got %s", f.Kind, f.Latency)
	case f.AOF != "" && !slices.Contains(aofs, f.AOF):
		return fmt.Errorf("%s: expected aof to be one of %s, got %s", f.Kind, strings.Join(aofs, ", "), f.AOF)
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
