package embedded

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzStruct: no format and no data make the library fail otherwise than with
// an error, and what Redisson's two layouts pack, they unpack.
func FuzzStruct(f *testing.F) {
	f.Add("dLc0", "data", 1.5)
	f.Add("Bc0Lc0", "\x08\x00\xff", 8.0)
	f.Add("<!4bi2>I16 s x c3 f T", "\x00\x01", -1.0)
	f.Add("i99999999999c0!3", "", math.Inf(1))
	f.Fuzz(func(t *testing.T, format, data string, n float64) {
		number, text := luaValue{kind: 'n', n: n}, luaValue{kind: 's', s: data}
		formatArg := luaValue{kind: 's', s: format}
		if len(format) < 64 && !strings.ContainsAny(format, "c0123456789") {
			args := []luaValue{formatArg}
			for range format {
				args = append(args, number)
			}
			if packed, err := structPack(args); err == nil {
				values, err := structUnpack([]luaValue{formatArg, {kind: 's', s: string(packed)}})
				require.NoError(t, err)
				require.Equal(t, float64(len(packed)+1), values[len(values)-1].n)
			}
		}
		_, _ = structUnpack([]luaValue{formatArg, text})
		_, _ = structUnpack([]luaValue{formatArg, text, number})

		length := luaValue{kind: 'n', n: float64(len(data))}
		packed, err := structPack([]luaValue{{kind: 's', s: "dLc0"}, number, length, text})
		require.NoError(t, err)
		values, err := structUnpack([]luaValue{{kind: 's', s: "dLc0"}, {kind: 's', s: string(packed)}})
		require.NoError(t, err)
		require.Equal(t, math.Float64bits(n), math.Float64bits(values[0].n))
		require.Equal(t, data, values[1].s)
	})
}
