package codec_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/classfile"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// findOne is what a Recoder asks for a class demo.One with a field n.
func findOne(of codec.JavaClass) func(string) (codec.JavaClass, error) {
	return func(name string) (codec.JavaClass, error) {
		if name != "demo.One" {
			return codec.JavaClass{}, fs.ErrNotExist
		}
		of.Name, of.Serializable = name, true
		of.Fields = []codec.JavaField{{Name: "n", Type: codec.JavaType{Class: "int"}}}
		return of, nil
	}
}

// kryoOne is a demo.One as Kryo5 writes it, whose n is 1.
const kryoOne = "010064656d6f2e4f6ee502"

// TestRecodeReadableJSON: JSON is written where the Jackson of a release reads it. That was watched: each
// of 3.13.0, 3.16.6, 3.17.7, 3.21.0, 3.21.1, 3.23.5, 3.30.0, 3.45.1, 4.0.0, 4.2.0, 4.3.1 and 4.7.0 has been
// given what is written here.
func TestRecodeReadableJSON(t *testing.T) {
	for _, c := range []struct {
		to      codec.Name
		release string
		class   codec.JavaClass
		text    string // what is written, or
		refused string
	}{
		{codec.NameJSON, "", codec.JavaClass{}, `{"@class":"demo.One","n":1}`, ""},
		{codec.NameJSON, "", codec.JavaClass{NoDefault: true}, "", "demo.One: Jackson does not read it, for it has no constructor without parameters"},
		{codec.NameTypedJSON, "4.7.0", codec.JavaClass{NoDefault: true}, "", "no constructor without parameters"},
		{codec.NameJSON, "", codec.JavaClass{Record: true, NoDefault: true}, "", "demo.One: a record is read by the Jackson of Redisson 3.16.6 to 3.21.0 and from 3.30.0 on"},
		{codec.NameJSON, "3.13.0", codec.JavaClass{Record: true, NoDefault: true}, "", "a record is not read by the Jackson that comes with Redisson 3.13.0"},
		{codec.NameJSON, "3.16.6", codec.JavaClass{Record: true, NoDefault: true}, `{"@class":"demo.One","n":1}`, ""},
		{codec.NameTypedJSON, "3.21.0", codec.JavaClass{Record: true, NoDefault: true}, `{"n":1}`, ""},
		{codec.NameJSON, "3.21.1", codec.JavaClass{Record: true, NoDefault: true}, "", "a record is not read by the Jackson that comes with Redisson 3.21.1"},
		{codec.NameTypedJSON, "3.23.5", codec.JavaClass{Record: true, NoDefault: true}, "", "comes with Redisson 3.23.5"},
		{codec.NameTypedJSON, "3.30.0", codec.JavaClass{Record: true, NoDefault: true}, `{"n":1}`, ""},
		{codec.NameJSON, "4.7.0", codec.JavaClass{Record: true, NoDefault: true}, `{"@class":"demo.One","n":1}`, ""},
		{codec.NameJSON3, "", codec.JavaClass{Record: true, NoDefault: true}, `{"@class":"demo.One","n":1}`, ""},
		{codec.NameSerialization, "", codec.JavaClass{NoDefault: true}, "aced", ""},
	} {
		root := ""
		if c.to == codec.NameTypedJSON || c.to == codec.NameTypedJSON3 {
			root = "demo.One"
		}
		recoder, err := codec.NewRecoder(codec.NameKryo5, c.to, findOne(c.class), root)
		require.NoError(t, err)
		if c.release != "" {
			release, err := wire.ParseRelease(c.release)
			require.NoError(t, err)
			recoder.ReadBy(release)
		}
		written, err := recoder.Recode(sample(t, kryoOne))
		switch {
		case c.refused != "":
			var refused *codec.RecodeError
			require.ErrorAs(t, err, &refused)
			require.ErrorContains(t, err, c.refused)
			require.Equal(t, "demo.One", refused.Class)
		case c.to == codec.NameSerialization:
			require.NoError(t, err)
		default:
			require.NoError(t, err)
			require.Equal(t, c.text, string(written))
		}
	}
}

// What Jackson 2.15.0 writes of a record, in Redisson 3.21.1, holds nothing of it.
func TestEmptyRecordOfJackson(t *testing.T) {
	recoder, err := codec.NewRecoder(codec.NameJSON, codec.NameKryo5, findOne(codec.JavaClass{Record: true}), "")
	require.NoError(t, err)
	_, err = recoder.Recode([]byte(`["java.util.ArrayList",[{"@class":"demo.One"}]]`))
	require.ErrorContains(t, err, "the record demo.One has no members")

	type one struct {
		_ struct{} `java:"demo.One,record"`
		N int32    `json:"n"`
	}
	type holder struct {
		_   struct{} `java:"demo.Holder"`
		One *one     `json:"one"`
		S   *string  `json:"s"`
	}
	values, err := codec.NewJackson[holder]()
	require.NoError(t, err)
	_, err = values.Decode([]byte(`{"@class":"demo.Holder","one":{}}`))
	require.ErrorContains(t, err, "expected the members of a demo.One, got {}")
	got, err := values.Decode([]byte(`{"@class":"demo.Holder"}`))
	require.NoError(t, err, "nulls are left out")
	require.Equal(t, holder{}, got)
	_, err = values.Decode([]byte(`{}`))
	require.ErrorContains(t, err, `expected the member "@class"`)
	records, err := codec.NewJackson[one]()
	require.NoError(t, err)
	_, err = records.Decode([]byte(`{}`))
	require.ErrorContains(t, err, "got {}")
}

// Class files tell whether Jackson can read a class.
func TestClassFilesForJackson(t *testing.T) {
	library, err := classfile.Open("testdata/corpus/acme.jar")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, library.Close()) })
	beans, records := 0, 0
	for _, c := range newCorpus(corpusSeed, codec.NameSerialization, nil)[:jarredClasses] {
		java, err := library.Class("acme." + c.name)
		require.NoError(t, err)
		switch c.kind {
		case corpusBean:
			beans++
			require.False(t, java.NoDefault, java.Name)
		case corpusRecord:
			records++
			require.True(t, java.NoDefault, java.Name)
		}
	}
	require.Greater(t, min(beans, records), 2)
}

// Jackson 3 writes null for an empty Optional and for none, and reads null as an empty one: neither way is told apart.
func TestRecodeNullThatMayBeAnOptional(t *testing.T) {
	t.Parallel()
	find := func(name string) (codec.JavaClass, error) {
		if name != "demo.Held" {
			return codec.JavaClass{}, fs.ErrNotExist
		}
		return codec.JavaClass{Name: name, Serializable: true, Fields: []codec.JavaField{
			{Name: "id", Type: codec.JavaType{Class: "java.lang.String"}},
			{Name: "of", Type: codec.JavaType{Class: "java.util.Optional", Of: []codec.JavaType{{Class: "java.lang.String"}}}},
		}}, nil
	}
	for _, to := range []codec.Name{codec.NameSerialization, codec.NameMarshalling, codec.NameKryo5} {
		recoder, err := codec.NewRecoder(codec.NameTypedJSON3, to, find, "demo.Held")
		require.NoError(t, err)
		_, err = recoder.Recode([]byte(`{"id":"1","of":null}`))
		require.ErrorContains(t, err, "of: whether typed-json3 has an Optional there, an empty one or null, is not told apart here", to)
	}
}
