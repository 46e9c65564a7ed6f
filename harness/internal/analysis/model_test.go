package analysis_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/analysis"
)

// atRandom is a client that does, in random order, what clients do to the queue
// "orders", with the scripts of a release.
type atRandom struct {
	*rand.Rand
	rdb     redis.UniversalClient
	release wire.Release
	values  int
}

func (c *atRandom) eval(ctx context.Context, name wire.ScriptName, keys []string, args ...any) error {
	script, _ := c.release.Script(name)
	return c.rdb.Eval(ctx, script.Body, keys, args...).Err()
}

func (c *atRandom) step(ctx context.Context) (err error) {
	now := time.Now().UnixMilli()
	value := "v" + strconv.Itoa(c.values)
	both := []string{orders.Pending, orders.TimeoutSet}
	switch c.IntN(16) {
	case 0, 1, 2, 3, 4:
		c.values++
		random := strconv.Itoa(1 + c.values)
		if c.release.Layout() == wire.LayoutBc0Lc0 {
			random = string(binaryID(c.values))
		}
		keys := []string{orders.Destination, orders.TimeoutSet, orders.Pending, orders.Channel}
		err = c.eval(ctx, wire.ScriptOffer, keys, now+c.Int64N(40), random, value)
	case 5, 6, 7, 8:
		err = c.eval(ctx, wire.ScriptTransfer, []string{orders.Destination, orders.TimeoutSet, orders.Pending}, now, 1+c.IntN(100))
	case 9, 10:
		err = c.rdb.LPop(ctx, orders.Destination).Err()
	case 11:
		err = c.rdb.Do(ctx, "BLPOP", orders.Destination, "nowhere", "0.001").Err()
	case 12:
		err = c.eval(ctx, wire.ScriptPoll, both)
	case 13:
		err = c.eval(ctx, wire.ScriptRemove, both, "v"+strconv.Itoa(c.IntN(c.values+1)))
	case 14:
		err = c.eval(ctx, wire.ScriptPollLimit, both, 2)
	case 15:
		err = c.eval(ctx, wire.ScriptPollLastAndOfferFirstTo, append(both, "elsewhere"))
	}
	if err == redis.Nil { //nolint:errorlint // never wrapped
		return nil
	}
	return err
}

func binaryID(n int) []byte { return []byte{1, 2, 3, 4, 5, byte(n >> 16), byte(n >> 8), byte(n)} }

// What waits, and what waits to be taken, by the log is what Redis holds.
func TestModelAgreesWithRedis(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"3.16.6", "4.7.0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, _, rdb, conn := watched(t)
			client := &atRandom{Rand: rand.New(rand.NewPCG(5, 6)), rdb: rdb, release: release(t, name)}
			for range 400 {
				require.NoError(t, client.step(ctx))
			}
			d := until(ctx, t, conn, rdb)
			require.Len(t, d.Queues, 1)
			q := d.Queues[0]
			require.Equal(t, rdb.ZCard(ctx, orders.TimeoutSet).Val(), q.StillPending)
			require.Equal(t, rdb.LLen(ctx, orders.Destination).Val(), q.Transferred-q.Taken)
			require.EqualValues(t, client.values, q.Offers)
			require.Equal(t, q.Offers, q.Transferred+q.Removed+q.StillPending)
			require.NotZero(t, q.Taken)
			require.NotZero(t, q.Removed)
			require.Zero(t, d.AnomalyCounts[analysis.Ghost]+d.AnomalyCounts[analysis.Orphan])
		})
	}
}
