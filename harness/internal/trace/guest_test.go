package trace

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// A client that comes after the last look, and is gone again, keeps what it wrote.
func TestRemoveLeavesAKeyThatChangesAfterTheLook(t *testing.T) {
	srv := redistest.Start(t, "process", "redis")
	own, err := redis.ConnectMany(srv.URL(), 1)
	require.NoError(t, err)
	defer own.Close()
	looks := 0
	guest := &Guest{Conn: own, Connections: 1, Sync: func(ctx context.Context) error {
		if looks++; looks != 3 { // of Admit, and of Remove before and after it lists the keys
			return nil
		}
		other, err := redis.ConnectMany(srv.URL(), 1)
		require.NoError(t, err)
		defer other.Close()
		return other.Do(ctx, "SET", "orders", "theirs").Err()
	}}
	require.NoError(t, guest.Admit(t.Context()))
	require.NoError(t, own.Do(t.Context(), "SET", "orders", "ours").Err())
	require.ErrorIs(t, guest.Remove(t.Context()), ErrServerInUse)
	kept, err := own.Do(t.Context(), "GET", "orders").Text()
	require.NoError(t, err)
	require.Equal(t, "theirs", kept)
}
