package text

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestWrap(t *testing.T) {
	long := strings.Repeat("x", 100)
	for name, c := range map[string]struct{ head, words, want string }{
		"nothing":            {"", "", "\n"},
		"one line":           {"a  ", "b c\n", "a  b c\n"},
		"spaces stay":        {"", `"a  b"`, "\"a  b\"\n"},
		"a word too long":    {"- ", "a " + long + " b", "- a\n  " + long + "\n  b\n"},
		"letters, not bytes": {"", strings.Repeat("é", 40) + " " + strings.Repeat("é", 39), strings.Repeat("é", 40) + " " + strings.Repeat("é", 39) + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			Wrap(&b, c.head, c.words)
			require.Equal(t, c.want, b.String())
		})
	}
	var b strings.Builder
	Wrap(&b, "  head ", strings.Repeat("word ", 100))
	for line := range strings.Lines(b.String()) {
		require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), Width)
	}
}
