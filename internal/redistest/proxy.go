package redistest

import (
	"testing"

	"github.com/dq-bench/dq-bench/internal/redis"
)

// Proxy is a redis.Proxy that ends with its test.
type Proxy struct {
	*redis.Proxy

	t testing.TB
}

// NewProxy starts a proxy to the server at target, host:port.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	p, err := redis.NewProxy(redis.DialTo(target))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return &Proxy{p, t}
}

// Heal heals the proxy, or fails the test.
func (p *Proxy) Heal() {
	p.t.Helper()
	if err := p.Proxy.Heal(); err != nil {
		p.t.Errorf("proxy: %v", err)
	}
}
