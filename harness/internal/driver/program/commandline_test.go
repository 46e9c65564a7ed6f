package program

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSplitCommandLine(t *testing.T) {
	for line, want := range map[string][]string{
		`node driver.js`:           {"node", "driver.js"},
		`  a   b	c `:               {"a", "b", "c"},
		`"my driver" --name 'x y'`: {"my driver", "--name", "x y"},
		`a\ b "c\"d" 'e\f'`:        {"a b", `c"d`, `e\f`},
		`a ""`:                     {"a", ""},
		`--x="1 2"`:                {"--x=1 2"},
	} {
		got, err := SplitCommandLine(line)
		require.NoError(t, err, line)
		require.Equal(t, want, got, line)
	}
	for _, line := range []string{"", "   ", `a "b`, `a 'b`, `a \`} {
		_, err := SplitCommandLine(line)
		require.Error(t, err, line)
	}
}

func FuzzSplitCommandLine(f *testing.F) {
	f.Add(`node "my driver.js" --x='1 2' a\ b`)
	f.Fuzz(func(t *testing.T, line string) {
		words, err := SplitCommandLine(line)
		if err != nil {
			return
		}
		quoted := make([]string, len(words))
		for i, word := range words {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		again, err := SplitCommandLine(strings.Join(quoted, " "))
		require.NoError(t, err)
		require.Equal(t, words, again)
	})
}
