package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/driver/peers/internal/peertest"
)

func TestMain(m *testing.M) { peertest.Main(m, main) }

func TestQueueDelivers(t *testing.T) {
	peertest.Delivers(t, peertest.Open(t, delayQueueDriver{Fetch: 20 * time.Millisecond, Handlers: 2}))
}

// What a closed queue had handed out is left to the next one.
func TestCloseGivesBack(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	d := delayQueueDriver{Fetch: 20 * time.Millisecond, Handlers: 2}
	first, ok := peertest.Open(t, d).(*queue)
	require.True(t, ok)
	url := "redis://" + first.rdb.Options().Addr
	require.NoError(t, first.Offer(ctx, []byte("order 7"), 0))
	require.Eventually(t, func() bool { // nobody takes what is handed out
		return first.rdb.ZCard(ctx, first.prefix+":unack").Val() == 1
	}, 10*time.Second, 10*time.Millisecond)
	require.NoError(t, first.Close())

	opened, err := d.Open(ctx, driver.Target{RedisURL: url}, "orders")
	require.NoError(t, err)
	second := opened[0]
	defer second.Close()
	value, err := second.Take(ctx)
	require.NoError(t, err)
	require.Equal(t, "order 7", string(value))
}

func TestOpenTellsOfAServerThatIsNotThere(t *testing.T) {
	_, err := delayQueueDriver{}.Open(t.Context(), driver.Target{RedisURL: "redis://127.0.0.1:1"}, "orders")
	require.ErrorContains(t, err, "127.0.0.1:1")
}

func TestIdentityNamesTheSettings(t *testing.T) {
	require.Regexp(t, `^delayqueue:\d+\.\d+\.\d+,fetch=2s,consume=7s$`, delayQueueDriver{Fetch: 2 * time.Second, Consume: 7 * time.Second}.Identity().String())
}

func TestLoadThroughTheProgram(t *testing.T) {
	run, client := peertest.Load(t)
	require.Equal(t, "delayqueue", run.Driver.Name)
	keys, err := client.Keys(t.Context(), "dp:*").Result()
	require.NoError(t, err)
	require.Empty(t, keys, "nothing is left")
}
