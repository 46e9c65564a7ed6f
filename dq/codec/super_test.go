package codec

import (
	"encoding/hex"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// javaSub is what Redisson 3.21.1 wrote for sub{X: 5, Y: "why"}, whose field x
// belongs to the super class.
var javaSub = map[Name]string{
	NameMarshalling:   "0404093e0864656d6f2e5375620000000000000009000000023e05657874726123003e01791600093e0964656d6f2e426173650000000000000008000000023e0473656c6616003e0178240016010000000000000005000000063e03776879",
	NameSerialization: "aced00057372000864656d6f2e537562000000000000000902000249000565787472614c0001797400124c6a6176612f6c616e672f537472696e673b7872000964656d6f2e4261736500000000000000080200024a0001784c000473656c6674000b4c64656d6f2f426173653b787000000000000000057000000006740003776879",
}

// javaBytes returns the longest of testdata/vectors.json for an object of a class.
func javaBytes(t testing.TB, name Name, class string) []byte {
	var longest string
	for _, group := range readVectors(t) {
		for _, v := range group.Vectors {
			if group.Codec == name && v.Value.Type == class && len(v.Hex) > len(longest) {
				longest = v.Hex
			}
		}
	}
	require.NotEmpty(t, longest)
	return unhex(t, longest)
}

func unhex(t testing.TB, text string) []byte {
	data, err := hex.DecodeString(text)
	require.NoError(t, err)
	return data
}

// eachHierarchical runs check for the codecs that write each class apart.
func eachHierarchical(t *testing.T, check func(t *testing.T, name Name)) {
	for _, name := range []Name{NameMarshalling, NameSerialization} {
		t.Run(string(name), func(t *testing.T) { check(t, name) })
	}
}

func TestFlatStructIsRefusedOnceASuperClassWasSeen(t *testing.T) {
	eachHierarchical(t, func(t *testing.T, name Name) {
		c, err := ByName(name, Class{Of: sub{}})
		require.NoError(t, err)
		_, err = c.Encode(sub{X: 5, Y: "why"})
		require.NoError(t, err, "nothing tells of the super class yet")

		java := unhex(t, javaSub[name])
		_, err = c.Decode(java[:len(java)-1])
		require.Error(t, err)
		_, err = c.Encode(sub{X: 5, Y: "why"})
		require.NoError(t, err, "broken bytes tell nothing")

		_, err = c.Decode(java)
		require.NoError(t, err)
		for _, value := range []any{sub{}, &sub{}, []any{"a", sub{}}, map[string]any{"k": sub{}}, pair{Any: sub{}}} {
			_, err = c.Encode(value)
			require.ErrorAs(t, err, new(*TypeError))
			require.ErrorContains(t, err, "demo.Sub has the super class demo.Base")
			require.ErrorContains(t, err, "embed a struct of class demo.Base")
		}

		back, err := c.Decode(java)
		require.NoError(t, err, "reading goes on")
		require.Equal(t, sub{X: 5, Y: "why"}, back)
		_, err = c.Encode("other values")
		require.NoError(t, err)

		other, err := ByName(name, Class{Of: sub{}})
		require.NoError(t, err)
		_, err = other.Encode(sub{})
		require.NoError(t, err, "each codec learns on its own")
	})
}

func TestFlatSuperClassIsRefusedOnceItsOwnSuperClassWasSeen(t *testing.T) {
	type flatChild struct {
		_      struct{} `java:"demo.Child,serialVersionUID=21"`
		Name   string   `json:"name"`
		Amount int64    `json:"amount"`
	}
	type halfGrandChild struct {
		_ struct{} `java:"demo.GrandChild,serialVersionUID=22"`
		flatChild
		Kind string `json:"kind"`
	}
	eachHierarchical(t, func(t *testing.T, name Name) {
		c, err := ByName(name, Class{Of: halfGrandChild{}}, Class{Of: order{}}, Class{Of: base{}})
		require.NoError(t, err)
		back, err := c.Decode(javaBytes(t, name, "demo.GrandChild"))
		require.NoError(t, err)
		require.NotEmpty(t, back.(halfGrandChild).Name)
		for _, value := range []any{back, flatChild{}} {
			_, err = c.Encode(value)
			require.ErrorContains(t, err, "demo.Child has the super class demo.Base")
		}
	})
}

func TestFieldInTheWrongClassIsRefusedOnceSeen(t *testing.T) {
	type halfBase struct {
		_    struct{} `java:"demo.Base,serialVersionUID=20"`
		Name string   `json:"name"`
	}
	type halfChild struct {
		_ struct{} `java:"demo.Child,serialVersionUID=21"`
		halfBase
		Amount int64 `json:"amount"`
		Rank   int32 `json:"rank"` // of demo.Base
	}
	eachHierarchical(t, func(t *testing.T, name Name) {
		c, err := ByName(name, Class{Of: halfChild{}}, Class{Of: order{}})
		require.NoError(t, err)
		back, err := c.Decode(javaBytes(t, name, "demo.Child"))
		require.NoError(t, err)
		require.Equal(t, halfChild{halfBase: halfBase{Name: "one"}, Amount: 4000, Rank: 3}, back)
		_, err = c.Encode(back)
		require.ErrorAs(t, err, new(*TypeError))
		require.ErrorContains(t, err, `demo.Child has the super class demo.Base, to which the field "rank" belongs`)
	})
}

func TestSuperClassNamedWithoutASampleIsRefused(t *testing.T) {
	type tagged struct {
		_ struct{} `java:"demo.Child,serialVersionUID=21,super=demo.Base"`
		A int32
	}
	type generated struct{ A int32 }
	type embedding struct {
		_ struct{} `java:"demo.Child,serialVersionUID=21,super=demo.Base"`
		base
	}
	given := Class{Of: generated{}, Name: "demo.Child", SerialVersionUID: 21, Super: "demo.Base"}
	for _, test := range []struct {
		name    string
		value   any
		class   Class
		refused bool
	}{
		{"in the tag", tagged{}, Class{Of: tagged{}}, true},
		{"in the tag, not given to the codec", tagged{}, Class{Of: order{}}, true},
		{"in Class", generated{}, given, true},
		{"embedded", embedding{}, Class{Of: embedding{}}, false},
	} {
		for _, name := range []Name{NameMarshalling, NameSerialization, NameKryo5, NameJSON, NameTypedJSON} {
			t.Run(test.name+" "+string(name), func(t *testing.T) {
				c, err := ByName(name, test.class)
				require.NoError(t, err)
				_, err = c.Encode(test.value)
				if test.refused && (name == NameMarshalling || name == NameSerialization) {
					require.ErrorContains(t, err, "demo.Child has the super class demo.Base")
					return
				}
				require.NoError(t, err)
			})
		}
	}
}

// TestSuperClassWithoutFieldsMayBeLeftOut: Redisson 3.16.6 and 3.21.1 read all
// fields from what is written here.
func TestSuperClassWithoutFieldsMayBeLeftOut(t *testing.T) {
	type flatMarked struct {
		_   struct{} `java:"demo.Marked,serialVersionUID=31"`
		Tag string   `json:"tag"`
		N   int32    `json:"n"`
	}
	type lowOnBase struct {
		_ struct{} `java:"demo.Low,serialVersionUID=33"`
		base
		Tail string `json:"tail"`
	}
	name, owner := "low", int64(2000)
	for _, test := range []struct {
		codec Name
		class string
		want  any
		bytes string
	}{
		{NameMarshalling, "demo.Marked", flatMarked{Tag: "label", N: 4}, "0404093e0b64656d6f2e4d61726b6564000000000000001f000000023e016e23003e03746167160016000000043e056c6162656c"},
		{NameSerialization, "demo.Marked", flatMarked{Tag: "label", N: 4}, "aced00057372000b64656d6f2e4d61726b6564000000000000001f0200024900016e4c00037461677400124c6a6176612f6c616e672f537472696e673b7870000000047400056c6162656c"},
		{NameMarshalling, "demo.Low", lowOnBase{base: base{Name: &name, Rank: 2, Owner: &owner}, Tail: "end"}, "0404093e0864656d6f2e4c6f770000000000000021000000013e047461696c1600093e0964656d6f2e426173650000000000000014000000033e046e616d6516003e056f776e657216003e0472616e6b2300163e036c6f774c00000000000007d0000000023e03656e64"},
		{NameSerialization, "demo.Low", lowOnBase{base: base{Name: &name, Rank: 2, Owner: &owner}, Tail: "end"}, "aced00057372000864656d6f2e4c6f7700000000000000210200014c00047461696c7400124c6a6176612f6c616e672f537472696e673b7872000964656d6f2e42617365000000000000001402000349000472616e6b4c00046e616d6571007e00014c00056f776e65727400104c6a6176612f6c616e672f4c6f6e673b7870000000027400036c6f777372000e6a6176612e6c616e672e4c6f6e673b8be490cc8f23df0200014a000576616c7565787200106a6176612e6c616e672e4e756d62657286ac951d0b94e08b020000787000000000000007d0740003656e64"},
	} {
		t.Run(test.class+" "+string(test.codec), func(t *testing.T) {
			c, err := ByName(test.codec, Class{Of: test.want})
			require.NoError(t, err)
			back, err := c.Decode(javaBytes(t, test.codec, test.class))
			require.NoError(t, err)
			require.Equal(t, test.want, back)
			data, err := c.Encode(back)
			require.NoError(t, err)
			require.Equal(t, test.bytes, hex.EncodeToString(data))
		})
	}
}

// hiding has two fields that hide those of its super class.
type hiding struct {
	_ struct{} `java:"demo.Hiding,serialVersionUID=34"`
	base
	OwnName int32 `json:"name"`
	OwnRank int32 `json:"rank"`
}

// TestHiddenFieldsStayApart has the bytes of Redisson 3.21.1.
func TestHiddenFieldsStayApart(t *testing.T) {
	name, owner := "hidden", int64(2000)
	value := hiding{base: base{Name: &name, Rank: 1, Owner: &owner}, OwnName: 5, OwnRank: 2}
	for codec, java := range map[Name]string{
		NameMarshalling:   "0404093e0b64656d6f2e486964696e670000000000000022000000023e046e616d6523003e0472616e6b2300093e0964656d6f2e4261736500000000000000140000000339fd16003e056f776e6572160039fd2300163e0668696464656e4c00000000000007d0000000010000000500000002",
		NameSerialization: "aced00057372000b64656d6f2e486964696e6700000000000000220200024900046e616d6549000472616e6b7872000964656d6f2e42617365000000000000001402000349000472616e6b4c00046e616d657400124c6a6176612f6c616e672f537472696e673b4c00056f776e65727400104c6a6176612f6c616e672f4c6f6e673b78700000000174000668696464656e7372000e6a6176612e6c616e672e4c6f6e673b8be490cc8f23df0200014a000576616c7565787200106a6176612e6c616e672e4e756d62657286ac951d0b94e08b020000787000000000000007d00000000500000002",
		NameKryo5:         "010064656d6f2e486964696ee70a6869646465ee01a01f0402",
	} {
		c, err := ByName(codec, Class{Of: hiding{}})
		require.NoError(t, err)
		back, err := c.Decode(unhex(t, java))
		require.NoError(t, err)
		require.Equal(t, value, back)
		data, err := c.Encode(value)
		require.NoError(t, err)
		require.Equal(t, java, hex.EncodeToString(data))
	}
	_, err := NewJackson[hiding]()
	require.ErrorContains(t, err, "two fields named", "Jackson writes one of them only")
}

// TestFieldsFromBeforeTheSuperClassAreRead: bytes that hold all as fields of the
// subclass, as a flat struct wrote them, may still be in a queue.
func TestFieldsFromBeforeTheSuperClassAreRead(t *testing.T) {
	type flatChild struct {
		_      struct{} `java:"demo.Child,serialVersionUID=21"`
		Name   string   `json:"name"`
		Rank   int32    `json:"rank"`
		Amount int64    `json:"amount"`
	}
	eachHierarchical(t, func(t *testing.T, name Name) {
		before, err := ByName(name, Class{Of: flatChild{}})
		require.NoError(t, err)
		data, err := before.Encode(flatChild{Name: "n", Rank: 2, Amount: 3})
		require.NoError(t, err)

		after, err := ByName(name, Class{Of: child{}})
		require.NoError(t, err)
		back, err := after.Decode(data)
		require.NoError(t, err)
		text := "n"
		require.Equal(t, child{base: base{Name: &text, Rank: 2}, Amount: 3}, back)
		_, err = after.Encode(back)
		require.NoError(t, err)
	})
}

// parent has a field whose class is its subclass, so that describing one leads
// to the other.
type (
	parent struct {
		_    struct{}         `java:"demo.Parent,serialVersionUID=40"`
		Heir *heir            `json:"heir"`
		All  []*heir          `json:"all"`
		Name string           `json:"name"`
		By   map[string]*heir `json:"by"`
	}
	heir struct {
		_ struct{} `java:"demo.Heir,serialVersionUID=41"`
		parent
		Share int32 `json:"share"`
	}
)

func TestSuperClassMayReferToItsSubclass(t *testing.T) {
	value := heir{parent: parent{Name: "a", All: []*heir{}, Heir: &heir{parent: parent{Name: "b"}, Share: 2}}, Share: 1}
	for _, name := range []Name{NameMarshalling, NameSerialization, NameKryo5, NameJSON} {
		for _, first := range []any{heir{}, parent{}} {
			c, err := ByName(name, Class{Of: first})
			require.NoError(t, err)
			data, err := c.Encode(value)
			require.NoError(t, err)
			back, err := c.Decode(data)
			require.NoError(t, err)
			require.Equal(t, value, back)
		}
	}
}

func TestEmbeddingRefused(t *testing.T) {
	type text string
	type unnamed struct{ A int32 }
	type noUID struct {
		_ struct{} `java:"demo.NoUID"`
	}
	for _, test := range []struct {
		says string
		of   any
	}{
		{"only a struct, no pointer", struct {
			_ struct{} `java:"demo.E"`
			*base
		}{}},
		{"only a struct, no pointer", struct {
			_ struct{} `java:"demo.E"`
			text
		}{}},
		{"two embedded structs", struct {
			_ struct{} `java:"demo.E"`
			order
			marker
		}{}},
		{"its Java class is not known", struct {
			_ struct{} `java:"demo.E"`
			unnamed
		}{}},
		{"its Java class is not known", struct{ base }{}},
		{"known are serialVersionUID=<integer>, super=<package.Name>, lacks=<field>, is=<property>:<field>, jackson3=no, json=no, serializable=no, final and record", struct {
			_ struct{} `java:"demo.E,extends=demo.Base"`
		}{}},
	} {
		for _, name := range []Name{NameMarshalling, NameSerialization, NameKryo5, NameJSON} {
			_, err := ByName(name, Class{Of: test.of})
			require.ErrorContains(t, err, test.says)
		}
	}
	eachHierarchical(t, func(t *testing.T, name Name) {
		c, err := ByName(name)
		require.NoError(t, err)
		_, err = c.Encode(struct {
			_ struct{} `java:"demo.E,serialVersionUID=1"`
			noUID
		}{})
		require.ErrorContains(t, err, "the serialVersionUID of demo.NoUID is not known")
	})
}

func TestSuperClassesAreLearnedByManyGoroutines(t *testing.T) {
	eachHierarchical(t, func(t *testing.T, name Name) {
		c, err := ByName(name, Class{Of: sub{}})
		require.NoError(t, err)
		java := unhex(t, javaSub[name])
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 50 {
					_, _ = c.Encode(sub{X: 5})
					_, _ = c.Decode(java)
				}
			})
		}
		all.Wait()
		_, err = c.Encode(sub{X: 5})
		require.ErrorContains(t, err, "demo.Base")
	})
}

// TestLongHierarchyIsAFormatError builds, from references, a class with more super
// classes than are read.
func TestLongHierarchyIsAFormatError(t *testing.T) {
	data := []byte{riverVersion}
	object := func(class string, super ...byte) {
		data = append(data, riverNew, riverSerializable, riverString, byte(len(class)))
		data = append(append(data, class...), make([]byte, 12)...)
		data = append(data, super...)
	}
	data = append(data, riverColl+1, 600>>8, 600&0xff, riverArrayList)
	object("demo.Bare", riverObjectClass)
	for range 599 {
		object("demo.Bare", riverClassNear, 0xfe)
	}
	c, err := NewMarshalling[any](demoClasses...)
	require.NoError(t, err)
	_, err = c.Decode(data)
	require.ErrorAs(t, err, new(*FormatError))
	require.True(t, strings.Contains(err.Error(), "super classes"), err)
}
