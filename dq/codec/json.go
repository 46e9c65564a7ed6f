package codec

import (
	"reflect"
	"sync"

	"github.com/dq-bench/dq-bench/dq/codec/java"
)

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
