package trace_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/trace"
)

// A case that a side declares absent, or not the same each time, is not compared, and is no
// difference; the others are.
func TestDiffGoesOnAtWhatIsDeclared(t *testing.T) {
	line := func(at int64, args ...string) trace.Line {
		return trace.Line{Time: at, Peer: "127.0.0.1:1", Args: args}
	}
	left := &trace.Recording{Path: "left", Lines: []trace.Line{
		line(1, "ECHO", "case:a"), line(2, "GET", "x"), line(3, "ECHO", "case:b"), line(4, "GET", "x"), line(5, "ECHO", "case:c"), line(6, "GET", "x"),
	}}
	right := &trace.Recording{
		Path:   "right",
		Fields: []trace.Field{{Key: trace.AbsentKey, Value: "a: it has no x: none"}, {Key: trace.UncomparedKey, Value: "b: by chance"}},
		Lines:  []trace.Line{line(1, "ECHO", "case:b"), line(2, "GET", "y"), line(3, "ECHO", "case:c"), line(4, "GET", "y")},
	}
	for _, sides := range [][2]*trace.Recording{{left, right}, {right, left}} {
		outcomes, err := trace.Diff(sides[0], sides[1], trace.DefaultTolerance)
		require.NoError(t, err)
		found := map[string]trace.Outcome{}
		for _, o := range outcomes {
			found[o.Case] = o
		}
		require.Len(t, found, 3)
		require.Equal(t, "it has no x: none", found["a"].Declared)
		require.Nil(t, found["a"].Finding)
		require.Nil(t, found["b"].Finding)
		require.NotNil(t, found["c"].Finding)
	}
}
