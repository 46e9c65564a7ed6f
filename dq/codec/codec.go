package codec

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
)

// Codec turns values into the bytes on the wire and back. It must be safe for
// use by many goroutines at once. One that can be made wrongly may have a method
// Check() error besides, which says so before it is used.
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

// format is one way to write values of Java.
type format interface {
	encode(value any) ([]byte, error)
	// decode returns a value of Java; declared is what the receiver declares, for
	// formats that leave it out.
	decode(data []byte, g *registry, declared *javaType) (any, error)
}

// bound is a format for one Go type.
type bound[T any] struct {
	format   format
	registry *registry
	typ      *javaType
	// annotated says why plain JSON of T is not read, or nothing.
	annotated string
}

func bind[T any](name Name, f format, classes []Class) (bound[T], error) {
	root := reflect.TypeFor[T]()
	g, err := newRegistry(name, root, classes)
	if err != nil {
		return bound[T]{}, err
	}
	return bound[T]{format: f, registry: g, typ: g.types[root], annotated: g.annotated()}, nil
}

// errUnbound is the error of a codec that was not made by its constructor.
var errUnbound = errors.New("codec: this codec is a zero value: make it with its constructor, such as codec.NewKryo5, or codec.ByName")

// Check fails for a codec that is a zero value, which can neither encode nor decode.
func (b bound[T]) Check() error {
	if b.format == nil {
		return errUnbound
	}
	return nil
}

// encode begins again where another goroutine has learned meanwhile which classes are written.
func (b bound[T]) encode(value T) ([]byte, error) {
	if err := b.Check(); err != nil {
		return nil, err
	}
	for {
		before := b.registry.learned.Load()
		data, err := b.encodeOnce(value)
		if b.registry.learned.Load() == before {
			return data, err
		}
	}
}

func (b bound[T]) encodeOnce(value T) ([]byte, error) {
	java, err := b.registry.toJava(reflect.ValueOf(&value).Elem(), b.typ, 0)
	if err == nil {
		err = b.registry.plant(java)
	}
	if err != nil {
		return nil, err
	}
	return b.format.encode(java)
}

func (b bound[T]) decode(data []byte) (T, error) {
	var value, zero T
	if err := b.Check(); err != nil {
		return zero, err
	}
	java, err := b.format.decode(data, b.registry, b.typ)
	if err != nil {
		return zero, err
	}
	c := converter{codec: b.registry.codec, registry: b.registry, budget: maxShared + len(data)}
	if err := c.toGo(java, reflect.ValueOf(&value).Elem(), b.typ); err != nil {
		return zero, err
	}
	return value, nil
}
