package page

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/run/runtest"
)

// sideOf is some runs of one implementation, whose lateness is scaled.
func sideOf(first uint64, runs int, scale float64) []*run.Document {
	var all []*run.Document
	for i := range uint64(runs) {
		all = append(all, runtest.Sample(first+i, 10_000, scale*(1+float64(i%3)/100)))
	}
	return all
}

func compared(t *testing.T, old, new []*run.Document) *compare.Comparison {
	t.Helper()
	c, err := compare.Runs(old, new, compare.Options{MinEffect: .05})
	require.NoError(t, err)
	return c
}

func TestTextOfAComparison(t *testing.T) {
	for name, c := range map[string]*compare.Comparison{
		"compare_one.txt":   compared(t, sideOf(1, 1, 1), sideOf(100, 1, 10)),
		"compare_worse.txt": compared(t, sideOf(1, 8, 1), sideOf(100, 8, 1.2)),
	} {
		var out strings.Builder
		require.NoError(t, WriteComparison(&out, c))
		requireGolden(t, name, out.String())
	}
}

// bandedRun is a run that was written with a log of its seconds and read again.
// Whatever is accepted as a run file can be printed.
func FuzzWriteRun(f *testing.F) {
	good, err := runtest.Sample(1, 100, 1).Encode()
	require.NoError(f, err)
	f.Add(good)
	f.Add([]byte(`{"schema":"dq-bench/run/v1","histograms":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := run.Decode(bytes.NewReader(data))
		if err != nil {
			return
		}
		r.Judge(nil)
		require.NoError(t, WriteRun(&bytes.Buffer{}, r, nil))
	})
}
