package dq_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// An offer that too few replicas have is uncertain, and is queued.
func TestDurableOfferWaitsForReplicas(t *testing.T) {
	t.Parallel()
	master, replica := redistest.Process(t, "--repl-diskless-sync-delay", "0"), redistest.Process(t)
	ctx := deadline(t)
	b := setupOn(t, master, "orders", dq.WithDurability(1, 0, 200*time.Millisecond))
	q := queueOf(t, b, codec.String{})
	ticket, err := q.Offer(ctx, "alone", time.Hour)
	require.ErrorIs(t, err, dq.ErrUncertain)
	require.ErrorContains(t, err, "WAIT: expected 1 replicas to have it within 200ms, got 0")
	require.NoError(t, q.Cancel(ctx, ticket), "it is queued")

	host, port, err := net.SplitHostPort(master.Addr)
	require.NoError(t, err)
	require.NoError(t, connect(t, replica.URL()).ReplicaOf(ctx, host, port).Err())
	require.Eventually(t, func() bool {
		_, err := q.Offer(ctx, "v", time.Hour)
		return err == nil
	}, testDeadline, 10*time.Millisecond)
	patient := queueOf(t, setupOn(t, master, "orders", dq.WithDurability(1, 0, testDeadline)), codec.String{})
	n, err := patient.OfferAll(ctx, time.Hour, "a", "b")
	require.NoError(t, err)
	require.Equal(t, 2, n)
}

// Redis 7.0 has no WAITAOF, and 7.2 refuses it without an append-only file: nothing is offered.
func TestDurableOfferIsRefusedWithoutAFile(t *testing.T) {
	t.Parallel()
	b := setup(t, dq.WithDurability(0, 1, time.Second))
	ctx := deadline(t)
	q := queueOf(t, b, codec.String{})
	_, err := q.Offer(ctx, "v", time.Hour)
	require.Regexp(t, "nothing was offered: ERR .*WAITAOF", err)
	require.NotErrorIs(t, err, dq.ErrUncertain)
	require.Zero(t, b.redis.Exists(ctx, b.names.TimeoutSet).Val())

	_, err = dq.NewClient(b.redis, dq.WithDurability(0, 0, time.Second))
	require.ErrorContains(t, err, "WithDurability: expected")
}
