package codec_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
)

// TestRecodeKeysThatJacksonDoesNotRead: of a class that declares a map, at whatever depth, with keys that Jackson has
// no reader for, Java reads no object at all. That was watched with JsonJacksonCodec of Redisson 3.21.1 and 4.7.0, where
// each field here was null.
func TestRecodeKeysThatJacksonDoesNotRead(t *testing.T) {
	text, parameter := typed("java.lang.String"), codec.JavaType{Class: "java.lang.Object", Parameter: "T"}
	of := func(key codec.JavaType) codec.JavaType { return typed("java.util.Map", key, text) }
	bad := of(typed("java.time.LocalDate"))
	field := func(t codec.JavaType) []codec.JavaField { return []codec.JavaField{{Name: "m", Type: t}} }
	classes := map[string]codec.JavaClass{
		"demo.Bad":       {Fields: field(bad)},
		"demo.Sub":       {Super: "demo.Bad"},
		"demo.Abstract":  {Fields: field(bad), Abstract: true},
		"demo.Page":      {Parameters: []string{"T"}, Fields: field(of(parameter))},
		"demo.Dates":     {Super: "demo.Page", SuperOf: []codec.JavaType{typed("java.time.LocalDate")}},
		"demo.MyMap":     {Super: "java.util.HashMap", SuperOf: []codec.JavaType{typed("java.time.LocalDate"), text}, Collection: true},
		"demo.Color":     {Super: "java.lang.Enum", Final: true, Constants: []string{"RED"}},
		"demo.OfText":    {OfText: true},
		"demo.Plain":     {},
		"demo.Interface": {Interface: true},
		"demo.Loop":      {Fields: []codec.JavaField{{Name: "next", Type: typed("demo.Loop")}, {Name: "all", Type: typed("java.util.List", typed("demo.Loop"))}}},
		"demo.Grow":      {Parameters: []string{"T"}, Fields: field(typed("demo.Grow", typed("java.util.Map", parameter, parameter)))},
	}
	recode := func(to codec.Name, fieldType codec.JavaType) (string, error) {
		recoder, err := codec.NewRecoder(codec.NameKryo5, to, func(name string) (codec.JavaClass, error) {
			java, known := classes[name]
			if name == "demo.One" {
				java, known = codec.JavaClass{Fields: []codec.JavaField{{Name: "n", Type: typed("int")}, {Name: "x", Type: fieldType}}}, true
			}
			if !known {
				return java, fs.ErrNotExist
			}
			java.Name, java.Serializable = name, true
			return java, nil
		}, "demo.One")
		require.NoError(t, err)
		written, err := recoder.Recode(sample(t, kryoOne+"00"))
		return string(written), err
	}
	for _, wrong := range []codec.JavaType{
		bad, of(typed("java.lang.Number")), of(typed("java.lang.Comparable")), of(typed("java.util.List", text)), of(typed("[]", typed("java.lang.Long"))),
		of(typed("demo.Plain")), of(typed("demo.Interface")), of(wildcard(typed("java.lang.Number"))), typed("java.util.TreeMap", typed("java.time.Instant"), text),
		typed("demo.Bad"), typed("demo.Sub"), typed("java.util.List", typed("demo.Bad")), typed("java.util.List", wildcard(typed("demo.Bad"))), typed("java.util.Map", text, typed("demo.Bad")),
		typed("[]", typed("[]", typed("demo.Bad"))), typed("demo.Page", typed("java.time.LocalDate")), typed("demo.Dates"), typed("demo.MyMap"), typed("java.util.Set", bad),
	} {
		for _, to := range []codec.Name{codec.NameJSON, codec.NameTypedJSON, codec.NameJSON3, codec.NameTypedJSON3} {
			_, err := recode(to, wrong)
			var refused *codec.RecodeError
			require.ErrorAs(t, err, &refused, "%s in %s", wrong, to)
		}
	}
	_, err := recode(codec.NameJSON, typed("demo.Bad"))
	require.EqualError(t, err, "demo.One: Jackson does not read the class, though the field be null: field x of demo.One: field m of demo.Bad: a java.util.Map<java.time.LocalDate, java.lang.String> has keys that are not known to be read by it")
	for _, right := range []codec.JavaType{
		of(text), of(typed("java.lang.Long")), of(typed("java.util.UUID")), of(typed("java.util.Date")), of(typed("java.lang.Object")), of(typed("java.math.BigDecimal")),
		of(typed("demo.Color")), of(typed("demo.OfText")), typed("demo.Abstract"), typed("demo.Loop"), typed("demo.Interface"), typed("demo.Grow", text),
	} {
		written, err := recode(codec.NameJSON, right)
		require.NoError(t, err, right.String())
		require.Equal(t, `{"@class":"demo.One","n":1}`, written)
	}
}
