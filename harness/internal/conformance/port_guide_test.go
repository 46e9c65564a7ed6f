package conformance_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/internal/redistest"
	"github.com/dq-bench/dq-bench/recordings"
	"github.com/dq-bench/dq-bench/scenarios"
)

// quickCases are those of a run that is not thorough: none of them waits for seconds.
const quickCases = `^(DQ\.offer/(new|later|zero|negative|unit|without)|DQ\.start/|DQ\.names/|Q\.blocking/take)`

// verify judges the port of the guide.
func verify(t *testing.T, level conformance.Level, pattern string) *conformance.Report {
	t.Helper()
	for name, command := range map[string]string{"redis": "redis-server", "python3": "python3"} {
		if _, err := exec.LookPath(command); err != nil {
			redistest.Missing(t, name, err)
		}
	}
	t.Parallel()
	spec, err := spec.ParseProgram("exec:python3 ../../../docs/guides/port.py")
	require.NoError(t, err)
	keep, err := conformance.Compile(pattern)
	require.NoError(t, err)
	sections, err := conformance.Load(scenarios.Conformance, "conformance")
	require.NoError(t, err)
	oracle, err := conformance.LoadOracle(recordings.Redisson(), ".")
	require.NoError(t, err)
	plan := conformance.Plan{
		Spec: spec, Redis: "process", Level: level, Cases: conformance.Select(sections, keep), Oracle: oracle, MaxFailures: 3,
		Notice: func(s string) { t.Log(s) }, Finished: func(conformance.Result) {},
	}
	report, err := plan.Run(t.Context())
	require.NoError(t, err)
	return report
}

// The port passes at the level of the guide.
func TestPortsPassTheirLevel(t *testing.T) {
	pattern := quickCases
	if redistest.Thorough() {
		pattern = ""
	}
	report := verify(t, conformance.State, pattern)
	require.Zero(t, report.Counts.Fail+report.Counts.Error, report.Text())
	require.GreaterOrEqual(t, report.Counts.Pass, 20, report.Text())
}

// A script of the port's own is another one on the wire, and that is said once.
func TestAPortFailsWireWithOneCause(t *testing.T) {
	report := verify(t, conformance.Wire, quickCases)
	require.Contains(t, report.Stopped, "3 cases in a row failed alike")
	text := report.Text()
	require.Contains(t, text, "in place of EVALSHA")
	require.Contains(t, text, "and also")
}
