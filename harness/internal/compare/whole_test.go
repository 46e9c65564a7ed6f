package compare

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Who interrupts a series has not spoilt the runs before: those are compared, and the loss of the
// interrupted one is said.
func TestInterruptedRunsAreLeftOut(t *testing.T) {
	old, new := side(1, 7, 1), side(100, 7, 3)
	new[2].Interrupted, new[2].Counts.Lost = true, 5
	for _, force := range []bool{false, true} {
		c, err := Runs(old, new, Options{MinEffect: .05, Force: force})
		require.NoError(t, err)
		require.Equal(t, Worse, c.Outcome)
		require.NotContains(t, c.Text, "lost")
		require.Equal(t, 6, c.New.Runs)
		require.Contains(t, c.Warnings, "left out 1 of 7 runs of NEW, as interrupted, with 5 lost")
		compared, left := Compared([]*Comparison{c}, 1, new)
		require.Equal(t, []*run.Document{new[2]}, left)
		require.Len(t, compared, 6)
		compared, left = Compared([]*Comparison{c}, 0, old)
		require.Equal(t, old, compared)
		require.Empty(t, left)
	}
	compared, left := Compared(nil, 1, new)
	require.Equal(t, new, compared)
	require.Empty(t, left)

	old, new = inPairs(MinPairs+1, 1.2)
	old[3].Interrupted = true
	c := compare(t, old, new)
	require.Equal(t, Worse, c.Outcome)
	require.Equal(t, MinPairs, c.New.Runs)
	require.Contains(t, c.Warnings, "left out 1 of 11 pairs, as interrupted")
	_, left = Compared([]*Comparison{c}, 1, new)
	require.Len(t, left, 1)
	require.Equal(t, old[3].Beside.Block, left[0].Beside.Block)
}

// Of a first side that is compared with several, a run is left out where none of them took it.
func TestARunIsComparedThatAnyComparisonTook(t *testing.T) {
	old, second := inPairs(3, 1)
	third := side(300, 3, 1)
	for i := range third {
		third[i].Beside = old[i].Beside
	}
	second[1].Interrupted = true
	one, other := compare(t, old, second), compare(t, old, third)
	_, left := Compared([]*Comparison{one}, 0, old)
	require.Len(t, left, 1)
	_, left = Compared([]*Comparison{one, other}, 0, old)
	require.Empty(t, left)
	_, left = Compared([]*Comparison{one, other}, 1, second)
	require.Equal(t, []*run.Document{second[1]}, left)
}
