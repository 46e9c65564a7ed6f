package text

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNumbers(t *testing.T) {
	require.Equal(t, "-1,234,567", Count(-1_234_567))
	require.Equal(t, "1 queue", Plural(1, "queue"))
	require.Equal(t, "1,000 queues", Plural(1000, "queue"))
	for ms, want := range map[int64]string{5: "5ms", 1250: "1.3s", 61_400: "1m1s", 200 * 24 * 3600e3: "200 days"} {
		require.Equal(t, want, Span(ms))
	}
}
