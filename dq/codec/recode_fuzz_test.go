package codec_test

import (
	"encoding/hex"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
)

// FuzzRecode writes whatever bytes are taken for a value of each codec in each other one: it ends, and
// what is refused is refused as such.
func FuzzRecode(f *testing.F) {
	for _, text := range []string{"04043e", "0100", "aced0005", "22616263", "010064656d6f2e4f726465f2", "5b226a6176612e6c616e672e4c6f6e67222c34325d"} {
		data, err := hex.DecodeString(text)
		require.NoError(f, err)
		f.Add(data)
	}
	shared, err := os.ReadFile("testdata/shared/3.21.1.tsv")
	require.NoError(f, err)
	for line := range strings.Lines(string(shared[:8000])) {
		if columns := strings.Split(line, "\t"); len(columns) == 4 {
			data, err := hex.DecodeString(columns[1])
			require.NoError(f, err)
			f.Add(data)
		}
	}
	find := func(class string) (codec.JavaClass, error) {
		if java, err := findShared(class); err == nil {
			return java, nil
		}
		return findDemo(class)
	}
	names := []codec.Name{codec.NameString, codec.NameLong, codec.NameJSON, codec.NameJSON3, codec.NameTypedJSON, codec.NameSerialization, codec.NameMarshalling, codec.NameKryo5,
		codec.NameKryo5.Within(codec.NameLZ4)}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, from := range names {
			for _, to := range names {
				if from == to {
					continue
				}
				root := ""
				if slices.Contains([]codec.Name{from, to}, codec.NameTypedJSON) {
					root = "demo.GrandChild"
				}
				recoder, err := codec.NewRecoder(from, to, find, root)
				require.NoError(t, err)
				written, err := recoder.Recode(data)
				var refused *codec.RecodeError
				if err != nil {
					require.ErrorAs(t, err, &refused)
					continue
				}
				// What was written is of the other codec: the way back does not refuse it for what it looks like.
				require.Contains(t, []codec.Looks{codec.LooksTo, codec.LooksBoth}, recoder.Looks(written), "%s to %s: %x", from, to, written)
			}
		}
	})
}
