package adopt

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// A few cases of the newest release, as if it were not recorded: it does what 4.0.0 does, but
// for how it asks whether the server is a cluster.
func TestRealRedisson(t *testing.T) {
	redistest.Redisson(t)
	all, oracle := load(t)
	wanted := []string{"DQ.offer/new-head-publishes", "DQ.codec/default", "DQ.read/peek"}
	cases := slices.DeleteFunc(slices.Clone(all), func(c *conformance.Case) bool { return !slices.Contains(wanted, c.ID) })
	require.GreaterOrEqual(t, len(cases), 2)
	plan := Plan{
		Release: wire.Newest(), Redis: "process", Cases: cases, Oracle: oracle,
		Notice: func(s string) { t.Log(s) }, Finished: func(conformance.Result) {},
	}
	require.True(t, plan.Recorded())
	a, err := plan.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, "4.0.0", a.Nearest.String())
	for _, c := range a.Cases {
		require.Equal(t, Same, c.Outcome, "%+v", c)
	}
	require.Empty(t, a.DifferingScripts())
	for _, r := range a.Rules {
		require.False(t, r.Broken(), "%+v", r)
		require.Equal(t, r.Name == "connections", r.Differs(), "%+v", r)
	}
}
