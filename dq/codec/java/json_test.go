package java_test

import (
	"encoding/json"
	"math"
	"math/big"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec/java"
)

type (
	state    string
	jsonBean struct {
		_   struct{} `java:"one.It,serialVersionUID=3"`
		N   int32    `json:"n"`
		SKU string   `json:"sku"`
	}
	// jsonForms has collections, arrays and maps.
	jsonForms struct {
		_       struct{}                    `java:"one.Forms"`
		Amounts []java.Decimal              `json:"amounts" java:"array"`
		Any     any                         `json:"any"`
		Beans   []*jsonBean                 `json:"beans" java:"array"`
		Boxes   []*int32                    `json:"boxes" java:"array"`
		ByID    map[java.UUID]string        `json:"byId"`
		ByN     map[int64]string            `json:"byN"`
		ByState map[state]int32             `json:"byState"`
		Flags   []bool                      `json:"flags" java:"array"`
		Linked  map[string]int32            `json:"linked" java:"LinkedHashMap"`
		Longs   []*int64                    `json:"longs" java:"array"`
		Names   []string                    `json:"names" java:"array"`
		Objects []any                       `json:"objects" java:"array"`
		Plain   []int64                     `json:"plain" java:"array"`
		Set     []int64                     `json:"set" java:"Set"`
		Sets    map[string]java.Set         `json:"sets"`
		Sorted  []string                    `json:"sorted" java:"TreeSet"`
		States  []state                     `json:"states" java:"array"`
		Tags    []string                    `json:"tags" java:"LinkedHashSet"`
		Tree    map[string]map[int32]string `json:"tree" java:"TreeMap"`
	}
	// uuidBean has UUIDs in each place.
	uuidBean struct {
		_    struct{}             `java:"one.UuidOnly"`
		Any  any                  `json:"any"`
		ID   *java.UUID           `json:"id"`
		List []java.UUID          `json:"list"`
		Map  map[string]java.UUID `json:"map"`
	}
	// formsOrder and formsDeclared are the classes of testdata/jackson3.tsv.
	formsOrder struct {
		_      struct{}       `java:"demo.Forms$Order"`
		ID     int32          `json:"id"`
		Name   *string        `json:"name"`
		Total  *int64         `json:"total"`
		Weight float64        `json:"weight"`
		Paid   bool           `json:"paid"`
		Tags   []string       `json:"tags"`
		More   map[string]any `json:"more"`
		Raw    []byte         `json:"raw"`
		Parent *formsOrder    `json:"parent"`
		At     *java.Date     `json:"at"`
	}
	formsDeclared struct {
		_         struct{}         `java:"demo.Forms$Declared"`
		Primitive int64            `json:"primitive"`
		Boxed     *int64           `json:"boxed"`
		Any       any              `json:"any"`
		List      []int64          `json:"list"`
		Map       map[string]int64 `json:"map"`
		UUID      java.UUID        `json:"uuid"`
		AnyUUID   any              `json:"anyUuid"`
		UUIDs     []java.UUID      `json:"uuids"`
		Date      java.Date        `json:"date"`
		AnyDate   any              `json:"anyDate"`
		Decimal   java.Decimal     `json:"decimal"`
		Integer   *big.Int         `json:"integer"`
		S         int16            `json:"s"`
		B         *int8            `json:"b"`
		F         *float32         `json:"f"`
		D         *float64         `json:"d"`
		C         *uint16          `json:"c"`
		AnyFloat  any              `json:"anyFloat"`
		Color     color            `json:"color"`
		AnyColor  any              `json:"anyColor"`
		Nothing   *string          `json:"nothing"`
	}
)

// Parts of the JSON that JsonJacksonCodec of 3.17.7 and 4.7.0 and JsonJackson3Codec of 4.7.0 write for such fields.
const (
	formsBefore = `{"@class":"one.Forms","amounts":["[Ljava.math.BigDecimal;",[["java.math.BigDecimal",1.50]]],"any":["java.util.HashSet",["a"]],` +
		`"beans":["[Lone.It;",[{"@class":"one.It","n":1,"sku":"s1"},null]],"boxes":[1,null],` +
		`"byId":{"@class":"java.util.HashMap","00000000-0000-0001-0000-000000000002":"n"},"byN":{"@class":"java.util.HashMap","5":"n"},` +
		`"byState":{"@class":"java.util.HashMap","NEW":1},"flags":[true,false],"linked":{"@class":"java.util.LinkedHashMap","a":1},"longs":`
	formsAfter = `,"names":["a",""],"objects":["[Ljava.lang.Object;",[1,"x",["java.lang.Long",2]]],"plain":[1099511627776],"set":["java.util.HashSet",[`
	formsEnd   = `]],"sets":{"@class":"java.util.HashMap","k":["java.util.HashSet",["v"]]},"sorted":["java.util.TreeSet",["a"]],"states":["NEW","PAID"],` +
		`"tags":["java.util.LinkedHashSet",["b","a"]],"tree":{"@class":"java.util.TreeMap","a":{"@class":"java.util.HashMap","7":"x"}}}`
	uuidBare = `{"@class":"one.UuidOnly","any":["java.util.UUID","00000000-0000-0001-0000-000000000002"],"id":"00000000-0000-0001-0000-000000000002",` +
		`"list":["java.util.ArrayList",["00000000-0000-0001-0000-000000000002"]],"map":{"@class":"java.util.HashMap","k":"00000000-0000-0001-0000-000000000002"}}`
	uuidWrapped = `{"@class":"one.UuidOnly","any":["java.util.UUID","00000000-0000-0001-0000-000000000002"],"id":["java.util.UUID","00000000-0000-0001-0000-000000000002"],` +
		`"list":["java.util.ArrayList",[["java.util.UUID","00000000-0000-0001-0000-000000000002"]]],"map":{"@class":"java.util.HashMap","k":["java.util.UUID","00000000-0000-0001-0000-000000000002"]}}`
)

var (
	uuid12 = java.UUID{7: 1, 15: 2}
	states = java.Class{Of: state(""), Name: "one.St", Constants: []string{"NEW", "PAID"}, Final: true}
)

// both has a codec read a text and write it again.
func both[T any](t *testing.T, form java.JSONForm, text string, want T, classes ...java.Class) {
	t.Helper()
	values := must(java.NewJackson[T](form, classes...))
	require.Equal(t, want, decoded(values, []byte(text)))
	require.Equal(t, text, string(encoded(values, want)))
}

func TestJacksonForms(t *testing.T) {
	want := jsonForms{
		Amounts: []java.Decimal{"1.50"}, Any: java.Set{"a"}, Beans: []*jsonBean{{N: 1, SKU: "s1"}, nil}, Boxes: []*int32{new(int32(1)), nil},
		ByID: map[java.UUID]string{uuid12: "n"}, ByN: map[int64]string{5: "n"}, ByState: map[state]int32{"NEW": 1}, Flags: []bool{true, false},
		Linked: map[string]int32{"a": 1}, Longs: []*int64{new(int64(5))}, Names: []string{"a", ""}, Objects: []any{int32(1), "x", int64(2)}, Plain: []int64{1 << 40},
		Set: []int64{5}, Sets: map[string]java.Set{"k": {"v"}}, Sorted: []string{"a"}, States: []state{"NEW", "PAID"}, Tags: []string{"b", "a"},
		Tree: map[string]map[int32]string{"a": {7: "x"}},
	}
	both(t, java.JSONForm{}, formsBefore+`["[Ljava.lang.Long;",[["java.lang.Long",5]]]`+formsAfter+`["java.lang.Long",5]`+formsEnd, want, states)
	both(t, java.JSONForm{Jackson3: true}, formsBefore+`[5]`+formsAfter+`5`+formsEnd, want, states)

	uuids := uuidBean{Any: uuid12, ID: &uuid12, List: []java.UUID{uuid12}, Map: map[string]java.UUID{"k": uuid12}}
	both(t, java.JSONForm{}, uuidWrapped, uuids)
	both(t, java.JSONForm{BareUUIDs: true}, uuidBare, uuids)
	require.Equal(t, uuids, decoded(must(java.NewJackson[uuidBean](java.JSONForm{})), []byte(uuidBare)))
}

func TestJacksonRefuses(t *testing.T) {
	c := must(java.NewJackson[jsonForms](java.JSONForm{}, states))
	for text, says := range map[string]string{
		`{"@class":"one.Forms","byN":{"@class":"java.util.HashMap","five":"n"}}`:    "expected an integer",
		`{"@class":"one.Forms","byId":{"@class":"java.util.HashMap","five":"n"}}`:   "expected a java.util.UUID",
		`{"@class":"one.Forms","byN":{"@class":"java.util.BitSet","5":"n"}}`:        "java.util.BitSet",
		`{"@class":"one.Forms","tags":["java.util.HashMap",["a"]]}`:                 "java.util.HashMap",
		`{"@class":"one.Forms","tags":["java.util.BitSet",["a"]]}`:                  "java.util.BitSet",
		`{"@class":"one.Forms","longs":[5]}`:                                        "expected an array of a class and a value",
		`{"@class":"one.Forms","longs":["[Ljava.lang.Integer;",[5]]}`:               `"[Ljava.lang.Integer;"`,
		`{"@class":"one.Forms","names":7}`:                                          "expected []string",
		`{"@class":"one.Forms","plain":[1e400]}`:                                    "expected an integer",
		`{"@class":"one.Forms","states":["LOST"]}`:                                  "add it to the Constants",
		`{"@class":"one.Other"}`:                                                    `"one.Other"`,
		`{"@class":"one.Forms","nothing":1}`:                                        "json tags",
		`{"plain":[1]}`:                                                             `"@class"`,
		`{"@class":"one.Forms","@class":"one.It"}`:                                  "first member",
		`{"@class":"one.Forms"} {}`:                                                 "end of the JSON document",
		`{"@class":"one.`:                                                           "cut off",
		`["one.Forms",` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `]`: "one.Forms",
	} {
		_, err := c.Decode([]byte(text))
		require.ErrorContains(t, err, says, text)
	}
	anyValue := byName(t, "json")
	for document, classes := range map[string]string{
		`["java.util.%s",["a"]]`:          "Collections$SetFromMap AbstractMap$1 TreeMap$KeySet concurrent.DelayQueue EnumSet<one.State> ReverseOrderListView$Rand",
		`{"@class":"java.util.%s","a":1}`: "ImmutableCollections$Map1 TreeMap$SubMap concurrent.ConcurrentHashMap EnumMap<one.State,java.lang.Object>",
	} {
		for class := range strings.FieldsSeq(classes) {
			require.Contains(t, decoded(anyValue, []byte(strings.Replace(document, "%s", class, 1))), "a", class)
		}
	}
	for says, value := range map[string]any{
		"not UTF-8": "\xff", "Jackson's modules": time.Unix(0, 0), "takes for a class": map[string]any{"@class": "x"}, "other keys": map[any]any{nil: "a"},
		"9,999": java.Decimal("1E+10000"), "certain Java type": make(chan int),
	} {
		_, err := anyValue.Encode(value)
		require.ErrorContains(t, err, says)
	}
	jackson3 := byName(t, "json3")
	for _, at := range []java.Date{1 << 48, -1 << 60, -12_300_000_000_000} {
		_, err := jackson3.Encode(at)
		require.ErrorContains(t, err, "from 1583")
	}
	_, err := jackson3.Decode([]byte(`["java.util.Date","0005-04-21T09:46:39.993Z"]`))
	require.ErrorContains(t, err, "from 1583")
}

func TestPlainJSON(t *testing.T) {
	type (
		page struct {
			L []any          `json:"l"`
			M map[string]any `json:"m"`
		}
		own struct {
			Count uint32           `json:"count"`
			Ports []uint16         `json:"ports,omitempty"`
			Raw   json.RawMessage  `json:"raw"`
			When  *time.Time       `json:"when,omitempty"`
			Zero  time.Duration    `json:"zero,omitzero"`
			ByN   map[uint8]string `json:"byN,omitempty"`
		}
		money struct {
			Amount *java.Decimal        `json:"amount"`
			ByID   map[java.UUID]string `json:"byId"`
			ID     *java.UUID           `json:"id"`
			List   []java.Decimal       `json:"list"`
		}
	)
	plain := java.JSONForm{Plain: true}
	// TypedJsonJacksonCodec of 4.7.0 writes this for a List<Object>, a Map<String, Object> and an Object.
	huge := new(big.Int).SetUint64(12345678901234567890)
	want := page{[]any{int32(1), int32(2), 3.0}, map[string]any{"big": int64(9007199254740993), "d": 5.0, "e": 1e300, "f": 1.5, "huge": huge, "n": int32(5)}}
	both(t, plain, `{"l":[1,2,3.0],"m":{"big":9007199254740993,"d":5.0,"e":1.0E300,"f":1.5,"huge":12345678901234567890,"n":5}}`, want)
	both(t, plain, `{"byN":{"5":"a"},"count":7,"ports":[8080],"raw":{"a":[1.0,"x"]},"when":"1970-01-01T00:00:05Z"}`,
		own{Count: 7, Ports: []uint16{8080}, Raw: json.RawMessage(`{"a":[1.0,"x"]}`), When: new(time.Unix(5, 0).UTC()), ByN: map[uint8]string{5: "a"}})
	amounts := money{new(java.Decimal("12.50")), map[java.UUID]string{uuid12: "n"}, &uuid12, []java.Decimal{"1.10"}}
	both(t, plain, `{"amount":12.50,"byId":{"00000000-0000-0001-0000-000000000002":"n"},"id":"00000000-0000-0001-0000-000000000002","list":[1.10]}`, amounts)
	both(t, java.JSONForm{Plain: true, Jackson3: true}, `{"amount":null,"byId":null,"id":null,"list":[1.10]}`, money{List: []java.Decimal{"1.10"}})
	for text, says := range map[string]string{
		`{"count":"many"}`: "expected JSON for uint32", `{"raw":1} {}`: "end of the JSON document", `{"count":`: "cut off", `{"when":7}`: "expected JSON for",
	} {
		_, err := must(java.NewJackson[own](plain)).Decode([]byte(text))
		require.ErrorContains(t, err, says)
	}
}

// TestJackson3 compares with the values of JsonJackson3Codec and TypedJsonJackson3Codec of 4.7.0.
func TestJackson3(t *testing.T) {
	data := must(os.ReadFile("testdata/jackson3.tsv"))
	scalars := 0
	objects := map[string]string{}
	for line := range strings.Lines(string(data)) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		written := unhex(parts[2])
		objects[parts[0]+" "+parts[1]] = string(written)
		want, known := jackson3Scalar(t, parts[1])
		f, isFloat := want.(float64)
		_, isSmall := map[string]bool{"float": true, "short": true, "byte": true}[parts[1]]
		if !known || isFloat && math.IsNaN(f-f) || isSmall {
			continue // Java itself reads another type
		}
		c := must(java.NewJackson[any](java.JSONForm{Jackson3: true, Plain: parts[0] == "typed-json3"}))
		require.Equal(t, string(written), string(encoded(c, want)), parts[1])
		if scalars++; strings.HasPrefix(string(written), `["java.`) {
			require.Equal(t, want, decoded(c, written))
		}
	}
	require.Greater(t, scalars, 100)

	form := java.JSONForm{Jackson3: true}
	uuid := java.UUID{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x8e, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10}
	hashed := func(name string) string {
		return strings.ReplaceAll(objects[name], "java.util.LinkedHashMap", "java.util.HashMap")
	}
	both(t, form, hashed("json3 declared"), formsDeclared{
		Primitive: 1, Boxed: new(int64(2)), Any: int64(3), List: []int64{4}, Map: map[string]int64{"k": 5}, UUID: uuid, AnyUUID: uuid,
		UUIDs: []java.UUID{uuid}, Date: 1_700_000_000_000, AnyDate: java.Date(-7), Decimal: "1E+3", Integer: big.NewInt(10),
		S: 6, B: new(int8(7)), F: new(float32(1.25)), D: new(0.0), C: new(uint16('c')), AnyFloat: float32(1.25), Color: "GREEN", AnyColor: color("RED"),
	}, java.Class{Of: color(""), Name: "demo.Forms$Color", Constants: []string{"RED", "GREEN"}, Final: true})
	for name, form := range map[string]java.JSONForm{"json3": form, "typed-json3": {Jackson3: true, Plain: true}} {
		for _, order := range []string{" order", " order parent"} {
			c := must(java.NewJackson[formsOrder](form))
			got := decoded(c, []byte(objects[name+order]))
			require.Equal(t, java.Date(1_700_000_000_123), *got.At)
			require.Equal(t, hashed(name+order), string(encoded(c, got)))
		}
	}
}

// jackson3Scalar returns the value of a name, and false for other values.
func jackson3Scalar(t *testing.T, name string) (any, bool) {
	kind, text, _ := strings.Cut(name, " ")
	switch kind {
	case "null":
		return nil, true
	case "true":
		return true, true
	case "int":
		return int32(must(strconv.ParseInt(text, 10, 32))), true
	case "long":
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	case "double":
		return must(strconv.ParseFloat(text, 64)), true
	case "text":
		return string(unhex(text)), true
	}
	value, known := map[string]any{
		"date": java.Date(1_700_000_000_123), "bigint": new(big.Int).Lsh(big.NewInt(1), 80), "bigint small": big.NewInt(-5),
		"decimal": java.Decimal("12.340"), "decimal whole": java.Decimal("-7"),
	}[name]
	return value, known
}
