package history

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersionsCompareByNumber(t *testing.T) {
	inOrder := []string{
		"", "3.9.1", "3.16.0-SNAPSHOT", "3.16.0", "3.16.6", "3.16.6,faithful", "3.16.10",
		"4.0.0-nightly", "4.0.0-alpha.1", "4.0.0-alpha.2", "4.0.0-beta1", "4.0.0-M1", "4.0.0.M2", "4.0.0.CR1", "4.0.0-RC2", "4.0-rc10", "4.0.0-SNAPSHOT",
		"4.0.0", "4.0.0-jdk8", "4.0.0.1", "4.0.1", "v4.1.0-rc1", "v4.1.0", "4.1.0b", "10",
		"99999999999999999999998", "99999999999999999999999", "a", "b", "redis 7.9.0", "redis 7.10-rc1", "redis 7.10.1", "valkey 8",
	}
	for i, a := range inOrder {
		for k, b := range inOrder {
			require.Equal(t, i < k, compareVersions(a, b) < 0, "%s, %s", a, b)
		}
	}
	for _, same := range []string{"4.0.0.Final", "v4.0.0", "4", "4.0"} {
		require.Zero(t, compareVersions(same, "4.0.0"), same)
	}
}

// An order is the same from both ends, and holds over three.
func FuzzCompareVersions(f *testing.F) {
	f.Add("3.16.0-rc1", "3.16.0", "3.16.0.Final")
	f.Add("", "v", "v1")
	f.Add("1.a1", "1.a", "1.0.0")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		require.Equal(t, compareVersions(a, b), -compareVersions(b, a))
		require.Zero(t, compareVersions(a, a))
		if compareVersions(a, b) <= 0 && compareVersions(b, c) <= 0 {
			require.LessOrEqual(t, compareVersions(a, c), 0)
		}
	})
}
