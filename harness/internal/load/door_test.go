package load

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redis"
)

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
