package text

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestValid(t *testing.T) {
	for name, want := range map[string]string{
		"orders": "orders", "bücher ✓": "bücher ✓", "": "",
		"\xff": `\xff`, "\xfe": `\xfe`, "a\xc3": `a\xc3`, "ü\x80ü": `ü\x80ü`,
	} {
		require.Equal(t, want, Valid(name))
	}
}

func FuzzValid(f *testing.F) {
	f.Add("a\xffb")
	f.Fuzz(func(t *testing.T, name string) { require.True(t, utf8.ValidString(Valid(name))) })
}
