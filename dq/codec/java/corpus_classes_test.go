package java_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec/java"
)

// goClass is a Java class of testdata/corpus/classes.json or testdata/fields.json, with the Go types that a user declares. The
// corpus has 300 classes as services send them: beans, records, subclasses, generic containers, interfaces.
type goClass struct {
	Name, Options, Super, Source string
	Constants                    []string // of an enum
	Message                      bool     // values are sent by themselves
	Fields                       []struct {
		Name, Type, Tag string
		LeftOut         bool // Go has no type for it
	}
	of reflect.Type
}

// The Go types of enums; reflection cannot make them.
type (
	enum0 string
	enum1 string
	enum2 string
	enum3 string
)

// goTypes are Go types by their names in the files.
type goTypes map[string]reflect.Type

func newGoTypes() goTypes {
	named := goTypes{
		"any": reflect.TypeFor[any](), "demo.Color": reflect.TypeFor[color](), "demo.DateBean": reflect.TypeFor[dateBean](),
		"acme.Enum0": reflect.TypeFor[enum0](), "acme.Enum1": reflect.TypeFor[enum1](), "acme.Enum2": reflect.TypeFor[enum2](), "acme.Enum3": reflect.TypeFor[enum3](),
	}
	for _, v := range []any{
		"", false, int8(0), int16(0), int32(0), int64(0), uint8(0), uint16(0), float32(0), 0.0, big.Int{}, time.Time{}, time.Duration(0), //nolint:govet // for their types
		java.Date(0), java.Timestamp{}, java.UUID{}, java.Set{}, java.Decimal(""), java.LocalDate(""), java.LocalTime(""), java.LocalDateTime(""), java.OffsetDateTime(""),
		java.OffsetTime(""), java.ZonedDateTime(""), java.Period(""), java.Year(""), java.YearMonth(""), java.MonthDay(""), java.Currency(""), java.Locale(""), java.URI(""),
	} {
		named[reflect.TypeOf(v).String()] = reflect.TypeOf(v)
	}
	return named
}

// parse returns the type of a text such as map[string][]*acme.Class9, or of acme.Class8<of=type>, whose first field has that type.
func (named goTypes) parse(t testing.TB, text string, generic func(class, of string, first reflect.Type) reflect.Type) reflect.Type {
	if elem, ok := strings.CutPrefix(text, "*"); ok {
		return reflect.PointerTo(named.parse(t, elem, generic))
	} else if elem, ok := strings.CutPrefix(text, "[]"); ok {
		return reflect.SliceOf(named.parse(t, elem, generic))
	} else if rest, ok := strings.CutPrefix(text, "map["); ok {
		key, elem, _ := strings.Cut(rest, "]")
		return reflect.MapOf(named.parse(t, key, generic), named.parse(t, elem, generic))
	} else if class, argument, ok := strings.Cut(strings.TrimSuffix(text, ">"), "<"); ok {
		of, first, _ := strings.Cut(argument, "=")
		return generic(class, of, named.parse(t, first, generic))
	}
	require.Contains(t, named, text)
	return named[text]
}

// readClasses reads the classes of a file, with the serialVersionUIDs of Java. A codec whose bytes name the fields needs
// none for those left out.
func readClasses(t testing.TB, file, codec string, uids map[string]int64) (all []goClass) {
	data, err := os.ReadFile("testdata/" + file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &all))
	named, byName := newGoTypes(), map[string]*goClass{}
	var structOf func(c *goClass, option string, first reflect.Type) reflect.Type
	generic := func(class, of string, first reflect.Type) reflect.Type {
		return structOf(byName[class], ",of="+of, first)
	}
	structOf = func(c *goClass, option string, first reflect.Type) reflect.Type {
		name, _, _ := strings.Cut(c.Name, " ") // "demo.AnyBean skipped" is one without the field
		if uid, known := uids[c.Name]; known {
			option += fmt.Sprintf(",serialVersionUID=%d", uid)
		}
		fields := []reflect.StructField{{Name: "_", PkgPath: "acme", Type: reflect.TypeFor[struct{}](), Tag: reflect.StructTag(fmt.Sprintf("java:%q", name+c.Options+option))}}
		if c.Super != "" {
			fields = append(fields, reflect.StructField{Name: strings.TrimPrefix(c.Super, "acme."), Type: byName[c.Super].of, Anonymous: true})
		}
		for i, f := range c.Fields {
			if f.LeftOut && codec != "kryo5" {
				continue
			}
			of := first
			if i > 0 || first == nil {
				of = named.parse(t, f.Type, generic)
			}
			tags := fmt.Sprintf("json:%q java:%q", f.Name, f.Tag)
			if f.LeftOut {
				tags += ` corpus:"left out"`
			}
			fields = append(fields, reflect.StructField{Name: strings.ToUpper(f.Name[:1]) + f.Name[1:], Type: of, Tag: reflect.StructTag(tags)})
		}
		return reflect.StructOf(fields)
	}
	for i := range all {
		c := &all[i]
		if c.of = named[c.Name]; c.of == nil && len(c.Fields) == 0 {
			c.of = reflect.TypeFor[any]() // an interface
		} else if c.of == nil {
			c.of = structOf(c, "", nil)
		}
		named[c.Name], byName[c.Name] = c.of, c
	}
	return all
}

// classOf returns the class for a constructor; false for an interface.
func (c *goClass) classOf() (java.Class, bool) {
	class := java.Class{Of: reflect.Zero(c.of).Interface()}
	if c.Constants != nil {
		class.Name, class.Constants, class.Final = c.Name, c.Constants, true
	}
	return class, c.of.Kind() != reflect.Interface
}
