package migrate_test

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics/migrate"
)

// While a client of the new side offers and transfers, nothing is lost or doubled, and
// those that wait keep their order.
func TestMigrationUnderLoad(t *testing.T) {
	b := setup(t, 9)
	const soon, later, offered = 500, 20_000, 500
	now, err := b.client.Time(b.ctx).Result()
	require.NoError(t, err)
	b.fill(later/2, dLc0)
	for i := range soon {
		member := b.member(dLc0, wire.LengthSize, fmt.Appendf(nil, "soon %d", i))
		b.timed(member, strconv.FormatInt(now.UnixMilli()+int64(b.random.IntN(1500)), 10))
		b.listed(member)
	}
	b.fill(later/2, dLc0)
	var waiting []string
	for _, entry := range b.state().List {
		if m, err := dLc0.Unpack([]byte(entry)); err == nil && string(m.Value[:5]) == "order" {
			waiting = append(waiting, in(entry, bc0Lc0))
		}
	}

	client, err := dq.NewClient(b.client, dq.WithRelease("4.7.0"))
	require.NoError(t, err)
	defer client.Close()
	orders, err := dq.NewQueue(client, "orders", codec.String{})
	require.NoError(t, err)
	defer orders.Close()
	var others sync.WaitGroup
	var offerErr error
	others.Go(func() {
		for i := range offered {
			delay := time.Duration(i%300) * time.Millisecond
			_, err := orders.Offer(b.ctx, fmt.Sprintf("offered %d", i), delay)
			offerErr = errors.Join(offerErr, err)
		}
	})
	done := b.run(migrate.Options{To: bc0Lc0, Force: true})
	others.Wait()
	require.NoError(t, offerErr)
	require.Empty(t, done.After.Left())

	came := map[string]int{}
	for range soon + offered {
		value, err := orders.Take(b.ctx)
		require.NoError(t, err)
		came[value]++
	}
	require.Len(t, came, soon+offered, "each once")
	require.Equal(t, waiting, b.state().List)
	require.Len(t, b.state().Set, later)
}
