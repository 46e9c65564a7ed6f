package migrate_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics"
	"github.com/dq-bench/dq-bench/harness/internal/forensics/migrate"
	"github.com/dq-bench/dq-bench/internal/redis"
)

func text(t *testing.T, m *migrate.Migration) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, m.WriteText(&b))
	return b.String()
}

// What the plan says is what the result says, whatever the queue holds.
func TestPlanAndResultAgree(t *testing.T) {
	b := setup(t, 13)
	for _, repair := range []bool{false, true} {
		require.NoError(t, b.client.FlushAll(b.ctx).Err())
		b.mixed(400)
		plan := text(t, b.run(migrate.Options{To: bc0Lc0, Repair: repair, DryRun: true}))
		migration := b.run(migrate.Options{To: bc0Lc0, Repair: repair})
		done := migration.Done
		require.Contains(t, plan, fmt.Sprintf("rewrite %d members and %d entries\n", done.Members, done.Entries))
		require.Contains(t, text(t, migration), fmt.Sprintf("rewritten    %d members and %d entries in", done.Members, done.Entries))
		if repair {
			require.Contains(t, plan, fmt.Sprintf("move %d ghosts", done.GhostsRemoved))
			require.Contains(t, plan, fmt.Sprintf("put %d orphans", done.Relisted))
			require.Contains(t, plan, fmt.Sprintf("move %d unreadable", done.Quarantined))
		}
	}
}

// Names of any bytes are told apart in the document, and commands can be pasted into a shell.
func TestNamesOfAnyBytes(t *testing.T) {
	b := setup(t, 15)
	for name, want := range map[string][2]string{
		"my  orders": {`"my  orders"`, "dq-bench guard 'my  orders' delivers"}, "\xff\n": {`"\\xff\n"`, `dq-bench guard $'\377\012' delivers`},
	} {
		member := b.member(dLc0, wire.LengthSize, []byte("held"))
		require.NoError(t, b.client.ZAdd(b.ctx, forensics.HeldKey(name), goredis.Z{Score: 4e12, Member: member}).Err())
		done, err := migrate.Run(b.ctx, redis.On(b.client), name, migrate.Options{To: bc0Lc0})
		require.NoError(t, err)
		require.Contains(t, text(t, done), want[1])
		document, err := json.Marshal(done)
		require.NoError(t, err)
		require.Contains(t, string(document), `"queue":`+want[0])
		require.NotContains(t, string(document), `\ufffd`)
		require.Equal(t, name == "\xff\n", strings.Contains(string(document), `"queue_base64":"/wo="`))
	}
}

// What a guard holds waits too.
func TestWhatABridgeHoldsIsTold(t *testing.T) {
	b := setup(t, 14)
	require.Contains(t, text(t, b.run(migrate.Options{To: bc0Lc0})), "nothing waits")
	member := b.member(dLc0, wire.LengthSize, []byte("held"))
	require.NoError(t, b.client.ZAdd(b.ctx, forensics.HeldKey("orders"), goredis.Z{Score: 4e12, Member: member}).Err())
	done := b.run(migrate.Options{To: bc0Lc0})
	require.Equal(t, migrate.Held{Key: "redisson_delay_queue_guard:{orders}", Count: 1}, done.Held)
	require.NotContains(t, text(t, done), "nothing waits")
	require.Contains(t, text(t, done), "1 more in redisson_delay_queue_guard:{orders}, taken out by dq-bench guard: dq-bench guard orders delivers")
}

// A key of a wrong type is named, with the command that failed.
func TestAKeyOfAWrongTypeIsNamed(t *testing.T) {
	b := setup(t, 16)
	b.mixed(10)
	for _, key := range []string{scripts.Quarantine("orders"), migrate.GhostsKey("orders")} {
		require.NoError(t, b.client.Set(b.ctx, key, "no list", 0).Err())
		_, err := migrate.Run(b.ctx, redis.On(b.client), "orders", migrate.Options{To: bc0Lc0, Repair: true})
		require.True(t, goredis.HasErrorPrefix(err, "WRONGTYPE"), "%v", err)
		require.ErrorContains(t, err, " "+key)
		require.NoError(t, b.client.Del(b.ctx, key).Err())
	}
}
