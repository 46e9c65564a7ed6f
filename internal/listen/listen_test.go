package listen

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestServesUntilClose(t *testing.T) {
	s, err := Serve(t.Context(), ":0", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") }))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(s.URL(), "http://127.0.0.1:"), "who names no host serves this machine alone: %s", s.URL())
	response, err := http.Get(s.URL())
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, "here", string(body))
	require.NoError(t, s.Close())
	response, err = http.Get(s.URL())
	if err == nil {
		_ = response.Body.Close()
	}
	require.Error(t, err)
}

// What is printed can be clicked.
func TestAllAddressesHaveOneThatCanBeOpened(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", "[::]:0"} {
		s, err := Serve(t.Context(), addr, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") }))
		require.NoError(t, err)
		require.Regexp(t, `^http://127\.0\.0\.1:[1-9][0-9]*/$`, s.URL())
		response, err := http.Get(s.URL())
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.NoError(t, s.Close())
	}
}

func TestAddresses(t *testing.T) {
	for addr, host := range map[string]string{
		":9121": "127.0.0.1", "0.0.0.0:9121": "0.0.0.0", "[::]:9121": "::", "localhost:0": "localhost",
	} {
		require.NoError(t, Check(addr, 1), addr)
		require.Equal(t, host, Host(addr))
	}
	for _, addr := range []string{"", "9090", "h:x", "h:70000", "h:-1"} {
		require.ErrorContains(t, Check(addr, 8080), "such as 127.0.0.1:8080", addr)
	}
}
