package codec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/classfile"
	"github.com/dq-bench/dq-bench/dq/codec/gen"
)

// recodeGaps returns what becomes of a value whose classes are in gaps.jar.
func recodeGaps(t *testing.T, from, to codec.Name, root, value string) (string, error) {
	t.Helper()
	library, err := classfile.Open(gapsJar)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, library.Close()) })
	recoder, err := codec.NewRecoder(from, to, library.Class, root)
	require.NoError(t, err)
	written, err := recoder.Recode([]byte(value))
	return string(written), err
}

// A Redisson 4.7.0 was seen to read and write otherwise, or to fail, each time.
func TestRecodeRefusesWhatJavaReadsOtherwise(t *testing.T) {
	t.Parallel()
	const final, inner = `{"@class":"demo.Gaps$Final","n":9}`, `{"@class":"demo.Gaps$Outer","n":1,"inner":{"@class":"demo.Gaps$Outer$Inner","s":"a"}}`
	for _, c := range []struct {
		from, to            codec.Name
		root, value, reason string
	}{
		{codec.NameJSON, codec.NameKryo5, "", inner, "demo.Gaps$Outer$Inner has the hidden field this$0"},
		{codec.NameTypedJSON, codec.NameKryo5, "demo.Gaps$Outer", `{"n":1,"inner":{"s":"a"}}`, "has the hidden field this$0"},
		{codec.NameJSON3, codec.NameKryo5, "", final, "sets no final field, does not write or read all fields of demo.Gaps$Final: n"},
		{codec.NameJSON, codec.NameJSON3, "", final, "sets no final field"},
		{codec.NameTypedJSON3, codec.NameSerialization, "demo.Gaps$Final", `{"n":9}`, "sets no final field"},
		{codec.NameJSON, codec.NameKryo5, "", final, ""},
		{codec.NameJSON, codec.NameKryo5, "", `{"@class":"demo.Gaps$Made","n":9}`, "demo.Gaps$Made: Jackson does not read it, for it has no constructor without parameters"},
		{codec.NameTypedJSON, codec.NameKryo5, "demo.Gaps$Numbers", `{"one":"1"}`, `expected a java.lang.Number, got the text "1"`},
	} {
		_, err := recodeGaps(t, c.from, c.to, c.root, c.value)
		if c.reason == "" {
			require.NoError(t, err)
			continue
		}
		var refused *codec.RecodeError
		require.ErrorAs(t, err, &refused, c.value)
		require.ErrorContains(t, err, c.reason)
	}
}

// Jackson reads as a Double what it wrote of one that is no number, where a Number is declared.
func TestRecodeNumbersThatAreNone(t *testing.T) {
	t.Parallel()
	written, err := recodeGaps(t, codec.NameTypedJSON3, codec.NameJSON, "demo.Gaps$Numbers", `{"all":[1,"NaN","-Infinity"],"one":"Infinity"}`)
	require.NoError(t, err)
	require.Equal(t, `{"@class":"demo.Gaps$Numbers","all":["java.util.ArrayList",[1,["java.lang.Double","NaN"],["java.lang.Double","-Infinity"]]],"one":["java.lang.Double","Infinity"]}`, written)
}

// Nine keys of one hash code make a HashMap a tree, in an order of its own.
func TestRecodeRefusesTrees(t *testing.T) {
	t.Parallel()
	members := func(n int, name func(i int) string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf("%q:%d", name(i), i)
		}
		return `{"@class":"demo.Gaps$Maps","map":{"@class":"java.util.HashMap",` + strings.Join(all, ",") + `}}`
	}
	colliding := func(i int) string {
		return strings.NewReplacer("0", "Aa", "1", "BB").Replace(fmt.Sprintf("%04b", i))
	}
	_, err := recodeGaps(t, codec.NameJSON, codec.NameKryo5, "", members(8, colliding))
	require.NoError(t, err)
	_, err = recodeGaps(t, codec.NameJSON, codec.NameKryo5, "", members(5000, func(i int) string { return fmt.Sprint("key", i) }))
	require.NoError(t, err)
	_, err = recodeGaps(t, codec.NameJSON, codec.NameKryo5, "", members(9, colliding))
	require.ErrorContains(t, err, "demo.Gaps$Maps.map: more than eight of its hash codes fall into one bucket")
}

// What the compiler adds to an inner class is no field to Kryo5 and JSON.
func TestGenLeavesOutHiddenFields(t *testing.T) {
	t.Parallel()
	classes, err := classfile.Load(gapsJar, "demo.Gaps$Outer")
	require.NoError(t, err)
	source, err := gen.Source("demo", classes)
	require.NoError(t, err)
	require.Contains(t, string(source), ",lacks=this$0")
	require.Contains(t, string(source), "this$0 is left out: the compiler has added it")
}

// Sets and maps of java.util name their class in JSON, by which they are carried; Redisson 4.7.0 writes these bytes.
func TestRecodeCollectionsOfJSON(t *testing.T) {
	t.Parallel()
	for value, refused := range map[string]string{
		`["java.util.LinkedHashSet",["z","a"]]`:                                   "",
		`["java.util.HashSet",["a",["java.lang.Long",7]]]`:                        "",
		`["java.util.TreeSet",["a","z"]]`:                                         "",
		`["java.util.LinkedList",["z","a","z"]]`:                                  "",
		`{"@class":"java.util.LinkedHashMap","z":1,"a":2}`:                        "",
		`{"@class":"java.util.TreeMap","a":1,"z":{"@class":"java.util.HashMap"}}`: "",
		`["java.util.TreeSet",["z","a"]]`:                                         "java.util.TreeSet in another order",
		`["java.util.TreeSet",[1.5]]`:                                             "or of others than texts and integers",
		`["java.util.HashSet",["a","a"]]`:                                         "java.util.HashSet that has an element twice",
		`{"@class":"java.util.TreeMap","z":1,"a":2}`:                              "java.util.TreeMap in another order",
		`{"@class":"java.util.Hashtable","z":1}`:                                  "java.util.Hashtable",
		`["java.util.Vector",["z"]]`:                                              "java.util.Vector",
		`{"@class":"demo.Gaps$Maps","map":["java.util.TreeSet",[1]]}`:             "the class file declares it java.util.Map",
	} {
		for _, to := range []codec.Name{codec.NameKryo5, codec.NameSerialization} {
			written, err := recodeGaps(t, codec.NameJSON, to, "", value)
			if refused != "" {
				require.ErrorContains(t, err, refused)
				continue
			}
			require.NoError(t, err)
			again, err := recodeGaps(t, to, codec.NameJSON, "", written)
			require.NoError(t, err)
			require.Equal(t, value, again)
		}
	}
	written, err := recodeGaps(t, codec.NameJSON, codec.NameKryo5, "", `["java.util.LinkedHashSet",["z","a"]]`)
	require.NoError(t, err)
	require.Equal(t, "01006a6176612e7574696c2e4c696e6b6564486173685365f4830300827a8261", fmt.Sprintf("%x", written))
}

// Where plain JSON has a map, Jackson makes that which the field declares, and a LinkedHashMap of a Map or an Object.
func TestRecodeMapsOfPlainJSON(t *testing.T) {
	t.Parallel()
	const plain, inJSON = `{"map":{"z":1,"a":2}}`, `{"@class":"demo.Gaps$Maps","map":{"@class":"java.util.LinkedHashMap","z":1,"a":2}}`
	written, err := recodeGaps(t, codec.NameTypedJSON, codec.NameJSON, "demo.Gaps$Maps", plain)
	require.NoError(t, err)
	require.Equal(t, inJSON, written)
	written, err = recodeGaps(t, codec.NameJSON, codec.NameTypedJSON, "demo.Gaps$Maps", inJSON)
	require.NoError(t, err)
	require.Equal(t, plain, written)
	_, err = recodeGaps(t, codec.NameJSON, codec.NameTypedJSON, "demo.Gaps$Maps", strings.Replace(inJSON, "Linked", "", 1))
	require.ErrorContains(t, err, "demo.Gaps$Maps.map: typed-json has no form for it: it would be read as another value")
	for root, want := range map[string]string{
		"java.util.HashMap":   `{"@class":"java.util.HashMap","a":2,"z":1}`,
		"java.util.TreeMap":   `{"@class":"java.util.TreeMap","a":2,"z":1}`,
		"java.lang.Object":    `{"@class":"java.util.LinkedHashMap","z":1,"a":2}`,
		"java.util.SortedMap": `{"@class":"java.util.TreeMap","a":2,"z":1}`,
	} {
		written, err := recodeGaps(t, codec.NameTypedJSON, codec.NameJSON, root, `{"z":1,"a":2}`)
		require.NoError(t, err)
		require.Equal(t, want, written)
	}
}
