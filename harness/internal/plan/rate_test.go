package plan

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFormatFloatHasNoExponent(t *testing.T) {
	for want, v := range map[string]float64{"500000": 5e5, "23788": 23787.6, "1235": 1234.6, "999.5": 999.49999, "0.1667": 1. / 6, "0": 0, "-60000": -6e4, "1.25": 1.25} {
		require.Equal(t, want, FormatFloat(v))
	}
	require.Equal(t, "500000/s", Rate(5e5).String())
	require.Equal(t, "1000000000/s", Rate(maxRate).String())
}
