package codec_test

import (
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
)

// What TypedJsonJacksonCodec of 3.17.7 and 4.7.0 writes of fields of these types.
func TestPlainJSONOfDecimalsAndUUIDs(t *testing.T) {
	type bean struct {
		Amount *codec.Decimal        `json:"amount"`
		ByID   map[codec.UUID]string `json:"byId"`
		ID     *codec.UUID           `json:"id"`
		Large  codec.Decimal         `json:"large"`
		List   []codec.Decimal       `json:"list"`
	}
	const java = `{"amount":12.50,"byId":{"00000000-0000-0001-0000-000000000002":"n"},"id":"00000000-0000-0001-0000-000000000002","large":100000,"list":[1.10]}`
	got, err := codec.JSON[bean]{}.Decode([]byte(java))
	require.NoError(t, err)
	id := codec.UUID{7: 1, 15: 2}
	require.Equal(t, bean{ptrTo(codec.Decimal("12.50")), map[codec.UUID]string{id: "n"}, &id, "100000", []codec.Decimal{"1.10"}}, got)
	got.Large = "1E+5"
	data, err := codec.JSON[bean]{}.Encode(got)
	require.NoError(t, err)
	require.Equal(t, java, string(data))

	for text, says := range map[string]string{
		`{"id":"0123"}`:       "expected a java.util.UUID",
		`{"amount":"twelve"}`: "expected a number for a java.math.BigDecimal",
	} {
		_, err := codec.JSON[bean]{}.Decode([]byte(text))
		require.ErrorContains(t, err, says)
	}
	for _, wrong := range []codec.Decimal{"twelve", "1E+10000"} {
		_, err := codec.JSON[bean]{}.Encode(bean{Large: wrong})
		require.Error(t, err)
	}
}

// What TypedJsonJackson3Codec of 4.7.0 writes of fields of these types, which codec gen makes pointers of, for null.
func TestPlainJSON3OfPointers(t *testing.T) {
	type bean struct {
		Amount *codec.Decimal            `json:"amount"`
		At     *codec.Date               `json:"at"`
		ByID   map[codec.UUID]*string    `json:"byId"`
		ID     *codec.UUID               `json:"id"`
		IDs    []*codec.UUID             `json:"ids" java:"Set"`
		Large  *codec.Decimal            `json:"large"`
		List   []*codec.Decimal          `json:"list"`
		Rates  map[string]*codec.Decimal `json:"rates"`
		Whole  *big.Int                  `json:"whole"`
	}
	const java = `{"amount":12.50,"at":"1970-01-01T00:00:00.005Z","byId":{"00000000-0000-0001-0000-000000000002":"n"},"id":"00000000-0000-0001-0000-000000000002",` +
		`"ids":["00000000-0000-0001-0000-000000000002"],"large":1E+5,"list":[1.10],"rates":{"a":0.10},"whole":12345678901234567890}`
	values, err := codec.NewJSON3[bean]()
	require.NoError(t, err)
	got, err := values.Decode([]byte(java))
	require.NoError(t, err)
	id, whole := codec.UUID{7: 1, 15: 2}, new(big.Int).SetUint64(12345678901234567890)
	require.Equal(t, bean{
		ptrTo(codec.Decimal("12.50")), ptrTo(codec.Date(5)), map[codec.UUID]*string{id: ptrTo("n")}, &id, []*codec.UUID{&id},
		ptrTo(codec.Decimal("1E+5")), []*codec.Decimal{ptrTo(codec.Decimal("1.10"))}, map[string]*codec.Decimal{"a": ptrTo(codec.Decimal("0.10"))}, whole,
	}, got)
	data, err := values.Encode(got)
	require.NoError(t, err)
	require.Equal(t, java, string(data))
	for _, name := range []codec.Name{codec.NameTypedJSON, codec.NameTypedJSON3} {
		if name == codec.NameTypedJSON {
			got.Large = ptrTo(codec.Decimal("100000")) // it writes no exponents
		}
		values, err := codec.ByName(name, codec.Class{Of: bean{}})
		require.NoError(t, err)
		data, err := values.Encode(got)
		require.NoError(t, err)
		again, err := values.Decode(data)
		require.NoError(t, err)
		require.Equal(t, got, again, name)
	}
	empty, err := values.Encode(bean{IDs: []*codec.UUID{nil}})
	require.NoError(t, err)
	got, err = values.Decode(empty)
	require.NoError(t, err)
	require.Equal(t, bean{IDs: []*codec.UUID{nil}}, got)
}

// What reads and writes itself does so in both plain codecs.
func TestPlainJSON3OfTypesOfTheirOwn(t *testing.T) {
	type bean struct {
		Count uint32          `json:"count"`
		Raw   json.RawMessage `json:"raw"`
		When  *time.Time      `json:"when"`
	}
	values, err := codec.NewJSON3[bean]()
	require.NoError(t, err)
	at := time.Unix(5, 0).UTC()
	want := bean{7, json.RawMessage(`{"a":[1.0,"x"]}`), &at}
	data, err := values.Encode(want)
	require.NoError(t, err)
	require.Equal(t, `{"count":7,"raw":{"a":[1.0,"x"]},"when":"1970-01-01T00:00:05Z"}`, string(data))
	got, err := values.Decode(data)
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = values.Decode([]byte(`{"count":"many"}`))
	require.ErrorContains(t, err, "expected JSON for uint32")
}

type pages struct {
	L []any          `json:"l"`
	M map[string]any `json:"m"`
}

type seenAny struct {
	pages
	_ map[string]any
	O any `json:"o"`
}

// What TypedJsonJacksonCodec and TypedJsonJackson3Codec of 4.7.0 write of a class with a List<Object>, a Map<String, Object>
// and an Object, and read as a BigInteger, a Long, doubles and Integers.
func TestPlainJSONKeepsNumbersInAnAny(t *testing.T) {
	const java = `{"l":[1,2,3.0],"m":{"big":9007199254740993,"d":5.0,"e":1.0E300,"f":1.5,"huge":12345678901234567890,"n":5},"o":7}`
	huge := new(big.Int).SetUint64(12345678901234567890)
	want := map[string]any{
		"l": []any{int32(1), int32(2), 3.0},
		"m": map[string]any{"big": int64(9007199254740993), "d": 5.0, "e": 1e300, "f": 1.5, "huge": huge, "n": int32(5)},
		"o": int32(7),
	}
	bean := seenAny{pages: pages{want["l"].([]any), want["m"].(map[string]any)}, O: int32(7)}
	readsAs[any](t, codec.JSON[any]{}, java, want)
	readsAs(t, codec.JSON[map[string]any]{}, java, want)
	readsAs(t, codec.JSON[*seenAny]{}, java, &bean)
	readsAs(t, codec.JSON[map[string]pages]{}, `{"k":`+java[:len(java)-len(`,"o":7}`)]+`}}`, map[string]pages{"k": bean.pages})
	values, err := codec.NewJSON3[map[string]any]()
	require.NoError(t, err)
	readsAs(t, values, java, want)

	for _, text := range []string{`{"o":1e400}`, `{"o":1} {}`, `{"o":`, `{"o":1-2}`} {
		_, err := codec.JSON[seenAny]{}.Decode([]byte(text))
		require.Error(t, err, text)
	}
}

// readsAs has a codec read a text and write it again.
func readsAs[T any](t *testing.T, values codec.Codec[T], text string, want T) {
	t.Helper()
	got, err := values.Decode([]byte(text))
	require.NoError(t, err)
	require.Equal(t, want, got)
	data, err := values.Encode(got)
	require.NoError(t, err)
	require.Equal(t, text, string(data))
}

// Plain JSON does not tell of which class a value is that a field declares as an interface, or
// as a class that no Go type stands for: a Calendar is a number, and would come out as a Long.
func TestRecodePlainJSONOfUnknownClasses(t *testing.T) {
	find := func(name string) (codec.JavaClass, error) {
		if name != "acme.Event" {
			return codec.JavaClass{}, fs.ErrNotExist
		}
		return codec.JavaClass{Name: name, Serializable: true, Fields: []codec.JavaField{
			{Name: "at", Type: codec.JavaType{Class: "java.util.Calendar"}},
			{Name: "size", Type: codec.JavaType{Class: "java.lang.Number"}},
		}}, nil
	}
	recoder, err := codec.NewRecoder(codec.NameTypedJSON, codec.NameKryo5, find, "acme.Event")
	require.NoError(t, err)
	_, err = recoder.Recode([]byte(`{"at":1700000000000}`))
	require.ErrorAs(t, err, new(*codec.RecodeError))
	require.ErrorContains(t, err, "java.util.Calendar")
	data, err := recoder.Recode([]byte(`{"size":5}`))
	require.NoError(t, err)
	require.Equal(t, "010061636d652e4576656ef400020a", hex.EncodeToString(data))
}
