package agent

import (
	"runtime"
	"runtime/debug"
)

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
