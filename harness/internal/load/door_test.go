package load

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/listen"
	"github.com/dq-bench/dq-bench/internal/redis"
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
		at, err := ParseListen("127.0.0.1:0" + tc.listens)
		require.NoError(t, err)
		config, err := at.Load()
		require.NoError(t, err)
		s, err := listen.Serve(t.Context(), at.String(), config, NewDoor("token"))
		require.NoError(t, err)
		_, addr, _ := strings.Cut(strings.TrimSuffix(s.URL(), "/"), "://")
		if at, err = ParseServer(addr + tc.joins); tc.joins == "https" {
			at, err = ParseServer("https://" + addr)
		}
		require.NoError(t, err)
		err = Join(t.Context(), at, tc.token, 0, func(string, io.ReadWriter) error { return nil })
		require.ErrorContains(t, err, want)
		require.NotErrorIs(t, err, ErrNoDoor)
		require.NoError(t, s.Close())
	}
}

func TestAddresses(t *testing.T) {
	for addr, want := range map[string]Address{
		":9121": {Host: "127.0.0.1", Port: "9121"}, "0.0.0.0:9121": {Host: "0.0.0.0", Port: "9121"}, "[::]:0": {Host: "::", Port: "0"},
		"h:1?tls_cert=c.pem&tls_key=k.pem": {Host: "h", Port: "1", TLS: true, Files: redis.Files{Cert: "c.pem", Key: "k.pem"}},
	} {
		got, err := ParseListen(addr)
		require.NoError(t, err, addr)
		require.Equal(t, want, got)
	}
	for addr, want := range map[string]string{
		"": "such as 127.0.0.1:8080", "9090": "expected HOST:PORT", "h:x": "expected HOST:PORT", "h:70000": "expected HOST:PORT", "h:-1": "expected HOST:PORT",
		"h:1?tls_cert=c.pem": "expected a certificate and its key", "h:1?tls_ca=c.pem": "expected tls_cert=FILE&tls_key=FILE behind the ?", "h:1?tls_key=": "expected tls_cert=FILE&",
	} {
		_, err := ParseListen(addr)
		require.ErrorContains(t, err, want, addr)
	}
	for addr, want := range map[string]Address{
		"h:1": {Host: "h", Port: "1"}, "http://h:1/": {Host: "h", Port: "1"}, "https://h:1": {Host: "h", Port: "1", TLS: true},
		"h:1?tls_ca=c.pem":          {Host: "h", Port: "1", TLS: true, Files: redis.Files{CA: "c.pem"}},
		"https://h:1/?tls_ca=c.pem": {Host: "h", Port: "1", TLS: true, Files: redis.Files{CA: "c.pem"}},
	} {
		got, err := ParseServer(addr)
		require.NoError(t, err, addr)
		require.Equal(t, want, got)
	}
	for _, addr := range []string{"h", "https://h", "ftp://h:1", "http://h:1?tls_ca=c.pem", "h:1?tls_cert=c.pem"} {
		_, err := ParseServer(addr)
		require.ErrorContains(t, err, "expected ", addr)
	}
	for host, local := range map[string]bool{"127.0.0.2": true, "::1": true, "localhost": true, "0.0.0.0": false, "h": false} {
		require.Equal(t, local, Address{Host: host}.IsLocal())
	}
}
