package program

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/java"
	"github.com/dq-bench/dq-bench/dq/codec/packed"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// order is the class demo.Order of the Redisson driver program.
type order struct {
	_     struct{} `java:"demo.Order,serialVersionUID=1"`
	ID    int32    `json:"id"`
	Name  *string  `json:"name"`
	Total *int64   `json:"total"`
}

// CodecNames returns the names of docs/protocol.md that work at a release.
func CodecNames(release wire.Release) []string {
	all := []string{"string", "bytes", "long", "json", "typed-json", "kryo5", "marshalling", "serialization"}
	if java.Default(release) != "fst" {
		all = append(all, "default")
	}
	return all
}

// NamedCodec returns a codec by its name of docs/protocol.md; valueType is one of its types of values, for the codec that must be
// told one. It fails with dq.ErrUnsupported for an unknown name.
func NamedCodec(name, valueType string, release wire.Release) (codec.Codec[any], error) {
	if name == "default" {
		name = java.Default(release)
	}
	pojo := java.Class{Of: order{}}
	switch name {
	case "string":
		return textCodec{func(data []byte) (any, error) { return string(data), nil }}, nil
	case "long":
		return textCodec{func(data []byte) (any, error) { return codec.Long{}.Decode(data) }}, nil
	case "bytes":
		return bytesCodec{}, nil
	case "json":
		return java.NewJackson[any](java.JSONForm{BareUUIDs: !release.AtLeast(wire.Release{Major: 4, Minor: 2})}, pojo)
	case "typed-json":
		return newTypedJSON(valueType)
	case "kryo5":
		return java.NewKryo5[any](pojo)
	case "marshalling":
		return java.NewMarshalling[any](pojo)
	case "serialization":
		return java.NewSerialization[any](pojo)
	}
	outer, inner, isNamed := strings.Cut(name, "/")
	if !isNamed {
		inner = "default"
	}
	pack, known := map[string]func(codec.Codec[any]) codec.Codec[any]{
		"lz4": packed.LZ4[any], "lz4-v2": packed.LZ4[any], "snappy": packed.SnappyChunks[any], "snappy-v2": packed.Snappy[any],
	}[outer]
	if !known {
		return nil, fmt.Errorf("codec %q: expected default or one of %s, lz4, lz4-v2, snappy and snappy-v2: %w", name, strings.Join(CodecNames(release), ", "), dq.ErrUnsupported)
	}
	values, err := NamedCodec(inner, valueType, release)
	if err != nil {
		return nil, err
	}
	return pack(values), nil
}

// textCodec writes scalars as Java's toString does.
type textCodec struct {
	read func([]byte) (any, error)
}

func (textCodec) Encode(value any) ([]byte, error) {
	switch value := value.(type) {
	case string:
		return []byte(value), nil
	case int32, int64, bool, float64:
		data, err := codec.JSON[any]{}.Encode(value)
		return bytes.Trim(data, `"`), err // NaN is quoted
	}
	return nil, fmt.Errorf("a value of %T: expected a scalar, whose text is the same in Java", value)
}

func (c textCodec) Decode(data []byte) (any, error) { return c.read(data) }

type bytesCodec struct{ codec.Bytes }

func (c bytesCodec) Encode(value any) ([]byte, error) {
	data, ok := value.([]byte)
	if !ok {
		return nil, fmt.Errorf("a value of %T: expected bytes, as ByteArrayCodec does", value)
	}
	return data, nil
}

func (c bytesCodec) Decode(data []byte) (any, error) { return c.Bytes.Decode(data) }

// typedJSON reads plain JSON as an order, or as the value that its text shows.
type typedJSON struct {
	codec.JSON[any]
	pojo java.Jackson[*order]
	any  bool
}

func newTypedJSON(valueType string) (codec.Codec[any], error) {
	pojo, err := java.NewJackson[*order](java.JSONForm{Plain: true})
	return typedJSON{pojo: pojo, any: valueType != "pojo"}, err
}

func (c typedJSON) Decode(data []byte) (any, error) {
	if c.any {
		return c.JSON.Decode(data)
	}
	o, err := c.pojo.Decode(data)
	if err != nil || o == nil {
		return nil, err
	}
	return *o, nil
}

// orderOf reads a typed value of type pojo.
func orderOf(typed typedValue) (any, error) {
	o := order{ID: int32(typed.ID), Name: typed.Name}
	if typed.Total != nil {
		total, err := strconv.ParseInt(*typed.Total, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("total of a pojo: expected a whole number, got %q", *typed.Total)
		}
		o.Total = &total
	}
	return o, nil
}

// typedOrder is the reverse of orderOf.
func typedOrder(value any) (any, bool) {
	o, ok := value.(order)
	if !ok {
		return nil, false
	}
	typed := map[string]any{"t": "pojo", "id": o.ID, "name": o.Name, "total": nil}
	if o.Total != nil {
		typed["total"] = strconv.FormatInt(*o.Total, 10)
	}
	return typed, true
}
