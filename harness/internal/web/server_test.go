package web_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/web"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestServesUntilClose(t *testing.T) {
	files, err := redistest.WriteCertificate(t.TempDir())
	require.NoError(t, err)
	trusts, err := redis.Files{CA: files.CA}.Load()
	require.NoError(t, err)
	browser := http.Client{Transport: &http.Transport{TLSClientConfig: trusts, ForceAttemptHTTP2: true}}
	for _, addr := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::]:0?tls_cert=" + files.Cert + "&tls_key=" + files.Key} {
		s, err := web.Serve(t.Context(), addr, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") }), nil, nil)
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
		"; replace the certificate that --listen of the run names": {
			token: "token", listens: "?tls_cert=" + files.Cert + "&tls_key=" + files.Key, joins: "localhost?tls_ca=" + files.CA, // the certificate is of 127.0.0.1
		},
	} {
		s, err := web.Serve(t.Context(), "127.0.0.1:0"+tc.listens, nil, nil, load.NewDoor("token"))
		require.NoError(t, err)
		_, addr, _ := strings.Cut(strings.TrimSuffix(s.URL(), "/"), "://")
		joins, local := strings.CutPrefix(tc.joins, "localhost")
		at, err := load.ParseServer(addr + joins)
		if tc.joins == "https" {
			at, err = load.ParseServer("https://" + addr)
		}
		if local {
			at.Host = "localhost"
		}
		require.NoError(t, err)
		err = load.Join(t.Context(), at, tc.token, 0, func(string, io.ReadWriter) error { return nil })
		require.ErrorContains(t, err, want)
		require.NotErrorIs(t, err, load.ErrNoDoor)
		require.NoError(t, s.Close())
	}
}

// An agent that no run needed is told so when the door closes.
func TestASurplusAgentIsToldWhy(t *testing.T) {
	door := load.NewDoor("token")
	let := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { door.ServeHTTP(w, r); close(let) }))
	defer s.Close()
	at, err := load.ParseServer(s.URL)
	require.NoError(t, err)
	go func() { <-let; door.Close() }()
	err = load.Join(t.Context(), at, "token", 0, func(string, io.ReadWriter) error { return nil })
	require.ErrorIs(t, err, load.ErrNoDoor)
	require.EqualError(t, err, "no load is run there for this agent: the run had all its agents")
}
