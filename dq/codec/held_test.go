package codec

import (
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// heldClasses has the classes of collections that are written in each codec that names them as they were read.
var heldClasses = map[string]string{
	"ArrayList": "java.util.ArrayList", "LinkedList": "java.util.LinkedList", "LinkedHashSet": "java.util.LinkedHashSet", "TreeSet": "java.util.TreeSet",
	"Arrays.asList": "java.util.Arrays$ArrayList", "Arrays.asList of texts": "java.util.Arrays$ArrayList", "Arrays.asList of numbers": "java.util.Arrays$ArrayList",
	"emptyList": "java.util.Collections$EmptyList", "singletonList": "java.util.Collections$SingletonList", "emptySet": "java.util.Collections$EmptySet",
	"singleton": "java.util.Collections$SingletonSet", "emptyMap": "java.util.Collections$EmptyMap", "singletonMap": "java.util.Collections$SingletonMap",
	"HashSet": "java.util.HashSet", "HashSet filled": "java.util.HashSet", "HashSet of a capacity": "java.util.HashSet",
	"HashMap": "java.util.HashMap", "HashMap of one bucket": "java.util.HashMap", "HashMap of a capacity": "java.util.HashMap", "HashMap of numbers": "java.util.HashMap",
	"LinkedHashMap": "java.util.LinkedHashMap", "TreeMap": "java.util.TreeMap", "nested": "java.util.LinkedHashMap",
}

// immutables has those of List.of and the like, which JsonJacksonCodec does not name where they are not in
// something else, so that it cannot read them.
var immutables = map[string]string{
	"List.of 0": "ListN", "List.of 1": "List12", "List.of 2": "List12", "List.of 3": "ListN",
	"Set.of 0": "SetN", "Set.of 1": "Set12", "Set.of 2": "Set12", "Set.of 3": "SetN", "Map.of 0": "MapN", "Map.of 1": "Map1", "Map.of 2": "MapN",
}

// A collection that was read into an any is written in the same bytes, or refused by its class.
func TestAnyKeepsClassAndOrder(t *testing.T) {
	identical := map[Name]int{}
	for _, v := range readWhole(t, "any") {
		text := v.release + " " + string(v.codec) + " " + v.name
		c, err := ByName(v.codec, shadeClass)
		require.NoError(t, err)
		got, err := c.Decode(v.bytes)
		name := strings.TrimPrefix(v.name, "any ")
		class := heldClasses[name]
		isText := strings.Contains(string(v.codec), "json")
		if immutables[name] != "" && !isText {
			class = immutableName + immutables[name]
		}
		if err != nil {
			require.Empty(t, class, "%s: %v", text, err)
			continue
		}
		if class != "" && !strings.HasPrefix(string(v.codec), "typed") {
			require.Equal(t, class, ClassOf(got), text)
		}
		written, err := c.Encode(got)
		if err != nil {
			var refused *ValueError
			require.ErrorAs(t, err, &refused, text)
			require.ErrorContains(t, err, ClassOf(got), text)
			require.Empty(t, class, "%s: %v", text, err)
			continue
		}
		require.Equal(t, hex.EncodeToString(v.bytes), hex.EncodeToString(written), text)
		identical[v.codec]++
		if _, held := got.(Collection); held {
			_, err = json.Marshal(got)
			require.NoError(t, err, text)
		} else {
			require.Equal(t, Plain(got), got)
		}
	}
	t.Log(identical)
	for name, most := range map[Name]int{NameKryo5: 82, NameMarshalling: 34, NameSerialization: 68, NameJSON: 84, NameJSON3: 42, NameTypedJSON: 112, NameTypedJSON3: 56} {
		require.GreaterOrEqual(t, identical[name], most, name)
	}
}

// What is read and not written is named, with what to do.
func TestAnyOfClassesThatAreNotWritten(t *testing.T) {
	refused := map[string]string{
		"unmodifiableList": "java.util.Collections$UnmodifiableRandomAccessList", "unmodifiableMap": "java.util.Collections$UnmodifiableMap", "CopyOnWriteArrayList": copyOnWriteArrayListName,
		"TreeSet downwards": "java.util.TreeSet with a comparator", "TreeMap downwards": "java.util.TreeMap with a comparator", "HashMap of a load": "java.util.HashMap with a load factor",
		"LinkedHashMap by access": "java.util.LinkedHashMap in the order of access", "Stream.toList": "java.util.ImmutableCollections$ListN of Stream.toList", "Hashtable": hashtableName,
	}
	checked := 0
	for _, v := range readWhole(t, "any") {
		want := refused[strings.TrimPrefix(v.name, "any ")]
		if want == "" || v.codec != NameSerialization {
			continue
		}
		checked++
		c, err := NewSerialization[any]()
		require.NoError(t, err)
		got, err := c.Decode(v.bytes)
		require.NoError(t, err, v.name)
		_, err = c.Encode(got)
		require.Error(t, err, v.name)
		if want == "java.util.Collections$UnmodifiableRandomAccessList" {
			want = "java.util.Collections$UnmodifiableList" // which Serialization writes for it
		}
		require.ErrorContains(t, err, "a "+want+", which is read and not written here; codec.Keep writes", v.name)
	}
	require.Equal(t, 2*len(refused), checked)
}

// The plain value of a Collection is that of Java, and its keys have Java's order.
func TestCollection(t *testing.T) {
	c, err := NewJackson[any]()
	require.NoError(t, err)
	got, err := c.Decode([]byte(`{"@class":"java.util.LinkedHashMap","z":["java.util.LinkedList",["x"]],"a":1}`))
	require.NoError(t, err)
	held, is := got.(Collection)
	require.True(t, is)
	require.Equal(t, "java.util.LinkedHashMap", held.Class())
	require.Equal(t, []any{"z", "a"}, held.Keys())
	inner, _ := held.Value().(map[string]any)
	require.Equal(t, "java.util.LinkedList", ClassOf(inner["z"]))
	require.Equal(t, map[string]any{"z": []any{"x"}, "a": int32(1)}, Plain(got))
	text, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, `{"z":["x"],"a":1}`, string(text))

	inner["q"] = "changed, which is forbidden"
	written, err := c.Encode(got)
	require.NoError(t, err)
	require.Equal(t, `{"@class":"java.util.LinkedHashMap","z":["java.util.LinkedList",["x"]],"a":1,"q":"changed, which is forbidden"}`, string(written), "the class stays")

	kryo, err := NewKryo5[any]()
	require.NoError(t, err)
	enums, err := c.Decode([]byte(`["java.util.EnumSet<demo.Color>",["RED"]]`))
	require.NoError(t, err)
	_, err = kryo.Encode([]any{enums})
	require.ErrorContains(t, err, "element 0: codec kryo5: a java.util.EnumSet<demo.Color>, which kryo5 does not write here")

	require.Equal(t, "", Collection{}.Class())
	require.Nil(t, Collection{}.Keys())
	written, err = c.Encode(Collection{})
	require.NoError(t, err)
	require.Equal(t, "null", string(written))
}

// A field of any keeps what it holds as well, and of an object that has an Origin it is written once.
func TestAnyFieldKeepsClass(t *testing.T) {
	type holder struct {
		Value  any    `json:"value"`
		Origin Origin `json:"-"`
	}
	for _, name := range []Name{NameKryo5, NameMarshalling, NameSerialization, NameJSON, NameJSON3} {
		c, err := ByName(name, Class{Of: holder{}, Name: "demo.Holder", SerialVersionUID: 1})
		require.NoError(t, err)
		json, err := NewJackson[any]()
		require.NoError(t, err)
		linked, err := json.Decode([]byte(`["java.util.LinkedList",[{"@class":"java.util.TreeMap","a":1,"z":2}]]`))
		require.NoError(t, err)
		data, err := c.Encode(holder{Value: linked})
		require.NoError(t, err)
		got, err := c.Decode(data)
		require.NoError(t, err)
		again, err := c.Encode(got)
		require.NoError(t, err)
		require.Equal(t, data, again)
		list, is := got.(holder)
		require.True(t, is)
		require.Equal(t, "java.util.LinkedList", ClassOf(list.Value), name)
		all, _ := list.Value.(Collection).Value().([]any)
		require.Equal(t, "java.util.TreeMap", ClassOf(all[0]), name)
	}
}
