package codec

import (
	"fmt"
	"slices"
	"strings"
)

// The codecs that compress what another one writes. Redisson wraps its default codec
// unless it is given another: Kryo5 since 3.19.0, Marshalling from 3.13.0 on.
const (
	NameLZ4      Name = "lz4"       // LZ4Codec
	NameLZ4V2    Name = "lz4-v2"    // LZ4CodecV2, of the same form as LZ4Codec
	NameSnappy   Name = "snappy"    // SnappyCodec, which Redisson 4 has no more
	NameSnappyV2 Name = "snappy-v2" // SnappyCodecV2
	NameZStd     Name = "zstd"      // ZStdCodec
)

// compressor is one way to compress. The errors of unpack are *FormatError.
type compressor struct {
	pack   func(plain []byte) []byte
	unpack func(packed []byte) ([]byte, error)
}

var compressors = map[Name]compressor{
	NameLZ4:      {packLZ4, unpackLZ4},
	NameLZ4V2:    {packLZ4, unpackLZ4},
	NameSnappy:   {packSnappyChunks, unpackSnappyChunks},
	NameSnappyV2: {packSnappy, unpackSnappy},
	NameZStd:     {packZStd, unpackZStd},
}

// Within returns the name of a codec that compresses what another writes, such as
// "lz4/marshalling"; "lz4" alone is "lz4/kryo5".
func (n Name) Within(compressing Name) Name { return compressing + "/" + n }

// Split returns the name of the codec that compresses, "" for none, and that of the codec
// within.
func (n Name) Split() (compressing, inner Name) {
	outer, rest, named := strings.Cut(string(n), "/")
	if _, is := compressors[Name(outer)]; !is {
		return "", n
	}
	if !named {
		return Name(outer), NameKryo5
	}
	return Name(outer), Name(rest)
}

// Compressed returns a codec that compresses what another one writes, as Redisson's codec
// of a name does: NameLZ4, NameLZ4V2, NameSnappy, NameSnappyV2 or NameZStd. It fails with a
// *TypeError for another name.
//
// Any of them reads what Java compressed, and Java what they compress, but the bytes are
// the same only where there is nothing to compress: each library finds other repetitions, in Java
// too from one machine to another. Remove and Contains find a value of Java by the bytes that
// Keep keeps.
//
// Decode fails with a *FormatError for what does not decompress to the length that it
// names, and for what would take more than 16 MiB and 255 times the bytes that came.
func Compressed[T any](name Name, values Codec[T]) (Codec[T], error) {
	c, known := compressors[name]
	if !known {
		return nil, &TypeError{name, nil, fmt.Sprintf("no codec of this name compresses; there are %q",
			[]Name{NameLZ4, NameLZ4V2, NameSnappy, NameSnappyV2, NameZStd})}
	}
	return compressing[T]{name, c, values}, nil
}

type compressing[T any] struct {
	name       Name
	compressor compressor
	values     Codec[T]
}

// Encode fails where the codec within does, and with a *ValueError for what Decode would
// take for an attack.
func (c compressing[T]) Encode(value T) ([]byte, error) {
	plain, err := c.values.Encode(value)
	if err != nil {
		return nil, err
	}
	packed := c.compressor.pack(plain)
	if len(plain) > maxUnpacked(len(packed)) {
		return nil, &ValueError{c.name, fmt.Sprintf("%d bytes compress to %d, which would not be decompressed: offer smaller values", len(plain), len(packed))}
	}
	return packed, nil
}

// Decode fails with a *FormatError, and where the codec within does.
func (c compressing[T]) Decode(data []byte) (T, error) {
	plain, err := c.compressor.unpack(data)
	if err != nil {
		var zero T
		return zero, err
	}
	return c.values.Decode(plain)
}

// Check fails where the codec within does.
func (c compressing[T]) Check() error {
	if checked, ok := c.values.(interface{ Check() error }); ok {
		return checked.Check()
	}
	return nil
}

// maxUnpacked returns to how many bytes a number of them may decompress. LZ4 cannot do more than
// 255 times as many, Snappy 22 times; Zstandard has no limit.
func maxUnpacked(packed int) int { return 16<<20 + 255*packed }

// detectCompressed tells of bytes that no codec wrote as they are which one compressed
// what another wrote.
func detectCompressed(data []byte) (Kind, bool) {
	for _, name := range []Name{NameZStd, NameLZ4, NameSnappy, NameSnappyV2} {
		plain, err := compressors[name].unpack(data)
		if err != nil || len(plain) == 0 {
			continue
		}
		inner := detectPlain(plain)
		if inner.Codec == UnknownCodec {
			continue
		}
		names := strings.Split(inner.Codec, "|")
		for i := range names {
			names[i] = string(Name(names[i]).Within(name))
		}
		if name == NameLZ4 {
			for _, within := range slices.Clone(names) {
				names = append(names, strings.Replace(within, string(NameLZ4), string(NameLZ4V2), 1))
			}
		}
		return Kind{strings.Join(names, "|"), inner.Class}, true
	}
	return Kind{}, false
}

// unpacked returns the bytes of the codec within, and its name.
func unpacked(name Name, data []byte) (Name, []byte, error) {
	outer, inner := name.Split()
	if outer == "" {
		return name, data, nil
	}
	plain, err := compressors[outer].unpack(data)
	return inner, plain, err
}
