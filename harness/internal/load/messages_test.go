package load

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/driver"
)

// A run that keeps account knows of each message when it was offered, answered and came, and
// what runs beside it sees its whole course.
func TestRunKeepsAccountOfEachMessage(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("refused")
		d := faulty{memory(), func(q *faultyQueue, ctx context.Context, n int64, value []byte, delay time.Duration) error {
			switch n {
			case 10:
				return driver.Refused(refused)
			case 20: // it is in, and nobody knows
				return errors.Join(refused, q.Queue.Offer(ctx, value, delay))
			case 30:
				return nil // it is not
			case 40:
				return errors.Join(q.Queue.Offer(ctx, value, delay), q.Queue.Offer(ctx, value, delay))
			}
			return q.Queue.Offer(ctx, value, delay)
		}}
		p := testPlan()
		p.DrainTimeout = time.Second
		var start, end time.Time
		result, err := Run(t.Context(), Options{
			Plan: p, Driver: d, RunID: 7, Clock: clock.Runtime(), Account: true,
			Meanwhile: func(ctx context.Context, at time.Time) {
				start = at
				<-time.After(5 * time.Second)
				end = time.Now()
				require.NoError(t, ctx.Err())
			},
		})
		require.NoError(t, err)
		require.Equal(t, result.Report.Started.UnixNano(), start.UnixNano())
		require.Less(t, end, time.Now(), "it is waited for")
		require.Len(t, result.Messages, 1000)
		var failed, came, lost, again int64
		for _, m := range result.Messages {
			require.GreaterOrEqual(t, m.Sent, start.UnixNano())
			require.GreaterOrEqual(t, m.Answered, m.Sent)
			require.Equal(t, m.Sent+int64(time.Second), m.Due)
			require.False(t, m.Pending)
			again += m.Again
			switch {
			case m.Refused:
				require.True(t, m.Failed)
				require.Zero(t, m.Came)
				failed++
			case m.Failed:
				require.NotZero(t, m.Came)
				require.False(t, m.Acknowledged())
				failed++
			case m.Came == 0:
				lost++
			}
			if m.Came != 0 {
				require.GreaterOrEqual(t, m.Came, m.Due)
				came++
			}
		}
		require.Equal(t, []int64{2, 998, 1, 1}, []int64{failed, came, lost, again})
	})
}
