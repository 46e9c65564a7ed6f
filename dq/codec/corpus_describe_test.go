package codec_test

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/codec"
)

// describe tells what a decoded value is in the words of Describer.java; asSet says that a
// slice stands for a set.
func describe(v reflect.Value, asSet bool) string {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer && v.Type() != reflect.TypeFor[*big.Int]() {
		if v.IsNil() {
			return "null"
		}
		v = v.Elem()
	}
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return "null"
	}
	if text := describeScalar(v.Interface()); text != "" {
		return text
	}
	switch v.Kind() {
	case reflect.String:
		return "enum " + v.String()
	case reflect.Slice:
		if v.IsNil() {
			return "null"
		}
		if data, is := v.Interface().([]byte); is {
			return fmt.Sprintf("bytes %x", data)
		}
		return describeList(v, asSet || v.Type() == reflect.TypeFor[codec.Set]())
	case reflect.Map:
		return describeMap(v)
	case reflect.Struct:
		return describeObject(v)
	}
	return fmt.Sprintf("no description of %v", v.Type())
}

func describeList(v reflect.Value, asSet bool) string {
	parts := make([]string, v.Len())
	for i := range parts {
		parts[i] = describe(v.Index(i), false)
	}
	if asSet {
		slices.Sort(parts)
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func describeMap(v reflect.Value) string {
	if v.IsNil() {
		return "null"
	}
	values := map[string]string{}
	for entries := v.MapRange(); entries.Next(); {
		values[describe(entries.Key(), false)] = describe(entries.Value(), false)
	}
	parts := make([]string, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		parts = append(parts, key+":"+values[key])
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func describeObject(v reflect.Value) string {
	fields := map[string]string{}
	describeFields(v, fields)
	parts := make([]string, 0, len(fields))
	for name, text := range fields {
		parts = append(parts, name+"="+text)
	}
	slices.Sort(parts)
	blank, _ := v.Type().FieldByName("_")
	class, _, _ := strings.Cut(blank.Tag.Get("java"), ",")
	return class + "{" + strings.Join(parts, ",") + "}"
}

// fields adds the fields of a struct and of those that are embedded for super classes.
func describeFields(v reflect.Value, into map[string]string) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch {
		case f.Anonymous:
			describeFields(v.Field(i), into)
		case f.Name != "_" && f.Name != "Origin" && f.Tag.Get("corpus") == "":
			into[f.Tag.Get("json")] = describe(v.Field(i), strings.Contains(f.Tag.Get("java"), "Set"))
		}
	}
}

// describeScalar returns "" for what is none.
func describeScalar(value any) string {
	switch value := value.(type) {
	case string:
		return fmt.Sprintf("text %x", value)
	case int32:
		return fmt.Sprintf("Integer %d", value)
	case int64:
		return fmt.Sprintf("Long %d", value)
	case int16:
		return fmt.Sprintf("Short %d", value)
	case int8:
		return fmt.Sprintf("Byte %d", value)
	case uint16:
		return fmt.Sprintf("char %d", value)
	case bool:
		return fmt.Sprintf("Boolean %t", value)
	case float64:
		return fmt.Sprintf("double %x", math.Float64bits(value))
	case float32:
		return fmt.Sprintf("float %x", math.Float32bits(value))
	case codec.Timestamp:
		return fmt.Sprintf("Timestamp %d %d", value.Seconds, value.Nanos)
	case codec.Period:
		return fmt.Sprintf("Period %d %d %d", value.Years, value.Months, value.Days)
	case codec.URI:
		return "URI " + string(value)
	case codec.Currency:
		return "Currency " + string(value)
	case codec.Date:
		return fmt.Sprintf("Date %d", value)
	case codec.Decimal:
		return "BigDecimal " + string(value)
	case *big.Int:
		return "BigInteger " + value.String()
	case codec.UUID:
		return "UUID " + value.String()
	case codec.Locale:
		return fmt.Sprintf("Locale %s,%s,%s", value.Language, value.Country, value.Variant)
	}
	return describeTime(value)
}

func describeTime(value any) string {
	ofDay := func(t codec.LocalTime) int64 {
		return (int64(t.Hour)*3600+int64(t.Minute)*60+int64(t.Second))*1e9 + int64(t.Nano)
	}
	local := func(t codec.LocalDateTime) string { return fmt.Sprintf("LocalDateTime %v %d", t.Date, ofDay(t.Time)) }
	switch value := value.(type) {
	case time.Time:
		return fmt.Sprintf("Instant %d %d", value.Unix(), value.Nanosecond())
	case time.Duration:
		return fmt.Sprintf("Duration %d", int64(value))
	case codec.LocalDate:
		return fmt.Sprintf("LocalDate %v", value)
	case codec.LocalTime:
		return fmt.Sprintf("LocalTime %d", ofDay(value))
	case codec.LocalDateTime:
		return local(value)
	case codec.ZonedDateTime:
		return fmt.Sprintf("ZonedDateTime %s %d %s", local(value.Local), value.Offset, value.Zone)
	case codec.OffsetDateTime:
		return fmt.Sprintf("OffsetDateTime %s %d", local(value.Local), value.Offset)
	}
	return ""
}
