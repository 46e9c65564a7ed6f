package codec

import (
	"math/big"
	"reflect"
)

// ClassOf returns the Java class that a value of a codec for any stands for, such as
// "java.util.Date" for a Date; "" for null and for structs, which name it themselves.
func ClassOf(value any) string {
	switch value := value.(type) {
	case string:
		return javaLangString
	case []byte:
		return "byte[]"
	case []any:
		return arrayListName
	case map[string]any, map[any]any:
		return hashMapName
	case Set:
		return hashSetName
	case Collection:
		return value.Class()
	case int32:
		return javaLangInteger
	case int64:
		return javaLangLong
	case bool:
		return javaLangBoolean
	case float64:
		return javaLangDouble
	case int8:
		return javaLangByte
	case int16:
		return javaLangShort
	case uint16:
		return javaLangCharacter
	case float32:
		return javaLangFloat
	}
	s, _ := scalarOf(value)
	return s.class
}

// scalarOf returns the class of a value that is a scalar.
func scalarOf(value any) (scalar, bool) {
	t := reflect.TypeOf(value)
	if _, is := value.(*big.Int); is {
		t = t.Elem()
	}
	s, ok := scalars[t]
	return s, ok
}
