package codec

import (
	"fmt"
	"reflect"
	"strconv"
)

// anyText writes scalars as Java's toString does.
type anyText struct {
	name Name
	read func([]byte) (any, error)
}

func (c anyText) Encode(value any) ([]byte, error) {
	switch value := value.(type) {
	case string:
		return []byte(value), nil
	case int32, int64:
		return fmt.Appendf(nil, "%d", value), nil
	case bool:
		return strconv.AppendBool(nil, value), nil
	case float64:
		return []byte(javaDouble(value)), nil
	}
	return nil, &TypeError{c.name, reflect.TypeOf(value), "only scalars have a text that Java would write too"}
}

func (c anyText) Decode(data []byte) (any, error) { return c.read(data) }

type anyBytes struct{}

func (anyBytes) Encode(value any) ([]byte, error) {
	data, ok := value.([]byte)
	if !ok {
		return nil, &TypeError{NameBytes, reflect.TypeOf(value), "expected []byte; Java fails with a ClassCastException"}
	}
	return data, nil
}

func (anyBytes) Decode(data []byte) (any, error) { return Bytes{}.Decode(data) }

// anyJSON is plain JSON for the first of the classes.
type anyJSON struct{ bound[any] }

func newAnyJSON(name Name, classes []Class) (Codec[any], error) {
	b, err := bind[any](name, jsonFormat{codec: name}, classes)
	if err != nil {
		return nil, err
	}
	if len(classes) > 0 {
		first := reflect.TypeOf(classes[0].Of)
		if first.Kind() == reflect.Pointer {
			first = first.Elem()
		}
		if b.typ, err = b.registry.typeOf(first); err != nil {
			return nil, fmt.Errorf("the Class of %v: %w", first, err)
		}
	}
	return anyJSON{b}, nil
}

func (c anyJSON) Encode(value any) ([]byte, error) {
	b := c.bound
	b.typ = objectType
	return b.encode(value)
}

func (c anyJSON) Decode(data []byte) (any, error) { return c.decode(data) }
