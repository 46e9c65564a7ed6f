package analysis_test

import (
	"bytes"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/analysis"
)

// generated is the beginning of a generated log.
func generated(tb testing.TB, release string, size int64) []byte {
	tb.Helper()
	r, err := wire.LookupRelease(release)
	require.NoError(tb, err)
	log, err := io.ReadAll(&generator{release: r, queues: 10, delay: 5_000, size: size})
	require.NoError(tb, err)
	return log
}

// How fast a log is read, in bytes of it: of a release that sends scripts by SHA-1, and
// of one that sends their text each time.
func BenchmarkAnalysis(b *testing.B) {
	for _, release := range []string{"4.7.0", "3.21.0"} {
		b.Run(release, func(b *testing.B) {
			log := generated(b, release, 64<<20)
			b.SetBytes(int64(len(log)))
			b.ReportAllocs()
			for b.Loop() {
				r := &analysis.Reader{Analysis: analysis.New()}
				require.NoError(b, r.Log(b.Context(), bytes.NewReader(log)))
				require.Zero(b, r.Document().Unparsed)
			}
		})
	}
}

// heapMeter notes the largest heap while it is read.
type heapMeter struct {
	io.Reader
	read, next int64
	peak       uint64
}

func (h *heapMeter) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	if h.read += int64(n); h.read >= h.next {
		h.next = h.read + 4<<20
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		h.peak = max(h.peak, stats.HeapInuse)
	}
	return n, err
}

// The memory that 1 GB of log takes, with 50,000 messages alive at any moment.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		in := &heapMeter{Reader: &generator{release: wire.Newest(), queues: 10, delay: 5_000, size: 1 << 30}}
		r := &analysis.Reader{Analysis: analysis.New()}
		require.NoError(b, r.Log(b.Context(), in))
		b.ReportMetric(float64(in.peak)/(1<<20), "peak-heap-MB")
		b.ReportMetric(float64(in.read)/(1<<20), "log-MB")
		b.ReportMetric(float64(len(r.Document().Queues)), "queues")
	}
}
