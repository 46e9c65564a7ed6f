package load

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/server/servertest"
)

// A real Redisson runs a plain plan by itself, and any other over the ops of the
// protocol. The first time fetches it, so only where DQ_REQUIRE asks for that.
func TestRunOnARealRedisson(t *testing.T) {
	if !servertest.Required("redisson") {
		t.Skip("DQ_REQUIRE does not list redisson")
	}
	for name, change := range map[string]func(p *Plan){
		"by itself":   func(*Plan) {},
		"many queues": func(p *Plan) { p.Queues = 4 },
		"polling":     func(p *Plan) { p.Poll = 5 * time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			srv := servertest.Redis(t)
			client := srv.NewClient()
			defer client.Close()
			d, err := driver.Parse("redisson:3.16.6")
			require.NoError(t, err)
			p := testPlan()
			p.Consumers, p.Rate, p.Duration, p.Warmup, p.Queue = 8, 100, time.Second, 500*time.Millisecond, "own"
			change(&p)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			result, err := Run(ctx, Options{
				Plan: p, Driver: d, RedisURL: srv.URL(), Redis: &Redis{Client: client, Queue: p.Queue}, RunID: 7, OwnQueue: true,
				Notice: func(line string) { t.Log(line) },
			})
			require.NoError(t, err)
			r := result.Report
			require.True(t, r.Judge(nil).Passed, r.Verdict.Text)
			require.EqualValues(t, 100, r.Counts.Delivered)
			require.Equal(t, "redisson:3.16.6", r.Driver.String())
			require.Positive(t, r.ServerStats.TransferCalls)
			keys, err := client.Keys(t.Context(), "*").Result()
			require.NoError(t, err)
			require.Empty(t, keys, "nothing is left on the server")
		})
	}
}
