package java_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
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
	data, err := os.ReadFile("testdata/vectors.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &groups))
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
		n, err := strconv.ParseInt(unquote(), 10, 32)
		require.NoError(t, err)
		return int32(n)
	case "int64":
		n, err := strconv.ParseInt(unquote(), 10, 64)
		require.NoError(t, err)
		return n
	case "float64":
		f, err := strconv.ParseFloat(unquote(), 64)
		require.NoError(t, err)
		return f
	case "bool":
		return string(v.Value) == "true"
	case "bytes":
		data, err := hex.DecodeString(unquote())
		require.NoError(t, err)
		return data
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
	data, err := hex.DecodeString(v.Hex)
	require.NoError(t, err)
	got, err := decode(data)
	require.NoError(t, err)
	require.Equal(t, want.goValue(t), got)
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
