package java_test

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"math/big"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/java"
)

type (
	anyField struct {
		_     struct{} `java:"demo.Any,serialVersionUID=1"`
		Queue any      `json:"queue" java:"java.util.EnumMap"`
		Array any      `json:"array" java:"[Ldemo.Shape;"`
		Items any      `json:"items" java:"java.lang.Iterable"`
	}
	charField struct {
		_ struct{} `java:"demo.Char,serialVersionUID=1"`
		C uint16   `json:"c"`
		S string   `json:"s"`
	}
	couple[T any] struct {
		_ struct{} `java:"demo.Pair"`
		V T        `json:"v"`
	}
	nestedPair struct {
		_ struct{} `java:"demo.Pair,of=java.util.List<java.lang.Long>"`
	}
	genericRecord struct {
		_ struct{} `java:"demo.R,of=java.lang.Long,record"`
	}
	finalAny struct {
		_ struct{} `java:"demo.F"`
		V any      `json:"v" java:"java.util.OptionalInt,final"`
	}
	top struct {
		_ struct{} `java:"demo.Top"`
		N string   `json:"n"`
	}
	middle struct {
		_ struct{} `java:"demo.Middle"`
		top
		N string `json:"n"`
	}
	bottom struct {
		_ struct{} `java:"demo.Bottom"`
		middle
		N string `json:"n"`
	}
)

// A Go string holds no half of a surrogate pair, and JSON none that Go reads.
func TestHalfOfAPair(t *testing.T) {
	for name, data := range map[string]string{
		"kryo5": "\x03\x82\xed\xa0\xbd", "marshalling": "\x04\x3e\x01\xed\xa0\xbd", "serialization": "\xac\xed\x00\x05\x74\x00\x03\xed\xa0\xbd", "json": `"a\uD83D"`,
		"typed-json": `{"\uDE00":1}`,
	} {
		_, err := byName(t, name).Decode([]byte(data))
		require.ErrorContains(t, err, "codec.PreserveBytes", name)
		require.ErrorAs(t, err, new(*java.ValueError))
	}
	c := must(java.NewJackson[charField](java.JSONForm{}))
	got := decoded(c, []byte(`{"@class":"demo.Char","c":"c","s":"\\uD83D \uD83D\uDE00 \"\u00e9"}`))
	require.Equal(t, charField{C: 'c', S: `\uD83D 😀 "é`}, got)
	_, err := c.Encode(charField{C: 0xd83d})
	require.ErrorContains(t, err, "surrogate")
	for _, bad := range []string{`"c":"\uD83D"`, `"c":"x","s":"\uD83D"`, `"\uD83D" : "x"`} {
		_, err = c.Decode([]byte(`{"@class":"demo.Char",` + bad + `}`))
		require.ErrorContains(t, err, "surrogate")
	}
	_, err = c.Decode([]byte("{\"@class\":\"demo.Char\",\"s\":\"\xff\"}"))
	require.ErrorContains(t, err, "UTF-8")
}

// What Kryo5 writes in a form that is not known here is refused with the type.
func TestTypesThatKryo5Refuses(t *testing.T) {
	for _, of := range []any{couple[[]int64]{}, nestedPair{}, genericRecord{}, finalAny{}} {
		_, err := java.NewKryo5[any](java.Class{Of: of})
		require.ErrorAs(t, err, new(*java.TypeError), "%T", of)
		byName(t, "json", java.Class{Of: of})
	}
	for _, of := range []any{couple[int64]{}, couple[[]byte]{}} {
		byName(t, "kryo5", java.Class{Of: of})
	}
	_, err := byName(t, "kryo5").Decode(append([]byte{1, 0}, "java.util.Optiona\xec\x09\x0a"...))
	require.ErrorContains(t, err, "java.util.Optional")
	_, err = java.NewKryo5[any](java.Class{})
	require.NotContains(t, err.Error(), "<nil>")
}

// A field of a class of the JDK, or of arrays, takes no other class.
func TestFieldsThatTakeOneClass(t *testing.T) {
	for _, name := range []string{"kryo5", "json", "marshalling", "serialization"} {
		c := byName(t, name, java.Class{Of: anyField{}})
		for _, value := range []anyField{{Queue: map[any]any{}}, {Array: []any{int32(1)}}} {
			_, err := c.Encode(value)
			require.ErrorContains(t, err, "let Java write it", name)
		}
		encoded[any](c, anyField{})
		_, err := c.Encode(anyField{Items: []any{int32(1)}})
		require.Equal(t, name == "kryo5", err != nil, name)
	}
}

func TestNumbersAreBounded(t *testing.T) {
	digits := strings.Repeat("7", 1001)
	for _, text := range []string{digits, "0." + digits, `["java.math.BigInteger",` + digits + "]", `["java.math.BigDecimal","` + digits + `"]`} {
		_, err := byName(t, "json").Decode([]byte(text))
		require.ErrorContains(t, err, "at most 1000 digits")
	}
	large := new(big.Int).Lsh(big.NewInt(1), 1<<20)
	for _, value := range []any{large, java.Decimal(digits), java.Decimal("1E+2000")} {
		_, err := byName(t, "json").Encode(value)
		require.ErrorContains(t, err, "digits")
	}
	data := encoded[any](byName(t, "kryo5"), large)
	c := must(java.NewKryo5[java.Object]())
	require.Equal(t, `"an integer of 1048577 bits"`, shown(t, c, data))
	data = encoded[any](byName(t, "kryo5"), java.Decimal(strings.Repeat("7", 20_000)))
	_, err := c.Decode(data)
	require.ErrorContains(t, err, "BigDecimal of at most 4096 bytes")
}

// Java fails to read such values.
func TestKryo5RefusesWhatJavaLacks(t *testing.T) {
	c := byName(t, "kryo5")
	for _, value := range []any{
		java.Currency("EUR"), java.Locale("de_DE"), java.URI("http://h/"), java.Timestamp{Time: time.Unix(1<<60, 0)}, java.Timestamp{Time: time.Unix(5, 123_000_001)},
		time.Unix(31_556_889_864_403_200, 0), time.Unix(-31_557_014_167_219_201, 0),
	} {
		data, err := c.Encode(value)
		require.ErrorAs(t, err, new(*java.ValueError), "%v", value)
		require.Nil(t, data)
	}
	for _, value := range []any{
		time.Duration(math.MinInt64), time.Duration(math.MaxInt64), time.Unix(31_556_889_864_403_199, 0).UTC(),
		java.Timestamp{Time: time.Unix(5, 123_000_000).UTC()},
	} {
		data, err := c.Encode(value)
		require.NoError(t, err, "%v", value)
		require.Equal(t, value, decoded(c, data))
	}
	_, err := c.Decode([]byte("\x01\x00java.time.Instan\xf4\x01\x80\x94\xeb\xdc\x03"))
	require.ErrorContains(t, err, "a java.time.Instant of 1 s and 1000000000 ns")
}

// A few bytes name a huge length, or repeat a long text. Decoding allocates by the bytes that are there.
func TestHostileLengths(t *testing.T) {
	const list = "\x01\x00java.util.ArrayLis\xf4"
	for name, all := range map[string][]string{
		"kryo5": {list + "\xff\xff\xff\x0f\x00", list + "\xff\xff\xff\xff\xff\x07\x00", list + "\x82\x01\x01[\xc2\xff\xff\xff\xff\x07", "\x01\x00java.util.HashMa\xf0\xff\xff\xff\xff\x07aa",
			"\x01\x00[\xc2\xff\xff\xff\xff\x07", "\x01\x00java.math.BigIntege\xf2\xff\xff\xff\xff\x07", "\x03\xff\xff\xff\xff\x07a", "\x03\xff\xff\x02a"},
		"marshalling":   {"\x04\x40\x7f\xff\xff\xffa", "\x04\x44\x7f\xff\xff\xff\x21", "\x04\x44\x7f\xff\xff\xff\x20\xff", "\x04\x55\x7f\xff\xff\xff\x5a\x01", "\x04\x04\x09\x3e\x01a12345678\x7f\xff\xff\xff"},
		"serialization": {"\xac\xed\x00\x05\x7c\x00\x00\x00\x00\x7f\xff\xff\xffa", "\xac\xed\x00\x05\x75\x72\x00\x02[B12345678\x02\x00\x00\x78\x70\x7f\xff\xff\xff"},
		"json":          {strings.Repeat("[", 100), `["java.math.BigDecimal",1E999999999]`, `["java.math.BigInteger",1E999999999]`},
	} {
		c := byName(t, name)
		for _, data := range all {
			require.Less(t, allocated(func() { _, _ = c.Decode([]byte(data)) }), uint64(1<<20), "%s %q", name, data)
		}
	}
	data := "\x04\x54\xff\xff\x5a\x3f\x75\x30" + strings.Repeat("x", 30_000) + strings.Repeat("\x39\xff", 65_534)
	c, err := java.NewMarshalling[java.Object]()
	require.NoError(t, err)
	require.Less(t, allocated(func() {
		_, err = json.Marshal(decoded(c, []byte(data)))
		require.ErrorContains(t, err, "references make the value larger")
	}), uint64(100*len(data)))
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestErrorsNameTheClass(t *testing.T) {
	_, err := must(java.NewJackson[smallBean](java.JSONForm{Plain: true})).Decode([]byte(`{"a":"x"}`))
	require.ErrorContains(t, err, `expected a java.lang.Byte, got the text "x"`)
	_, err = byName(t, "kryo5", java.Class{Of: anyField{}}).Encode(anyField{Queue: int32(7)})
	require.ErrorContains(t, err, "got a java.lang.Integer for a field of java.util.EnumMap")
	for _, name := range []string{"kryo5", "json", "typed-json", "marshalling", "serialization"} {
		for _, value := range []any{"\xff", []string{"\xff"}, map[string]int32{"\xff": 1}} {
			if _, err := byName(t, name).Encode(value); !strings.HasSuffix(name, "ation") && name != "marshalling" || err == nil {
				require.ErrorContains(t, err, "is not UTF-8, so a String of Java cannot hold it", "%s %q", name, value)
			}
		}
	}
}

func TestJSONAsJavaWritesIt(t *testing.T) {
	data := encoded[any](byName(t, "json"), java.Decimal("0E+3"))
	require.Equal(t, `["java.math.BigDecimal",0]`, string(data))
	data = encoded[any](byName(t, "json", java.Class{Of: bottom{}}), bottom{middle: middle{top: top{N: "t"}, N: "m"}, N: "b"})
	require.Equal(t, `{"@class":"demo.Bottom","n":"b"}`, string(data))
}

// An Object shows what a class's own method wrote, and fields of one name.
func TestObjectShowsAll(t *testing.T) {
	data, err := hex.DecodeString("aced00057372" + "0006646d2e537562" + "0000000000000001" + "0300014900017878" + "72" + "0006646d2e546f70" + "0000000000000001" +
		"020001490001787870" + "0000000100000002" + "770400000007" + "74000178" + "78")
	require.NoError(t, err)
	c := must(java.NewSerialization[java.Object]())
	require.Equal(t, `{"@class":"dm.Sub","@data":["00000007","x"],"dm.Top.x":1,"x":2}`, shown(t, c, data))
}

func shown(t *testing.T, c codec.Codec[java.Object], data []byte) string {
	return string(must(json.Marshal(decoded(c, data))))
}
