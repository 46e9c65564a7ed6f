package series_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/run"
	"github.com/dq-bench/dq-bench/harness/series"
)

func TestTableHasRatiosToTheFirstSide(t *testing.T) {
	late := func(lateness time.Duration) *run.Document {
		r := &run.Document{
			Server: &run.Server{Product: "redis", Version: "7.0.15"}, Histograms: run.NewHistograms(),
			Scenario:    run.Scenario{Rate: 1000, Duration: "1s", Delay: "1s|2s"},
			Counts:      run.Counts{Offered: 1000, Delivered: 999, Lost: 1},
			ServerStats: &run.ServerStats{TransferCallsPerMessage: 2, CPUSeconds: .0999},
		}
		r.Histograms.Lateness.Record(int64(lateness))
		return r
	}
	var out strings.Builder
	require.NoError(t, series.WriteTable(&out, []*series.Result{{Case: "steady", Sides: []series.SideResult{
		{Spec: "redisson:3.16.6", Runs: []*run.Document{late(40 * time.Millisecond), late(20 * time.Millisecond)}},
		{Spec: "dq", Runs: []*run.Document{late(3 * time.Millisecond), late(3 * time.Millisecond)}},
	}}}, time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC), "busy"))
	text := out.String()
	require.Contains(t, text, "Measured on 2026-01-02 03:04 UTC")
	require.Contains(t, text, "; busy.")
	require.Contains(t, text, "## steady\n\n1000 msg/s for 1s, delay 1s or 2s")
	require.Contains(t, text, "| redisson:3.16.6 | redis 7.0.15 | 1.00 | 1.00 | 30.0 ms |")
	require.Contains(t, text, "| dq | redis 7.0.15 | 0.10 | 0.10 | 3.00 ms | 3.00 ms | 3.00 ms | 2 | 100 | 2 |")
}
