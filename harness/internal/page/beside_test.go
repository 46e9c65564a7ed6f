package page

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/run/runtest"
)

func besideText(r *run.Document) string {
	var out bytes.Buffer
	writeBeside(&out, r)
	return out.String()
}

func ptr[T any](v T) *T { return &v }

func TestTextOfWhatStoodBeside(t *testing.T) {
	r := runtest.Sample(1, 100, 1)
	require.Equal(t, "server: 1 transfer calls per message, 1000 commands, 0.5 s CPU\n\n", besideText(r))

	r.ServerStats.SlowCommands = ptr(int64(1))
	r.ServerStats.CPUShare = .098
	r.ToolUsage = &run.ToolUsage{CPUSeconds: 2.154, CPUShare: .12, GCPauseSeconds: 189e-6, SchedulingP99: 36_900}
	r.ProgramUsage = &run.ToolUsage{CPUSeconds: 12}
	r.Machine = &run.Machine{}
	require.Equal(t, `server: 1 transfer calls per message, 1000 commands, 0.5 s CPU (10 % of a processor during the offers), 1 slow command
dq-bench: 2.15 s CPU (12 % of its processors during the offers), 189 µs in pauses of the collector, scheduling p99 36.9 µs
program: 12 s CPU, 0 ns in pauses of the collector
machine: no hiccup of 1 ms or more

`, besideText(r))

	r.Machine = &run.Machine{
		BusyShare:    .31,
		Hiccups:      run.Hiccups{Count: 12, TotalNs: 90e6, LongestNs: 34e6, Share: .006, P99Ns: 80_000},
		Late:         &run.LateMessages{Messages: 100, InHiccups: 87},
		StealSeconds: ptr(.25),
	}
	require.Contains(t, besideText(r),
		"machine: 31 % busy during the offers; 12 hiccups of 1 ms or more (longest 34.0 ms, 0.6 % of the time); 87 of the latest 100 messages came in one; steal 0.2 s\n")
	page := pageText(t, OfRun(r))
	for _, text := range []string{"1 slow command", "12 hiccups of 1 ms or more (longest 34.0 ms, 0.6 % of the time)", "87 of the latest 100 messages came in one", "steal 0.2 s", "2.15 s CPU"} {
		require.Contains(t, page, text)
	}
	r.Machine.Late.Messages = 0
	require.Contains(t, besideText(r), "; no message came 1 ms late; steal")

	r.Machine, r.ServerStats, r.ToolUsage, r.ProgramUsage = nil, nil, nil, nil
	require.Empty(t, besideText(r))
	require.NotContains(t, pageText(t, OfRun(r)), "Beside it")
}
