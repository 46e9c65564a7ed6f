package run

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// filled returns a histogram of n values around zero and the sorted values.
func filled(t *testing.T, seed uint64, n int) (*Histogram, []int64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	h := NewHistogram()
	values := make([]int64, n)
	for i := range values {
		values[i] = int64(rng.NormFloat64()*float64(3*time.Millisecond)) + int64(time.Millisecond)
		h.Record(values[i])
	}
	slices.Sort(values)
	return h, values
}

func TestQuantilesAreRightAcrossZero(t *testing.T) {
	h, values := filled(t, 1, 10_000)
	require.Equal(t, values[0], h.Min())
	require.Equal(t, values[len(values)-1], h.Max())
	for _, q := range []float64{0, .001, .1, .25, .37, .5, .9, .99, .999, 1} {
		rank := max(int(q*float64(len(values))+.999999), 1)
		want := float64(values[rank-1])
		require.InDelta(t, want, float64(h.Quantile(q)), max(want, -want)*.001+128, "quantile %v", q)
	}
}

func TestHistogramOfNothing(t *testing.T) {
	h := NewHistogram()
	require.Zero(t, h.Quantile(.99))
	require.Zero(t, h.Mean())
	data, err := json.Marshal(h)
	require.NoError(t, err)
	var back Histogram
	require.NoError(t, json.Unmarshal(data, &back))
	require.Zero(t, back.Count())
}

func TestValuesBeyondTheBoundsAreKept(t *testing.T) {
	h := NewHistogram()
	h.Record(int64(1000 * time.Hour))
	h.Record(-int64(1000 * time.Hour))
	require.EqualValues(t, 2, h.Count())
	require.Equal(t, int64(1000*time.Hour), h.Max())
	require.Equal(t, -int64(1000*time.Hour), h.Min())
}

// Merging files is exact: the buckets of a merged histogram are those of one histogram that had counted every value itself.
func TestMergeIsExact(t *testing.T) {
	all, merged := NewHistogram(), NewHistogram()
	for seed := range uint64(4) {
		part, values := filled(t, seed, 2500)
		for _, v := range values {
			all.Record(v)
		}
		data, err := json.Marshal(part)
		require.NoError(t, err)
		var back Histogram
		require.NoError(t, json.Unmarshal(data, &back))
		merged.Merge(&back)
	}
	require.True(t, all.positive.Equals(merged.positive))
	require.True(t, all.negative.Equals(merged.negative))
	require.Equal(t, all.Count(), merged.Count())
	require.Equal(t, all.Min(), merged.Min())
	require.Equal(t, all.Max(), merged.Max())
	require.InEpsilon(t, all.Mean(), merged.Mean(), 1e-9)
}

func TestDamagedHistogramIsRefused(t *testing.T) {
	h, _ := filled(t, 3, 100)
	good, err := json.Marshal(h)
	require.NoError(t, err)
	for _, change := range []map[string]any{
		{"unit": "ms"}, {"count": 99}, {"hdr": "AAAA"}, {"hdr": "%"}, {"hdr": ""},
		{"min": 5_000_000_000}, {"hdr_negative": "HISTFAAA"}, {"count": -1},
	} {
		var fields map[string]any
		require.NoError(t, json.Unmarshal(good, &fields))
		for k, v := range change {
			fields[k] = v
		}
		bad, err := json.Marshal(fields)
		require.NoError(t, err)
		var back Histogram
		require.Error(t, json.Unmarshal(bad, &back), "%v", change)
	}
}
