package codec

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
)

func TestDefault(t *testing.T) {
	for release, want := range map[string]Name{
		"2.7.0": NameJSON, "2.14.1": NameJSON, "2.15.0": NameFst, "2.15.2": NameFst,
		"3.2.0": NameJSON, "3.9.1": NameJSON, "3.10.0": NameFst, "3.12.5": NameFst,
		"3.13.0": NameMarshalling, "3.16.6": NameMarshalling, "3.18.1": NameMarshalling,
		"3.19.0": NameKryo5, "3.21.1": NameKryo5, "4.0.0": NameKryo5, "4.7.0": NameKryo5,
	} {
		r, err := wire.ParseRelease(release)
		require.NoError(t, err)
		require.Equal(t, want, Default(r), release)
	}
}

func TestByNameRefuses(t *testing.T) {
	for _, name := range []Name{NameFst, "kryo", ""} {
		_, err := ByName(name)
		require.ErrorIs(t, err, errors.ErrUnsupported)
	}
	for _, name := range []Name{NameJSON, NameTypedJSON, NameKryo5, NameMarshalling, NameSerialization} {
		c, err := ByName(name, Class{Of: 7, Name: "demo.Seven"})
		require.ErrorAs(t, err, new(*TypeError))
		require.Nil(t, c)
	}
}

// sub is a class with a super class, demo.Base{long x; Base self}, and lacks the
// field extra of the Java one.
type sub struct {
	_ struct{} `java:"demo.Sub,serialVersionUID=9"`
	X int64    `json:"x"`
	Y string   `json:"y"`
}

// selfish is the same with the field that can hold the object itself.
type selfish struct {
	_    struct{} `java:"demo.Sub,serialVersionUID=9"`
	Y    string   `json:"y"`
	Self any      `json:"self"`
}

// TestDecodeJava reads what only Java writes: shared objects, super classes,
// other collections. The bytes are of Redisson 3.21.1.
func TestDecodeJava(t *testing.T) {
	n, two := "n", int64(2)
	first := order{ID: 1, Name: &n, Total: &two}
	shared := []any{first, "n", first}
	linked := map[string]any{"b": int64(1), "a": "t"}
	for _, test := range []struct {
		codec Name
		bytes string
		want  any
	}{
		{NameJSON, hex.EncodeToString([]byte(`{"@class":"demo.Sub","extra":6,"x":5,"y":"why"}`)), sub{X: 5, Y: "why"}},
		{NameJSON, hex.EncodeToString([]byte(`["java.util.Arrays$ArrayList",["p"]]`)), []any{"p"}},
		{NameJSON, hex.EncodeToString([]byte(`{"@class":"java.util.LinkedHashMap","b":["java.lang.Long",1],"a":"t"}`)), linked},
		{NameKryo5, "01006a6176612e7574696c2e4c696e6b6564486173684d61f0030382620902038261038274", linked},
		{NameKryo5, "01006a6176612e7574696c2e4c696e6b65644c6973f483030082708271", []any{"p", "q"}},
		{NameKryo5, "01006a6176612e7574696c2e4172726179732441727261794c6973f48203008270", []any{"p"}},
		{NameMarshalling, javaSub[NameMarshalling], sub{X: 5, Y: "why"}},
		{NameMarshalling, "0404093e176a6176612e7574696c2e4c696e6b6564486173684d617034c04e5c106cc0fb000000013e0b6163636573734f726465722000383e116a6176612e7574696c2e486173684d61700507dac1c31660d1000000023e0a6c6f6164466163746f7226003e097468726573686f6c642300163f4000000000000c320800000010000000023e01624c00000000000000013e01613e01743500", linked},
		{NameMarshalling, "0453025b3e01703e0171", []any{"p", "q"}},
		{NameMarshalling, "0453035a04093e0a64656d6f2e4f726465720000000000000001000000033e02696423003e046e616d6516003e05746f74616c160016000000013e016e4c000000000000000239ff39fe", shared},
		{NameSerialization, javaSub[NameSerialization], sub{X: 5, Y: "why"}},
		{NameSerialization, "aced0005737200176a6176612e7574696c2e4c696e6b6564486173684d617034c04e5c106cc0fb0200015a000b6163636573734f72646572787200116a6176612e7574696c2e486173684d61700507dac1c31660d103000246000a6c6f6164466163746f724900097468726573686f6c6478703f4000000000000c77080000001000000002740001627372000e6a6176612e6c616e672e4c6f6e673b8be490cc8f23df0200014a000576616c7565787200106a6176612e6c616e672e4e756d62657286ac951d0b94e08b0200007870000000000000000174000161740001747800", linked},
		{NameSerialization, "aced0005737200146a6176612e7574696c2e4c696e6b65644c6973740c29535d4a6088220300007870770400000002740001707400017178", []any{"p", "q"}},
		{NameSerialization, "aced0005737200136a6176612e7574696c2e41727261794c6973747881d21d99c7619d03000149000473697a657870000000037704000000037372000a64656d6f2e4f72646572000000000000000102000349000269644c00046e616d657400124c6a6176612f6c616e672f537472696e673b4c0005746f74616c7400104c6a6176612f6c616e672f4c6f6e673b7870000000017400016e7372000e6a6176612e6c616e672e4c6f6e673b8be490cc8f23df0200014a000576616c7565787200106a6176612e6c616e672e4e756d62657286ac951d0b94e08b0200007870000000000000000271007e000671007e000578", shared},
	} {
		c, err := ByName(test.codec, Class{Of: order{}}, Class{Of: sub{}})
		require.NoError(t, err)
		data, err := hex.DecodeString(test.bytes)
		require.NoError(t, err)
		got, err := c.Decode(data)
		require.NoError(t, err, test.bytes)
		require.Equal(t, test.want, Plain(got))
	}
}

func TestDecodeErrors(t *testing.T) {
	const (
		cycle   = "aced00057372000864656d6f2e537562000000000000000902000249000565787472614c0001797400124c6a6176612f6c616e672f537472696e673b7872000964656d6f2e4261736500000000000000080200024a0001784c000473656c6674000b4c64656d6f2f426173653b7870000000000000000071007e00040000000070"
		rivered = "0404093e0864656d6f2e5375620000000000000009000000023e05657874726123003e01791600093e0964656d6f2e426173650000000000000008000000023e0473656c6616003e017824001639ff00000000000000000000000001"
	)
	text := func(s string) string { return hex.EncodeToString([]byte(s)) }
	for _, test := range []struct {
		codec Name
		bytes string
		want  any
		says  string
	}{
		{NameKryo5, "043e0568656c6c6f", new(*FormatError), "written by another codec?"},
		{NameKryo5, "0368656c6cef00", new(*FormatError), "1 bytes after the end"},
		{NameKryo5, "01006a6176612e7574696c2e4269745365f405", new(*ClassError), "java.util.BitSet"},
		{NameKryo5, "01006a6176612e7574696c2e41727261794c6973f47fffffff0f", new(*FormatError), "elements to come"},
		{NameKryo5, "", new(*FormatError), "expected 1 more bytes"},
		{NameMarshalling, "0368656c6cef", new(*FormatError), "river protocol"},
		{NameMarshalling, rivered, new(*ValueError), "holds itself"},
		{NameMarshalling, "0404383e0e6a6176612e7574696c2e44617464686a81014b59741900000000163208000000000000000535", new(*ClassError), "java.util.Datd"},
		{NameSerialization, "0368656c6cef", new(*FormatError), "stream header"},
		{NameSerialization, cycle, new(*ValueError), "holds itself"},
		{NameJSON, text(`["java.util.Currency","EUR"]`), new(*ClassError), "java.util.Currency"},
		{NameJSON, text(`{"@class":"demo.Unknown"}`), new(*ClassError), "demo.Unknown"},
		{NameJSON, text(`{"id":7}`), new(*ValueError), "@class"},
		{NameJSON, text(`[1,2,3]`), new(*ValueError), "two-element array"},
		{NameJSON, text(`12345678901234567890`), new(*ValueError), "does not fit a long"},
		{NameJSON, text(`1 2`), new(*FormatError), "nothing after"},
		{NameJSON, "043e0568656c6c6f", new(*FormatError), "expected JSON"},
	} {
		c, err := ByName(test.codec, Class{Of: selfish{}})
		require.NoError(t, err)
		data, err := hex.DecodeString(test.bytes)
		require.NoError(t, err)
		_, err = c.Decode(data)
		require.ErrorAs(t, err, test.want, test.bytes)
		require.ErrorContains(t, err, test.says)
	}
}

// TestDecodeBounds feeds what would become far larger than its bytes.
func TestDecodeBounds(t *testing.T) {
	list := "01006a6176612e7574696c2e41727261794c6973f4"
	for _, test := range []struct {
		name  string
		codec Name
		bytes string
		says  string
	}{
		{"lists of nulls", NameKryo5, list + "15" + strings.Repeat("0100c1800800", 20), "take no bytes"},
		{"nesting, kryo5", NameKryo5, list + strings.Repeat("020100", 1000) + "01", "nested deeper"},
		{"nesting, marshalling", NameMarshalling, "04" + strings.Repeat("53015a", 1000), "nested deeper"},
		{"nesting, serialization", NameSerialization, "aced0005" + strings.Repeat("73"+"72000161"+strings.Repeat("00", 8)+"0200014c000161", 1000), "nested deeper"},
		{"nesting, json", NameJSON, hex.EncodeToString([]byte(strings.Repeat(`["java.util.ArrayList",[`, 1000) + strings.Repeat(`]]`, 1000))), "nested deeper"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := ByName(test.codec)
			require.NoError(t, err)
			data, err := hex.DecodeString(test.bytes)
			require.NoError(t, err)
			_, err = c.Decode(data)
			require.ErrorContains(t, err, test.says)
		})
	}
}

// TestDecodeMultiplied reads lists of ten references to the list before, ten
// deep: ten thousand million strings.
func TestDecodeMultiplied(t *testing.T) {
	data := []byte{riverVersion, riverColl, 11, riverArrayList}
	data = append(data, riverCollEmpty, riverArrayList)
	for range 10 {
		data = append(data, riverColl, 10, riverArrayList)
		for range 10 {
			data = append(data, riverRepeatNear, 0xfe)
		}
	}
	c, err := NewMarshalling[any]()
	require.NoError(t, err)
	_, err = c.Decode(data)
	require.ErrorContains(t, err, "references multiply")
}

func TestWrongTarget(t *testing.T) {
	c, err := NewKryo5[int32]()
	require.NoError(t, err)
	_, err = c.Decode([]byte{0x03, 'h', 'i' | 0x80})
	require.ErrorContains(t, err, "the value is string, expected int32")
	_, err = c.Decode([]byte{0x09, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f})
	require.ErrorContains(t, err, "does not fit int32")

	wide, err := NewKryo5[int64]()
	require.NoError(t, err)
	n, err := wide.Decode([]byte{0x02, 0x54}) // an Integer into a long
	require.NoError(t, err)
	require.EqualValues(t, 42, n)
	n, err = wide.Decode([]byte{0x00}) // null
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestTypesRefused(t *testing.T) {
	type noClass struct{ A int32 }
	type withInt struct {
		_ struct{} `java:"demo.I"`
		A int
	}
	type embedded struct {
		_ struct{} `java:"demo.E"`
		order
		noClass
	}
	type wrongBox struct {
		_ struct{} `java:"demo.B"`
		A int32    `java:"Long"`
	}
	type nestedGenerics struct {
		_ struct{} `java:"demo.G"`
		A [][]string
	}
	refused := func(err error) { t.Helper(); require.ErrorAs(t, err, new(*TypeError)) }
	_, err := NewKryo5[noClass]()
	refused(err)
	_, err = NewJackson[withInt]()
	refused(err)
	_, err = NewSerialization[embedded]()
	refused(err)
	_, err = NewMarshalling[wrongBox]()
	refused(err)
	_, err = NewKryo5[nestedGenerics]()
	require.NoError(t, err)
	_, err = NewJackson[nestedGenerics]()
	require.NoError(t, err)
	_, err = NewKryo5[**int32]()
	refused(err)
	_, err = NewKryo5[map[struct{}]string]()
	refused(err)

	c, err := NewMarshalling[noClass](Class{Of: noClass{}, Name: "demo.NoClass"})
	require.NoError(t, err)
	_, err = c.Encode(noClass{})
	refused(err)
	require.ErrorContains(t, err, "serialVersionUID")
}

func TestValuesRefused(t *testing.T) {
	c, err := NewKryo5[any]()
	require.NoError(t, err)
	_, err = c.Encode("\xff")
	require.ErrorContains(t, err, "not UTF-8")
	loop := []any{nil}
	loop[0] = loop
	_, err = c.Encode(loop)
	require.ErrorContains(t, err, "nested deeper")
	_, err = c.Encode(struct{ A int }{})
	require.ErrorAs(t, err, new(*TypeError))
}

func TestBoxTag(t *testing.T) {
	type boxed struct {
		_     struct{} `java:"demo.Order,serialVersionUID=1"`
		ID    int32    `json:"id"`
		Name  string   `json:"name"`
		Total int64    `json:"total" java:"Long"`
	}
	c, err := NewKryo5[boxed]()
	require.NoError(t, err)
	data, err := c.Encode(boxed{ID: 7, Name: "bob", Total: 99})
	require.NoError(t, err)
	require.Equal(t, "010064656d6f2e4f726465f20e626fe201c601", hex.EncodeToString(data))
	back, err := c.Decode(data)
	require.NoError(t, err)
	require.Equal(t, boxed{ID: 7, Name: "bob", Total: 99}, back)
}

func TestJSONTakesWhatEncodingJSONTakes(t *testing.T) {
	type inner struct{ Zebra, Ant uint8 }
	type event struct {
		inner
		At       time.Time      `json:"at"`
		Wait     time.Duration  `json:"wait"`
		Empty    string         `json:"empty,omitempty"`
		Zero     int            `json:"zero,omitzero"`
		Raw      json.Number    `json:"raw"`
		Array    [2]int         `json:"array"`
		Keys     map[int]string `json:"keys"`
		Absent   *string        `json:"absent"`
		Hidden   string         `json:"-"`
		internal int
	}
	value := event{inner: inner{1, 2}, At: time.Unix(0, 0).UTC(), Wait: 3, Raw: "1.50", Array: [2]int{1, 2}, Keys: map[int]string{1: "<"}, internal: 4}
	data, err := JSON[event]{}.Encode(value)
	require.NoError(t, err)
	require.Equal(t, `{"Ant":2,"Zebra":1,"array":[1,2],"at":"1970-01-01T00:00:00Z","keys":{"1":"\u003c"},"raw":"1.50","wait":3}`, string(data))
	_, err = JSON[event]{}.Decode([]byte("{"))
	require.Error(t, err)
}

func TestJavaDouble(t *testing.T) {
	for d, want := range map[float64]string{
		1e23: "1.0E23", 2e-323: "2.0E-323", 4.9e-324: "4.9E-324", 1e-3: "0.001", 9.999e-4: "9.999E-4", 1e7: "1.0E7",
		123: "123.0", math.Copysign(0, -1): "-0.0", math.Inf(-1): "-Infinity", math.Inf(1): "Infinity",
	} {
		require.Equal(t, want, javaDouble(d))
	}
}
