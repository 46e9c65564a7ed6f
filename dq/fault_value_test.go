package dq_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// javaValues are values as some Java service wrote them, in bytes that encoding what
// they decode to does not give back.
var javaValues = map[string]struct {
	codec codec.Name
	data  string
}{
	"typed JSON":             {codec.NameTypedJSON, `{ "to" : "bob", "lines" : [ 1 , 2 ], "from" : "ann" }`},
	"JSON":                   {codec.NameJSON, `{"@class":"java.util.LinkedHashMap","to":"bob","from":"ann"}`},
	"JSON, NaN":              {codec.NameJSON, `{"@class":"java.util.LinkedHashMap","z":["java.lang.Double","NaN"],"a":1}`},
	"serialization":          {codec.NameSerialization, linkedHashMap},
	"serialization, NaN":     {codec.NameSerialization, unquoted(mapWithNaN)},
	"serialization, NaN too": {codec.NameSerialization, unquoted(listWithNaN)},
}

// mapWithNaN is {z: NaN, a: 1} as a JDK serializes a LinkedHashMap, listWithNaN [sh, sh,
// NaN] with one instance of the text, an ArrayList; both in Base64.
const (
	mapWithNaN = "rO0ABXNyABdqYXZhLnV0aWwuTGlua2VkSGFzaE1hcDTATlwQbMD7AgABWgALYWNjZXNzT3JkZXJ4cgARamF2YS51dGlsLkhhc2hNYXAFB9rB" +
		"wxZg0QMAAkYACmxvYWRGYWN0b3JJAAl0aHJlc2hvbGR4cD9AAAAAAAAMdwgAAAAQAAAAAnQAAXpzcgAQamF2YS5sYW5nLkRvdWJsZYCzwkopa/sEAgABRAAF" +
		"dmFsdWV4cgAQamF2YS5sYW5nLk51bWJlcoaslR0LlOCLAgAAeHB/+AAAAAAAAHQAAWFzcgARamF2YS5sYW5nLkludGVnZXIS4qCk94GHOAIAAUkABXZhbHVl" +
		"eHEAfgAFAAAAAXgA"
	listWithNaN = "rO0ABXNyABNqYXZhLnV0aWwuQXJyYXlMaXN0eIHSHZnHYZ0DAAFJAARzaXpleHAAAAADdwQAAAADdAACc2hxAH4AAnNyABBqYXZhLmxhbmcuRG91Ymxl" +
		"gLPCSilr+wQCAAFEAAV2YWx1ZXhyABBqYXZhLmxhbmcuTnVtYmVyhqyVHQuU4IsCAAB4cH/4AAAAAAAAeA=="
)

func unquoted(base64Text string) string {
	data, err := base64.StdEncoding.DecodeString(base64Text)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// linkedHashMap is {to: bob, from: ann} as Java serializes a LinkedHashMap.
const linkedHashMap = "\xac\xed\x00\x05sr\x00\x17java.util.LinkedHashMap4\xc0N\\\x10l\xc0\xfb\x02\x00\x01Z\x00\x0baccessOrder" +
	"xr\x00\x11java.util.HashMap\x05\x07\xda\xc1\xc3\x16`\xd1\x03\x00\x02F\x00\nloadFactorI\x00\tthresholdxp?@\x00\x00\x00\x00\x00\x0c" +
	"w\x08\x00\x00\x00\x10\x00\x00\x00\x02t\x00\x02tot\x00\x03bobt\x00\x04fromt\x00\x03annx\x00"

// A value that has just been read is found and removed again, by the bytes it has.
func TestFaultValuesThatWereReadAreFoundByTheirBytes(t *testing.T) {
	t.Parallel()
	for name, java := range javaValues {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			ctx := deadline(t)
			values, err := codec.ByName(java.codec)
			require.NoError(t, err)
			queue := dq.NewBlockingQueue(b.client, "orders", values)
			delayed := dq.NewDelayedQueue(queue)
			require.NoError(t, delayed.Ready(ctx))
			other, err := values.Encode("another")
			require.NoError(t, err)

			require.NoError(t, b.redis.RPush(ctx, "orders", other, java.data).Err())
			read, err := queue.ReadAll(ctx)
			require.NoError(t, err)
			encoded, err := values.Encode(read[1])
			require.NoError(t, err)
			_, isMap := read[1].(codec.Collection) // which keeps its class and order
			require.Equal(t, isMap && java.codec != codec.NameTypedJSON, java.data == string(encoded))
			checkFoundAndRemoved(t, ctx, queue, read[1])
			require.Equal(t, []string{string(other)}, b.redis.LRange(ctx, "orders", 0, -1).Val())

			b.wait(t, java.data)
			read, err = delayed.ReadAll(ctx)
			require.NoError(t, err)
			checkFoundAndRemoved(t, ctx, delayed, read[0])
			require.Zero(t, b.redis.Exists(ctx, b.names.Pending, b.names.TimeoutSet).Val())

			b.wait(t, java.data)
			b.wait(t, string(other))
			removed, err := delayed.Retain(ctx, read[0])
			require.NoError(t, err)
			require.True(t, removed)
			left := b.redis.LRange(ctx, b.names.Pending, 0, -1).Val()
			require.Len(t, left, 1)
			require.Equal(t, java.data, left[0][17:])
			removed, err = delayed.RemoveAll(ctx, "nothing", read[0])
			require.NoError(t, err)
			require.True(t, removed)
			require.Zero(t, b.redis.Exists(ctx, b.names.Pending, b.names.TimeoutSet).Val())
		})
	}
}

// finder is what both kinds of queue have.
type finder interface {
	Contains(ctx context.Context, value any) (bool, error)
	ContainsAll(ctx context.Context, values ...any) (bool, error)
	Remove(ctx context.Context, value any) (bool, error)
}

func checkFoundAndRemoved(t *testing.T, ctx context.Context, queue finder, v any) {
	t.Helper()
	for _, call := range []func() (bool, error){
		func() (bool, error) { return queue.Contains(ctx, v) },
		func() (bool, error) { return queue.ContainsAll(ctx, v) },
		func() (bool, error) { return queue.Remove(ctx, v) },
	} {
		ok, err := call()
		require.NoError(t, err)
		require.True(t, ok)
	}
	ok, err := queue.Remove(ctx, v)
	require.NoError(t, err)
	require.False(t, ok, "it is gone")
	_, err = queue.Contains(ctx, make(chan int))
	require.Error(t, err, "what cannot be encoded is an error, not a no")
}

// wait puts an encoded value into the delayed queue, due in an hour.
func (b *bundle) wait(t *testing.T, data string) {
	t.Helper()
	id := [8]byte(binary.BigEndian.AppendUint64(nil, uint64(time.Now().UnixNano())))
	member := wire.LayoutBc0Lc0.Pack(id, []byte(data))
	due := float64(time.Now().Add(time.Hour).UnixMilli())
	require.NoError(t, b.redis.ZAdd(t.Context(), b.names.TimeoutSet, redis.Z{Score: due, Member: member}).Err())
	require.NoError(t, b.redis.RPush(t.Context(), b.names.Pending, member).Err())
}

// Redisson compares bytes alone, and so does a Client that does as Redisson.
func TestStrictWireComparesBytesAlone(t *testing.T) {
	t.Parallel()
	b := setup(t, dq.WithStrictWire())
	ctx := deadline(t)
	queue := dq.NewBlockingQueue(b.client, "orders", codec.JSON[map[string]int]{})
	require.NoError(t, b.redis.RPush(ctx, "orders", `{ "a": 1 }`).Err())
	v, err := queue.Peek(ctx)
	require.NoError(t, err)
	ok, err := queue.Contains(ctx, v)
	require.NoError(t, err)
	require.False(t, ok)
}

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
		func() error { return queue.OfferFirst(ctx, nil) },
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
