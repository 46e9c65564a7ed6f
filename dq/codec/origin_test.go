package codec

import (
	"encoding/hex"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// kept is a class of testdata/java whose struct keeps how Java held its collection.
type kept[T any] struct {
	Value  T      `json:"value"`
	ZZ     string `json:"zz"`
	Origin Origin `json:"-"`
}

// keptSet is one for a set.
type keptSet struct {
	Value  []*string `json:"value" java:"Set"`
	ZZ     string    `json:"zz"`
	Origin Origin    `json:"-"`
}

// With an Origin every class of list, set and map is written as Redisson wrote it.
func TestOriginWritesWhatRedissonWrote(t *testing.T) {
	// Where Marshalling and Serialization have Arrays.asList of texts, an unmodifiable list, a
	// CopyOnWriteArrayList, Stream.toList, an unmodifiable set, an unmodifiable map and a
	// ConcurrentHashMap, the class is not kept.
	lost := map[string][]int{"demo.ListBean": {2, 9, 11, 12}, "demo.SetBean": {7}, "demo.MapBean": {7, 8}}
	structs := map[string]any{"demo.ListBean": kept[[]*string]{}, "demo.SetBean": keptSet{}, "demo.MapBean": kept[map[string]string]{}}
	checked := 0
	for _, v := range readFields(t, "3.21.1.tsv")["3.21.1.tsv"] {
		if v.problem != "" || structs[v.class] == nil || v.codec != NameKryo5 && slices.Contains(lost[v.class], v.number) {
			continue
		}
		checked++
		c := v.codecFor(t, structs[v.class])
		value, err := c.Decode(v.bytes)
		require.NoError(t, err, v.text)
		written, err := c.Encode(value)
		require.NoError(t, err)
		require.Equal(t, hex.EncodeToString(v.bytes), hex.EncodeToString(written), "%s of %s", v.text, v.codec)
	}
	require.Greater(t, checked, 70)
}

// What was changed since it was read keeps its class where that can hold it, and its order.
func TestOriginOfChangedCollections(t *testing.T) {
	type names = kept[[]string]
	type sizes = kept[map[string]int32]
	lists, err := NewKryo5[names](Class{Of: names{}, Name: "demo.Names"})
	require.NoError(t, err)
	maps, err := NewKryo5[sizes](Class{Of: sizes{}, Name: "demo.Sizes"})
	require.NoError(t, err)
	list := func(class, content string) []byte {
		return []byte("\x01\x00demo.Name\xf3\x01\x01" + class + content + "\x82z")
	}
	dictionary := func(class, content string) []byte {
		return []byte("\x01\x00demo.Size\xf3\x01\x01" + class + content + "\x82z")
	}
	const list12, listN, arrayList = "java.util.ImmutableCollections$List1\xb2", "java.util.ImmutableCollections$List\xce", "java.util.ArrayLis\xf4"

	value, err := lists.Decode(list(list12, "\x02\x82a"))
	require.NoError(t, err)
	for content, now := range map[string][]string{
		list12 + "\x03\x82a\x82b": {"a", "b"}, listN + "\x04\x82a\x82b\x82c": {"a", "b", "c"}, listN + "\x01": {},
	} {
		value.Value = now
		written, err := lists.Encode(value)
		require.NoError(t, err)
		require.Equal(t, string(list(content, "")), string(written))
	}
	value, err = lists.Decode(list("java.util.Collections$EmptyLis\xf4", ""))
	require.NoError(t, err)
	value.Value = []string{"a"}
	written, err := lists.Encode(value)
	require.NoError(t, err)
	require.Equal(t, string(list(arrayList, "\x02\x82a")), string(written), "an empty list holds nothing")

	const linked = "java.util.LinkedHashMa\xf0"
	sized, err := maps.Decode(dictionary(linked, "\x04\x82z\x01\x02\x82y\x01\x04\x82x\x01\x06"))
	require.NoError(t, err)
	delete(sized.Value, "y")
	sized.Value["a"] = 4
	written, err = maps.Encode(sized)
	require.NoError(t, err)
	require.Equal(t, string(dictionary(linked, "\x04\x82z\x01\x02\x82x\x01\x06\x82a\x01\x08")), string(written))
}

// Where Java holds what is written anyway there is nothing to keep, and nothing to differ.
func TestOriginOfNothing(t *testing.T) {
	type names = kept[[]string]
	c, err := NewKryo5[names](Class{Of: names{}, Name: "demo.Names"})
	require.NoError(t, err)
	want := names{Value: []string{"a"}, ZZ: "z"}
	data, err := c.Encode(want)
	require.NoError(t, err)
	got, err := c.Decode(data)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// FuzzOrigin: what is read with an Origin is written in a way that is read and written so
// again.
func FuzzOrigin(f *testing.F) {
	names := []Name{NameKryo5, NameMarshalling, NameSerialization}
	for _, v := range readFields(f, "*.tsv")["3.21.1.tsv"] {
		if v.class == "demo.ListBean" || v.class == "demo.SetBean" || v.class == "demo.MapBean" || v.class == "demo.AnyBean" {
			f.Add(uint8(slices.Index(names, v.codec)), v.bytes)
		}
	}
	f.Fuzz(func(t *testing.T, of uint8, data []byte) {
		c, err := ByName(names[int(of)%len(names)], Class{Of: kept[[]any]{}, Name: "demo.ListBean", SerialVersionUID: 50}, Class{Of: keptSet{}, Name: "demo.SetBean", SerialVersionUID: 50},
			Class{Of: kept[map[any]any]{}, Name: "demo.MapBean", SerialVersionUID: 50}, Class{Of: kept[any]{}, Name: "demo.AnyBean", SerialVersionUID: 50})
		require.NoError(t, err)
		writtenAgain(t, c, data)
	})
}

// A null in a field of Optional is no empty one: with an Origin it is null again.
func TestOriginOfNullOptional(t *testing.T) {
	type optionals struct {
		_      struct{} `java:"demo.Opt"`
		A      *string  `json:"a" java:"Optional"`
		B      *string  `json:"b" java:"Optional"`
		Origin Origin   `json:"-"`
	}
	kryo, err := NewKryo5[optionals]()
	require.NoError(t, err)
	data := []byte("\x01\x00demo.Op\xf4\x00\x01\x00") // null, and an empty one
	value, err := kryo.Decode(data)
	require.NoError(t, err)
	written, err := kryo.Encode(value)
	require.NoError(t, err)
	require.Equal(t, hex.EncodeToString(data), hex.EncodeToString(written))
	text := "new"
	value.A, value.B = &text, &text
	written, err = kryo.Encode(value)
	require.NoError(t, err)
	again, err := kryo.Decode(written)
	require.NoError(t, err)
	require.Equal(t, "new new", *again.A+" "+*again.B)
}
