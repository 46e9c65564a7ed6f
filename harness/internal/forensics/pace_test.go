package forensics_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/forensics"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// scale is a hook that weighs the replies.
type scale struct {
	heaviest int // bytes of members
	calls    int
}

func (s *scale) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (s *scale) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func (s *scale) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		err := next(ctx, cmd)
		bytes := 0
		if items, ok := cmd.(*goredis.Cmd).Val().([]any); ok {
			for i, item := range items {
				if cmd.Name() != "zrange" || i%2 == 0 { // members and scores take turns
					bytes += len(item.(string))
				}
			}
		}
		s.calls++
		s.heaviest = max(s.heaviest, bytes)
		return err
	}
}

// However large the members are, no call asks for much more than half a megabyte, or for two
// members; small ones are read many at once.
func TestChunksGoByTheSizeOfTheMembers(t *testing.T) {
	for _, tt := range []struct{ members, size, heaviest, calls int }{
		{3000, 100, 512 << 10, 100},
		{200, 200_000, 900_000, 500},
		{40, 1_000_000, 2_000_000, 150},
	} {
		t.Run(fmt.Sprintf("%d of %d bytes", tt.members, tt.size), func(t *testing.T) {
			m := &model{set: map[string]float64{}, act: func() {}}
			for i := range tt.members {
				member := fmt.Sprintf("%d%s", i, strings.Repeat("x", tt.size))[:tt.size]
				m.set[member] = float64(i)
				m.list = append(m.list, member)
			}
			client, weighed := goredis.NewClient(&goredis.Options{Addr: "model"}), &scale{}
			defer client.Close()
			client.AddHook(weighed)
			client.AddHook(m)
			reader, err := forensics.NewReader(t.Context(), redis.On(client), "orders")
			require.NoError(t, err)
			timed := forensics.NewIndex(0)
			require.NoError(t, reader.TimeoutSet(t.Context(), func(chunk []redis.Z) error {
				for _, z := range chunk {
					timed.Add(z.Member)
				}
				return nil
			}))
			listed := 0
			difference, err := forensics.Compare(t.Context(), reader, timed, func(int, string) { listed++ })
			require.NoError(t, err)
			require.Equal(t, forensics.Difference{}, difference)
			require.Equal(t, tt.members, listed)
			require.LessOrEqual(t, weighed.heaviest, tt.heaviest)
			require.Less(t, weighed.calls, tt.calls)
		})
	}
}
