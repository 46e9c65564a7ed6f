// Package codec turns values into bytes and back. A queue needs the codec of the Redisson services that share it.
//
//	String, Bytes, Long   StringCodec, ByteArrayCodec, LongCodec
//	JSON                  TypedJsonJacksonCodec: plain JSON
//	codec/java            Kryo5Codec, JsonJacksonCodec, MarshallingCodec, each the default of some releases; SerializationCodec
//	codec/packed          LZ4Codec, LZ4CodecV2, SnappyCodec, SnappyCodecV2
//
// java.Default names the codec that a release uses if its configuration names none.
package codec

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"github.com/dq-bench/dq-bench/dq/codec/java"
)

// Codec turns values into the bytes on the wire and back. It must be safe for concurrent use. A codec that can be
// misconfigured may have a method Check() error.
type Codec[T any] interface {
	Encode(value T) ([]byte, error)
	// Decode must not keep data.
	Decode(data []byte) (T, error)
}

// Bytes passes bytes through, as Redisson's ByteArrayCodec does.
type Bytes struct{}

// Encode returns value itself.
func (Bytes) Encode(value []byte) ([]byte, error) { return value, nil }

// Decode returns a copy of data.
func (Bytes) Decode(data []byte) ([]byte, error) { return append([]byte{}, data...), nil }

// String passes text through as UTF-8, as Redisson's StringCodec does.
type String struct{}

// Encode returns the bytes of value.
func (String) Encode(value string) ([]byte, error) { return []byte(value), nil }

// Decode returns data as text.
func (String) Decode(data []byte) (string, error) { return string(data), nil }

// Long writes integers as decimal text, as Redisson's LongCodec does.
type Long struct{}

// Encode returns value in decimal.
func (Long) Encode(value int64) ([]byte, error) { return strconv.AppendInt(nil, value, 10), nil }

// Decode fails unless data is a decimal 64-bit integer.
func (Long) Decode(data []byte) (int64, error) {
	n, err := strconv.ParseInt(string(data), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("codec: expected a decimal 64-bit integer, got %.40q: %w", data, err)
	}
	return n, nil
}

// JSON is plain JSON without classes, as Redisson's TypedJsonJacksonCodec writes it: fields sorted by name, nulls left out,
// characters outside the BMP as pairs of escapes, doubles as Java writes them. Types that marshal themselves keep their own
// JSON. The zero value is ready to use.
type JSON[T any] struct{}

var plainCodecs sync.Map // by the Go type of the values

func (JSON[T]) plain() (java.Jackson[T], error) {
	key := reflect.TypeFor[T]()
	if made, ok := plainCodecs.Load(key); ok {
		return made.(java.Jackson[T]), nil
	}
	c, err := java.NewJackson[T](java.JSONForm{Plain: true})
	if err == nil {
		plainCodecs.Store(key, c)
	}
	return c, err
}

// Encode fails with a *java.TypeError or *java.ValueError for a value without JSON.
func (j JSON[T]) Encode(value T) ([]byte, error) {
	c, err := j.plain()
	if err != nil {
		return nil, err
	}
	return c.Encode(value)
}

// Decode reads one document and skips unknown members. In an any an integer is an int32, an int64 or a *big.Int, the first
// that holds it, as in Java. It fails with a *java.FormatError or *java.ValueError.
func (j JSON[T]) Decode(data []byte) (value T, err error) {
	c, err := j.plain()
	if err != nil {
		return value, err
	}
	return c.Decode(data)
}

// Preserved is a value with the bytes that it was read from. Bytes have details that Go values lack: the order and classes of Java's
// collections, shared instances, fields without a Go field. A codec of PreserveBytes writes the bytes back, so that Redis finds the
// value:
//
//	orders, err := dq.NewQueue(client, "orders", codec.PreserveBytes(values))
//	order, err := orders.Take(ctx) // a codec.Preserved[Order]
//	...
//	removed, err := orders.Remove(ctx, order)
//
// The zero Preserved is the zero value of T, without bytes.
type Preserved[T any] struct {
	value T
	bytes []byte // nil for a value that was not read
}

// PreservedOf returns a value without bytes, to be written by its codec. To change a value that was read, change a copy of Value and
// offer PreservedOf of the copy.
func PreservedOf[T any](value T) Preserved[T] { return Preserved[T]{value: value} }

// Value returns the value. The caller must not change the data it refers to: its bytes would stay the same.
func (r Preserved[T]) Value() T { return r.value }

// Bytes returns a copy of the bytes that the value was read from; nil for PreservedOf.
func (r Preserved[T]) Bytes() []byte { return slices.Clone(r.bytes) }

// Unwrap returns the value, to find out whether it is nil.
func (r Preserved[T]) Unwrap() any { return r.value }

// PreserveBytes returns a codec whose values keep the bytes that they were read from.
func PreserveBytes[T any](values Codec[T]) Codec[Preserved[T]] { return keeping[T]{values} }

type keeping[T any] struct{ values Codec[T] }

func (k keeping[T]) Encode(r Preserved[T]) ([]byte, error) {
	if r.bytes != nil {
		return slices.Clone(r.bytes), nil
	}
	return k.values.Encode(r.value)
}

func (k keeping[T]) Decode(data []byte) (Preserved[T], error) {
	value, err := k.values.Decode(data)
	if err != nil {
		return Preserved[T]{}, err
	}
	return Preserved[T]{value, append([]byte{}, data...)}, nil
}

// Check fails for a nil codec, or if the codec's own Check does.
func (k keeping[T]) Check() error {
	if k.values == nil {
		return errors.New("codec: PreserveBytes: expected a codec, got nil")
	}
	if c, ok := k.values.(interface{ Check() error }); ok {
		return c.Check()
	}
	return nil
}
