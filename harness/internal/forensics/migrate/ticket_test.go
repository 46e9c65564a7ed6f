package migrate_test

import (
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics/migrate"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// A ticket cancels its own message, and no other message of equal value, whether a client of the other
// side of 3.21.1 offered or cancels the message, and whether the message was migrated in between.
func TestCancelByTicketAfterMigration(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"3.16.6", "4.7.0"} {
		for _, to := range []string{"", "3.16.6", "4.7.0"} {
			t.Run(by+" migrated to "+to, func(t *testing.T) {
				t.Parallel()
				options, err := goredis.ParseURL(redistest.Redis(t).URL())
				require.NoError(t, err)
				rdb := goredis.NewClient(options)
				t.Cleanup(func() { _ = rdb.Close() })
				delayed := func(o ...dq.Option) (*dq.Client, *dq.Queue[string]) {
					client, err := dq.NewClient(rdb, o...)
					require.NoError(t, err)
					t.Cleanup(func() { _ = client.Close() })
					q, err := dq.NewQueue(client, "orders", codec.String{})
					require.NoError(t, err)
					return client, q
				}
				client, d := delayed(dq.WithRelease(by))
				var tickets []dq.Ticket
				before := time.Now().Truncate(time.Millisecond)
				for range 3 {
					ticket, err := d.Offer(t.Context(), "equal", time.Hour)
					require.NoError(t, err)
					require.WithinRange(t, ticket.Due(), before.Add(time.Hour), time.Now().Add(time.Hour))
					tickets = append(tickets, ticket)
				}
				require.NoError(t, client.Close())
				if to != "" {
					r, err := wire.LookupRelease(to)
					require.NoError(t, err)
					_, err = migrate.Run(t.Context(), redis.On(rdb), "orders", migrate.Options{To: r.Layout()})
					require.NoError(t, err)
				}
				names := wire.NamesOf("orders")
				waiting := rdb.LRange(t.Context(), names.Pending, 0, -1).Val()
				require.Len(t, waiting, 3)

				_, canceller := delayed()
				require.NoError(t, canceller.Cancel(t.Context(), tickets[1]))
				require.ErrorIs(t, canceller.Cancel(t.Context(), tickets[1]), dq.ErrNotWaiting)
				left := []string{waiting[0], waiting[2]}
				require.Equal(t, left, rdb.LRange(t.Context(), names.Pending, 0, -1).Val())
				require.ElementsMatch(t, left, rdb.ZRange(t.Context(), names.TimeoutSet, 0, -1).Val())
			})
		}
	}
}
