package redis

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDriverURLIsReadBack(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"redis://u:p%40@h:1/2", "rediss://h", "unix:///r.sock", "unix://u:p%2F@/a%23%3F/r.sock?db=2", "redis+cluster://a:1", "redis+cluster://u:p%2F@a:1,b:2,[::1]:3",
		"redis+sentinel://a:1,b/m", "redis+sentinel://u:p@a:1/m/3?sentinel_password=x%26y",
		"rediss+cluster://a:1?tls_ca=c%20a", "rediss+sentinel://a:1/m/3?sentinel_password=x&tls_cert=c&tls_key=k", "rediss://h?tls_ca=c%26a",
	} {
		want, err := parseTarget(in)
		require.NoError(t, err)
		got, err := parseTarget(want.spec())
		require.NoError(t, err, want.spec())
		require.Equal(t, want, got, want.spec())
	}
}
