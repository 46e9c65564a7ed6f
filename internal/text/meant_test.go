package text

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

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

func FuzzSlips(f *testing.F) {
	f.Add("verify", "vrify")
	f.Add("ab", "ba")
	f.Add("", "x")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a) > longestWord || len(b) > longestWord {
			return
		}
		n := slips(a, b)
		require.Equal(t, n, slips(b, a))
		require.Equal(t, a == b, n == 0)
		require.LessOrEqual(t, n, max(len(a), len(b)))
	})
}
