package load_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

// A server that freezes holds the offers up, and the run fails for that: it is valid, and is compared.
func TestAFrozenServerFailsTheRun(t *testing.T) {
	t.Parallel()
	d, err := spec.Parse("dq")
	require.NoError(t, err)
	p := plan.DefaultPlan()
	p.WarmupEnds, p.Warmup, p.Producers, p.Consumers, p.Rate, p.Duration = false, 0, 10, 4, 500, 3*time.Second
	p.Delay, p.Queue, p.MaxScheduleLag = plan.Fixed(200*time.Millisecond), "own", 600*time.Millisecond
	at := 500 * time.Millisecond
	p.Faults = []plan.Fault{{Kind: "halt", At: plan.Span{Min: at, Max: at}, For: 1500 * time.Millisecond}}
	o := load.Options{Plan: p, Driver: d, RunID: 7, OwnQueue: true, Serve: []string{os.Args[0], "serve"}}
	onRedis(t, &o)
	result, err := load.Run(t.Context(), o)
	require.NoError(t, err)
	r := result.Report
	r.Faults = nil          // which would excuse it
	r.Machine.BusyShare = 0 // by whatever else runs on the machine of the test
	require.False(t, r.Judge(nil).Passed)
	require.True(t, r.Valid(), r.Verdict.Text)
	require.Contains(t, r.Verdict.Text, "the system under test held up")
	require.Contains(t, r.Verdict.Text, "response time p99")
	require.Greater(t, r.Offers.LateForSystem, r.Offers.LateForTool+r.Offers.LateForMachine, "%+v", r.Offers)
	require.Zero(t, r.Counts.Lost)
}
