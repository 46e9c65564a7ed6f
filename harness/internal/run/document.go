// Package run reads, writes and judges run files.
//
// A Document is one run file: the plan, the machine, and the results. The package shows nothing to people, compares
// nothing, and starts nothing.
package run

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

// Schema is the schema of the run files this package writes.
const Schema = "dq-bench/run/v1"

// Document is one run file. Fields that older files lack are empty there.
type Document struct {
	Schema string          `json:"schema"`
	Tool   Tool            `json:"tool"`
	RunID  string          `json:"run_id"` // the eight hex digits that every payload of the run carries
	Driver driver.Identity `json:"driver"` // the implementation under test
	// Format is Redisson if all implementations keep due times in whole milliseconds, as Redisson does: then PastDue is judged, and else Lateness.
	Format      string        `json:"format,omitempty"`
	Server      *Server       `json:"server,omitempty"` // missing for a driver without a server
	Scenario    plan.Scenario `json:"scenario"`         // the resolved plan
	Environment Environment   `json:"environment"`
	// Beside is missing for a run that had the machine to itself.
	Beside *Beside           `json:"beside,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	// Started is when the measured phase began; ElapsedSeconds lie between it and the end of the drain.
	Started        time.Time  `json:"started"`
	ElapsedSeconds float64    `json:"elapsed_seconds"`
	Counts         Counts     `json:"counts"`
	Histograms     Histograms `json:"histograms"`
	Intervals      []Interval `json:"intervals"`
	// Faults is missing in a run without faults, Warmup in a run without warm-up.
	Faults *Faults `json:"faults,omitempty"`
	Warmup *Warmup `json:"warmup,omitempty"`
	// ToolUsage is of dq-bench itself, ProgramUsage of the programs that ran the implementation.
	ToolUsage    *ToolUsage   `json:"tool_usage,omitempty"`
	ProgramUsage *ToolUsage   `json:"program_usage,omitempty"`
	Machine      *Machine     `json:"machine,omitempty"`
	ServerStats  *ServerStats `json:"server_stats,omitempty"` // missing if the server does not report them
	SLO          []Objective  `json:"slo"`                    // an outcome for each objective
	Interrupted  bool         `json:"interrupted"`            // the offers were stopped before the end
	ServerGone   string       `json:"server_gone,omitempty"`  // since when the server was gone, if the run was given up for this reason
	Validity     *Validity    `json:"validity,omitempty"`
	Verdict      Verdict      `json:"verdict"`
	Notes        []string     `json:"notes,omitempty"`  // remarks for a reader of the figures
	Agents       int          `json:"agents,omitempty"` // how many agents on other hosts made the load; 0 for one of this host
	// AgentFaults are what agents did against the protocol. Once an agent is gone, the fate of its messages is unknown.
	AgentFaults []AgentFault `json:"agent_faults,omitempty"`
	Offers      *Offers      `json:"offers,omitempty"`
	Order       *Order       `json:"order,omitempty"`

	Log *LatenessLog `json:"-"` // the lateness of each interval; nil for a document that was read
}

// RedissonFormat is the Format of RDelayedQueue.
const RedissonFormat = "redisson"

// Tool is the program that wrote the file.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Server is the Redis the run used.
type Server struct {
	Product  string `json:"product"`
	Version  string `json:"version"`
	How      string `json:"how"`
	Embedded bool   `json:"embedded"`
	// Address is host:port of a server that ran already: the first node of a Cluster, and behind sentinels the master at
	// the start. Missing for a server that was started for the run.
	Address string `json:"address,omitempty"`
}

// ServerText names the server in a few words. The figures of the embedded one say nothing about a real server.
func (r *Document) ServerText() string {
	switch s := r.Server; {
	case s == nil:
		return "no server"
	case s.Embedded:
		return fmt.Sprintf("%s %s (EMBEDDED: an imitation of Redis in this process, not a measurement of a real server)", s.Product, s.Version)
	default:
		return fmt.Sprintf("%s %s (%s)", s.Product, s.Version, s.How)
	}
}

// ServerAddress is the address of the server, empty if the document has no server.
func (r *Document) ServerAddress() string { return cmp.Or(r.Server, &Server{}).Address }

// Environment is the machine that made the load.
type Environment struct {
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	CPUs       int    `json:"cpus"`
	GoVersion  string `json:"go_version"`
	GOMAXPROCS int    `json:"gomaxprocs"`
}

// Beside names the runs measured at the same time: one run of each side, all begun at one instant and each on a server of its own.
type Beside struct {
	// Block is the same in all of them, and in no other run; Sides is how many there were, 2 or more.
	Block string `json:"block"`
	Sides int    `json:"sides"`
}

// Interval is one second of the measured phase, its drain included. Lateness is in ns, of the messages delivered in it, 0 without any.
type Interval struct {
	Second     float64 `json:"second"` // the end of the interval in seconds after Started
	Offered    int64   `json:"offered"`
	Delivered  int64   `json:"delivered"`
	Pending    int64   `json:"pending"` // how many confirmed messages were not delivered at its end
	P50        int64   `json:"lateness_p50"`
	P99        int64   `json:"lateness_p99"`
	Max        int64   `json:"lateness_max"`
	PastDueP50 int64   `json:"past_due_p50"`
	PastDueP99 int64   `json:"past_due_p99"`
	PastDueMax int64   `json:"past_due_max"`
	HiccupNs   int64   `json:"hiccup_ns,omitempty"` // the part of Machine.Hiccups that fell into it
	// Unsent is how many offers of it were dropped, Inversions how many messages were out of order.
	Unsent     int64 `json:"unsent,omitempty"`
	Inversions int64 `json:"inversions,omitempty"`
	// Unknown is how many messages that were due in it have an unknown fate; the last interval has the later ones too.
	Unknown int64 `json:"unknown,omitempty"`
	// The server's work in it, for all its clients; 0 if unknown.
	Transfers        int64   `json:"transfers,omitempty"`
	Commands         int64   `json:"commands,omitempty"`
	ServerCPUSeconds float64 `json:"server_cpu_seconds,omitempty"`
}

// Late returns quantiles of one of LateOf's distributions.
func (i Interval) Late(d Distribution) (p50, p99, highest int64) {
	if d.Metric == PastDue.Metric {
		return i.PastDueP50, i.PastDueP99, i.PastDueMax
	}
	return i.P50, i.P99, i.Max
}

// AgentFault is a breach of the protocol by an agent.
type AgentFault struct {
	Agent  string  `json:"agent"`
	Second float64 `json:"second"`           // when it was heard of last, in seconds after Started
	Warmup bool    `json:"warmup,omitempty"` // it was heard of last before
	Text   string  `json:"text"`
}

// Offers says how many offers left late by more than the plan's limit, and whose fault that is.
type Offers struct {
	// LateForSystem waited for a free sender, while all senders waited for answers.
	LateForSystem int64 `json:"late_for_system"`
	// LateForMachine were held up by hiccups of the machine, LateForTool by the tool itself.
	LateForMachine int64 `json:"late_for_machine"`
	LateForTool    int64 `json:"late_for_tool"`
	Unsent         int64 `json:"unsent"` // were never made
}

// Order is how many messages were delivered after others of their queue that were due at least 1 ms later.
type Order struct {
	Inversions    int64 `json:"inversions"`
	OfOneProducer int64 `json:"of_one_producer"` // inversions among the messages of one producer
	LongestNs     int64 `json:"longest_ns"`      // the longest time between the due instants of two such messages
}

// Faults accounts for the messages of a run in which something was made to break.
type Faults struct {
	Events []FaultEvent `json:"events"` // the faults, in their order
	// Of the Offered, Acknowledged were confirmed, and Refused were answered by an error which says that nothing was
	// queued. The fate of the Uncertain is unknown to the producer; UncertainCame of them were delivered.
	Offered       int64 `json:"offered"`
	Acknowledged  int64 `json:"acknowledged"`
	Refused       int64 `json:"refused"`
	Uncertain     int64 `json:"uncertain"`
	UncertainCame int64 `json:"uncertain_came"`
	// Lost were acknowledged, never delivered, and are in no key. No event accounts for LostBeyond of them.
	Lost       int64 `json:"lost"`
	LostBeyond int64 `json:"lost_beyond"`
	Duplicate  int64 `json:"duplicate"` // deliveries beyond the first of a message
	// Early were delivered more than EarlyTolerance before they were due. In older runs a wrong clock accounts for all but EarlyBeyond.
	Early       int64 `json:"early,omitempty"`
	EarlyBeyond int64 `json:"early_beyond,omitempty"`
	Postponed   int64 `json:"postponed,omitempty"` // in older runs, are still held at the end: they were offered while a clock was ahead
}

// FaultEvent is one thing that broke.
type FaultEvent struct {
	// Kind is the word of the scenario for it, Text the fault as planned.
	Kind string `json:"kind"`
	Text string `json:"text"`
	// From and To are when it began and ended, in seconds after Document.Started.
	From    float64 `json:"from"`
	To      float64 `json:"to"`
	Times   int     `json:"times,omitempty"` // how often it happened, as far as that is counted
	MayLose string  `json:"may_lose"`        // which acknowledged messages no client could have kept
	// ResumedNs is how long after its end the next message was delivered, within OnTime after its due instant and not early;
	// missing if there was no such message.
	ResumedNs *int64 `json:"resumed_ns,omitempty"`
	Error     string `json:"error,omitempty"` // why it did not happen as asked for; empty if it did
}

// ResumedText is "after 12 ms", or "never".
func (e FaultEvent) ResumedText() string {
	if e.ResumedNs == nil {
		return "never"
	}
	return "after " + FormatNs(*e.ResumedNs)
}

// Warmup is how the warm-up went.
type Warmup struct {
	// Seconds is how long messages were offered; Warm says that lateness and round trip were stable at its end.
	Seconds float64 `json:"seconds"`
	Warm    bool    `json:"warm"`
	Fixed   bool    `json:"fixed,omitempty"` // its length was given; then Warm is not judged
	// Lost and Pending are messages of it that were not delivered; Pending are still held.
	Lost    int64 `json:"lost,omitempty"`
	Pending int64 `json:"pending,omitempty"`
}

// Machine is how the machine that dq-bench ran on behaved in the measured phase.
type Machine struct {
	Hiccups Hiccups       `json:"hiccups"`
	Late    *LateMessages `json:"late,omitempty"` // missing if an implementation does not report delivery times
	// StealSeconds is processor time that the hypervisor gave to others, over all processors; missing if the kernel does not report it.
	StealSeconds *float64 `json:"steal_seconds,omitempty"`
	// BusyShare is how much of the time of all processors was taken while messages were offered, steal included; 0 if the kernel does not report it.
	BusyShare  float64 `json:"busy_share,omitempty"`
	ClockSetNs int64   `json:"clock_set_ns,omitempty"` // by how much the wall clock was set during the run
}

// Bounds for early, punctual and late deliveries, and for hiccups.
const (
	EarlyTolerance = time.Millisecond       // how early a delivery may be: due times are whole milliseconds on the wire
	OnTime         = 100 * time.Millisecond // how late a delivery may be that shows that deliveries have resumed
	LateBound      = time.Millisecond       // by how much a message must be past due to be late
	HiccupBound    = time.Millisecond       // by how much a sleep must last too long
)

// Hiccups are the times in which the machine did not run a due thread: a goroutine that only sleeps, 2 ms at a time,
// was woken too late. Another program, the hypervisor or the collector of dq-bench may be the reason.
type Hiccups struct {
	Count     int64   `json:"count"`
	TotalNs   int64   `json:"total_ns"`
	LongestNs int64   `json:"longest_ns"`
	Share     float64 `json:"share"` // the part of the measured phase that they fill
}

// LateMessages are the latest hundredth of the deliveries, as far as they were late.
type LateMessages struct {
	Messages int64 `json:"messages"`
	// InHiccups is how many of them the machine held up: hiccups fill at least half of the time from the due instant to the delivery.
	InHiccups int64 `json:"in_hiccups"`
}

// ToolUsage is a process's usage in the measured phase.
type ToolUsage struct {
	CPUSeconds float64 `json:"cpu_seconds"`
	// CPUShare is how much of the time of all its processors it used while messages were offered, from 0 to 1; 0 if that is not known.
	CPUShare       float64 `json:"cpu_share,omitempty"`
	GCPauseSeconds float64 `json:"gc_pause_seconds"`
}

// ServerStats counts the server's work in the measured phase, drain included, for all its clients.
type ServerStats struct {
	TransferCalls           int64   `json:"transfer_calls"` // of zrangebyscore, which each transfer script calls once
	TransferCallsPerMessage float64 `json:"transfer_calls_per_message"`
	Commands                int64   `json:"commands"`
	CPUSeconds              float64 `json:"cpu_seconds"`
	// CPUShare is how much of the time of one processor the server used while messages were offered, of several masters
	// the busiest. It may be above 1, and is 0 if unknown.
	CPUShare float64 `json:"cpu_share,omitempty"`
}

// ServerCPUPerMessage is in ns; NaN if nothing was delivered, or the server names no processor time, as the embedded one.
func (r *Document) ServerCPUPerMessage() float64 {
	if r.ServerStats == nil || r.ServerStats.CPUSeconds == 0 || r.Counts.Delivered == 0 {
		return math.NaN()
	}
	return 1e9 * r.ServerStats.CPUSeconds / float64(r.Counts.Delivered)
}

// Validity says whether the planned load was made, as far as this depends on the tool and its machine. If it was not, the figures say nothing about
// the implementation: the run is neither passed nor compared. If the system under test held the load up, the run is valid and failed.
type Validity struct {
	Valid   bool     `json:"valid"`
	Reasons []string `json:"reasons"` // the deviations from the plan, the cause first; empty if the run is valid
}

// Valid reports whether the load was made, as far as the file shows.
func (r *Document) Valid() bool { return r.Validity == nil || r.Validity.Valid }

// Verdict is the judgement on a run.
type Verdict struct {
	// Passed is the answer, Text the judgement in one sentence.
	Passed bool   `json:"passed"`
	Text   string `json:"text"`
}

// Sample is a run of n messages with lateness around scale milliseconds, for tests that compare, judge and show runs.
func Sample(seed uint64, n int, scale float64) *Document {
	rng, all := rand.New(rand.NewPCG(seed, 9)), int64(n)
	r := &Document{
		RunID: fmt.Sprintf("%08x", 0xabcc+seed), Driver: driver.Identity{Name: "dq", Version: "4.7.0"}, Server: &Server{Product: "redis", Version: "7.0.15", How: "external"},
		Scenario: plan.Scenario{Producers: 50, Consumers: 8, Rate: 1000, Duration: "10s", Delay: "5s", PayloadSize: 100, Warmup: "1s", DrainTimeout: "10s", Queue: "q", Messages: all},
		Started:  time.Date(2026, 11, 1, 12, 0, int(seed%50), 0, time.UTC), ElapsedSeconds: 15, Counts: Counts{Offered: all, Delivered: all},
		Histograms: NewHistograms(), Intervals: []Interval{{Second: 1, Offered: all, Delivered: all, P50: 1, P99: 2, Max: 3}},
		ServerStats: &ServerStats{TransferCalls: all, TransferCallsPerMessage: 1, Commands: 10 * all, CPUSeconds: .5},
	}
	for h := r.Histograms; n > 0; n-- {
		late, rtt, lag := int64(scale*1e6*rng.ExpFloat64())-200_000, int64(1e5*rng.ExpFloat64()), int64(1e4*rng.ExpFloat64())
		h.Lateness.Record(late)
		h.PastDue.Record(late + 300_000)
		h.OfferRTT.Record(rtt)
		h.ResponseTime.Record(rtt + lag)
		h.ScheduleLag.Record(lag)
	}
	return r
}
