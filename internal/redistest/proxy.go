package redistest

import (
	"testing"

	"github.com/dq-bench/dq-bench/internal/redis"
)

// NewProxy returns a proxy to the server at target, host:port, that ends with the test.
func NewProxy(t testing.TB, target string) *redis.Proxy {
	t.Helper()
	p, err := redis.NewProxy(redis.DialTo(target))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}
