package series_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/series"
)

func sideOf(t *testing.T, name string) series.Side {
	t.Helper()
	d, err := spec.Parse(name)
	require.NoError(t, err)
	return series.Side{Spec: name, Driver: d}
}

// A run in which something breaks says what, and accounts for each message.
func TestARunWithAFault(t *testing.T) {
	t.Parallel()
	c := shortCase()
	c.Plan.Rate, c.Plan.Duration, c.Plan.DrainTimeout = 200, 600*time.Millisecond, 2*time.Second
	c.Plan.Faults = []plan.Fault{{
		Kind: plan.LoseReplies, At: plan.Span{Min: 100 * time.Millisecond, Max: 100 * time.Millisecond}, For: 400 * time.Millisecond, Commands: []string{"offer"}, Count: 2,
	}}
	result, err := series.Do(t.Context(), series.Options{Redis: "embedded", Out: t.TempDir()}, series.Case{Run: c, Sides: []series.Side{sideOf(t, "dq")}}, 1, nil)
	require.NoError(t, err)
	r := result.Single()
	f := r.Faults
	require.NotNil(t, f)
	require.True(t, r.Server.Embedded)
	require.EqualValues(t, 120, f.Offered)
	require.GreaterOrEqual(t, f.UncertainCame, int64(2), "they were carried out")
	require.GreaterOrEqual(t, f.Uncertain, f.UncertainCame, "others were on the same connections")
	require.Equal(t, f.Offered, f.Acknowledged+f.Uncertain)
	require.Zero(t, f.Refused)
	require.Zero(t, f.Lost+f.LostBeyond+f.Duplicate)
	require.Len(t, f.Events, 1)
	e := f.Events[0]
	require.Equal(t, "lose-replies", e.Kind)
	require.Empty(t, e.Error)
	require.Equal(t, 2, e.Times)
	require.GreaterOrEqual(t, e.From, .1)
	require.NotNil(t, e.ResumedNs)
	require.Equal(t, []string{"lose-replies at 100ms for 400ms, commands offer, count 2"}, r.Scenario.Faults)
	require.EqualValues(t, f.Uncertain, r.Counts.OfferErrors)
}
