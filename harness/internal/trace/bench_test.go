package trace_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/recordings"
)

// All cases of a release that calls scripts by their SHA-1, and of one that sends the text
// each time, are brought into normal form.
func BenchmarkNormalise(b *testing.B) {
	for _, release := range []string{"4.7.0", "3.16.6"} {
		b.Run(release, func(b *testing.B) {
			paths, err := fs.Glob(recordings.Redisson(), release+"/*.monitor")
			require.NoError(b, err)
			var all []*monitor.Recording
			lines := 0
			for _, p := range paths {
				f, err := recordings.Redisson().Open(p)
				require.NoError(b, err)
				rec, err := monitor.Read(f, p)
				require.NoError(b, err)
				require.NoError(b, f.Close())
				all, lines = append(all, rec), lines+len(rec.Lines)
			}
			b.ReportAllocs()
			for b.Loop() {
				for _, rec := range all {
					for _, c := range rec.Cases() {
						_, err := trace.Normalise(rec, release, c.Lines)
						require.NoError(b, err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*lines), "ns/line")
		})
	}
}
