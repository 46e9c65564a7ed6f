package text

import (
	"os/exec"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

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
