package load

import (
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// toolMetrics are what the runtime tells of this process.
var toolMetrics = []string{"/sched/pauses/total/gc:seconds", "/sched/latencies:seconds"}

// toolWatch is how the process stood when it was made.
type toolWatch struct {
	began   time.Time
	cpu     float64
	samples []metrics.Sample
	share   float64 // of its processors until offered was called
}

func watchTool() *toolWatch {
	return &toolWatch{began: time.Now(), cpu: cpuSeconds(), samples: readTool()}
}

// offered notes that no more messages are offered.
func (w *toolWatch) offered() {
	if length := time.Since(w.began).Seconds(); length > 0 {
		w.share = (cpuSeconds() - w.cpu) / length / float64(min(runtime.GOMAXPROCS(0), runtime.NumCPU()))
	}
}

func readTool() []metrics.Sample {
	samples := make([]metrics.Sample, len(toolMetrics))
	for i, name := range toolMetrics {
		samples[i].Name = name
	}
	metrics.Read(samples)
	return samples
}

// used is what the process has used since.
func (w *toolWatch) used() *run.ToolUsage {
	now := readTool()
	used := &run.ToolUsage{CPUSeconds: cpuSeconds() - w.cpu, CPUShare: w.share}
	if h, before := float64Histogram(now[0]), float64Histogram(w.samples[0]); h != nil && before != nil {
		for i, n := range h.Counts {
			used.GCPauseSeconds += float64(n-before.Counts[i]) * middle(h, i)
		}
	}
	if h, before := float64Histogram(now[1]), float64Histogram(w.samples[1]); h != nil && before != nil {
		total := uint64(0)
		for i, n := range h.Counts {
			total += n - before.Counts[i]
		}
		rank, seen := total-total/100, uint64(0)
		for i, n := range h.Counts {
			if seen += n - before.Counts[i]; total > 0 && seen >= rank {
				used.SchedulingP99 = int64(middle(h, i) * float64(time.Second))
				break
			}
		}
	}
	return used
}

func float64Histogram(s metrics.Sample) *metrics.Float64Histogram {
	if s.Value.Kind() != metrics.KindFloat64Histogram {
		return nil
	}
	return s.Value.Float64Histogram()
}

// middle is that of a bucket; the outer ones are as good as their inner bound.
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
