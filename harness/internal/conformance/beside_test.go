package conformance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/internal/redistest"
	"github.com/dq-bench/dq-bench/scenarios"
)

// Two implementations at one queue, as people deploy them; a real Redisson where there is one.
func TestTwoAtOneQueue(t *testing.T) {
	t.Parallel()
	pairs := [][2]string{{"dq:2.15.2", "dq:3.16.6"}, {"dq:3.21.1", "dq:4.7.0"}, {"dq:4.7.0", "redisson:4.7.0"}}
	if redistest.Thorough() {
		pairs = append(pairs, [][2]string{{"dq:3.13.0", "redisson:3.13.0"}, {"dq:3.16.6", "redisson:3.16.6"}, {"dq:3.16.6", "redisson:3.21.0"}, {"dq:3.21.1", "redisson:4.7.0"}}...)
	}
	sections, err := Load(scenarios.Conformance, "beside")
	require.NoError(t, err)
	for _, pair := range pairs {
		t.Run(pair[0]+" and "+pair[1], func(t *testing.T) {
			t.Parallel()
			driver, err := spec.ParseProgram(pair[0])
			require.NoError(t, err)
			beside, err := spec.ParseProgram(pair[1])
			require.NoError(t, err)
			if strings.HasPrefix(pair[1], "redisson:") {
				javaOrSkip(t)
			}
			plan := &Plan{
				Spec: driver, Beside: &beside, Redis: "process", Cases: Select(sections, nil), Level: State,
				Notice: func(s string) { t.Log(s) }, Finished: func(Result) {},
			}
			report, err := plan.Run(t.Context())
			require.NoError(t, err)
			require.Zero(t, report.Counts.Fail+report.Counts.Error, report.Text())
			require.GreaterOrEqual(t, report.Counts.Pass, 4)
		})
	}
}
