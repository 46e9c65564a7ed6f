package migrate_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics/migrate"
)

// pass makes a call of a pass of a dq client.
func (b *bundle) pass(horizon string, count int) scripts.Stage {
	b.t.Helper()
	u := scripts.UnlistingOf("orders")
	reply, err := b.client.Eval(b.ctx, scripts.Unlist().Body, []string{
		b.names.TimeoutSet, b.names.Pending, u.State, u.Pass, u.Next, u.Leaving, u.Unlisted[0], u.Unlisted[1],
	}, "pass", horizon, count, 60_000, 60_000).Result()
	require.NoError(b.t, err)
	stage, _, err := scripts.ReadUnlisted(reply)
	require.NoError(b.t, err)
	return stage
}

// Members that a dq client has taken out of the list stay out of it, in the new layout, and
// are known as such.
func TestUnlistedMembersStayUnlisted(t *testing.T) {
	for _, repair := range []bool{false, true} {
		b := setup(t, 1)
		soon, later := b.member(dLc0, wire.LengthSize, []byte("soon")), b.member(dLc0, wire.LengthSize, []byte("later"))
		b.timed(soon, "1000")
		b.timed(later, "4000")
		b.listed(soon, later)
		require.Equal(t, scripts.UnlistDone, b.pass("2000", 100))
		done := b.run(migrate.Options{To: bc0Lc0, Repair: repair})
		require.Equal(t, 2, done.Done.Rewritten, repair)
		require.Zero(t, done.Done.Relisted)
		require.Zero(t, done.Before.Orphans)
		require.Equal(t, map[string]string{in(soon, bc0Lc0): "1000", in(later, bc0Lc0): "4000"}, b.state().Set)
		require.Equal(t, []string{in(later, bc0Lc0)}, b.state().List)
		unlisted := b.client.SMembers(b.ctx, scripts.UnlistingOf("orders").Unlisted[0]).Val()
		require.Equal(t, []string{in(soon, bc0Lc0)}, unlisted)
	}
}

// A pass that is under way does not put back what was rewritten meanwhile: it is ended.
func TestAMigrationEndsAPass(t *testing.T) {
	b := setup(t, 1)
	b.fill(40, dLc0)
	before := b.state()
	require.Equal(t, scripts.UnlistMore, b.pass(fmt.Sprint(int64(4e12)), 30))
	b.run(migrate.Options{To: bc0Lc0})
	require.Equal(t, scripts.UnlistGone, b.pass("", 30))
	require.Equal(t, before.in(bc0Lc0), b.state())
}
