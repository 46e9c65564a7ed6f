package stats

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// xperf holds what golang.org/x/perf/benchmath (v0.0.0-20260908200009) says of 27
// pairs of drawn samples, sizes 3 to 20, every third pair with ties: the result of
// AssumeNothing.Compare, U of stats.MannWhitneyUTest below it, and the medians of
// AssumeNothing.Summary. It was written by a program outside this module, so that
// x/perf is no dependency.
//
//go:embed testdata/xperf.jsonl
var xperf []byte

func TestAgainstXPerf(t *testing.T) {
	lines := bufio.NewScanner(bytes.NewReader(xperf))
	n := 0
	for ; lines.Scan(); n++ {
		var v struct {
			A       []float64 `json:"a"`
			B       []float64 `json:"b"`
			U       float64   `json:"u"`
			P       float64   `json:"p"`
			MedianA float64   `json:"median_a"`
			MedianB float64   `json:"median_b"`
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &v))
		u, p := MannWhitney(v.A, v.B)
		require.InDelta(t, v.U, u, 1e-9, "%s", lines.Bytes())
		require.InDelta(t, math.Min(v.P, 1), doubledTail(v.A, v.B), 1e-9, "%s", lines.Bytes())
		if len(distinct(v.A, v.B)) == len(v.A)+len(v.B) {
			require.InDelta(t, math.Min(v.P, 1), p, 1e-9, "%s", lines.Bytes())
		}
		require.InDelta(t, v.MedianA, Median(v.A), 1e-9)
		require.InDelta(t, v.MedianB, Median(v.B), 1e-9)
	}
	require.Equal(t, 27, n)
}

// doubledTail is the p-value as x/perf defines it: twice the smaller tail. Without
// ties the distribution is symmetric and that is MannWhitney's; with ties it may
// be more.
func doubledTail(a, b []float64) float64 {
	ranks, sum := doubledRanks(a, b)
	low, high := 0., 0.
	for s, chance := range rankSums(ranks, len(a)) {
		if s <= sum {
			low += chance
		}
		if s >= sum {
			high += chance
		}
	}
	return math.Min(1, 2*math.Min(low, high))
}

func distinct(samples ...[]float64) map[float64]bool {
	seen := map[float64]bool{}
	for _, sample := range samples {
		for _, v := range sample {
			seen[v] = true
		}
	}
	return seen
}

// The chance of a U as small as 0, 1, 2 …, to three digits (cut or rounded), as in
// table I of Mann and Whitney (1947).
func TestDistributionOfThePublishedTable(t *testing.T) {
	for _, row := range []struct {
		n, m    int
		chances []float64
	}{
		{3, 3, []float64{.050, .100, .200, .350, .500}},
		{3, 4, []float64{.028, .057, .114, .200, .314, .429, .571}},
		{4, 4, []float64{.014, .029, .057, .100, .171, .243, .343, .443, .557}},
		{5, 5, []float64{.004, .008, .016, .028, .048, .075, .111, .155, .210, .274, .345, .421, .500}},
		{6, 6, []float64{.001, .002, .004, .008, .013, .021, .032, .047, .066, .090, .120, .155, .197, .242, .294, .350, .409, .469, .531}},
	} {
		ranks := make([]int, row.n+row.m)
		for i := range ranks {
			ranks[i] = i + 1
		}
		chances, sum := rankSums(ranks, row.n), 0.
		for u, want := range row.chances {
			sum += chances[u+row.n*(row.n+1)/2]
			require.InDelta(t, want, sum, .001, "n=%d m=%d U=%d", row.n, row.m, u)
		}
	}
}

// The interval of Hodges and Lehmann is what the test does not refuse: just inside
// p is above 0.05, just outside it is not.
func TestIntervalIsTheSetOfShiftsTheTestAccepts(t *testing.T) {
	from, to := []float64{1, 4, 6, 9, 13, 17}, []float64{3, 8, 14, 15, 22, 30}
	shift := HodgesLehmann(from, to, .95)
	moved := func(by float64) []float64 {
		values := make([]float64, len(to))
		for i, v := range to {
			values[i] = v - by
		}
		return values
	}
	const hair = 1e-6
	for _, inside := range []float64{shift.Low + hair, shift.Estimate, shift.High - hair} {
		_, p := MannWhitney(moved(inside), from)
		require.Greater(t, p, .05, "shift %v", inside)
	}
	for _, outside := range []float64{shift.Low - hair, shift.High + hair} {
		_, p := MannWhitney(moved(outside), from)
		require.LessOrEqual(t, p, .05, "shift %v", outside)
	}
}
