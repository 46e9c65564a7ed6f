package dq_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// Close waits for what polls take away.
func TestFaultCloseCutsNoPoll(t *testing.T) {
	t.Parallel()
	for name, most := range map[string]int{"one": 1, "several": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Redis(t)
			const rounds, values = 12, 400
			for round := range rounds {
				b := setupOn(t, s, "orders")
				ctx := deadline(t)
				texts := make([]string, values)
				for i := range texts {
					texts[i] = string(rune('a' + i))
				}
				for _, v := range texts {
					require.NoError(t, b.redis.RPush(ctx, "orders", v).Err())
				}
				q, err := dq.NewQueue(b.client, "orders", codec.String{})
				require.NoError(t, err)
				var mu sync.Mutex
				var came []string
				var polls sync.WaitGroup
				started := make(chan struct{}, 4)
				for range 4 {
					polls.Go(func() {
						for first := true; ; first = false {
							got, err := q.Poll(ctx, most)
							if errors.Is(err, dq.ErrClosed) || errors.Is(err, dq.ErrEmpty) || err == nil && len(got) == 0 {
								return
							}
							mu.Lock()
							if err == nil {
								came = append(came, got...)
							}
							mu.Unlock()
							if first {
								started <- struct{}{}
							}
						}
					})
				}
				<-started
				time.Sleep(time.Duration(round) * 300 * time.Microsecond) // another moment each time
				require.NoError(t, b.client.Close())
				polls.Wait()
				rest := b.redis.LRange(ctx, "orders", 0, -1).Val()
				require.ElementsMatch(t, texts, append(came, rest...))
				require.NoError(t, b.redis.FlushAll(ctx).Err())
			}
		})
	}
}
