package text

import (
	"strings"
	"testing"

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
