package dq_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
)

// An offer allocates its encoded value, its command and what waits for the reply, and no more.
func TestOfferAllocatesLittle(t *testing.T) {
	b := setup(t)
	d := b.delayed(t)
	value := strings.Repeat("x", 100)
	allocated := testing.AllocsPerRun(2000, func() {
		if err := d.Offer(context.Background(), value, time.Hour); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%.1f an offer", allocated)
	require.LessOrEqual(t, allocated, 14.0)
}

// Of a batch each message costs its value and the interface that holds it.
func TestConsumeAllocatesLittle(t *testing.T) {
	const values = 20_000
	b := setup(t)
	for range 3 {
		b.queued(t, numbers(100_000, 100_000+values)...)
	}
	text := perMessage(t, b.queue, values)
	for range 3 {
		b.queued(t, numbers(100_000, 100_000+values)...)
	}
	number := perMessage(t, dq.NewBlockingQueue(b.client, "orders", codec.Long{}), values)
	t.Logf("%.2f a text, %.2f a number", text, number)
	require.Less(t, text, 2.5)
	require.Less(t, number, 4.5, "and the bytes and the text that a number is read from")
}

// perMessage returns how often Consume allocates for each of so many values.
func perMessage[T any](t *testing.T, queue *dq.BlockingQueue[T], values int) float64 {
	t.Helper()
	run := func() {
		ctx, cancel := context.WithTimeout(context.Background(), testDeadline)
		defer cancel()
		handled := 0
		err := queue.Consume(ctx, func(context.Context, T) error {
			if handled++; handled == values {
				cancel()
			}
			return nil
		}, dq.ConsumeOptions{})
		require.ErrorIs(t, err, context.Canceled)
	}
	return testing.AllocsPerRun(1, run) / float64(values)
}
