package web

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzIsHere(f *testing.F) {
	for _, host := range []string{"127.0.0.1:80", "[::1]:80", "localhost", "evil.example", "bench.local:80", "", "[", "a:b:c"} {
		f.Add(host)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if isHere(host, "bench.local") {
			require.NotContains(t, host, "evil")
		}
	})
}
