package adopt

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
)

func TestPage(t *testing.T) {
	old, _ := wire.Newest().Script(wire.ScriptPeek)
	a := compared(t, "4.8.0", "4.7.0", renewed(old, strings.Replace(old.Body, "return nil;", "return false;", 1)))
	var text strings.Builder
	require.NoError(t, a.WriteText(&text))
	for _, part := range []string{
		"Redisson 4.8.0, which the catalogue does not know, on redis 7.0.15\ncompared with 4.7.0, the nearest that is recorded\n",
		"  other commands, the same changes: ", "    first: DQ.",
		"   26  texts that both send\n", "new: peek-v4, 145 bytes, ", "dq.peek in DQ.", "likest peek-v3\n", "no longer: peek-v3, ",
		"    default codec      kryo5\n", "    members packed as  Bc0Lc0\n", "    moved at most      100\n", "not measured:\n      the pause after an error",
		"For review\n  - peek-v4: its name",
		"Redisson 4.8.0 differs from 4.7.0 in ",
	} {
		require.Contains(t, text.String(), part)
	}
}

func TestPageAsHTML(t *testing.T) {
	old, _ := wire.Newest().Script(wire.ScriptPeek)
	a := compared(t, "4.8.0", "4.7.0", renewed(old, strings.Replace(old.Body, "return nil;", "return '<b>';", 1)))
	var text strings.Builder
	require.NoError(t, a.WriteHTML(&text))
	require.Contains(t, text.String(), "<h1>Redisson 4.8.0 beside 4.7.0</h1>")
	require.Contains(t, text.String(), "<h3>New: peek-v4</h3>")
	require.Contains(t, text.String(), "&lt;b&gt;")
	require.NotContains(t, text.String(), "<b>")
	require.NotContains(t, text.String(), "http")
}

func TestRulesThatDQHasWrong(t *testing.T) {
	cases, oracle := load(t)
	report := recorded(t, release(t, "4.7.0"))
	a, err := Compare(release(t, "4.8.0"), report, cases, oracle, Profile{DefaultCodec: "json"})
	require.NoError(t, err)
	require.True(t, a.Differs())
	require.Equal(t, []string{"default codec: dq takes it to be kryo5, and it is json"}, a.Review())
}
