package java

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"time"
)

// Object is a value of any class, read without a Go type. An any holds one for a class without a Class. NewSerialization[Object]
// and NewMarshalling[Object] read every value; NewKryo5[Object] fails with a *ClassError for an application's class, whose
// fields its bytes do not name. An Object cannot be written.
type Object struct{ tree any }

var objectType = reflect.TypeFor[Object]()

// Class returns the full name of the value's class.
func (o Object) Class() string { return className(o.tree) }

// MarshalJSON returns the value for people: the fields of an object by name, and scalars as Java's text.
func (o Object) MarshalJSON() ([]byte, error) {
	budget := maxShown
	shown := show(o.tree, &budget)
	if budget < 0 {
		return nil, fmt.Errorf("references make the value larger than %d bytes", maxShown)
	}
	return json.Marshal(shown)
}

// maxShown bounds the JSON of an Object. A value counts valueSize bytes, and the length of its text.
const maxShown, valueSize = 1 << 26, 64

// show spends the budget, since references repeat values.
func show(value any, budget *int) any {
	text := func(s string) string {
		*budget -= len(s)
		return s
	}
	if *budget -= valueSize; *budget < 0 {
		return nil
	}
	all := func(values []any) any {
		shown := make([]any, 0, len(values))
		for _, value := range values {
			shown = append(shown, show(value, budget))
		}
		return shown
	}
	shown := map[string]any{}
	switch value := value.(type) {
	case *record:
		shown["@class"] = text(value.class)
		for _, f := range slices.Backward(value.fields) {
			name := f.name
			if shown[name] != nil { // of a subclass
				name = f.class + "." + name
			}
			shown[text(name)] = show(f.value, budget)
		}
		if len(value.data) > 0 {
			shown["@data"] = all(value.data)
		}
		return shown
	case list:
		return all(value.all)
	case dictionary:
		for i := 0; i+1 < len(value.all); i += 2 {
			key := value.all[i]
			name := fmt.Sprint(show(key, budget))
			if _, has := shown[name]; has {
				name += " of " + className(key)
			}
			shown[text(name)] = show(value.all[i+1], budget)
		}
		return shown
	case string:
		return text(value)
	case constant:
		return text(value.name)
	case itself:
		return "a " + value.class + " that contains this"
	case uint16:
		return string(rune(value))
	case []byte, block:
		return text(fmt.Sprintf("%x", value))
	case *big.Int:
		if value.BitLen() > 8*maxNumber {
			return fmt.Sprintf("an integer of %d bits", value.BitLen())
		}
	case float32:
		return json.RawMessage(number(float64(value), 32))
	case float64:
		return json.RawMessage(number(value, 64))
	case Date:
		return value.Time().Format(time.RFC3339Nano)
	case interface{ Format(layout string) string }: // a time.Time or Timestamp
		return value.Format(time.RFC3339Nano)
	case time.Duration, UUID:
		return fmt.Sprint(value)
	}
	return value
}

// number returns a number as JSON, or NaN and the infinities as text.
func number(f float64, bits int) string {
	text := floatText(f, bits)
	if text[len(text)-1] > '9' {
		return `"` + text + `"`
	}
	return text
}

// className returns the Java class of a value of the tree.
func className(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case string:
		return stringClass
	case []byte:
		return bytesClass
	case *big.Int:
		return "java.math.BigInteger"
	case *record:
		return value.class
	case list:
		return value.class
	case dictionary:
		return value.class
	case constant:
		return value.class
	case itself:
		return value.class
	}
	if s := scalarOfGo[reflect.TypeOf(value)]; s != nil {
		return s.class
	}
	return primitives[kinds[reflect.TypeOf(value).Kind()]].class
}
