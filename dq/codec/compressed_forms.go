package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// lengthHead is the big-endian length of what was compressed, which LZ4 and ZStd write before it.
const lengthHead = 4

// unpackedLength reads the length that stands before compressed bytes.
func unpackedLength(name Name, packed []byte) (length int, rest []byte, err error) {
	if len(packed) < lengthHead {
		return 0, nil, &FormatError{Codec: name, Offset: 0, Problem: fmt.Sprintf("expected the length of the decompressed bytes, got %d bytes", len(packed))}
	}
	named := binary.BigEndian.Uint32(packed)
	if named > math.MaxInt32 || int(named) > maxUnpacked(len(packed)) {
		return 0, nil, &FormatError{Codec: name, Offset: 0, Problem: fmt.Sprintf("%d bytes cannot hold the %d that they name", len(packed), named)}
	}
	return int(named), packed[lengthHead:], nil
}

func packLZ4(plain []byte) []byte {
	packed := binary.BigEndian.AppendUint32(nil, uint32(len(plain)))
	block := make([]byte, lz4.CompressBlockBound(len(plain)))
	if n, err := lz4.CompressBlock(plain, block, nil); err == nil && n > 0 {
		return append(packed, block[:n]...)
	}
	return appendLZ4Literals(packed, plain)
}

// appendLZ4Literals writes a block of one sequence that copies nothing.
func appendLZ4Literals(dst, plain []byte) []byte {
	const inToken = 15
	length := len(plain)
	if length < inToken {
		return append(append(dst, byte(length)<<4), plain...)
	}
	dst = append(dst, inToken<<4)
	for length -= inToken; length >= math.MaxUint8; length -= math.MaxUint8 {
		dst = append(dst, math.MaxUint8)
	}
	return append(append(dst, byte(length)), plain...)
}

func unpackLZ4(packed []byte) ([]byte, error) {
	length, block, err := unpackedLength(NameLZ4, packed)
	if err != nil {
		return nil, err
	}
	if length > math.MaxUint8*len(block) {
		return nil, &FormatError{Codec: NameLZ4, Offset: 0, Problem: fmt.Sprintf("a block of %d bytes cannot hold the %d that it names", len(block), length)}
	}
	plain := make([]byte, length)
	n, err := lz4.UncompressBlock(block, plain)
	if err != nil || n != length {
		return nil, &FormatError{Codec: NameLZ4, Offset: lengthHead, Problem: fmt.Sprintf("expected a block of LZ4 of %d bytes decompressed, got %d: %v", length, n, err)}
	}
	return plain, nil
}

func packSnappy(plain []byte) []byte { return s2.EncodeSnappy(nil, plain) }

func unpackSnappy(packed []byte) ([]byte, error) { return unpackSnappyBlock(NameSnappyV2, 0, packed) }

func unpackSnappyBlock(name Name, at int, block []byte) ([]byte, error) {
	length, err := s2.DecodedLen(block)
	if err != nil || length > math.MaxUint8*len(block) {
		return nil, &FormatError{Codec: name, Offset: at, Problem: fmt.Sprintf("expected the length of a block of Snappy, and %d bytes cannot hold the %d that they name", len(block), length)}
	}
	plain, err := s2.Decode(nil, block)
	if err != nil {
		return nil, &FormatError{Codec: name, Offset: at, Problem: fmt.Sprintf("expected a block of Snappy: %v", err)}
	}
	return plain, nil
}

// snappyChunk is how many bytes SnappyCodec puts into a block; their lengths, compressed,
// stand before them.
const snappyChunk = math.MaxInt16

func packSnappyChunks(plain []byte) (packed []byte) {
	for first := true; first || len(plain) > 0; first = false {
		n := min(len(plain), snappyChunk)
		block := packSnappy(plain[:n])
		packed = append(binary.BigEndian.AppendUint32(packed, uint32(len(block))), block...)
		plain = plain[n:]
	}
	return packed
}

func unpackSnappyChunks(packed []byte) (plain []byte, err error) {
	for at := 0; at < len(packed) || at == 0; {
		rest := packed[at:]
		if len(rest) < lengthHead || int64(binary.BigEndian.Uint32(rest)) > int64(len(rest)-lengthHead) {
			return nil, &FormatError{Codec: NameSnappy, Offset: at, Problem: "expected the length of a block of Snappy, no longer than what follows"}
		}
		end := lengthHead + int(binary.BigEndian.Uint32(rest))
		block, err := unpackSnappyBlock(NameSnappy, at, rest[lengthHead:end])
		if err != nil {
			return nil, err
		}
		plain = append(plain, block...)
		at += end
	}
	return plain, nil
}

// zstdWindow is the window that Java's stream names at its level, whatever it holds.
const zstdWindow = 2 << 20

var (
	zstdEncoders = sync.Pool{New: func() any {
		encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(zstdWindow))
		if err != nil {
			panic(fmt.Sprintf("codec: %v", err)) // its options are constants
		}
		return encoder
	}}
	zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true))
	})
)

// packZStd writes a frame as Java's stream does that is flushed before it is closed: it
// does not name its length, and an empty block ends it.
func packZStd(plain []byte) []byte {
	packed := bytes.NewBuffer(binary.BigEndian.AppendUint32(nil, uint32(len(plain))))
	encoder := zstdEncoders.Get().(*zstd.Encoder)
	defer zstdEncoders.Put(encoder)
	encoder.Reset(packed)
	_, err := encoder.Write(plain)
	if err := errors.Join(err, encoder.Flush(), encoder.Close()); err != nil {
		panic(fmt.Sprintf("codec: %v", err)) // nothing fails in memory
	}
	return packed.Bytes()
}

const zstdMagic = "\x28\xb5\x2f\xfd"

func unpackZStd(packed []byte) ([]byte, error) {
	length, frame, err := unpackedLength(NameZStd, packed)
	if err != nil {
		return nil, err
	}
	if len(frame) < len(zstdMagic) || string(frame[:len(zstdMagic)]) != zstdMagic {
		return nil, &FormatError{Codec: NameZStd, Offset: lengthHead, Problem: "expected a frame of Zstandard"}
	}
	decoder, err := zstdDecoder()
	if err != nil {
		return nil, fmt.Errorf("codec %s: %w", NameZStd, err)
	}
	plain, err := decoder.DecodeAll(frame, make([]byte, 0, length))
	if err != nil || len(plain) != length {
		return nil, &FormatError{Codec: NameZStd, Offset: lengthHead, Problem: fmt.Sprintf("expected a frame of Zstandard of %d bytes decompressed, got %d: %v", length, len(plain), err)}
	}
	return plain, nil
}
