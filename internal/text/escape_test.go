package text

import (
	"os/exec"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestInert(t *testing.T) {
	for in, want := range map[string]string{
		"a line\n\tand ü 漢": "a line\n\tand ü 漢", "\x1b[2Jgone": `\x1b[2Jgone`, "over\rwritten": `over\x0dwritten`, "\u009b31m": `\u009b31m`, "\x7f\x00": `\x7f\x00`, "": "",
	} {
		require.Equal(t, want, Inert(in))
	}
}

func FuzzInert(f *testing.F) {
	f.Add("a\x1b]0;title\ab")
	f.Fuzz(func(t *testing.T, s string) {
		inert := Inert(s)
		require.False(t, strings.ContainsFunc(inert, controls))
		require.Equal(t, inert, Inert(inert))
	})
}

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

func TestShell(t *testing.T) {
	for word, want := range map[string]string{
		"orders": "orders", "redisson_delay_queue:{orders}": "redisson_delay_queue:{orders}", "": "''",
		"my orders": "'my orders'", "it's": `'it'\''s'`, "$HOME `id` * ~ \"": "'$HOME `id` * ~ \"'", "bücher": "'bücher'",
		"{a..c}": "'{a..c}'", "{a,b}": "'{a,b}'", "a=b": "'a=b'", "a\nb": `$'a\012b'`, "it's \xff\\": `$'it\'s \377\\'`, "\x1b[2J": `$'\033[2J'`,
		"\u202eoverride": `$'\342\200\256override'`,
	} {
		require.Equal(t, want, Shell(word))
	}
}

// A shell makes the word of it, and nothing that a terminal acts on is printed.
func FuzzShell(f *testing.F) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		f.Skip("no bash to read words")
	}
	for _, word := range []string{"orders", "my  orders", "it's", "$(id)", "a\nb", "\xff\xfe", "{a..c}", "{a,b}", "\\", "!!", "\t", "-x", "#", "\x7f9", "~"} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		quoted := Shell(word)
		require.True(t, utf8.ValidString(quoted))
		require.False(t, strings.ContainsFunc(quoted, unicode.IsControl))
		if strings.Contains(word, "\x00") {
			return // can be no argument
		}
		read, err := exec.Command(shell, "-c", "printf %s. "+quoted).Output()
		require.NoError(t, err)
		require.Equal(t, word+".", string(read))
	})
}
