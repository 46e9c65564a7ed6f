package codec_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/classfile"
)

// What Redisson was seen to leave in objects of JSON that has no members is known of each class, or that it is not known.
func TestConstructorsOfRedisson(t *testing.T) {
	library, err := classfile.Open("testdata/constructors/constructors.jar")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, library.Close()) })
	seen, err := os.ReadFile("testdata/constructors/4.7.0.tsv")
	require.NoError(t, err)
	for line := range strings.Lines(string(seen)) {
		name, given, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		java, err := library.Class(name)
		require.NoError(t, err)
		if !java.Opaque {
			require.Equal(t, given, strings.Join(java.Defaults, ","), name)
		}
		mayBeOpaque := strings.Contains(name, "$Of") || slices.Contains([]string{"Sets", "Hands", "Private"}, strings.TrimPrefix(name, "demo.Constructors$"))
		require.True(t, mayBeOpaque || !java.Opaque, name)
	}
}

// What JSON lacks is null no more once Java has read it, where a constructor gives the field a value, or lets another do so.
func TestConstructorsThatGiveValues(t *testing.T) {
	library, err := classfile.Open("testdata/constructors/constructors.jar")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, library.Close()) })
	for name, want := range map[string]struct {
		defaults []string
		opaque   bool
	}{
		"Plain": {[]string{"other", "tags"}, false}, "Below": {[]string{"kind", "other", "tags"}, false}, "Built": {[]string{"kind"}, false},
		"Arguments": {[]string{"kind"}, false}, "OfSuper": {[]string{"kind"}, false}, "OfCast": {[]string{"kind", "own"}, false},
		"Nulls": {nil, false}, "Holds": {nil, false},
		"Ordinary": {[]string{"counts", "day", "id", "number", "share", "sizes", "tags"}, false},
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
	type ofNew struct {
		_    struct{} `java:"demo.Constructors$OfNew,serialVersionUID=1"`
		Kind *string  `json:"kind"`
	}
	type holds struct {
		_     struct{} `java:"demo.Constructors$Holds,serialVersionUID=1"`
		Inner *ofNew   `json:"inner"`
		All   []any    `json:"all"`
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
		{holds{}, ""},
		{holds{Inner: &ofNew{Kind: &text}}, ""},
		{holds{Inner: &ofNew{}}, "may give a value of its own"},
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
