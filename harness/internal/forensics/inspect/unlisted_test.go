package inspect_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/harness/internal/forensics/inspect"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// What a dq client has taken out of the list, for it is due soon, is no orphan.
func TestUnlistedMembersAreNoOrphans(t *testing.T) {
	b := setup(t)
	unlisted := scripts.UnlistingOf("orders").Unlisted
	for i, key := range []string{unlisted[0], unlisted[0], unlisted[1]} {
		member := b.pack(bc0Lc0, "soon")
		b.timed(member, float64(1000+i))
		require.NoError(t, b.client.SAdd(b.ctx, key, member).Err())
	}
	b.offer(b.pack(bc0Lc0, "later"), 60_000)
	b.timed(b.pack(bc0Lc0, "orphan"), 60_000)
	q := b.look(inspect.Options{})
	require.Equal(t, int64(3), q.Counts.Unlisted)
	require.Equal(t, 1, q.Counts.Orphans)
	all, err := inspect.Look(b.ctx, redis.On(b.client), inspect.Server{}, nil, inspect.Options{Samples: 1})
	require.NoError(t, err)
	require.Len(t, all.Queues, 1, "the keys are those of no other queue")
	var text strings.Builder
	require.NoError(t, all.WriteText(&text))
	require.Contains(t, text.String(), "3 members by a dq client")
}
