package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"reflect"
	"strings"
	"sync"
)

// unmarshal is json.Unmarshal, but for numbers in an any, which are told by what they look like, as Java does it: an
// int32, an int64 or a *big.Int, the first that holds it, or with a point or an exponent a float64.
func unmarshal(data []byte, to reflect.Value) error {
	holds, known := anyHolders.Load(to.Type())
	if !known {
		holds, _ = anyHolders.LoadOrStore(to.Type(), holdsAny(to.Type(), map[reflect.Type]bool{}))
	}
	if holds == false {
		return json.Unmarshal(data, to.Interface())
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(to.Interface()); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("expected nothing after the JSON document")
	}
	return tellNumbers(to)
}

var anyHolders sync.Map // reflect.Type to what holdsAny says of it

var jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()

// holdsAny reports whether values of a type may hold an any that encoding/json fills.
func holdsAny(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] || t.Implements(jsonUnmarshaler) || reflect.PointerTo(t).Implements(jsonUnmarshaler) {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return t.NumMethod() == 0
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return holdsAny(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if holdsAny(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

// tellNumbers puts numbers in the place of each json.Number in an any.
func tellNumbers(v reflect.Value) error {
	if v.Type().Implements(jsonUnmarshaler) || v.CanAddr() && v.Addr().Type().Implements(jsonUnmarshaler) {
		return nil
	}
	switch v.Kind() {
	case reflect.Interface:
		if v.NumMethod() > 0 || v.IsNil() || !v.CanSet() {
			return nil
		}
		told, err := toldNumbers(v.Interface())
		if err == nil {
			v.Set(reflect.ValueOf(told))
		}
		return err
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return tellNumbers(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := tellNumbers(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			value := reflect.New(v.Type().Elem()).Elem() // what a map holds cannot be set
			value.Set(entries.Value())
			if err := tellNumbers(value); err != nil {
				return err
			}
			v.SetMapIndex(entries.Key(), value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if isFilled := f.IsExported() || f.Anonymous && f.Type.Kind() == reflect.Struct; !isFilled {
				continue
			}
			if err := tellNumbers(v.Field(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// toldNumbers is tellNumbers for what encoding/json makes of itself.
func toldNumbers(value any) (any, error) {
	var err error
	switch value := value.(type) {
	case json.Number:
		return toldNumber(value)
	case []any:
		for i := range value {
			if value[i], err = toldNumbers(value[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range value {
			if value[key], err = toldNumbers(value[key]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

func toldNumber(n json.Number) (any, error) {
	if strings.ContainsAny(n.String(), ".eE") {
		f, err := n.Float64()
		if err != nil {
			return nil, fmt.Errorf("the number %.40s does not fit a double", n)
		}
		return f, nil
	}
	if i, err := n.Int64(); err == nil {
		return integer(i), nil
	}
	whole, isWhole := new(big.Int).SetString(n.String(), 10)
	if !isWhole {
		return nil, fmt.Errorf("%.40q is no number", n)
	}
	return whole, nil
}
