package agent

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// Usage is the resources that a process has used since its start.
type Usage struct {
	CPUSeconds     float64 `json:"cpu_seconds"`
	GCPauseSeconds float64 `json:"gc_pause_seconds"`
	// Processors is how many it may use at a time.
	Processors int `json:"processors"`

	waits *metrics.Float64Histogram
}

// ReadUsage asks the kernel and the runtime about this process.
func ReadUsage() Usage {
	samples := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}, {Name: "/sched/latencies:seconds"}}
	metrics.Read(samples)
	u := Usage{CPUSeconds: cpuSeconds(), Processors: min(runtime.GOMAXPROCS(0), runtime.NumCPU())}
	if pauses := histogram(samples[0]); pauses != nil {
		for i, n := range pauses.Counts {
			u.GCPauseSeconds += float64(n) * middle(pauses, i)
		}
	}
	u.waits = histogram(samples[1])
	return u
}

// SchedulingP99 is how long a goroutine that could run waited for a processor since an earlier
// reading of the same process; 0 where that is not known.
func (u Usage) SchedulingP99(before Usage) time.Duration {
	if u.waits == nil || before.waits == nil {
		return 0
	}
	total := uint64(0)
	for i, n := range u.waits.Counts {
		total += n - before.waits.Counts[i]
	}
	seen := uint64(0)
	for i, n := range u.waits.Counts {
		if seen += n - before.waits.Counts[i]; total > 0 && seen >= total-total/100 {
			return time.Duration(middle(u.waits, i) * float64(time.Second))
		}
	}
	return 0
}

func histogram(s metrics.Sample) *metrics.Float64Histogram {
	if s.Value.Kind() != metrics.KindFloat64Histogram {
		return nil
	}
	return s.Value.Float64Histogram()
}

// middle is the middle of a bucket; the outer buckets are as good as their inner bound.
func middle(h *metrics.Float64Histogram, i int) float64 {
	low, high := h.Buckets[i], h.Buckets[i+1]
	switch {
	case low < 0:
		return 0
	case high > 1e9:
		return low
	}
	return (low + high) / 2
}
