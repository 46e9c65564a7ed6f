// Package run answers: what was seen?
//
// A Document is one run file: what was run, where, and what came out. The package
// counts and records, judges validity and objectives, and reads and writes files. It shows nothing to people and compares
// nothing; it knows nothing of Redis and starts nothing.
package run

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

// Schema is the schema of the run files this package writes.
const Schema = "dq-bench/run/v1"

// Document is one run file: what was run, where, and what came out.
type Document struct {
	Schema string `json:"schema"`
	Tool   Tool   `json:"tool"`
	// RunID is the eight hex digits that every payload of the run carries.
	RunID  string `json:"run_id"`
	Driver Driver `json:"driver"`
	// Format is Redisson where all implementations keep due times as it does, in whole
	// milliseconds: then PastDue is what is judged, and else Lateness.
	Format Format `json:"format,omitempty"`
	// Server is missing for a driver that needs none.
	Server      *Server     `json:"server,omitempty"`
	Scenario    Scenario    `json:"scenario"`
	Environment Environment `json:"environment"`
	// Beside is missing for a run that had the machine to itself.
	Beside *Beside           `json:"beside,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	// Started is when the measured phase began; ElapsedSeconds lie between it
	// and the end of the drain.
	Started        time.Time  `json:"started"`
	ElapsedSeconds float64    `json:"elapsed_seconds"`
	Counts         Counts     `json:"counts"`
	Histograms     Histograms `json:"histograms"`
	Intervals      []Interval `json:"intervals"`
	// Faults is missing where nothing was made to break.
	Faults *Faults `json:"faults,omitempty"`
	// Warmup is missing where there was none.
	Warmup *Warmup `json:"warmup,omitempty"`
	// ToolUsage is of dq-bench itself, ProgramUsage of the program that ran the
	// implementation, where it tells.
	ToolUsage    *ToolUsage `json:"tool_usage,omitempty"`
	ProgramUsage *ToolUsage `json:"program_usage,omitempty"`
	// Machine is missing in files of before it was watched, and where several were merged.
	Machine *Machine `json:"machine,omitempty"`
	// ServerStats is missing where the server does not tell.
	ServerStats *ServerStats `json:"server_stats,omitempty"`
	// SLO is empty if no objective was set.
	SLO []Objective `json:"slo"`
	// Interrupted says that the offers were stopped before the end.
	Interrupted bool `json:"interrupted"`
	// ServerGone says since when the server was gone, where the run was given up for that.
	ServerGone string `json:"server_gone,omitempty"`
	// Validity is missing in files of before it was judged.
	Validity *Validity `json:"validity,omitempty"`
	// Measured says where the figures were taken; empty in files of before it was
	// written down.
	Measured Measured `json:"measured,omitempty"`
	Verdict  Verdict  `json:"verdict"`
	// Notes are what a reader of the figures should know besides.
	Notes []string `json:"notes,omitempty"`
	// Workers is how many run files an older version merged into this one; 0 for others.
	Workers int `json:"workers,omitempty"`
	// Agents is how many agents on other hosts made the load; 0 for one of this host.
	Agents int `json:"agents,omitempty"`
	// AgentFaults are what agents did against the protocol. From the second on in which one is
	// gone, what it left open is unknown.
	AgentFaults []AgentFault `json:"agent_faults,omitempty"`
	// Offers says why offers left late; missing in files of before it was told.
	Offers *Offers `json:"offers,omitempty"`
	// Order is missing in files of before it was looked at.
	Order *Order `json:"order,omitempty"`

	// file is where the run was read from.
	file string
}

// Format is how due times are kept.
type Format string

// RedissonFormat is that of RDelayedQueue.
const RedissonFormat Format = "redisson"

// Late is the distribution that the run is judged by, and its name in objectives:
// past_due or lateness.
func (r *Document) Late() (name string, h *Histogram) {
	if h := r.Histograms.PastDue; r.Format == RedissonFormat && h != nil && h.Count() == r.Histograms.Lateness.Count() {
		return "past_due", h
	}
	return "lateness", r.Histograms.Lateness
}

// LateOf names the distribution that several runs are judged by beside each other:
// past_due where each of them is, else lateness, which every run has.
func LateOf(runs []*Document) string {
	for _, r := range runs {
		if name, _ := r.Late(); name != "past_due" {
			return "lateness"
		}
	}
	return "past_due"
}

// Measured is where the clocks of a run were read.
type Measured string

// The places. The first two are alike, for the clocks are read beside the implementation;
// figures over the protocol are not comparable with them: the way to the program and back
// is part of what is measured.
const (
	// InProcess: the implementation ran in the process of dq-bench.
	InProcess Measured = "in-process"
	// InProgram: a program ran the whole plan by itself.
	InProgram Measured = "in-program"
	// OverProtocol: each call went to a program and back as a line of JSON.
	OverProtocol Measured = "over-protocol"
)

// Tool is the program that wrote the file.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Driver is the implementation under test.
type Driver struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// String returns name:version, or the name alone.
func (d Driver) String() string {
	if d.Version == "" {
		return d.Name
	}
	return d.Name + ":" + d.Version
}

// Server is the Redis the run used.
type Server struct {
	Product  string `json:"product"`
	Version  string `json:"version"`
	How      string `json:"how"`
	Embedded bool   `json:"embedded"`
	// Address is host:port of a server that ran already: that of the first node of a Cluster, and behind sentinels of
	// the master at the start. Missing for one that was started for the run, and in files of before it was written down.
	Address string `json:"address,omitempty"`
}

// ServerText names the server in a few words. The embedded one is marked: it is
// an imitation, and its figures say nothing about a real server.
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

// ServerAddress is that of the server, empty where the document has none.
func (r *Document) ServerAddress() string {
	if r.Server == nil {
		return ""
	}
	return r.Server.Address
}

// Scenario is the resolved plan.
type Scenario = plan.Scenario

// Environment is the machine the load came from.
type Environment struct {
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	CPUs       int    `json:"cpus"`
	GoVersion  string `json:"go_version"`
	GOMAXPROCS int    `json:"gomaxprocs"`
	// ClockOffsetNs is the server's clock minus this machine's, off by at most
	// ClockErrorNs, half the round trip of asking. No figure is corrected by it. It
	// is missing where it was not measured.
	ClockOffsetNs *int64 `json:"clock_offset_ns,omitempty"`
	ClockErrorNs  int64  `json:"clock_error_ns,omitempty"`
}

// EarlyTolerance is how early a delivery may be: due times are whole
// milliseconds on the wire, so anything up to it is the format's resolution.
const EarlyTolerance = time.Millisecond

// Histograms are the distributions of a run.
type Histograms struct {
	// Lateness is delivered − due.
	Lateness *Histogram `json:"lateness"`
	// PastDue is delivered − the due instant cut to its millisecond, which is the score
	// in Redis; missing in files of before it was measured.
	PastDue *Histogram `json:"past_due,omitempty"`
	// OfferRTT is how long an offer took, confirmed or not.
	OfferRTT *Histogram `json:"offer_rtt"`
	// ResponseTime is the offer's end − its intended instant: RTT and schedule lag of one
	// offer together. Missing in files of before it was measured.
	ResponseTime *Histogram `json:"response_time,omitempty"`
	// ScheduleLag is actual − intended send instant.
	ScheduleLag *Histogram `json:"schedule_lag"`
	// RemoveRTT is how long a cancellation took; missing where none was.
	RemoveRTT *Histogram `json:"remove_rtt,omitempty"`
}

// NewHistograms returns those that every run has, empty.
func NewHistograms() Histograms {
	return Histograms{
		Lateness: NewHistogram(TotalDigits), PastDue: NewHistogram(TotalDigits),
		OfferRTT: NewHistogram(TotalDigits), ResponseTime: NewHistogram(TotalDigits), ScheduleLag: NewHistogram(TotalDigits),
	}
}

// NamedHistogram is a histogram and what people call it.
type NamedHistogram struct {
	Name string
	H    *Histogram
}

// Rows lists the histograms in the order that they are shown in.
func (h Histograms) Rows() []NamedHistogram {
	all := []NamedHistogram{
		{"lateness", h.Lateness}, {"past due", h.PastDue}, {"offer RTT", h.OfferRTT}, {"response time", h.ResponseTime},
		{"schedule lag", h.ScheduleLag}, {"remove RTT", h.RemoveRTT},
	}
	return slices.DeleteFunc(all, func(n NamedHistogram) bool { return n.H == nil })
}

// Beside is what was measured at the same time: one run of each side, all begun at one
// instant and each on a server of its own.
type Beside struct {
	// Block is the same in all of them, and in no other run.
	Block string `json:"block"`
	// Sides is how many there were, 2 or more.
	Sides int `json:"sides"`
}

// Interval is one second of the measured phase, its drain included. Lateness is
// in ns, of the messages delivered in it, 0 if there were none.
type Interval struct {
	// Second is the end of the interval in seconds after Started.
	Second    float64 `json:"second"`
	Offered   int64   `json:"offered"`
	Delivered int64   `json:"delivered"`
	// Pending is how many confirmed messages were not delivered at its end.
	Pending int64 `json:"pending"`
	P50     int64 `json:"lateness_p50"`
	P99     int64 `json:"lateness_p99"`
	Max     int64 `json:"lateness_max"`
	// The same of past due.
	PastDueP50 int64 `json:"past_due_p50"`
	PastDueP99 int64 `json:"past_due_p99"`
	PastDueMax int64 `json:"past_due_max"`
	// HiccupNs is for how long the machine did not run in it what was due: the part of
	// Machine.Hiccups that fell into it.
	HiccupNs int64 `json:"hiccup_ns,omitempty"`
	// Unsent is how many offers of it were dropped, Inversions how many messages came out of order.
	Unsent     int64 `json:"unsent,omitempty"`
	Inversions int64 `json:"inversions,omitempty"`
	// What the server did in it, for all its clients; 0 where it does not tell.
	Transfers        int64   `json:"transfers,omitempty"`
	Commands         int64   `json:"commands,omitempty"`
	ServerCPUSeconds float64 `json:"server_cpu_seconds,omitempty"`
}

// AgentFault is a breach of the protocol by an agent.
type AgentFault struct {
	Agent string `json:"agent"`
	// Second is when it was heard of last, in seconds after Started.
	Second float64 `json:"second"`
	Text   string  `json:"text"`
}

// Offers is what became of the offers that left late by more than the plan's limit, and whose fault
// that is.
type Offers struct {
	// LateForSystem waited for a free sender, while all senders waited for answers.
	LateForSystem int64 `json:"late_for_system"`
	// LateForMachine were held up by hiccups of the machine, LateForTool by the tool itself.
	LateForMachine int64 `json:"late_for_machine"`
	LateForTool    int64 `json:"late_for_tool"`
	// Unsent were never made.
	Unsent int64 `json:"unsent"`
}

// Order is how many messages came after others of their queue that were due at least 1 ms later.
type Order struct {
	Inversions int64 `json:"inversions"`
	// OfOneProducer counts inversions among the messages of one producer.
	OfOneProducer int64 `json:"of_one_producer"`
	// LongestNs is the longest time between the due instants of two such messages.
	LongestNs int64 `json:"longest_ns"`
}

// Warmup is how the warm-up went.
type Warmup struct {
	// Seconds is how long messages were offered; Warm says that lateness and round trip
	// stood still at its end. It is false for a warm-up whose length was fixed, which is
	// not judged.
	Seconds float64 `json:"seconds"`
	Warm    bool    `json:"warm"`
	// Fixed says that its length was given.
	Fixed bool `json:"fixed,omitempty"`
	// Lost and Pending are messages of it that never came; Pending are still held.
	Lost    int64 `json:"lost,omitempty"`
	Pending int64 `json:"pending,omitempty"`
}

// Verdict is the judgement on a run.
type Verdict struct {
	// Passed is false if the run is invalid, if a message was lost, duplicated or
	// early, if one that was due never came, if an offer failed, nothing was accepted
	// though nobody interrupted the offers, or an objective was missed.
	Passed bool `json:"passed"`
	// Text is the judgement in one sentence.
	Text string `json:"text"`
}

// Add adds the histograms of another part of a run.
func (h *Histograms) Add(part Histograms) error {
	var errs []error
	for _, pair := range []struct {
		into **Histogram
		from *Histogram
	}{
		{&h.Lateness, part.Lateness}, {&h.PastDue, part.PastDue}, {&h.OfferRTT, part.OfferRTT},
		{&h.ResponseTime, part.ResponseTime}, {&h.ScheduleLag, part.ScheduleLag}, {&h.RemoveRTT, part.RemoveRTT},
	} {
		if pair.from == nil {
			continue
		}
		if *pair.into == nil {
			*pair.into = NewHistogram(TotalDigits)
		}
		errs = append(errs, (*pair.into).Merge(pair.from))
	}
	return errors.Join(errs...)
}

// Wrong is how many messages were treated wrongly, did not come although they were due, or could not be offered. An
// interrupted run may leave some that are due.
func (r *Document) Wrong() int64 {
	n := r.Counts.Faults() + r.Counts.OfferErrors
	if !r.Interrupted {
		n += r.Counts.Pending - r.Counts.NotDue
		if r.Faults != nil {
			n -= r.Faults.Postponed
		}
	}
	return n
}
