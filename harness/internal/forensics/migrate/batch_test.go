package migrate_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics/migrate"
)

// farAway is a hook that makes the way to the server longer.
type farAway time.Duration

func (f farAway) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f farAway) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (f farAway) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		time.Sleep(time.Duration(f))
		return next(ctx, cmd)
	}
}

// The way to a server far away makes no batch smaller.
func TestServerFarAway(t *testing.T) {
	b := setup(t, 11)
	b.fill(2000, dLc0)
	b.client.AddHook(farAway(10 * time.Millisecond))
	done := b.run(migrate.Options{To: bc0Lc0})
	require.Equal(t, 2000, done.Done.Rewritten)
	require.Less(t, done.Done.Batches, 200)
}

// Of large members a call takes few, from the first one on, and of one that is larger than
// what a call may take it alone.
func TestLargeMembersAreTakenFewAtATime(t *testing.T) {
	for _, tt := range []struct{ size, batches int }{{20_000, 10}, {40_000, 30}, {100_000, 30}} {
		b := setup(t, 12)
		const members = 30
		for range members {
			member := b.member(dLc0, wire.LengthSize, bytes.Repeat([]byte("x"), tt.size))
			b.timed(member, "4000000000000")
			b.listed(member)
		}
		before := b.state()
		done := b.run(migrate.Options{To: bc0Lc0})
		require.Equal(t, before.in(bc0Lc0), b.state())
		require.GreaterOrEqual(t, done.Done.Batches, tt.batches, "members of %d bytes", tt.size)
	}
}
