package analysis_test

import (
	"bytes"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/analysis"
)

// How fast a log is read, in bytes of it: of a release that sends scripts by SHA-1, and
// of one that sends their text each time.
func BenchmarkAnalysis(b *testing.B) {
	for _, release := range []string{"4.7.0", "3.21.0"} {
		b.Run(release, func(b *testing.B) {
			log, err := io.ReadAll(&lives{story: newStory(release), delay: 5_000, size: 64 << 20})
			require.NoError(b, err)
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

// heapMeter notes the largest heap, without garbage, while it is read.
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
		runtime.GC() // on a busy machine garbage waits
		runtime.ReadMemStats(&stats)
		h.peak = max(h.peak, stats.HeapInuse)
	}
	return n, err
}
