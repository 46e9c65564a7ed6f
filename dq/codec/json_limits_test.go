package codec_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
)

type large struct {
	_    struct{} `java:"demo.Large"`
	Text string   `json:"text"`
}

// Redisson 3.16.6 to 4.7.0 were watched at each limit: they read what is as large, and nothing larger.
func TestLimitsOfTexts(t *testing.T) {
	t.Parallel()
	at := func(release string) func(large) ([]byte, error) {
		values, err := codec.NewJacksonAt[large](parseRelease(t, release))
		require.NoError(t, err)
		return values.Encode
	}
	anywhere, err := codec.NewJackson[large]()
	require.NoError(t, err)
	newest := codec.JSON[large]{ReadBy: parseRelease(t, "4.7.0")}.Encode
	three, err := codec.NewJSON3[large]()
	require.NoError(t, err)
	for _, c := range []struct {
		units   int
		text    string
		reads   []func(large) ([]byte, error)
		refuses []func(large) ([]byte, error)
	}{
		{5_000_000, strings.Repeat("ä", 5_000_000), []func(large) ([]byte, error){anywhere.Encode}, nil},
		{5_000_001, strings.Repeat("a", 5_000_001), []func(large) ([]byte, error){at("3.21.0"), newest}, []func(large) ([]byte, error){at("3.21.1"), anywhere.Encode, codec.JSON[large]{}.Encode}},
		// a character beyond the BMP is two of Java
		{20_000_002, strings.Repeat("\U0001f600", 10_000_001), nil, []func(large) ([]byte, error){at("4.7.0"), newest, three.Encode}},
	} {
		for _, encode := range c.reads {
			_, err := encode(large{Text: c.text})
			require.NoError(t, err, c.units)
		}
		for _, encode := range c.refuses {
			_, err := encode(large{Text: c.text})
			var refused *codec.ValueError
			require.ErrorAs(t, err, &refused)
			require.ErrorContains(t, err, "field text: ")
			require.ErrorContains(t, err, fmt.Sprintf("a text of %d characters, of which Jackson reads no more than", c.units))
		}
	}
}

func TestLimitsOfNumbersKeysAndDepth(t *testing.T) {
	t.Parallel()
	values, err := codec.NewJackson[any]()
	require.NoError(t, err)
	before, err := codec.NewJacksonAt[any](parseRelease(t, "3.21.0"))
	require.NoError(t, err)
	integer, is := new(big.Int).SetString("-"+strings.Repeat("7", 1000), 10)
	require.True(t, is)
	list := func(depth int, all any) any {
		for range depth {
			all = []any{all}
		}
		return all
	}
	for _, c := range []struct {
		fits, exceeds any
		reason        string
	}{
		{integer, new(big.Int).Mul(integer, big.NewInt(10)), "a number of 1001 digits"},
		{codec.Decimal("0." + strings.Repeat("0", 998) + "1"), codec.Decimal("0." + strings.Repeat("0", 999) + "1"), "a number of 1001 digits"},
		{codec.Decimal("1E+999"), codec.Decimal("1E+1000"), "a number of 1001 digits"},
		{map[string]any{strings.Repeat("a", 50_000): 1.5}, map[string]any{strings.Repeat("a", 50_001): 1.5}, "a key of 50001 bytes"},
		{map[string]any{strings.Repeat("é", 25_000): 1.5}, map[string]any{strings.Repeat("é", 25_001): 1.5}, "a key of 50002 bytes"},
		{list(500, nil), list(500, int64(1)), "nested 1001 deep"},
		{make([]byte, 4_000_000), strings.Repeat("a", 5_333_333), "a text of 5333333 characters"}, // Jackson reads base64 of any length
	} {
		_, err := values.Encode(c.fits)
		require.NoError(t, err, c.reason)
		_, err = values.Encode(c.exceeds)
		require.ErrorContains(t, err, c.reason)
		_, err = before.Encode(c.exceeds)
		require.NoError(t, err, c.reason)
	}
	deep, err := codec.NewJackson3[any]()
	require.NoError(t, err)
	_, err = deep.Encode(list(250, nil))
	require.NoError(t, err)
	_, err = deep.Encode(list(251, nil))
	require.ErrorContains(t, err, "nested 502 deep, of which Jackson reads no more than 500")
	_, err = codec.JSON[json.RawMessage]{}.Encode(json.RawMessage(`{"n":` + strings.Repeat("7", 1001) + `}`))
	require.ErrorContains(t, err, "a number of 1001 digits")
}

// What Java could not read is refused with its class and path, as long as no release is named that reads it.
func TestRecodeRefusesWhatIsTooLarge(t *testing.T) {
	t.Parallel()
	number, is := new(big.Int).SetString(strings.Repeat("7", 1001), 10)
	require.True(t, is)
	serialization, err := codec.NewSerialization[any]()
	require.NoError(t, err)
	data, err := serialization.Encode([]any{number})
	require.NoError(t, err)
	recoder, err := codec.NewRecoder(codec.NameSerialization, codec.NameJSON, nil, "")
	require.NoError(t, err)
	_, err = recoder.Recode(data)
	var refused *codec.RecodeError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "java.util.ArrayList[]", refused.Path)
	require.Equal(t, "java.math.BigInteger", refused.Class)
	recoder.ReadBy(parseRelease(t, "3.21.0"))
	_, err = recoder.Recode(data)
	require.NoError(t, err)
}

func parseRelease(t *testing.T, name string) wire.Release {
	t.Helper()
	release, err := wire.ParseRelease(name)
	require.NoError(t, err)
	return release
}
