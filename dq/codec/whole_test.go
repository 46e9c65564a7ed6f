package codec

import (
	"bufio"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// wholeVector is a line of testdata/whole.
type wholeVector struct {
	release string
	codec   Name
	name    string
	bytes   []byte
	back    string // "=" where Redisson reads what it wrote
}

// readWhole returns the vectors whose names begin so and that Redisson wrote.
func readWhole(t testing.TB, prefix string) (all []wholeVector) {
	files, err := filepath.Glob(filepath.Join("testdata", "whole", "*.tsv"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		f, err := os.Open(file)
		require.NoError(t, err)
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			parts := strings.Split(lines.Text(), "\t")
			require.Len(t, parts, 4)
			if !strings.HasPrefix(parts[1], prefix) || parts[2] == "-" {
				continue
			}
			release := strings.TrimSuffix(filepath.Base(file), ".tsv")
			all = append(all, wholeVector{release, Name(parts[0]), parts[1], unhex(t, parts[2]), parts[3]})
		}
	}
	return all
}

// shade is demo.Whole$Color of testdata/java.
type shade string

var shadeClass = Class{Of: shade(""), Name: "demo.Whole$Color", Constants: []string{"RED", "GREEN", "BLUE"}}

// nulls is demo.Whole$Nulls as gen writes it, but for the Origin.
type nulls struct {
	_       struct{}          `java:"demo.Whole$Nulls,serialVersionUID=70"`
	Boxed   []*int64          `json:"boxed" java:"array"`
	Colors  []*shade          `json:"colors"`
	Doubles []*float64        `json:"doubles"`
	Ints    []*int32          `json:"ints" java:"Set"`
	Longs   []*int64          `json:"longs"`
	Names   map[shade]*string `json:"names"`
	Nested  [][]*bool         `json:"nested"`
	Plain   []int64           `json:"plain" java:"array"`
	Sizes   map[string]*int64 `json:"sizes"`
	Words   []*string         `json:"words" java:"array"`
	ZZ      *string           `json:"zz"`
}

func nullsOf(some bool) nulls {
	n := nulls{
		Boxed: []*int64{ptr(int64(4)), nil}, Colors: []*shade{ptr(shade("BLUE")), nil}, Doubles: []*float64{nil, ptr(1.5)},
		Ints: []*int32{nil, ptr(int32(7))}, Longs: []*int64{ptr(int64(1)), nil, ptr(int64(300))}, Names: map[shade]*string{"GREEN": nil},
		Nested: [][]*bool{{ptr(true), nil}, nil}, Plain: []int64{4, 0}, Sizes: map[string]*int64{"a": ptr(int64(5)), "b": nil},
		Words: []*string{ptr("w"), nil}, ZZ: ptr("end"),
	}
	if !some {
		n.Boxed[1], n.Colors[1], n.Doubles[0], n.Ints[0], n.Longs[1] = new(int64), ptr(shade("RED")), new(float64), new(int32), new(int64)
		n.Names["GREEN"], n.Nested, n.Sizes["b"], n.Words[1] = new(string), [][]*bool{{ptr(true), new(bool)}, {}}, new(int64), new(string)
	}
	return n
}

// Elements that are references are null where Java has null, and zero where it has zero.
func TestNullsInCollections(t *testing.T) {
	want := map[string]nulls{"nulls some": nullsOf(true), "nulls none": nullsOf(false), "nulls all": {}}
	checked := map[Name]int{}
	for _, v := range readWhole(t, "nulls") {
		classes := []Class{{Of: nulls{}}, shadeClass}
		if v.codec == NameTypedJSON {
			classes = classes[:1] // the names of constants are texts
		}
		c, err := ByName(v.codec, classes...)
		require.NoError(t, err)
		got, err := c.Decode(v.bytes)
		require.NoError(t, err, "%s %s %s", v.release, v.codec, v.name)
		expected := want[v.name]
		if (v.codec == NameJSON || v.codec == NameTypedJSON || v.codec == NameJSON3) && v.name == "nulls some" {
			expected.Names, expected.Sizes = map[shade]*string{}, map[string]*int64{"a": ptr(int64(5))} // entries of null are left out
		}
		require.Equal(t, expected, got, "%s %s %s", v.release, v.codec, v.name)
		written, err := c.Encode(want[v.name])
		require.NoError(t, err)
		require.Equal(t, hex.EncodeToString(v.bytes), hex.EncodeToString(written), "%s %s %s", v.release, v.codec, v.name)
		checked[v.codec]++
	}
	for _, name := range []Name{NameKryo5, NameMarshalling, NameSerialization, NameJSON, NameTypedJSON, NameJSON3, NameTypedJSON3} {
		require.GreaterOrEqual(t, checked[name], 3, name)
	}
}

// A null key is refused: no Go map has one beside "" or 0.
func TestNullKey(t *testing.T) {
	type sizes struct {
		Value map[string]*int32 `json:"value"`
	}
	c, err := NewKryo5[sizes](Class{Of: sizes{}, Name: "demo.Sizes"})
	require.NoError(t, err)
	_, err = c.Decode([]byte("\x01\x00demo.Size\xf3\x01\x01java.util.HashMa\xf0\x02\x80\x01\x02"))
	require.ErrorContains(t, err, "which no Go map can have")
}
