// Package packed compresses values as Redisson's LZ4Codec, LZ4CodecV2, SnappyCodec and SnappyCodecV2 do. Its libraries are
// dependencies of this package only.
//
// Go and Java read each other's bytes, but each library finds other repetitions: codec.PreserveBytes keeps the bytes of a value that
// was read, for Remove and Contains.
package packed

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/klauspost/compress/s2"
	"github.com/pierrec/lz4/v4"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/java"
)

// LZ4 returns a codec that compresses the bytes of another as LZ4Codec and LZ4CodecV2 do. In Redisson both wrap the default
// codec of the release unless given another. Decode fails with a *java.FormatError.
func LZ4[T any](values codec.Codec[T]) codec.Codec[T] { return packing[T]{values, packLZ4, unpackLZ4} }

// Snappy is LZ4 for SnappyCodecV2.
func Snappy[T any](values codec.Codec[T]) codec.Codec[T] {
	return packing[T]{values, packSnappy, unpackSnappy}
}

// SnappyChunks is LZ4 for SnappyCodec, which Redisson 4 removed.
func SnappyChunks[T any](values codec.Codec[T]) codec.Codec[T] {
	return packing[T]{values, packChunks, unpackChunks}
}

type packing[T any] struct {
	values codec.Codec[T]
	pack   func([]byte) []byte
	unpack func([]byte) ([]byte, error)
}

func (p packing[T]) Encode(value T) ([]byte, error) {
	plain, err := p.values.Encode(value)
	if err != nil {
		return nil, err
	}
	return p.pack(plain), nil
}

func (p packing[T]) Decode(data []byte) (T, error) {
	plain, err := p.unpack(data)
	if err != nil {
		var zero T
		return zero, err
	}
	return p.values.Decode(plain)
}

// Check fails if the inner codec does.
func (p packing[T]) Check() error {
	if c, ok := p.values.(interface{ Check() error }); ok {
		return c.Check()
	}
	return nil
}

const lengthSize = 4 // of a big-endian length

func broken(codec string, offset int, format string, args ...any) error {
	return &java.FormatError{Codec: codec, Offset: offset, Problem: fmt.Sprintf(format, args...)}
}

func packLZ4(plain []byte) []byte {
	packed := binary.BigEndian.AppendUint32(nil, uint32(len(plain)))
	block := make([]byte, lz4.CompressBlockBound(len(plain)))
	n, err := lz4.CompressBlock(plain, block, nil)
	if err != nil {
		panic(err) // the block is large enough
	}
	return append(packed, block[:n]...)
}

func unpackLZ4(packed []byte) ([]byte, error) {
	if len(packed) < lengthSize {
		return nil, broken("lz4", 0, "expected the length of the value, got %d bytes", len(packed))
	}
	length, block := int64(binary.BigEndian.Uint32(packed)), packed[lengthSize:]
	if length > math.MaxUint8*int64(len(block)) {
		return nil, broken("lz4", 0, "expected a block of at least 1/255 of its length %d, got %d bytes", length, len(block))
	}
	plain := make([]byte, length)
	n, err := lz4.UncompressBlock(block, plain)
	if err != nil {
		return nil, broken("lz4", lengthSize, "expected a block of %d bytes: %v", length, err)
	}
	if n != len(plain) {
		return nil, broken("lz4", lengthSize, "expected a block of %d bytes, got %d", length, n)
	}
	return plain, nil
}

func packSnappy(plain []byte) []byte { return s2.EncodeSnappy(nil, plain) }

func unpackSnappy(block []byte) ([]byte, error) { return unpackBlock(0, block) }

func unpackBlock(at int, block []byte) ([]byte, error) {
	length, err := s2.DecodedLen(block)
	if err == nil && length > math.MaxUint8*len(block) {
		return nil, broken("snappy", at, "expected a block of at least 1/255 of its length %d, got %d bytes", length, len(block))
	}
	plain, err := s2.Decode(nil, block)
	if err != nil {
		return nil, broken("snappy", at, "expected a block: %v", err)
	}
	return plain, nil
}

// chunk is the size of a block of SnappyCodec. Each block follows its compressed length.
const chunk = math.MaxInt16

func packChunks(plain []byte) (packed []byte) {
	for first := true; first || len(plain) > 0; first = false {
		n := min(len(plain), chunk)
		block := packSnappy(plain[:n])
		packed = append(binary.BigEndian.AppendUint32(packed, uint32(len(block))), block...)
		plain = plain[n:]
	}
	return packed
}

func unpackChunks(packed []byte) (plain []byte, err error) {
	for at := 0; at < len(packed) || at == 0; {
		rest := packed[at:]
		if len(rest) < lengthSize || int64(binary.BigEndian.Uint32(rest)) > int64(len(rest)-lengthSize) {
			return nil, broken("snappy", at, "expected the length of a block within the %d bytes left", len(rest))
		}
		end := lengthSize + int(binary.BigEndian.Uint32(rest))
		block, err := unpackBlock(at, rest[lengthSize:end])
		if err != nil {
			return nil, err
		}
		plain = append(plain, block...)
		at += end
	}
	return plain, nil
}
