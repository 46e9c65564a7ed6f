package redistest_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/harness/redistest"
)

// A handler of delayed messages is tested without a Redis on the machine.
func TestHandler(t *testing.T) {
	for name, start := range map[string]func(testing.TB) *redis.Client{"Start": redistest.Start, "Embedded": redistest.Embedded} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			client, err := dq.NewClient(start(t))
			require.NoError(t, err)
			defer client.Close()
			orders, err := dq.NewQueue(client, "orders", codec.String{})
			require.NoError(t, err)
			_, err = orders.Offer(ctx, "order 7", 10*time.Millisecond)
			require.NoError(t, err)
			order, err := orders.Take(ctx)
			require.NoError(t, err)
			require.Equal(t, "order 7", order)
		})
	}
}
