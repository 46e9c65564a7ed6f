package listen

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestServesUntilClose(t *testing.T) {
	for _, addr := range []string{":0", "0.0.0.0:0", "[::]:0"} {
		s, err := Serve(t.Context(), addr, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") }))
		require.NoError(t, err)
		require.Regexp(t, `^http://127\.0\.0\.1:[1-9][0-9]*/$`, s.URL(), "a server at all addresses prints one that a browser opens")
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
