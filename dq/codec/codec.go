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
	"fmt"
	"strconv"
)

// Codec turns values into the bytes on the wire and back. It must be safe for concurrent use. A codec that can be made wrongly
// may have a method Check() error.
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
