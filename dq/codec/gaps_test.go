package codec_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/classfile"
	"github.com/dq-bench/dq-bench/dq/codec/gen"
)

const gapsJar = "testdata/gaps/gaps.jar" // of Gaps.java beside it

// Kryo5 and JSON write the elements of a class that is a collection, and not its fields.
func TestCollectionsOfApplications(t *testing.T) {
	library, err := classfile.Open(gapsJar)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, library.Close()) })
	for name, is := range map[string]bool{
		"Bag": true, "Heir": true, "Dictionary": true, "Words": true, "Row": true, "Pair": false, "Holder": false, "Plain": false,
	} {
		java, err := library.Class("demo.Gaps$" + name)
		require.NoError(t, err)
		require.Equal(t, is, java.Collection, name)
	}
	recoder, err := codec.NewRecoder(codec.NameKryo5, codec.NameJSON, func(name string) (codec.JavaClass, error) {
		return findOne(codec.JavaClass{Collection: true})(name)
	}, "")
	require.NoError(t, err)
	_, err = recoder.Recode(sample(t, kryoOne))
	var refused *codec.RecodeError
	require.ErrorAs(t, err, &refused)
	require.ErrorContains(t, err, "demo.One is a java.util.Collection or Map")

	_, err = classfile.Load(gapsJar, "demo.Gaps$Heir")
	require.ErrorContains(t, err, "is a java.util.Collection or Map, for which no Go type stands")
	classes, err := classfile.Load(gapsJar, "demo.Gaps$Holder")
	require.NoError(t, err)
	source, err := gen.Source("demo", classes)
	require.NoError(t, err)
	require.Contains(t, string(source), ",lacks=all,lacks=bag")
	require.Contains(t, string(source), "all is left out: demo.Gaps$Heir is a java.util.Collection or Map")
	require.Contains(t, string(source), `{Of: Spoken(""), Name: "demo.Gaps$Spoken", Constants: []string{"ONE"}, NoJackson3: true}`)
}

// Jackson 3 writes and reads constants by the toString method that an enum has of its own.
func TestEnumsByToString(t *testing.T) {
	type spoken string
	type one struct {
		_ struct{} `java:"demo.One"`
		S *spoken  `json:"s"`
	}
	for _, c := range []struct {
		name    codec.Name
		text    string
		refused bool
	}{
		{codec.NameJSON, `{"@class":"demo.One","s":"ONE"}`, false},
		{codec.NameJSON3, `{"@class":"demo.One","s":"ONE"}`, true},
		{codec.NameTypedJSON, `{"s":"ONE"}`, false},
		{codec.NameTypedJSON3, `{"s":"ONE"}`, true},
	} {
		values, err := codec.ByName(c.name, codec.Class{Of: one{}}, codec.Class{Of: spoken(""), Name: "demo.Gaps$Spoken", Constants: []string{"ONE"}, NoJackson3: true})
		require.NoError(t, err)
		one := one{S: new(spoken("ONE"))}
		written, writeErr := values.Encode(one)
		read, readErr := values.Decode([]byte(c.text))
		if c.refused {
			require.ErrorContains(t, writeErr, "demo.Gaps$Spoken, which has a toString method of its own")
			require.ErrorContains(t, readErr, "which has a toString method of its own")
			continue
		}
		require.NoError(t, writeErr)
		require.Equal(t, c.text, string(written))
		require.NoError(t, readErr)
		require.Equal(t, one, read)
	}

	library, err := classfile.Open(gapsJar)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, library.Close()) })
	for class, reason := range map[string]string{
		"demo.Gaps$Spoken": "demo.Gaps$Spoken has a toString method of its own, by which Jackson 3 writes the constants",
		"demo.Gaps$Plain":  "",
	} {
		recoder, err := codec.NewRecoder(codec.NameJSON, codec.NameJSON3, library.Class, "")
		require.NoError(t, err)
		_, err = recoder.Recode([]byte(`["java.util.ArrayList",[["` + class + `","ONE"]]]`))
		if reason == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, reason)
	}
}

// What JSON lacks has in Java the value that the constructor gives it, which is not known here.
func TestMembersWithDefaults(t *testing.T) {
	library, err := classfile.Open(gapsJar)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, library.Close()) })
	recoder, err := codec.NewRecoder(codec.NameJSON, codec.NameKryo5, library.Class, "")
	require.NoError(t, err)
	for members, lacks := range map[string]string{
		`"m":1,"n":1,"tags":null`:                       "",
		`"m":1,"n":1,"tags":["java.util.ArrayList",[]]`: "",
		`"m":1,"n":1,"text":"a"`:                        `the object of demo.Gaps$Later lacks the member "tags", to which its constructor gives a value`,
		`"m":1,"tags":["java.util.ArrayList",["a"]]`:    `lacks the member "n"`,
	} {
		_, err := recoder.Recode([]byte(`{"@class":"demo.Gaps$Later",` + members + `}`))
		if lacks == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, lacks)
	}

	recoder, err = codec.NewRecoder(codec.NameJSON3, codec.NameJSON, library.Class, "")
	require.NoError(t, err)
	_, err = recoder.Recode([]byte(`{"@class":"demo.Gaps$Later","m":1,"n":1,"tags":null}`))
	require.ErrorContains(t, err, `lacks the member "tags"`, "JSON leaves null out, so that Java would read the list of the constructor")
}
