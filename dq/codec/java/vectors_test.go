package java_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/java"
)

// The classes of testdata/vectors.json.
type (
	order struct {
		_     struct{} `java:"demo.Order,serialVersionUID=1"`
		ID    int32    `json:"id"`
		Name  *string  `json:"name"`
		Total *int64   `json:"total"`
	}
	shop struct {
		_      struct{}         `java:"demo.Shop,serialVersionUID=-7"`
		Zone   *string          `json:"zone"`
		A      int32            `json:"a"`
		B      int64            `json:"b"`
		C      *int32           `json:"c"`
		D      *int64           `json:"d"`
		E      bool             `json:"e"`
		F      *bool            `json:"f"`
		G      float64          `json:"g"`
		H      *float64         `json:"h"`
		Raw    []byte           `json:"raw"`
		Tags   []string         `json:"tags"`
		Counts map[string]int64 `json:"counts"`
		Order  *order           `json:"order"`
		Orders []order          `json:"orders"`
		Spare  *order           `json:"spare"`
	}
	pair struct {
		_      struct{}          `java:"demo.Pair,serialVersionUID=3"`
		Name   *order            `json:"name"`
		ID     *string           `json:"id"`
		Next   *pair             `json:"next"`
		Any    any               `json:"any"`
		Things []any             `json:"things"`
		ByName map[string]*order `json:"byName"`
		Longs  []*int64          `json:"longs"`
		Misc   map[string]any    `json:"misc"`
	}

	base struct {
		_     struct{} `java:"demo.Base,serialVersionUID=20"`
		Name  *string  `json:"name"`
		Rank  int32    `json:"rank"`
		Owner *int64   `json:"owner"`
	}
	bare struct {
		_ struct{} `java:"demo.Bare,serialVersionUID=36"`
		base
	}
	child struct {
		_ struct{} `java:"demo.Child,serialVersionUID=21"`
		base
		Amount int64   `json:"amount"`
		Size   *int32  `json:"size"`
		Zone   *string `json:"zone"`
		Order  *order  `json:"order"`
	}
	grandChild struct {
		_ struct{} `java:"demo.GrandChild,serialVersionUID=22"`
		child
		Last  bool     `json:"last"`
		Kind  *string  `json:"kind"`
		Next  *child   `json:"next"`
		Parts []*child `json:"parts"`
		Any   any      `json:"any"`
	}
	// marker and gap have no fields.
	marker struct { //nolint:unused // embedded below
		_ struct{} `java:"demo.Marker,serialVersionUID=30"`
	}
	marked struct {
		_      struct{} `java:"demo.Marked,serialVersionUID=31"`
		marker          //nolint:unused // the super class of demo.Marked
		Tag    *string  `json:"tag"`
		N      int32    `json:"n"`
	}
	gap struct {
		_ struct{} `java:"demo.Gap,serialVersionUID=32"`
		base
	}
	low struct {
		_ struct{} `java:"demo.Low,serialVersionUID=33"`
		gap
		Tail *string `json:"tail"`
	}
)

var demoClasses = []java.Class{
	{Of: order{}}, {Of: shop{}}, {Of: pair{}},
	{Of: base{}}, {Of: bare{}}, {Of: child{}}, {Of: grandChild{}}, {Of: marked{}}, {Of: low{}},
}

// vectorGroup has the values that a codec wrote, and read back, at some releases of Redisson, on JDK 17.
type vectorGroup struct {
	Codec    string   `json:"codec"`
	Releases []string `json:"releases"`
	Vectors  []vector `json:"vectors"`
}

type vector struct {
	Value typed `json:"value"`
	// Hex has all bytes; a long value has Head, Length and SHA256 instead.
	Hex    string `json:"hex"`
	Head   string `json:"head"`
	Length int    `json:"length"`
	SHA256 string `json:"sha256"`
	// Back is the value that Redisson reads from the bytes, if it differs.
	Back *typed `json:"back"`
}

// typed is a value with its Java type: null, string, int32, int64, float64, bool, bytes (hexadecimal), list, map, or a class.
type typed struct {
	Type   string          `json:"t"`
	Value  json.RawMessage `json:"v"`
	Repeat int             `json:"repeat"`
}

func readVectors(t testing.TB) (groups []vectorGroup) {
	require.NoError(t, json.Unmarshal(must(os.ReadFile("testdata/vectors.json")), &groups))
	return groups
}

// goValue returns the value as an any of the codecs.
func (v typed) goValue(t testing.TB) any {
	var text string
	unquote := func() string { require.NoError(t, json.Unmarshal(v.Value, &text)); return text }
	switch v.Type {
	case "null":
		return nil
	case "string":
		return strings.Repeat(unquote(), max(v.Repeat, 1))
	case "int32":
		return int32(must(strconv.ParseInt(unquote(), 10, 32)))
	case "int64":
		return must(strconv.ParseInt(unquote(), 10, 64))
	case "float64":
		return must(strconv.ParseFloat(unquote(), 64))
	case "bool":
		return string(v.Value) == "true"
	case "bytes":
		return unhex(unquote())
	case "list":
		var elements []typed
		require.NoError(t, json.Unmarshal(v.Value, &elements))
		list := make([]any, len(elements))
		for i, element := range elements {
			list[i] = element.goValue(t)
		}
		return list
	}
	var members map[string]typed
	require.NoError(t, json.Unmarshal(v.Value, &members))
	m := map[string]any{}
	for name, member := range members {
		m[name] = member.goValue(t)
	}
	if v.Type == "map" {
		return m
	}
	o := reflect.New(structOf(t, v.Type)).Elem()
	fill(o, m)
	return o.Interface()
}

func structOf(t testing.TB, class string) reflect.Type {
	for _, c := range demoClasses {
		if blank, _ := reflect.TypeOf(c.Of).FieldByName("_"); strings.HasPrefix(blank.Tag.Get("java"), class+",") {
			return reflect.TypeOf(c.Of)
		}
	}
	t.Fatalf("no Go type for %s", class)
	return nil
}

// fill sets the fields of a struct by their json names.
func fill(dst reflect.Value, members map[string]any) {
	for i := range dst.NumField() {
		if f := dst.Type().Field(i); f.Anonymous {
			fill(dst.Field(i), members)
		} else if f.IsExported() {
			assign(dst.Field(i), members[f.Tag.Get("json")])
		}
	}
}

func assign(dst reflect.Value, value any) {
	v := reflect.ValueOf(value)
	switch {
	case value == nil:
	case v.Type().AssignableTo(dst.Type()):
		dst.Set(v)
	case dst.Kind() == reflect.Pointer:
		dst.Set(reflect.New(dst.Type().Elem()))
		assign(dst.Elem(), value)
	case dst.Kind() == reflect.Slice:
		dst.Set(reflect.MakeSlice(dst.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			assign(dst.Index(i), v.Index(i).Interface())
		}
	case dst.Kind() == reflect.Map:
		dst.Set(reflect.MakeMap(dst.Type()))
		for _, key := range v.MapKeys() {
			element := reflect.New(dst.Type().Elem()).Elem()
			assign(element, v.MapIndex(key).Interface())
			dst.SetMapIndex(key, element)
		}
	}
}

// byName returns the codec of a name for any values.
func byName(t testing.TB, name string, classes ...java.Class) codec.Codec[any] {
	var c codec.Codec[any]
	var err error
	switch name {
	case "kryo5":
		c, err = java.NewKryo5[any](classes...)
	case "json":
		c, err = java.NewJackson[any](java.JSONForm{}, classes...)
	case "typed-json":
		c, err = java.NewJackson[any](java.JSONForm{Plain: true}, classes...)
	case "json3":
		c, err = java.NewJackson[any](java.JSONForm{Jackson3: true}, classes...)
	case "marshalling":
		c, err = java.NewMarshalling[any](classes...)
	case "serialization":
		c, err = java.NewSerialization[any](classes...)
	}
	require.NoError(t, err)
	return c
}

// plain decodes plain JSON as one class.
func plain[T any](data []byte) (any, error) {
	c, err := java.NewJackson[T](java.JSONForm{Plain: true})
	if err != nil {
		return nil, err
	}
	return c.Decode(data)
}

var plainClasses = map[string]func([]byte) (any, error){
	"demo.Order": plain[order], "demo.Shop": plain[shop], "demo.Pair": plain[pair], "demo.Base": plain[base], "demo.Bare": plain[bare],
	"demo.Child": plain[child], "demo.GrandChild": plain[grandChild], "demo.Marked": plain[marked], "demo.Low": plain[low],
}

// notWritten counts the vectors that a codec refuses to write, all of them with maps.
var notWritten = map[string]int{"marshalling": 12, "serialization": 12}

// TestVectors writes and reads the values of real Redissons: the same bytes, the same values.
func TestVectors(t *testing.T) {
	refused := map[string]int{}
	for _, group := range readVectors(t) {
		if group.Codec == "string" || group.Codec == "bytes" || group.Codec == "long" {
			continue
		}
		c := byName(t, group.Codec, demoClasses...)
		for i, v := range group.Vectors {
			t.Run(fmt.Sprintf("%s at %s/%d", group.Codec, group.Releases[0], i), func(t *testing.T) {
				if !otherText(group.Codec, v) && !v.writes(t, c) {
					refused[group.Codec]++
				}
				v.reads(t, group.Codec, c)
			})
		}
	}
	require.Equal(t, notWritten, refused)
}

// writes reports false for a value that is not plain.
func (v vector) writes(t *testing.T, c codec.Codec[any]) bool {
	data, err := c.Encode(v.Value.goValue(t))
	if err != nil {
		require.ErrorContains(t, err, "not a plain value")
		return false
	}
	if v.Hex != "" || v.Length == 0 {
		require.Equal(t, v.Hex, hex.EncodeToString(data), string(v.Value.Value))
		return true
	}
	require.Equal(t, v.Head, hex.EncodeToString(data[:len(v.Head)/2]))
	require.Len(t, data, v.Length)
	require.Equal(t, v.SHA256, fmt.Sprintf("%x", sha256.Sum256(data)))
	return true
}

func (v vector) reads(t *testing.T, name string, c codec.Codec[any]) {
	if v.Hex == "" || strings.Contains(string(v.Value.Value), "NaN") {
		return // only a hash is known; and NaN equals nothing
	}
	want, decode := v.Value, c.Decode
	if v.Back != nil {
		want = *v.Back
	}
	if name == "typed-json" {
		if decode = plainClasses[v.Value.Type]; decode == nil {
			return // the bytes do not tell the type
		}
	}
	data := unhex(v.Hex)
	require.Equal(t, want.goValue(t), must(decode(data)))
	for cut := range data {
		if _, err := decode(data[:cut]); err == nil && name != "json" {
			t.Errorf("read %x, which is cut at byte %d", data, cut)
		}
	}
}

// otherText reports the vectors that Go writes in another way: the one double to which JDK 17 gives more digits than JDK 19,
// and the NaN that Jackson before 2.10 (Redisson 3.13.0) wrote without its class.
func otherText(name string, v vector) bool {
	isText := name == "json" || name == "typed-json"
	return isText && string(v.Value.Value) == `"9.999999999999999E22"` ||
		v.Back != nil && v.Value.Type == "list" && name == "json" && strings.Contains(string(v.Value.Value), "NaN")
}

// color is demo.Color of testdata/fields.tsv.
type color string

var colorClass = java.Class{Of: color(""), Name: "demo.Color", Constants: []string{"RED", "GREEN", "BLUE"}, Final: true}

type (
	smallBean struct {
		A int8 `json:"a"`
	}
	optionalBean struct {
		Value *string `json:"value" java:"Optional"`
	}
	plainRecord struct {
		_      struct{}         `java:"demo.PlainRecord,record"`
		Number int32            `json:"number"`
		Text   *string          `json:"text"`
		Total  *int64           `json:"total"`
		At     *java.Date       `json:"at"`
		Tags   []string         `json:"tags"`
		Counts map[string]int64 `json:"counts"`
		Color  *color           `json:"color"`
		Done   bool             `json:"done"`
	}
	baseBean struct {
		_       struct{}   `java:"demo.BaseBean,serialVersionUID=60"`
		Created *java.Date `json:"created"`
		Color   *color     `json:"color"`
		Version int64      `json:"version"`
	}
	orderBean struct {
		_ struct{} `java:"demo.OrderBean,serialVersionUID=61"`
		baseBean
		Total  *java.Decimal `json:"total"`
		Tags   []string      `json:"tags" java:"Set"`
		Parent *orderBean    `json:"parent"`
		Matrix [][]int64     `json:"matrix"`
	}
	dateBean struct {
		_     struct{}   `java:"demo.DateBean,serialVersionUID=50"`
		Value *java.Date `json:"value"`
		ZZ    string     `json:"zz"`
	}
)

// TestFields reads values of classes with one field of a type, and one behind it that shows where the value ends. Redisson 3.21.1
// wrote them; they are described as in the corpus, or refused. Each is written again, and is refused where it is cut.
func TestFields(t *testing.T) {
	data := must(os.ReadFile("testdata/fields.tsv"))
	given := map[string]java.Class{"demo.DateBean": {Of: dateBean{}}, "demo.PlainRecord": {Of: plainRecord{}}, "demo.OrderBean": {Of: orderBean{}}}
	for _, c := range readClasses(t, "fields.json", "", nil) {
		given[c.Name], _ = c.classOf()
	}
	for line := range strings.Lines(string(data)) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		name, class := parts[0], parts[1]
		number := must(strconv.Atoi(parts[2]))
		written := unhex(parts[4])
		t.Run(fmt.Sprintf("%s %s %d", name, class, number), func(t *testing.T) {
			c := byName(t, name, colorClass, given["demo.DateBean"], given[class])
			got, err := c.Decode(written)
			if says, refused := strings.CutPrefix(parts[3], "refused: "); refused {
				require.ErrorContains(t, err, says)
				return
			}
			require.NoError(t, err, "%x", written)
			require.Equal(t, parts[3], describe(reflect.ValueOf(got), false), "%x", written)
			for cut := range written {
				_, err := c.Decode(written[:cut])
				require.Error(t, err, "cut at %d of %x", cut, written)
			}
			again, err := c.Encode(got)
			switch {
			case err != nil && (name != "kryo5" || strings.Contains(err.Error(), "a java.util.Locale")):
				require.Regexp(t, "not a plain value|for a field of java.util", err)
			case name != "kryo5" && class == "demo.ListBean" || isOtherClass(class, number):
				require.NoError(t, err)
				require.Equal(t, got, decoded(c, again))
			case strings.HasSuffix(class, " skipped"):
			default:
				require.NoError(t, err)
				require.Equal(t, hex.EncodeToString(written), hex.EncodeToString(again))
			}
		})
	}
	require.Greater(t, strings.Count(string(data), "\n"), 500)
}

// isOtherClass reports whether Java has another class of collection than the tag of the field, so that other bytes are written.
func isOtherClass(class string, number int) bool {
	switch class {
	case "demo.ListBean":
		return number != 0 && number != 10 && number != 13
	case "demo.SetBean":
		return number >= 2 && number <= 7
	}
	return class == "demo.MapBean" || class == "demo.ListsBean" && number > 2
}

// TestMutations reads 30,000 mutated messages of real Redissons without a panic, in memory by their length.
func TestMutations(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	mutations := 0
	for release, codecs := range corpusReleases {
		all, uids := readCorpus(t, must(os.ReadFile("testdata/corpus/"+release+".tsv")))
		for _, name := range codecs {
			c := corpusCodec(t, release, name, uids)
			for _, m := range all {
				if m.codec != name || m.problem != "" {
					continue
				}
				const times = 320
				require.Less(t, allocated(func() {
					for range times {
						_, _ = c.Decode(mutate(random, m.bytes))
						mutations++
					}
				}), uint64(times*(len(m.bytes)+1000)*200), "%s %x", name, m.bytes)
			}
		}
	}
	require.Greater(t, mutations, 30_000)
}

func mutate(random *rand.Rand, data []byte) []byte {
	data = bytes.Clone(data)
	at := random.IntN(len(data))
	switch random.IntN(3) {
	case 0:
		return data[:at]
	case 1:
		data[at] ^= byte(1 + random.IntN(255))
	default:
		for range 4 {
			data[random.IntN(len(data))] = byte(random.IntN(256))
		}
	}
	return data
}

// fuzz checks that a value that was read can be written and read again, unless the codec refuses to write it.
func fuzz(f *testing.F, name string) {
	for _, group := range readVectors(f) {
		if group.Codec == name && len(group.Releases) > 5 {
			for _, v := range group.Vectors[:min(len(group.Vectors), 60)] {
				f.Add(unhex(v.Hex))
			}
		}
	}
	c := byName(f, name, append(demoClasses, colorClass, java.Class{Of: plainRecord{}}, java.Class{Of: dateBean{}})...)
	f.Fuzz(func(t *testing.T, data []byte) {
		value, err := c.Decode(data)
		if err != nil {
			return
		}
		written, err := c.Encode(value)
		if err != nil {
			return
		}
		require.Equal(t, written, encoded(c, decoded(c, written)))
	})
}

func FuzzKryo5(f *testing.F)         { fuzz(f, "kryo5") }
func FuzzJackson(f *testing.F)       { fuzz(f, "json") }
func FuzzJackson3(f *testing.F)      { fuzz(f, "json3") }
func FuzzPlain(f *testing.F)         { fuzz(f, "typed-json") }
func FuzzMarshalling(f *testing.F)   { fuzz(f, "marshalling") }
func FuzzSerialization(f *testing.F) { fuzz(f, "serialization") }

// FuzzObject shows every value that is read as JSON, unless references multiply it.
func FuzzObject(f *testing.F) {
	f.Add([]byte("\xac\xed\x00\x05t\x00\x05hello"))
	f.Add([]byte("\x04\x3e\x05hello"))
	serialization, _ := java.NewSerialization[java.Object]()
	marshalling, _ := java.NewMarshalling[java.Object]()
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, decode := range []func([]byte) (java.Object, error){serialization.Decode, marshalling.Decode} {
			o, err := decode(data)
			if err != nil {
				continue
			}
			require.NotEmpty(t, o.Class())
			if text, err := json.Marshal(o); err == nil {
				require.True(t, json.Valid(text))
			}
		}
	})
}
