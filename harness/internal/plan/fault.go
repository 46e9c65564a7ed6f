package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/internal/text"
)

// Fault is something that breaks during the measured phase. What is not of its kind is 0.
type Fault struct {
	Kind FaultKind
	// At is when it begins after the start of the measured phase, drawn where it is a range.
	At Span
	// For is how long it lasts; 0 for what is done at once.
	For time.Duration
	// Commands are those that it is about, EVAL and EVALSHA if none is given: names, or "offer"
	// for scripts that carry a message of dq-bench, or "take" for all that take from a list.
	Commands []string
	// Count is how often it happens.
	Count int
	// Latency is how much later replies come.
	Latency time.Duration
	// Bandwidth is bytes a second, each way of each connection.
	Bandwidth int
	// AOF says how the server keeps its commands: one of AOFs.
	AOF string
	// Member is the process of the fleet that it is about, counted from 1, and By how far its
	// clock is ahead: behind, if it is below 0.
	Member int
	By     time.Duration
}

// FaultKind is what breaks. The words are those of harness/simulate where that has it too.
type FaultKind string

// The kinds of faults.
const (
	Cut            FaultKind = "cut"
	CutInTurn      FaultKind = "cut-in-turn"
	LoseReplies    FaultKind = "lose-replies"
	LoseRequests   FaultKind = "lose-requests"
	Stall          FaultKind = "stall"
	Slow           FaultKind = "slow"
	Narrow         FaultKind = "narrow"
	Refuse         FaultKind = "refuse"
	FlushScripts   FaultKind = "flush-scripts"
	FlushAll       FaultKind = "flush-all"
	KillClients    FaultKind = "kill-clients"
	PauseClients   FaultKind = "pause-clients"
	OutOfMemory    FaultKind = "oom"
	NoSnapshots    FaultKind = "misconf"
	ReadOnly       FaultKind = "readonly"
	Busy           FaultKind = "busy"
	MaxClients     FaultKind = "max-clients"
	IdleTimeout    FaultKind = "idle-timeout"
	ForeignMembers FaultKind = "foreign-members"
	Halt           FaultKind = "halt"
	KillServer     FaultKind = "kill-server"
	Loading        FaultKind = "loading"
	WrongClock     FaultKind = "clock"
	// KillMember is no kind that a plan's faults have: a member of its fleet does, by Kill.
	KillMember FaultKind = "kill-member"
)

// Reach is what a fault takes hold of.
type Reach int

// The reaches: each needs what those before it need, and more.
const (
	// Network faults are those of the connections of the run, which go through a proxy:
	// any single server will do.
	Network Reach = iota
	// Settings faults are made by commands that all clients of the server feel: it must be
	// one of our own, and a real one.
	Settings
	// ServerProcess faults are signals to a server that is a process of our own.
	ServerProcess
)

// Loss is which messages a fault may lose although they were acknowledged, because no client
// could keep them. A take hands a message over at most once.
type Loss int

// The losses.
const (
	// NoLoss: none.
	NoLoss Loss = iota
	// OnTheWay: what is on its way to a consumer when its connection breaks, one each.
	OnTheWay
	// LastSecond: that, and what was acknowledged within the second before.
	LastSecond
	// AllBefore: what was acknowledged before.
	AllBefore
)

// String says it in words.
func (l Loss) String() string {
	switch l {
	case OnTheWay:
		return "what is on its way to a consumer"
	case LastSecond:
		return "what is on its way, or acknowledged within the second before"
	case AllBefore:
		return "what was acknowledged before"
	}
	return "nothing"
}

// FaultInfo is what is said of a kind of faults.
type FaultInfo struct {
	Kind  FaultKind
	Help  string
	Reach Reach
	Loss  Loss
	// Needs are the keys that must be given, beside kind and at; May are those that can be.
	Needs, May []string
}

// AOFs are the ways of a server to keep its commands in a file: written through for each, once
// a second, when the kernel likes, and not at all.
var AOFs = []string{"always", "everysec", "no", "off"}

// FaultKinds is the table of faults.
var FaultKinds = []FaultInfo{
	{Kind: Cut, Help: "all connections are reset", Loss: OnTheWay},
	{
		Kind: CutInTurn, Help: "the first connection that sends a command is reset at its 1st, the next at its 2nd, and so on to `count`",
		Loss: OnTheWay, Needs: []string{"count", "for"},
	},
	{
		Kind: LoseReplies, Help: "the next `count` of `commands` are carried out, and their connections reset before the reply",
		Loss: NoLoss, Needs: []string{"count", "for"}, May: []string{"commands"},
	},
	{
		Kind: LoseRequests, Help: "the connections of the next `count` of `commands` are reset before the server sees them",
		Loss: NoLoss, Needs: []string{"count", "for"}, May: []string{"commands"},
	},
	{Kind: Stall, Help: "nothing arrives, either way", Needs: []string{"for"}},
	{Kind: Slow, Help: "each reply comes `latency` later", Needs: []string{"for", "latency"}},
	{Kind: Narrow, Help: "each connection carries `bandwidth` bytes a second", Needs: []string{"for", "bandwidth"}},
	{Kind: Refuse, Help: "all connections are reset, and none is made", Loss: OnTheWay, Needs: []string{"for"}},
	{Kind: FlushScripts, Help: "SCRIPT FLUSH", Reach: Settings},
	{Kind: FlushAll, Help: "FLUSHALL", Reach: Settings, Loss: AllBefore},
	{Kind: KillClients, Help: "CLIENT KILL of all, subscribers too", Reach: Settings, Loss: OnTheWay},
	{Kind: PauseClients, Help: "CLIENT PAUSE", Reach: Settings, Needs: []string{"for"}},
	{Kind: OutOfMemory, Help: "writes are refused with OOM: maxmemory is below what is used", Reach: Settings, Needs: []string{"for"}},
	{Kind: NoSnapshots, Help: "writes are refused with MISCONF: a snapshot failed", Reach: ServerProcess, Needs: []string{"for"}},
	{Kind: ReadOnly, Help: "writes are refused with READONLY: the server is made a replica", Reach: Settings, Needs: []string{"for"}},
	{Kind: Busy, Help: "everything is refused with BUSY: a script runs", Reach: Settings, Needs: []string{"for"}},
	{Kind: MaxClients, Help: "all connections are closed, and new ones refused for maxclients", Reach: Settings, Loss: OnTheWay, Needs: []string{"for"}},
	{Kind: IdleTimeout, Help: "the server closes connections that were idle for a second: timeout 1", Reach: Settings, Needs: []string{"for"}},
	{
		Kind: ForeignMembers, Help: "`count` members are due at once that are packed in the layout of before 3.21.1, and as many that nobody can read",
		Reach: Settings, Needs: []string{"count"},
	},
	{Kind: Halt, Help: "the server stands still: SIGSTOP", Reach: ServerProcess, Needs: []string{"for"}},
	{
		Kind: KillServer, Help: "the server is killed by SIGKILL, and started again with what its AOF holds: `aof: always`, `everysec`, `no` or `off`",
		Reach: ServerProcess, Loss: OnTheWay, Needs: []string{"for", "aof"},
	},
	{
		Kind: Loading, Help: "the server is killed, and refuses everything with LOADING once it is started: its AOF takes it `for` so long to read",
		Reach: ServerProcess, Loss: OnTheWay, Needs: []string{"for"},
	},
	{Kind: WrongClock, Help: "the wall clock of the `member`th process of the fleet is `by` ahead, or behind, and is right again after", Needs: []string{"for", "member", "by"}},
}

// Takes is the word for Pops, which are the commands that take a value from a list.
const Takes = "take"

// Pops take a value from a list.
var Pops = []string{"BLPOP", "LPOP", "BRPOP", "RPOP", "BLMPOP", "LMPOP", "BLMOVE", "LMOVE", "BRPOPLPUSH", "RPOPLPUSH"}

// takes reports whether a command takes values.
func takes(command string) bool {
	command = strings.ToUpper(command)
	return strings.EqualFold(command, Takes) || slices.Contains(Pops, command)
}

// Info is what is said of the fault's kind.
func (f Fault) Info() FaultInfo {
	for _, info := range FaultKinds {
		if info.Kind != f.Kind {
			continue
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
	if f.Kind == KillMember {
		return FaultInfo{Kind: f.Kind, Help: "a process of the fleet is ended by SIGKILL", Loss: OnTheWay}
	}
	return FaultInfo{Kind: f.Kind}
}

// Breaks reports whether anything is made to break: by a fault, or by a member that is killed.
func (p Plan) Breaks() bool {
	return len(p.Faults) > 0 || slices.ContainsFunc(p.Fleet, func(m Member) bool { return m.Kill })
}

// Starts is when the i-th fault of a plan begins after the start of the measured phase: a
// whole number of ms, drawn from At.
func (f Fault) Starts(seed uint64, i int) time.Duration {
	return Delay{Min: f.At.Min, Max: f.At.Max}.Of(seed, int64(i), 1)
}

// String is "slow at 2s for 1s, latency 100ms".
func (f Fault) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s at %s", f.Kind, f.At)
	if f.For > 0 {
		fmt.Fprintf(&b, " for %s", f.For)
	}
	for _, p := range f.parameters() {
		if p.key != "for" && p.given {
			fmt.Fprintf(&b, ", %s %s", p.key, p.text)
		}
	}
	return b.String()
}

// parameter is what a fault may be given beside kind and at.
type parameter struct {
	key, text    string
	given, wrong bool
	expected     string // what it is to be
}

func (f Fault) parameters() []parameter {
	const positive = "above 0"
	return []parameter{
		{"for", f.For.String(), f.For != 0, f.For < 0, positive},
		{"commands", strings.Join(f.Commands, " "), len(f.Commands) > 0, false, ""},
		{"count", fmt.Sprint(f.Count), f.Count != 0, f.Count < 0 || f.Count > maxFaultCount, fmt.Sprintf("1 to %d", maxFaultCount)},
		{"latency", f.Latency.String(), f.Latency != 0, f.Latency < 0 || f.Latency > maxLatency, "above 0, at most " + maxLatency.String()},
		{"bandwidth", fmt.Sprint(f.Bandwidth), f.Bandwidth != 0, f.Bandwidth < 0 || f.Bandwidth > maxBandwidth, fmt.Sprintf("1 to %d bytes a second", maxBandwidth)},
		{"aof", f.AOF, f.AOF != "", f.AOF != "" && !slices.Contains(AOFs, f.AOF), "one of " + strings.Join(AOFs, ", ")},
		{"member", fmt.Sprint(f.Member), f.Member != 0, f.Member < 0, positive},
		{"by", f.By.String(), f.By != 0, f.By.Abs() > maxWrong, fmt.Sprintf("-%s to %s", maxWrong, maxWrong)},
	}
}

// maxFaultCount bounds how often a fault happens.
const maxFaultCount = 10_000

// maxLatency bounds how late replies come, and maxBandwidth, a gigabyte, what is still a limit on this machine.
const (
	maxLatency   = time.Hour
	maxBandwidth = 1_000_000_000
)

// maxWrong bounds how wrong a clock is.
const maxWrong = 365 * 24 * time.Hour

// check refuses what can never be right in a phase that offers for so long.
func (f Fault) check(duration time.Duration) error {
	var kinds []string
	for _, info := range FaultKinds {
		kinds = append(kinds, string(info.Kind))
	}
	if !slices.Contains(kinds, string(f.Kind)) {
		return fmt.Errorf("no kind %q%s; expected one of %s", f.Kind, text.DidYouMean(string(f.Kind), kinds), strings.Join(kinds, ", "))
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
	case f.At.Min < 0 || f.At.Min > f.At.Max:
		return fmt.Errorf("%s: expected at to be 0s or more, or a range SHORTEST..LONGEST, got %s", f.Kind, f.At)
	case f.For >= duration, f.At.Max >= duration-f.For: // whose sum may be more than there is
		return fmt.Errorf("expected %s to end before the offers do, after %s: what comes then says when deliveries went on", f, duration)
	}
	return nil
}

// checkFaults refuses faults that can never be right, and those that overlap.
func (p Plan) checkFaults() error {
	faults := slices.Clone(p.Faults)
	aof := ""
	for _, f := range faults {
		if err := f.check(p.Schedule().Duration()); err != nil {
			return err
		}
		if f.Member > 0 {
			switch {
			case f.Member > len(p.Fleet):
				return fmt.Errorf("%s: expected a member of the fleet, which has %d, got %d", f.Kind, len(p.Fleet), f.Member)
			case p.Fleet[f.Member-1].Kill:
				return fmt.Errorf("%s: expected a member that is not killed, got %d", f.Kind, f.Member)
			}
			if m := p.Fleet[f.Member-1]; m.From > f.At.Min || m.To > 0 && m.To < f.At.Max+f.For {
				return fmt.Errorf("%s: expected member %d to be there meanwhile, it is from %s to %s", f, f.Member, m.From, m.To)
			}
		}
		if f.AOF != "" && aof != "" && f.AOF != aof {
			return fmt.Errorf("expected one aof for the server, got %s and %s", aof, f.AOF)
		}
		aof = cmp.Or(f.AOF, aof)
	}
	if len(faults) > 0 && p.Cancel.Share > 0 {
		return fmt.Errorf("expected no cancel beside them: whether a message that was cancelled is lost would not be known")
	}
	slices.SortFunc(faults, func(a, b Fault) int { return cmp.Compare(a.At.Min, b.At.Min) })
	for i := range max(len(faults)-1, 0) {
		if a, b := faults[i], faults[i+1]; a.At.Max+a.For > b.At.Min {
			return fmt.Errorf("expected one at a time, got %s and %s", a, b)
		}
	}
	return nil
}

// ParseSpan reads 5s, or 1s..10s. Its error says what it expected.
func ParseSpan(text string) (Span, error) { return parseSpan(text) }

// MarshalText returns String.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is ParseSpan.
func (s *Span) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSpan(string(text))
	return err
}
