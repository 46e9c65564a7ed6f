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
		"an array of a type parameter":     javaType("[]", codec.JavaType{Class: "java.lang.Object", Parameter: "E"}),
	} {
		source, err := gen.Source("demo", []codec.JavaClass{
			{Name: "demo.One", Parameters: []string{"E"}, Fields: []codec.JavaField{{Name: "all", Type: typ}}},
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
