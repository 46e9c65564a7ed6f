package trace_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// A queue at work on a real server is the same behaviour each time, at releases
// that send the same, and another at one that does not.
func TestLiveSessionsMeanTheSame(t *testing.T) {
	first := liveSession(t, "3.16.6")
	require.Nil(t, diff(t, first, liveSession(t, "3.16.6")))
	require.Nil(t, diff(t, first, liveSession(t, "3.13.0")))
	require.NotNil(t, diff(t, first, liveSession(t, "3.21.1")))
	require.Nil(t, diff(t, liveSession(t, "4.7.0"), liveSession(t, "4.7.0")))
}

func liveSession(t *testing.T, release string) *monitor.Recording {
	t.Helper()
	srv := redistest.Redis(t)
	rdb := redistest.Client(srv)
	defer rdb.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	conn, err := monitor.Dial(ctx, srv.URL())
	require.NoError(t, err)
	defer conn.Close()

	client, err := dq.NewClient(rdb, dq.WithRelease(release), dq.WithRedissonCommands())
	require.NoError(t, err)
	queue, err := dq.NewQueue(client, "orders", codec.String{})
	require.NoError(t, err)
	require.NoError(t, queue.Ready(ctx))
	for _, value := range []string{"one", "two"} {
		_, err := queue.Offer(ctx, value, 60*time.Millisecond)
		require.NoError(t, err)
		got, err := queue.Take(ctx)
		require.NoError(t, err)
		require.Equal(t, value, got)
	}
	require.NoError(t, queue.Close())
	require.NoError(t, client.Close())
	lines, err := conn.Until(ctx, func(ctx context.Context, marker string) error { return rdb.Echo(ctx, marker).Err() })
	require.NoError(t, err)
	return &monitor.Recording{Path: release, Lines: lines}
}
