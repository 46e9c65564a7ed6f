package codec

import (
	"errors"
	"slices"
)

// Raw is a value together with the bytes that it was read from. What no Go value holds
// is in them: the order and the class of Java's maps and lists, which of its strings are
// one instance, fields that the Go type leaves out. A codec that Keep returns writes them
// back, so that a value that was read from a queue is that very value there again:
//
//	orders := dq.NewBlockingQueue(client, "orders", codec.Keep(values))
//	order, err := orders.Peek(ctx) // a codec.Raw[Order]
//	...
//	removed, err := orders.Remove(ctx, order)
//
// The zero Raw is the zero value of T, without bytes.
type Raw[T any] struct {
	value T
	bytes []byte // nil where the value was not read
}

// RawOf returns a value that was not read: it is written as its codec does. It is also how
// a value that was read is changed: take Value, change a copy, and offer RawOf of that.
func RawOf[T any](value T) Raw[T] { return Raw[T]{value: value} }

// Value returns the value. What it refers to must not be changed: it would be written as
// it was read.
func (r Raw[T]) Value() T { return r.value }

// Bytes returns a copy of the bytes that the value was read from; nil for RawOf.
func (r Raw[T]) Bytes() []byte { return slices.Clone(r.bytes) }

// Unwrap returns the value, for those who ask whether it is nil.
func (r Raw[T]) Unwrap() any { return r.value }

// Exact is a codec that writes what it has read in the same bytes, so that values are
// equal where their bytes are, and only there.
type Exact interface{ Exact() }

// Keep returns a codec whose values keep the bytes that they were read from.
func Keep[T any](values Codec[T]) Codec[Raw[T]] { return keeping[T]{values} }

type keeping[T any] struct{ values Codec[T] }

// Encode returns the bytes that the value was read from, or those that its codec makes.
func (k keeping[T]) Encode(r Raw[T]) ([]byte, error) {
	if r.bytes != nil {
		return slices.Clone(r.bytes), nil
	}
	return k.values.Encode(r.value)
}

// Decode fails where the codec does.
func (k keeping[T]) Decode(data []byte) (Raw[T], error) {
	value, err := k.values.Decode(data)
	if err != nil {
		return Raw[T]{}, err
	}
	return Raw[T]{value, append([]byte{}, data...)}, nil
}

// Exact says that values are equal where their bytes are.
func (keeping[T]) Exact() {}

// Check fails where the codec is nil, or does so itself.
func (k keeping[T]) Check() error {
	if k.values == nil {
		return errors.New("codec: Keep: expected a codec, got nil")
	}
	if c, ok := k.values.(interface{ Check() error }); ok {
		return c.Check()
	}
	return nil
}
