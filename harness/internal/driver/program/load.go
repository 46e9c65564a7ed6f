package program

import (
	"runtime"
	"runtime/debug"
	"time"
)

// Setup is sent to an agent once, by load.open.
type Setup struct {
	Redis       string   `json:"redis"`
	Queues      []string `json:"queues"`
	RunID       string   `json:"run_id"` // 8 hex digits
	PayloadSize int      `json:"payload_size"`
	// Senders offer at once; if all of them wait for answers, more are started, to MostSenders.
	Senders     int `json:"senders"`
	MostSenders int `json:"most_senders"`
	Consumers   int `json:"consumers"` // that take at once, at most
	// Poll, if above 0, makes each consumer look every so often, in ns, instead of waiting for a value.
	Poll    time.Duration `json:"poll,omitempty"`
	Work    time.Duration `json:"work,omitempty"`    // how long a consumer is busy with each value, in ns
	Cancels bool          `json:"cancels,omitempty"` // items may have a CancelAfter
	Each    bool          `json:"each,omitempty"`    // every sample is written before the next step, so that a kill loses no sample
	// ClientName names the connections, and Codec how values are written: for programs that have these.
	ClientName string `json:"client_name,omitempty"`
	Codec      string `json:"codec,omitempty"`
}

// Opened is the answer to load.open. Now is the clock of the agent, Unix ns.
type Opened struct {
	Handle string `json:"handle"`
	Now    int64  `json:"now,string"`
}

// HeldBy is the answer to load.held.
type HeldBy struct {
	Held    int64  `json:"held"`
	Samples []byte `json:"samples"`
}

// Failing are the calls whose first error an agent reports.
var Failing = []string{"offer", "take", "remove"}

// Usage is the resources that a process has used since its start.
type Usage struct {
	CPUSeconds     float64 `json:"cpu_seconds"`
	GCPauseSeconds float64 `json:"gc_pause_seconds"`
	// Processors is how many it may use at a time.
	Processors int `json:"processors"`
}

// ReadUsage asks the kernel and the runtime about this process.
func ReadUsage() Usage {
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	return Usage{CPUSeconds: cpuSeconds(), GCPauseSeconds: gc.PauseTotal.Seconds(), Processors: min(runtime.GOMAXPROCS(0), runtime.NumCPU())}
}
