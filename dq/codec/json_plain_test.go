package codec_test

import (
	"encoding/hex"
	"io/fs"
	"testing"

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
