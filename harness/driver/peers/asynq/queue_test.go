package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/driver/peers/internal/peertest"
)

func TestMain(m *testing.M) { peertest.Main(m, main) }

func TestQueueDelivers(t *testing.T) {
	peertest.Delivers(t, peertest.Open(t, asynqDriver{Check: 100 * time.Millisecond, Forward: 100 * time.Millisecond, Handlers: 2}))
}

func TestOpenTellsOfAServerThatIsNotThere(t *testing.T) {
	_, err := asynqDriver{}.Open(t.Context(), driver.Target{RedisURL: "redis://127.0.0.1:1"}, "orders")
	require.ErrorContains(t, err, "127.0.0.1:1")
}

func TestIdentityNamesTheSettings(t *testing.T) {
	require.Regexp(t, `^asynq:\d+\.\d+\.\d+,check=1s,forward=2s$`, asynqDriver{Check: time.Second, Forward: 2 * time.Second}.Identity().String())
}

func TestLoadThroughTheProgram(t *testing.T) {
	run, client := peertest.Load(t)
	require.Equal(t, "asynq", run.Driver.Name)
	queues, err := client.SMembers(t.Context(), "asynq:queues").Result()
	require.NoError(t, err)
	require.Empty(t, queues, "the queue is deleted")
}
