package dq_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
)

// twins are, by codec, a map as Redisson 3.21.1 wrote it from a LinkedHashMap and one
// from a HashMap: other bytes, which are read as equal values.
var twins = map[codec.Name][2]string{
	codec.NameJSON: {
		`{"@class":"java.util.LinkedHashMap","b":["java.lang.Long",1],"a":"t"}`,
		`{"@class":"java.util.HashMap","a":"t","b":["java.lang.Long",1]}`,
	},
	codec.NameTypedJSON: {`{"b":1,"a":"t"}`, `{"a":"t","b":1}`},
	codec.NameKryo5: {
		unhex("01006a6176612e7574696c2e4c696e6b6564486173684d61f0030382620902038261038274"),
		unhex("01006a6176612e7574696c2e486173684d61f0030382610382740382620902"),
	},
	codec.NameMarshalling: {
		unhex("0404093e176a6176612e7574696c2e4c696e6b6564486173684d617034c04e5c106cc0fb000000013e0b6163636573734f726465722000383e116a6176612e7574696c2e486173684d61700507dac1c31660d1000000023e0a6c6f6164466163746f7226003e097468726573686f6c642300163f4000000000000c320800000010000000023e01624c00000000000000013e01613e01743500"),
		"",
	},
	codec.NameSerialization: {
		unhex("aced0005737200176a6176612e7574696c2e4c696e6b6564486173684d617034c04e5c106cc0fb0200015a000b6163636573734f72646572787200116a6176612e7574696c2e486173684d61700507dac1c31660d103000246000a6c6f6164466163746f724900097468726573686f6c6478703f4000000000000c77080000001000000002740001627372000e6a6176612e6c616e672e4c6f6e673b8be490cc8f23df0200014a000576616c7565787200106a6176612e6c616e672e4e756d62657286ac951d0b94e08b0200007870000000000000000174000161740001747800"),
		"",
	},
}

func unhex(text string) string {
	data, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}

type rawFinder interface {
	Contains(ctx context.Context, value codec.Raw[any]) (bool, error)
	ContainsAll(ctx context.Context, values ...codec.Raw[any]) (bool, error)
	Remove(ctx context.Context, value codec.Raw[any]) (bool, error)
	Peek(ctx context.Context) (codec.Raw[any], error)
	ReadAll(ctx context.Context) ([]codec.Raw[any], error)
}

// eachTwin runs check with a codec that keeps bytes, and the twins of it.
func eachTwin(t *testing.T, check func(t *testing.T, values codec.Codec[codec.Raw[any]], linked, plain string)) {
	for name, pair := range twins {
		t.Run(string(name), func(t *testing.T) {
			t.Parallel()
			values, err := codec.ByName(name)
			require.NoError(t, err)
			linked, plain := pair[0], pair[1]
			value, err := values.Decode([]byte(linked))
			require.NoError(t, err)
			if plain == "" { // as it is written here, which the vectors of the codec show to be Java's HashMap
				data, err := values.Encode(codec.Plain(value))
				require.NoError(t, err)
				plain = string(data)
			}
			other, err := values.Decode([]byte(plain))
			require.NoError(t, err)
			require.Equal(t, codec.Plain(value), codec.Plain(other), "else the test shows nothing")
			require.NotEqual(t, linked, plain)
			check(t, codec.Keep(values), linked, plain)
		})
	}
}

// What Peek, ReadAll, All, Poll and Take have read is that very value, and no other one
// that looks like it.
func TestARawValueIsTheOneThatWasRead(t *testing.T) {
	t.Parallel()
	eachTwin(t, func(t *testing.T, values codec.Codec[codec.Raw[any]], linked, plain string) {
		b := setup(t)
		ctx := deadline(t)
		queue := dq.NewBlockingQueue(b.client, "orders", values)
		delayed := dq.NewDelayedQueue(queue)
		require.NoError(t, delayed.Ready(ctx))
		left := func() []string { return b.redis.LRange(ctx, "orders", 0, -1).Val() }
		waiting := func() (all []string) {
			for _, member := range b.redis.LRange(ctx, b.names.Pending, 0, -1).Val() {
				all = append(all, member[17:])
			}
			return all
		}

		require.NoError(t, b.redis.RPush(ctx, "orders", plain, linked, plain).Err())
		all, err := queue.ReadAll(ctx)
		require.NoError(t, err)
		require.Equal(t, codec.Plain(all[0].Value()), codec.Plain(all[1].Value()))
		checkRaw(t, queue, all[1])
		require.Equal(t, []string{plain, plain}, left())
		first, err := queue.Peek(ctx)
		require.NoError(t, err)
		checkRaw(t, queue, first, first)
		require.Empty(t, left())

		require.NoError(t, b.redis.RPush(ctx, "orders", linked).Err())
		taken, err := queue.Take(ctx)
		require.NoError(t, err)
		require.NoError(t, queue.Offer(ctx, taken))
		require.Equal(t, []string{linked}, left(), "put back as it was")

		for _, data := range []string{plain, linked, plain} {
			b.wait(t, data)
		}
		walked := make([]codec.Raw[any], 0, 3)
		for v, err := range delayed.All(ctx) {
			require.NoError(t, err)
			walked = append(walked, v)
		}
		checkRaw(t, delayed, walked[1])
		require.Equal(t, []string{plain, plain}, waiting())
		b.wait(t, linked)
		removed, err := delayed.Retain(ctx, walked[1])
		require.NoError(t, err)
		require.True(t, removed)
		require.Equal(t, []string{linked}, waiting())
		polled, err := delayed.Poll(ctx)
		require.NoError(t, err)
		require.Equal(t, linked, string(polled.Bytes()))
	})
}

// checkRaw finds each of the values, and removes it.
func checkRaw(t *testing.T, queue rawFinder, values ...codec.Raw[any]) {
	t.Helper()
	ctx := deadline(t)
	ok, err := queue.ContainsAll(ctx, values...)
	require.NoError(t, err)
	require.True(t, ok)
	for _, v := range values {
		ok, err := queue.Remove(ctx, v)
		require.NoError(t, err)
		require.True(t, ok)
	}
	ok, err = queue.Contains(ctx, values[0])
	require.NoError(t, err)
	require.False(t, ok, "it is gone, whatever looks like it")
}

// A struct that leaves fields out takes two messages for one, and cancels the wrong one.
func TestARawValueKnowsWhatTheStructLeavesOut(t *testing.T) {
	t.Parallel()
	type part struct {
		ID int32 `json:"id"`
	}
	b := setup(t)
	ctx := deadline(t)
	var all []string
	for i := range 3 {
		all = append(all, fmt.Sprintf(`{"id":7,"note":"number %d"}`, i))
	}
	require.NoError(t, b.redis.RPush(ctx, "orders", all[0], all[1], all[2]).Err())
	queue := dq.NewBlockingQueue(b.client, "orders", codec.Keep(codec.JSON[part]{}))
	read, err := queue.ReadAll(ctx)
	require.NoError(t, err)
	require.Equal(t, read[0].Value(), read[1].Value())
	removed, err := queue.Remove(ctx, read[1])
	require.NoError(t, err)
	require.True(t, removed)
	require.Equal(t, slices.Delete(all, 1, 2), b.redis.LRange(ctx, "orders", 0, -1).Val())
}

func TestRawOfIsWrittenAsTheCodecDoes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := deadline(t)
	values, err := codec.ByName(codec.NameKryo5)
	require.NoError(t, err)
	queue := dq.NewBlockingQueue(b.client, "orders", codec.Keep(values))
	require.ErrorIs(t, queue.Offer(ctx, codec.RawOf[any](nil)), dq.ErrNilValue)
	require.ErrorIs(t, queue.Offer(ctx, codec.Raw[any]{}), dq.ErrNilValue)
	require.NoError(t, queue.Offer(ctx, codec.RawOf[any]("hello")))
	found, err := queue.Contains(ctx, codec.RawOf[any]("hello"))
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, []string{"\x03hell\xef"}, b.redis.LRange(ctx, "orders", 0, -1).Val())
	require.ErrorContains(t, dq.NewBlockingQueue(b.client, "orders", codec.Keep[any](nil)).Err(), "expected a codec, got nil")
	require.ErrorContains(t, dq.NewBlockingQueue(b.client, "orders", codec.Keep(codec.Kryo5[int32]{})).Err(), "zero value")
}
