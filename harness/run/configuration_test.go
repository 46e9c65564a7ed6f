package run

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A run that does not tell a field neither differs in it nor hides that others do.
func TestDifferencesAreToTheFirstThatTells(t *testing.T) {
	var d Differences
	a := []Field{{"scenario", "s"}}
	require.Empty(t, d.Of(a))
	require.Empty(t, d.Of(append(a, Field{"machine", "64 CPUs"})))
	require.Empty(t, d.Of(a))
	require.Equal(t, []string{"machine: 64 CPUs is not 1 CPU"}, d.Of(append(a, Field{"machine", "1 CPU"})))
	require.Equal(t, []string{"scenario: s is not t"}, d.Of([]Field{{"scenario", "t"}}))
}
