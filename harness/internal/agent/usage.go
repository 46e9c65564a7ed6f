package agent

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Usage is the resources that a process has used since its start.
type Usage struct {
	CPUSeconds     float64 `json:"cpu_seconds"`
	GCPauseSeconds float64 `json:"gc_pause_seconds"`
	// Processors is how many it may use at a time.
	Processors int `json:"processors"`

	waits *metrics.Float64Histogram // of goroutines that could run
}

// ReadUsage asks the kernel and the runtime about this process.
func ReadUsage() Usage {
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	waits := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(waits)
	return Usage{
		CPUSeconds: cpuSeconds(), GCPauseSeconds: gc.PauseTotal.Seconds(),
		Processors: min(runtime.GOMAXPROCS(0), runtime.NumCPU()), waits: waits[0].Value.Float64Histogram(),
	}
}

// SchedulingP99 is how long a goroutine that could run waited for a processor since an earlier
// reading of the same process; 0 where that is not known.
func (u Usage) SchedulingP99(before Usage) time.Duration {
	if u.waits == nil || before.waits == nil {
		return 0
	}
	total, longer := uint64(0), uint64(0)
	for i, n := range u.waits.Counts {
		total += n - before.waits.Counts[i]
	}
	for i := len(u.waits.Counts) - 1; i >= 0; i-- {
		if longer += u.waits.Counts[i] - before.waits.Counts[i]; longer > total/100 {
			return time.Duration(max(u.waits.Buckets[i], 0) * float64(time.Second))
		}
	}
	return 0
}
