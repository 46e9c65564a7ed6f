package run

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A packed run tells what it told before, and takes more values.
func TestAPackedRunTellsTheSame(t *testing.T) {
	r, packed := sampleRun(1, 5000, 1), sampleRun(1, 5000, 1)
	require.Positive(t, r.Histograms.Lateness.negatives())
	require.NoError(t, packed.Pack())
	require.NoError(t, packed.Pack())
	a, b := r.Histograms.Lateness, packed.Histograms.Lateness
	require.Nil(t, b.positive)
	for _, q := range append([]float64{0, .3, 1}, Quantiles...) {
		require.Equal(t, a.Quantile(q), b.Quantile(q), "%v", q)
	}
	require.Equal(t, a.ShareUpTo(1e6), b.ShareUpTo(1e6))
	bars := func(h *Histogram) (all [][3]int64) {
		h.Buckets(func(from, to, count int64) { all = append(all, [3]int64{from, to, count}) })
		return all
	}
	require.Equal(t, bars(a), bars(b))
	want, err := r.Encode()
	require.NoError(t, err)
	got, err := packed.Encode()
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
	sum := NewHistogram(TotalDigits)
	require.NoError(t, sum.Merge(b))
	require.Equal(t, bars(a), bars(sum))
	require.NotNil(t, b.packed, "asking leaves it as it is")
	a.Record(5)
	b.Record(5)
	require.Equal(t, bars(a), bars(b))
	require.EqualValues(t, 5001, b.Count())
}
