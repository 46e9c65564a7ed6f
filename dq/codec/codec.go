// Package codec answers: how is a value encoded?
//
// A codec must be the one that the Redisson services on the same queue use; the
// wire format does not say which it is.
package codec

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Codec turns values into the bytes on the wire and back. It must be safe for
// use by many goroutines at once.
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

// JSON writes plain JSON without type information, as Redisson's
// TypedJsonJacksonCodec does for a class of the same fields.
type JSON[T any] struct{}

// Encode returns value as encoding/json marshals it.
func (JSON[T]) Encode(value T) ([]byte, error) { return json.Marshal(value) }

// Decode reads one JSON document.
func (JSON[T]) Decode(data []byte) (T, error) {
	var value T
	if err := json.Unmarshal(data, &value); err != nil {
		return value, fmt.Errorf("codec: expected JSON for %T, got %.40q: %w", value, data, err)
	}
	return value, nil
}
