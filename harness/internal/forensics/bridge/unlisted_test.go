package bridge_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/harness/internal/forensics/bridge"
)

// What a dq client has taken out of the list is delivered by a bridge too, and no longer
// known as unlisted then.
func TestUnlistedMembersAreDelivered(t *testing.T) {
	b := setup(t)
	now := time.Now()
	key := scripts.UnlistingOf("orders").Unlisted[1]
	member := b.offer(dLc0, now, "unlisted")
	require.NoError(t, b.client.LRem(b.ctx, b.names.Pending, 1, member).Err())
	require.NoError(t, b.client.SAdd(b.ctx, key, member, "stale").Err())
	b.offer(dLc0, now.Add(time.Millisecond), "listed")
	b.start(bridge.Options{Queues: []string{"orders"}})
	b.eventually(func() bool { return slices.Equal(b.delivered(), []string{"unlisted", "listed"}) }, "both are delivered, in order")
	require.Equal(t, []string{"stale"}, b.client.SMembers(b.ctx, key).Val())
	require.Zero(t, b.client.Exists(b.ctx, b.names.Pending, b.names.TimeoutSet).Val())
}
