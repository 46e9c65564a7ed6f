package load

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// When a server went is said as far as it is known: between the last ping that it answered and the next.
func TestSinceWhenAServerIsGone(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for want, at := range map[string][2]time.Duration{
		"before the load began":                    {-2 * time.Second, -time.Second},
		"at the latest 900ms after the load began": {-100 * time.Millisecond, 900 * time.Millisecond},
		"between 3s and 4.1s after the load began": {3 * time.Second, 4100 * time.Millisecond},
	} {
		d := departure{answered: start.Add(at[0]), failed: start.Add(at[1])}
		require.Equal(t, want, d.since(start))
	}
}
