package java_test

import (
	"encoding/hex"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec/java"
)

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

func ptr[T any](value T) *T { return &value }

// TestFields reads values of classes with one field of a type, and one behind it that shows where the value ends. Redisson 3.21.1
// wrote them; they are described as in the corpus. Each is written again, and is refused where it is cut.
func TestFields(t *testing.T) {
	data, err := os.ReadFile("testdata/fields.tsv")
	require.NoError(t, err)
	given := map[string]java.Class{"demo.DateBean": {Of: dateBean{}}, "demo.PlainRecord": {Of: plainRecord{}}, "demo.OrderBean": {Of: orderBean{}}}
	for _, c := range readClasses(t, "fields.json", "", nil) {
		given[c.Name], _ = c.classOf()
	}
	read := 0
	for line := range strings.Lines(string(data)) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		name, class := parts[0], parts[1]
		number, err := strconv.Atoi(parts[2])
		require.NoError(t, err)
		written, err := hex.DecodeString(parts[4])
		require.NoError(t, err)
		read++
		t.Run(fmt.Sprintf("%s %s %d", name, class, number), func(t *testing.T) {
			c := byName(t, name, colorClass, given["demo.DateBean"], given[class])
			got, err := c.Decode(written)
			require.NoError(t, err, "%x", written)
			require.Equal(t, parts[3], describe(reflect.ValueOf(got), false), "%x", written)
			for cut := range written {
				_, err := c.Decode(written[:cut])
				require.Error(t, err, "cut at %d of %x", cut, written)
			}
			again, err := c.Encode(got)
			switch {
			case name != "kryo5" && err != nil:
				require.ErrorContains(t, err, "not a plain value")
			case name != "kryo5" && class == "demo.ListBean" || isOtherClass(class, number):
				require.NoError(t, err)
				back, err := c.Decode(again)
				require.NoError(t, err)
				require.Equal(t, got, back)
			case strings.HasSuffix(class, " skipped"):
			default:
				require.NoError(t, err)
				require.Equal(t, hex.EncodeToString(written), hex.EncodeToString(again))
			}
		})
	}
	require.Greater(t, read, 500)
}

// isOtherClass reports whether Java has another class of collection than the tag of the field, so that other bytes are written.
func isOtherClass(class string, number int) bool {
	switch class {
	case "demo.ListBean":
		return number != 0 && number != 10 && number != 13
	case "demo.SetBean":
		return number >= 2 && number <= 7
	}
	return class == "demo.MapBean"
}
