package codec_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/classfile"
)

// What JSON lacks is null no more once Java has read it, where a constructor gives the field a value, or lets another do so.
func TestConstructorsThatGiveValues(t *testing.T) {
	library, err := classfile.Open("testdata/constructors/constructors.jar")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, library.Close()) })
	for name, want := range map[string]struct {
		defaults []string
		opaque   bool
	}{
		"Plain": {[]string{"other", "tags"}, false}, "Below": {[]string{"kind"}, false}, "Built": {[]string{"kind"}, false},
		"Sets": {nil, true}, "Arguments": {nil, true}, "Hands": {nil, true}, "Private": {nil, true},
	} {
		java, err := library.Class("demo.Constructors$" + name)
		require.NoError(t, err)
		require.Equal(t, want.defaults, java.Defaults, name)
		require.Equal(t, want.opaque, java.Opaque, name)
	}

	type plain struct {
		_     struct{} `java:"demo.Constructors$Plain,serialVersionUID=1"`
		Kind  *string  `json:"kind"`
		Other *string  `json:"other"`
		Tags  []string `json:"tags"`
	}
	type below struct {
		_ struct{} `java:"demo.Constructors$Below,serialVersionUID=1"`
		plain
	}
	type sets struct {
		_    struct{} `java:"demo.Constructors$Sets,serialVersionUID=1"`
		Kind *string  `json:"kind"`
	}
	text := "text"
	for _, c := range []struct {
		value any
		wrong string
	}{
		{plain{Other: &text, Tags: []string{}}, ""},
		{plain{Tags: []string{}}, `lacks the member "other", to which its constructor gives a value`},
		{below{plain: plain{Other: &text, Tags: []string{}}}, `lacks the member "kind", to which its constructor gives a value`},
		{below{plain: plain{Kind: &text, Other: &text, Tags: []string{}}}, ""},
		{sets{}, "may give a value of its own"},
		{sets{Kind: &text}, ""},
	} {
		serialization, err := codec.ByName(codec.NameSerialization, codec.Class{Of: c.value})
		require.NoError(t, err)
		data, err := serialization.Encode(c.value)
		require.NoError(t, err)
		recoder, err := codec.NewRecoder(codec.NameSerialization, codec.NameJSON, library.Class, "")
		require.NoError(t, err)
		_, err = recoder.Recode(data)
		if c.wrong == "" {
			require.NoError(t, err, "%+v", c.value)
			continue
		}
		require.ErrorContains(t, err, c.wrong)
	}
}
