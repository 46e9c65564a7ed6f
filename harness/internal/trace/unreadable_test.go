package trace

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUnreadable(t *testing.T) {
	for version, want := range map[string]bool{"8.0.1": false, "8.1.0": true, "8.1.1": true, "8.1.2": false, "9.1.2": false} {
		require.Equal(t, want, Unreadable("valkey", version) != "", version)
	}
	require.Empty(t, Unreadable("redis", "8.1.0"))
}
