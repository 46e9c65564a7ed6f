package listen_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/listen"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestServesUntilClose(t *testing.T) {
	files, err := redistest.WriteCertificate(t.TempDir())
	require.NoError(t, err)
	trusts, err := redis.Files{CA: files.CA}.Load()
	require.NoError(t, err)
	browser := http.Client{Transport: &http.Transport{TLSClientConfig: trusts, ForceAttemptHTTP2: true}}
	files.CA = ""
	own, err := files.Load()
	require.NoError(t, err)
	for addr, config := range map[string]*tls.Config{"127.0.0.1:0": nil, "0.0.0.0:0": nil, "[::]:0": own} {
		s, err := listen.Serve(t.Context(), addr, config, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") }))
		require.NoError(t, err)
		require.Regexp(t, `^https?://127\.0\.0\.1:[1-9][0-9]*/$`, s.URL(), "a server at all addresses prints one that a browser opens")
		response, err := browser.Get(s.URL())
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, "here", string(body))
		require.NoError(t, s.Close())
		_, err = browser.Get(s.URL()) //nolint:bodyclose // there is no answer
		require.Error(t, err)
	}
}
