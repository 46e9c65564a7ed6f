package load

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/listen"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// An agent that is not let in says what to change.
func TestDoorsThatStayClosed(t *testing.T) {
	files, err := redistest.WriteCertificate(t.TempDir())
	require.NoError(t, err)
	for want, tc := range map[string]struct {
		token, listens, joins string
	}{
		"expected the token of --token-file":      {token: "other"},
		"has TLS: expected --join https://":       {token: "token", listens: "?tls_cert=" + files.Cert + "&tls_key=" + files.Key},
		"has no TLS: expected --join 127.0.0.1:":  {token: "token", joins: "?tls_ca=" + files.CA},
		"the authority's certificate: open none.": {token: "token", joins: "?tls_ca=none.pem"},
		"is not to be trusted: tls: failed to verify certificate": {
			token: "token", listens: "?tls_cert=" + files.Cert + "&tls_key=" + files.Key, joins: "https",
		},
	} {
		at, err := listen.Parse("127.0.0.1:0" + tc.listens)
		require.NoError(t, err)
		s, err := listen.Serve(t.Context(), at, http.Handler(NewDoor("token")))
		require.NoError(t, err)
		_, addr, _ := strings.Cut(strings.TrimSuffix(s.URL(), "/"), "://")
		if at, err = listen.ParseServer(addr + tc.joins); tc.joins == "https" {
			at, err = listen.ParseServer("https://" + addr)
		}
		require.NoError(t, err)
		err = Join(t.Context(), at, tc.token, 0, func(string, io.ReadWriter) error { return nil })
		require.ErrorContains(t, err, want)
		require.NotErrorIs(t, err, ErrNoDoor)
		require.NoError(t, s.Close())
	}
}
