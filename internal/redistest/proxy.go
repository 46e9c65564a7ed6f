package redistest

import (
	"testing"

	"github.com/dq-bench/dq-bench/internal/server/proxy"
)

// Proxy is a proxy.Proxy for as long as a test runs.
type Proxy struct {
	*proxy.Proxy

	t testing.TB
}

// ProxyConn is one client's connection through a Proxy.
type ProxyConn = proxy.Conn

// The two ways through a Proxy.
const (
	Requests = proxy.Requests
	Replies  = proxy.Replies
)

// NewProxy gives a proxy to the server at target, host:port. It and all its
// connections are gone when the test ends.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	p, err := proxy.New(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return &Proxy{p, t}
}

// Heal is that of the proxy, whose error fails the test.
func (p *Proxy) Heal() {
	p.t.Helper()
	if err := p.Proxy.Heal(); err != nil {
		p.t.Errorf("proxy: %v", err)
	}
}
