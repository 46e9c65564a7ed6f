package gen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/gen"
)

// What would be written as another type than Java declares is left out, and the tag says so.
func TestLeftOut(t *testing.T) {
	text := javaType("java.lang.String")
	wildcard := func(class string, of codec.JavaType) codec.JavaType {
		return codec.JavaType{Class: class, Of: []codec.JavaType{of}, Parameter: "?"}
	}
	for name, typ := range map[string]codec.JavaType{
		"a wildcard with super":            javaType("java.util.List", wildcard("java.lang.Object", text)),
		"a wildcard with a type argument":  javaType("java.util.List", wildcard("java.util.List", text)),
		"a wildcard in the type of values": javaType("java.util.Map", text, javaType("java.util.Set", wildcard("java.lang.Object", text))),
		"what was null each time":          {},
		"a map with keys of a parameter":   javaType("java.util.Map", codec.JavaType{Class: "java.lang.Object", Parameter: "E"}, text),
		"an array of numbers":              javaType("[]", javaType("java.lang.Number")),
		"an array of an interface":         javaType("[]", javaType("demo.Event")),
		"an array of a class with a sub":   javaType("[]", javaType("demo.Base")),
		"an array as a type argument":      javaType("demo.Page", javaType("[]", javaType("java.lang.Long"))),
		"one further in":                   javaType("java.util.List", javaType("demo.Page", javaType("demo.Page", javaType("[]", javaType("int"))))),
		"an array of a type parameter":     javaType("[]", codec.JavaType{Class: "java.lang.Object", Parameter: "E"}),
	} {
		source, err := gen.Source("demo", []codec.JavaClass{
			{Name: "demo.One", Parameters: []string{"E"}, Fields: []codec.JavaField{{Name: "all", Type: typ}}},
			{Name: "demo.Page", Parameters: []string{"E"}, Fields: []codec.JavaField{{Name: "first", Type: codec.JavaType{Class: "java.lang.Object", Parameter: "E"}}}},
			{Name: "demo.Event", Interface: true}, {Name: "demo.Base"}, {Name: "demo.Child", Super: "demo.Base"},
		})
		require.NoError(t, err)
		require.Contains(t, string(source), "serialVersionUID=0,lacks=all", name)
		require.Contains(t, string(source), "// all is left out: ", name)
	}
	source, err := gen.Source("demo", []codec.JavaClass{{Name: "demo.One", Fields: []codec.JavaField{{Name: "all", Type: javaType("[]", javaType("java.lang.Object"))}}}})
	require.NoError(t, err)
	require.Regexp(t, "All +\\[\\]any +`json:\"all\" java:\"array\"`", string(source))
}

// A field of a class with type parameters tells its arguments, also where the class has a subclass: any would not.
func TestTypeArgumentsAreKept(t *testing.T) {
	number, parameter := javaType("java.lang.Long"), codec.JavaType{Class: "java.lang.Object", Parameter: "E"}
	page := javaType("demo.Page", number)
	source := func(fields ...codec.JavaField) string {
		source, err := gen.Source("demo", []codec.JavaClass{
			{Name: "demo.One", Fields: fields},
			{Name: "demo.Page", Parameters: []string{"E"}, Fields: []codec.JavaField{{Name: "first", Type: parameter}}},
			{Name: "demo.Numbers", Super: "demo.Page", SuperOf: []codec.JavaType{number}},
			{Name: "demo.Holder", Interface: true, Parameters: []string{"E"}},
		})
		require.NoError(t, err)
		return string(source)
	}
	kept := source(codec.JavaField{Name: "a", Type: page}, codec.JavaField{Name: "b", Type: javaType("java.util.List", page)}, codec.JavaField{Name: "c", Type: javaType("demo.Page", page)})
	require.Regexp(t, `A +\*Page\[\*int64\] +.json:"a".`, kept)
	require.Regexp(t, `B +\[\]\*Page\[\*int64\] `, kept)
	require.Regexp(t, `C +\*Page\[\*Page\[\*int64\]\] `, kept)
	for _, left := range []codec.JavaField{
		{Name: "all", Type: javaType("java.util.List", page), Holds: []string{"demo.Numbers"}},
		{Name: "all", Type: javaType("java.util.Map", javaType("java.lang.String"), javaType("demo.Holder", number))},
	} {
		require.Contains(t, source(left), "serialVersionUID=0,lacks=all")
	}
}

// Only where class files show that a class is not java.io.Serializable does its tag say so.
func TestSerializable(t *testing.T) {
	source, err := gen.Source("demo", []codec.JavaClass{
		{Name: "demo.Base", NotSerializable: true}, {Name: "demo.Kid", Super: "demo.Base", Serializable: true}, {Name: "demo.Other"},
	})
	require.NoError(t, err)
	require.Contains(t, string(source), `"demo.Base,serialVersionUID=0,serializable=no"`)
	require.Contains(t, string(source), `"demo.Kid,serialVersionUID=0"`)
	require.Contains(t, string(source), `"demo.Other,serialVersionUID=0"`)
}

// An Optional that was null is written as one by an Origin.
func TestOptionalHasAnOrigin(t *testing.T) {
	source, err := gen.Source("demo", []codec.JavaClass{{Name: "demo.One", Fields: []codec.JavaField{{Name: "note", Type: javaType("java.util.Optional", javaType("java.lang.String"))}}}})
	require.NoError(t, err)
	require.Regexp(t, "Origin +codec.Origin +`json:\"-\"`", string(source))
}
