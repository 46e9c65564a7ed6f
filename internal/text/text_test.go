package text

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestInert(t *testing.T) {
	for in, want := range map[string]string{
		"a line\n\tand ü 漢": "a line\n\tand ü 漢", "\x1b[2Jgone": `\x1b[2Jgone`, "over\rwritten": `over\x0dwritten`, "\u009b31m": `\u009b31m`, "\x7f\x00": `\x7f\x00`, "\u202eevil": `\u202eevil`, "": "",
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

func TestMeant(t *testing.T) {
	known := []string{"run", "verify", "record", "replay", "releases", "spring-demo", "burst-one-instant", "lateness", "p99"}
	for word, want := range map[string]string{
		"vrify": "verify", "verfiy": "verify", "verifyy": "verify", "VERIFY": "verify", "rnu": "run", "spring-dmeo": "spring-demo",
		"burst": "burst-one-instant", "latness": "lateness", "p98": "p99", "release": "releases",
		"latency": "", "x": "", "": "", "kafka": "", "re": "", strings.Repeat("verify", 20): "",
	} {
		require.Equal(t, want, Meant(word, known), word)
	}
	require.Equal(t, ` (did you mean "verify"?)`, DidYouMean("vrify", known))
	require.Empty(t, DidYouMean("kafka", known))
}

func TestNumbers(t *testing.T) {
	require.Equal(t, "-1,234,567", Count(-1_234_567))
	require.Equal(t, "1 queue", Plural(1, "queue"))
	require.Equal(t, "1,000 queues", Plural(1000, "queue"))
	for ms, want := range map[int64]string{5: "5ms", 1250: "1.3s", 61_400: "1m1s", 200 * 24 * 3600e3: "200 days"} {
		require.Equal(t, want, Span(ms))
	}
}

func TestWrap(t *testing.T) {
	long := strings.Repeat("x", 100)
	for name, c := range map[string]struct{ head, words, want string }{
		"nothing":            {"", "", "\n"},
		"one line":           {"a  ", "b c\n", "a  b c\n"},
		"spaces stay":        {"", `"a  b"`, "\"a  b\"\n"},
		"a word too long":    {"- ", "a " + long + " b", "- a\n  " + long + "\n  b\n"},
		"letters, not bytes": {"", strings.Repeat("é", 40) + " " + strings.Repeat("é", 39), strings.Repeat("é", 40) + " " + strings.Repeat("é", 39) + "\n"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, Wrap(c.head, c.words)) })
	}
	for line := range strings.Lines(Wrap("  head ", strings.Repeat("word ", 100))) {
		require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), Width)
	}
}

func TestAPipeWithoutAWriterIsNoEmptyFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, exec.CommandContext(t.Context(), "mkfifo", name).Run())
	_, err := ReadFile(t.Context(), name, 10)
	require.ErrorContains(t, err, "got nothing from the pipe")
}
