package series_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/run/runtest"
	"github.com/dq-bench/dq-bench/harness/internal/series"
)

func TestTableHasRatiosToTheFirstSide(t *testing.T) {
	runs := func(id string, scale float64) []*run.Document {
		var all []*run.Document
		for i := range 6 {
			r := runtest.Sample(uint64(i+1), 10_000, scale)
			r.RunID, r.Format, r.Counts.Delivered, r.Counts.Lost = id+strconv.Itoa(i), run.RedissonFormat, 9999, 1
			r.Scenario.Delay = "1s|2s"
			for second := range 6 {
				r.Intervals = append(r.Intervals, run.Interval{Second: float64(second + 1), Delivered: 1000, PastDueP99: int64(scale * 1e6)})
			}
			all = append(all, r)
		}
		return all
	}
	old, again, fast := runs("a", 1), runs("b", 1), runs("c", .1)
	result := &series.Result{Case: "steady", Sides: []series.SideResult{
		{Name: "redisson:3.16.6", Runs: old}, {Name: "redisson:3.16.6", Runs: again}, {Name: "dq", Runs: fast},
	}}
	for _, side := range result.Sides[1:] {
		c, err := compare.Runs(old, side.Runs, compare.DefaultOptions())
		require.NoError(t, err)
		result.Comparisons = append(result.Comparisons, c)
	}
	var out strings.Builder
	require.NoError(t, series.WriteTable(&out, []*series.Result{result}, time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC), "busy"))
	text := out.String()
	require.Contains(t, text, "Measured on 2026-01-02 03:04 UTC")
	require.Contains(t, text, "; busy.")
	require.Contains(t, text, "## steady\n\n1000 msg/s for 10s, delay 1s or 2s")
	var rows [][]string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| ") {
			rows = append(rows, strings.Split(strings.Trim(line, "|\n "), " | "))
		}
	}
	require.Len(t, rows, 4)
	for _, row := range rows {
		require.Len(t, row, len(rows[0]))
	}
	require.Equal(t, []string{"redisson:3.16.6", "redis 7.0.15"}, rows[1][:2])
	require.Equal(t, []string{"1.00 ms", "1", "-"}, rows[1][5:8])
	require.Equal(t, []string{"1.00 ms", "1 (1 … 1)", "1.000"}, rows[2][5:8])
	require.Equal(t, []string{"100 µs", "0.1 (0.1 … 0.1)"}, rows[3][5:7])
	require.Equal(t, "6", rows[3][len(rows[3])-1])
}

// What cannot be compared is shown without ratios.
func TestTableOfOneSide(t *testing.T) {
	var out strings.Builder
	side := series.SideResult{Name: "dq", Runs: []*run.Document{runtest.Sample(1, 100, 1)}}
	require.NoError(t, series.WriteTable(&out, []*series.Result{{Sides: []series.SideResult{side}}}, time.Now(), ""))
	require.Contains(t, out.String(), "| dq | redis 7.0.15 | - | - | - |")
}
