package bridge_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/forensics/bridge"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// Two real Redissons of both sides share a queue: with a bridge each message comes once and no
// transfer fails, without one they do.
func TestRealRedissonsOfBothSidesShareAQueue(t *testing.T) {
	redistest.Redisson(t, "3.21.0", "4.7.0")
	for _, bridged := range []bool{true, false} {
		t.Run(fmt.Sprintf("bridged %v", bridged), func(t *testing.T) {
			srv := redistest.Redis(t)
			options, err := redis.ParseURL(srv.URL())
			require.NoError(t, err)
			client := redis.NewClient(options)
			t.Cleanup(func() { client.Close() })
			b := newBundle(t, client)
			old, recent := redistest.OpenRedisson(t, srv, "3.21.0", "orders", "string"), redistest.OpenRedisson(t, srv, "4.7.0", "orders", "string")
			b.eventually(func() bool {
				return client.PubSubNumSub(b.ctx, b.names.Channel).Val()[b.names.Channel] == 2
			}, "both have subscribed")
			if bridged {
				b.start(bridge.Options{Queues: []string{"orders"}, Lead: time.Second})
				b.eventually(b.noticed("bridged"), "it runs")
			}
			failed := scriptErrors(t, b)
			const messages = 60
			sides := []*redistest.RedissonQueue{old, recent}
			for i := range messages {
				sides[i%2].Call("dq.offer", map[string]any{
					"value": map[string]string{"t": "string", "v": "order " + strconv.Itoa(i)}, "delay": 2000 + i*7919%1000,
				})
			}
			if !bridged {
				b.eventually(func() bool { return scriptErrors(t, b) > failed }, "a transfer fails")
				return
			}
			b.eventually(func() bool { return len(b.delivered()) >= messages }, "all are delivered")
			came := map[string]int{}
			for _, value := range b.delivered() {
				came[value]++
			}
			require.Len(t, came, messages, "each once")
			require.Len(t, b.delivered(), messages, "each once")
			require.Equal(t, failed, scriptErrors(t, b), "no transfer has failed")
		})
	}
}

// scriptErrors is how many scripts have failed, but for those that the server did not have.
func scriptErrors(t *testing.T, b *bundle) (n int) {
	t.Helper()
	failed := regexp.MustCompile(`(?m)^cmdstat_(?:eval|evalsha):.*failed_calls=(\d+)`)
	missing := regexp.MustCompile(`(?m)^errorstat_NOSCRIPT:count=(\d+)`)
	count := func(match []string, sign int) {
		one, err := strconv.Atoi(match[1])
		require.NoError(t, err)
		n += sign * one
	}
	for _, match := range failed.FindAllStringSubmatch(b.client.Info(b.ctx, "commandstats").Val(), -1) {
		count(match, 1)
	}
	for _, match := range missing.FindAllStringSubmatch(b.client.Info(b.ctx, "errorstats").Val(), -1) {
		count(match, -1)
	}
	return n
}
