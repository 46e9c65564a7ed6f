package listen_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/listen"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestServesUntilClose(t *testing.T) {
	files, err := redistest.WriteCertificate(t.TempDir())
	require.NoError(t, err)
	trusts, err := listen.Files{CA: files.CA}.Load(t.Context())
	require.NoError(t, err)
	browser := http.Client{Transport: &http.Transport{TLSClientConfig: trusts, ForceAttemptHTTP2: true}}
	for addr, url := range map[string]string{
		":0": "http", "0.0.0.0:0": "http", "[::]:0": "http", "0.0.0.0:0?tls_cert=" + files.Cert + "&tls_key=" + files.Key: "https",
	} {
		at, err := listen.Parse(addr)
		require.NoError(t, err)
		s, err := listen.Serve(t.Context(), at, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") }))
		require.NoError(t, err)
		require.Regexp(t, `^`+url+`://127\.0\.0\.1:[1-9][0-9]*/$`, s.URL(), "a server at all addresses prints one that a browser opens")
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

func TestAddresses(t *testing.T) {
	for addr, want := range map[string]listen.Address{
		":9121": {Host: "127.0.0.1", Port: "9121"}, "0.0.0.0:9121": {Host: "0.0.0.0", Port: "9121"}, "[::]:0": {Host: "::", Port: "0"},
		"h:1?tls_cert=c.pem&tls_key=k.pem": {Host: "h", Port: "1", TLS: true, Files: listen.Files{Cert: "c.pem", Key: "k.pem"}},
	} {
		got, err := listen.Parse(addr)
		require.NoError(t, err, addr)
		require.Equal(t, want, got)
	}
	for addr, want := range map[string]string{
		"": "such as 127.0.0.1:8080", "9090": "expected HOST:PORT", "h:x": "expected HOST:PORT", "h:70000": "expected HOST:PORT", "h:-1": "expected HOST:PORT",
		"h:1?tls_cert=c.pem": "expected a certificate and its key", "h:1?tls_ca=c.pem": "expected tls_cert=FILE&tls_key=FILE behind the ?", "h:1?tls_key=": "expected tls_cert=FILE&",
	} {
		_, err := listen.Parse(addr)
		require.ErrorContains(t, err, want, addr)
	}
	for addr, want := range map[string]listen.Address{
		"h:1": {Host: "h", Port: "1"}, "http://h:1/": {Host: "h", Port: "1"}, "https://h:1": {Host: "h", Port: "1", TLS: true},
		"h:1?tls_ca=c.pem":          {Host: "h", Port: "1", TLS: true, Files: listen.Files{CA: "c.pem"}},
		"https://h:1/?tls_ca=c.pem": {Host: "h", Port: "1", TLS: true, Files: listen.Files{CA: "c.pem"}},
	} {
		got, err := listen.ParseServer(addr)
		require.NoError(t, err, addr)
		require.Equal(t, want, got)
	}
	for _, addr := range []string{"h", "https://h", "ftp://h:1", "http://h:1?tls_ca=c.pem", "h:1?tls_cert=c.pem"} {
		_, err := listen.ParseServer(addr)
		require.ErrorContains(t, err, "expected ", addr)
	}
	for host, local := range map[string]bool{"127.0.0.2": true, "::1": true, "localhost": true, "0.0.0.0": false, "h": false} {
		require.Equal(t, local, listen.Address{Host: host}.IsLocal())
	}
}

func TestFilesThatDoNotServe(t *testing.T) {
	one, err := redistest.WriteCertificate(t.TempDir())
	require.NoError(t, err)
	other, err := redistest.WriteCertificate(t.TempDir())
	require.NoError(t, err)
	empty := filepath.Join(t.TempDir(), "empty.pem")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for want, files := range map[string]listen.Files{
		"the certificate none.pem with the key k: open none.pem": {Cert: "none.pem", Key: "k"},
		"private key does not match public key":                  {Cert: one.Cert, Key: other.Key},
		"the authority's certificate: open none.pem":             {CA: "none.pem"},
		"expected PEM with a certificate in " + empty:            {CA: empty},
	} {
		_, err := files.Load(t.Context())
		require.ErrorContains(t, err, want)
	}
}
