package codec

import (
	"errors"
	"slices"
)

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
