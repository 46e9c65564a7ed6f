package dq_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
)

type base struct {
	_  struct{} `java:"demo.Base,serialVersionUID=1"`
	ID int32    `json:"id"`
}

// flatChild has the fields of demo.Child and of demo.Base, its super class, as its own.
type flatChild struct {
	_    struct{} `java:"demo.Child,serialVersionUID=2"`
	ID   int32    `json:"id"`
	Name string   `json:"name"`
}

type child struct {
	_ struct{} `java:"demo.Child,serialVersionUID=2"`
	base
	Name string `json:"name"`
}

// Java would read 0 for the id of a flat one.
func TestFaultAFlatStructOfASubclassIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := deadline(t)
	right, err := codec.NewSerialization[child]()
	require.NoError(t, err)
	flat, err := codec.NewSerialization[flatChild]()
	require.NoError(t, err)
	java := dq.NewBlockingQueue(b.client, "orders", right)
	require.NoError(t, java.Offer(ctx, child{base: base{ID: 7}, Name: "bob"}))

	queue := dq.NewBlockingQueue(b.client, "orders", flat)
	v, err := queue.Take(ctx)
	require.NoError(t, err)
	require.Equal(t, "{7 bob}", fmt.Sprint(struct {
		ID   int32
		Name string
	}{v.ID, v.Name}))
	err = queue.Offer(ctx, v)
	require.ErrorContains(t, err, "demo.Base")
	require.NotErrorIs(t, err, dq.ErrUncertain)
	require.Zero(t, b.redis.Exists(ctx, "orders").Val())
}

// TestFaultNilIsNoValue: a poll of Redisson returns null where there is no value.
func TestFaultNilIsNoValue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := deadline(t)
	values, err := codec.ByName(codec.NameKryo5)
	require.NoError(t, err)
	queue := dq.NewBlockingQueue(b.client, "orders", values)
	delayed := dq.NewDelayedQueue(queue)
	lists := dq.NewBlockingQueue(b.client, "orders", codec.JSON[[]string]{})
	for _, offer := range []func() error{
		func() error { return queue.Offer(ctx, nil) },
		func() error { return delayed.Offer(ctx, nil, time.Second) },
		func() error { return delayed.Offer(ctx, (*int32)(nil), time.Second) },
		func() error { _, err := delayed.OfferAll(ctx, time.Second, nil, "a"); return err },
		func() error { return lists.Offer(ctx, nil) },
	} {
		err := offer()
		require.ErrorIs(t, err, dq.ErrNilValue)
		require.NotErrorIs(t, err, dq.ErrUncertain)
	}
	require.Empty(t, b.redis.Keys(ctx, "*orders*").Val())
}
