package text

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestValid(t *testing.T) {
	for name, want := range map[string]string{
		"orders": "orders", "bücher ✓": "bücher ✓", "": "",
		"\xff": `\xff`, "\xfe": `\xfe`, "a\xc3": `a\xc3`, "ü\x80ü": `ü\x80ü`, `\xff`: `\x5cxff`, `\\xff`: `\\x5cxff`, `C:\queue`: `C:\queue`,
	} {
		require.Equal(t, want, Valid(name))
	}
}

func TestLine(t *testing.T) {
	require.Equal(t, `a b\nü\x1b[2J\xff`, Line("a b\nü\x1b[2J\xff"))
}

// Names that differ stay different.
func FuzzValid(f *testing.F) {
	f.Add("a\xffb", `a\xffb`)
	f.Add(`a\x5cxffb`, `a\xffb`)
	f.Add(`\\xff`, "\\\xff")
	f.Fuzz(func(t *testing.T, name, other string) {
		require.True(t, utf8.ValidString(Valid(name)))
		require.Equal(t, name == other, Valid(name) == Valid(other))
		require.False(t, strings.ContainsFunc(Line(name), unicode.IsControl))
	})
}
