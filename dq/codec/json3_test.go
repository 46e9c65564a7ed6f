package codec_test

import (
	"encoding/hex"
	"errors"
	"math"
	"math/big"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// formsOrder and formsDeclared are the classes of testdata/java/libraries/Forms.java.
type (
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
		At     *codec.Date    `json:"at"`
	}
	formsDeclared struct {
		_         struct{}         `java:"demo.Forms$Declared"`
		Primitive int64            `json:"primitive"`
		Boxed     *int64           `json:"boxed"`
		Any       any              `json:"any"`
		List      []int64          `json:"list"`
		Map       map[string]int64 `json:"map"`
		UUID      codec.UUID       `json:"uuid"`
		AnyUUID   any              `json:"anyUuid"`
		UUIDs     []codec.UUID     `json:"uuids"`
		Date      codec.Date       `json:"date"`
		AnyDate   any              `json:"anyDate"`
		Decimal   codec.Decimal    `json:"decimal"`
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
	// color is its enum.
	color string
)

var (
	formsUUID  = codec.UUID{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x8e, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10}
	formsClass = codec.Class{Of: color(""), Name: "demo.Forms$Color", Constants: []string{"RED", "GREEN"}}
)

// readForms returns what a release wrote of each value in a codec.
func readForms(t testing.TB, file string, name codec.Name) map[string][]byte {
	data, err := os.ReadFile("testdata/forms/" + file)
	require.NoError(t, err)
	all := map[string][]byte{}
	for line := range strings.Lines(string(data)) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if parts[0] == string(name) {
			all[parts[1]], err = hex.DecodeString(parts[2])
			require.NoError(t, err)
		}
	}
	require.NotEmpty(t, all)
	return all
}

// formsScalar returns the value of a name in Forms.java, and false for what is no scalar.
func formsScalar(t testing.TB, name string) (any, bool) {
	kind, text, _ := strings.Cut(name, " ")
	switch kind {
	case "null":
		return nil, true
	case "true":
		return true, true
	case "int":
		n, err := strconv.ParseInt(text, 10, 32)
		require.NoError(t, err)
		return int32(n), true
	case "long":
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, true
		}
		letter, times, _ := strings.Cut(text, " ")
		n, err := strconv.Atoi(times)
		require.NoError(t, err)
		return strings.Repeat(map[string]string{"text": "x", "umlauts": "ü"}[letter], n), true
	case "double":
		f, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		return f, true
	case "text":
		s, err := hex.DecodeString(text)
		require.NoError(t, err)
		return string(s), true
	}
	value, is := map[string]any{
		"float": float32(1.5), "short": int16(7), "byte": int8(7), "date": codec.Date(1_700_000_000_123), "uuid": formsUUID,
		"bigint": new(big.Int).Lsh(big.NewInt(1), 80), "bigint small": big.NewInt(-5), "decimal": codec.Decimal("12.340"), "decimal whole": codec.Decimal("-7"),
	}[name]
	return value, is
}

// TestJackson3Scalars writes what JsonJackson3Codec and TypedJsonJackson3Codec of 4.7.0, and
// of 4.3.1, write, and reads what names its class.
func TestJackson3Scalars(t *testing.T) {
	for _, name := range []codec.Name{codec.NameJSON3, codec.NameTypedJSON3} {
		written := 0
		for value, java := range readForms(t, "4.7.0.tsv", name) {
			want, is := formsScalar(t, value)
			if !is {
				continue
			}
			c, err := codec.ByName(name)
			require.NoError(t, err)
			if f, isFloat := want.(float64); isFloat && math.IsNaN(f-f) {
				continue // a text on its own, which Java does not read as a number either
			}
			switch want.(type) {
			case float32, int16, int8:
				if name == codec.NameJSON3 {
					continue // their class is left out where nothing declares it, and Java reads others
				}
			}
			data, err := c.Encode(want)
			require.NoError(t, err, value)
			require.Equal(t, string(java), string(data), value)
			written++
			if strings.HasPrefix(string(java), `["java.`) {
				got, err := c.Decode(java)
				require.NoError(t, err, value)
				require.Equal(t, want, got)
			}
		}
		require.Greater(t, written, 70)
	}
}

// TestJackson3Objects reads the objects that Redisson wrote, and writes the same bytes.
func TestJackson3Objects(t *testing.T) {
	declared := formsDeclared{
		Primitive: 1, Boxed: ptrTo(int64(2)), Any: int64(3), List: []int64{4}, Map: map[string]int64{"k": 5}, UUID: formsUUID, AnyUUID: formsUUID,
		UUIDs: []codec.UUID{formsUUID}, Date: 1_700_000_000_000, AnyDate: codec.Date(-7), Decimal: "1E+3", Integer: big.NewInt(10),
		S: 6, B: ptrTo(int8(7)), F: ptrTo(float32(1.25)), D: ptrTo(0.0), C: ptrTo(uint16('c')), AnyFloat: float32(1.25), Color: "GREEN", AnyColor: color("RED"),
	}
	typed := readForms(t, "4.7.0.tsv", codec.NameJSON3)
	c, err := codec.NewJackson3[formsDeclared](formsClass)
	require.NoError(t, err)
	got, err := c.Decode(typed["declared"])
	require.NoError(t, err)
	require.Equal(t, declared, got)
	data, err := c.Encode(got)
	require.NoError(t, err)
	require.Equal(t, strings.ReplaceAll(string(typed["declared"]), "java.util.LinkedHashMap", "java.util.HashMap"), string(data))

	orders, err := codec.NewJackson3[*formsOrder]()
	require.NoError(t, err)
	plain, err := codec.NewJSON3[*formsOrder]()
	require.NoError(t, err)
	untyped := readForms(t, "4.7.0.tsv", codec.NameTypedJSON3)
	for _, name := range []string{"order", "order parent"} {
		order, err := orders.Decode(typed[name])
		require.NoError(t, err)
		require.Equal(t, codec.Date(1_700_000_000_123), *order.At)
		same, err := plain.Decode(untyped[name])
		require.NoError(t, err)
		data, err := orders.Encode(order)
		require.NoError(t, err)
		require.Equal(t, strings.ReplaceAll(string(typed[name]), "java.util.LinkedHashMap", "java.util.HashMap"), string(data))
		data, err = plain.Encode(same)
		require.NoError(t, err)
		require.Equal(t, string(untyped[name]), string(data))
	}
	require.Equal(t, codec.Kind{Codec: "json3", Class: "demo.Forms$Order"}, codec.Detect(typed["order"]))
}

func TestJackson3Refuses(t *testing.T) {
	type holder struct {
		_  struct{}   `java:"demo.Holder"`
		At codec.Date `json:"at"`
		ID codec.UUID `json:"id"`
	}
	c, err := codec.NewJackson3[holder]()
	require.NoError(t, err)
	for text, says := range map[string]string{
		`{"@class":"demo.Holder","at":["java.util.Date","yesterday"]}`:                       "expected a java.util.Date",
		`{"@class":"demo.Holder","id":["java.util.UUID","0123"]}`:                            "expected a java.util.UUID",
		`{"@class":"demo.Holder","id":["java.util.UUID","` + strings.Repeat("0", 36) + `"]}`: "expected a java.util.UUID",
	} {
		_, err := c.Decode([]byte(text))
		require.ErrorContains(t, err, says)
	}
	for _, at := range []codec.Date{1 << 60, -1 << 60, -12_219_292_800_001} {
		_, err = c.Encode(holder{At: at})
		require.ErrorContains(t, err, "not from 1582-10-15 to 9999")
	}
	_, err = c.Decode([]byte(`{"@class":"demo.Holder","at":["java.util.Date","0005-04-21T09:46:39.993Z"]}`))
	require.ErrorContains(t, err, "not from 1582-10-15 to 9999")
}

func FuzzJackson3(f *testing.F) {
	for _, java := range readForms(f, "4.7.0.tsv", codec.NameJSON3) {
		f.Add(java)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := codec.NewJackson3[any](formsClass, codec.Class{Of: formsDeclared{}}, codec.Class{Of: formsOrder{}})
		require.NoError(t, err)
		value, err := c.Decode(data)
		if err != nil {
			return
		}
		written, err := c.Encode(value)
		if errors.As(err, new(*codec.ValueError)) {
			return // a field that was absent is the zero value, which for an enum is no constant
		}
		require.NoError(t, err)
		again, err := c.Decode(written)
		require.NoError(t, err)
		rewritten, err := c.Encode(again)
		require.NoError(t, err)
		require.Equal(t, string(written), string(rewritten))
	})
}

func ptrTo[T any](v T) *T { return &v }

// TestRedissonReadsJackson3 has a real Redisson read what is written here.
func TestRedissonReadsJackson3(t *testing.T) {
	redistest.Redisson(t, "4.7.0")
	var lines strings.Builder
	n := 0
	for value, java := range readForms(t, "4.7.0.tsv", codec.NameJSON3) {
		want, is := formsScalar(t, value)
		if !is || !strings.HasPrefix(string(java), `["`) {
			continue // without a class Java reads another type than it wrote
		}
		c, err := codec.ByName(codec.NameJSON3)
		require.NoError(t, err)
		data, err := c.Encode(want)
		require.NoError(t, err)
		lines.WriteString("json3\t" + value + "\t" + hex.EncodeToString(data) + "\n")
		n++
	}
	out := runLibraries(t, strings.NewReader(lines.String()), "4.7.0", "Forms", "read")
	require.Contains(t, out, "# "+strconv.Itoa(n)+" read")
}
