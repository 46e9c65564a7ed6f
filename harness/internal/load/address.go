package load

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/internal/redis"
)

// Address is an address to listen at, for the pages and for agents, or of such a server.
type Address struct {
	Host, Port string
	TLS        bool
	Files      redis.Files
}

// ParseListen reads an address to listen at: HOST:PORT, or with TLS HOST:PORT?tls_cert=FILE&tls_key=FILE. The default host is loopback. A command
// adds the name of its flag to the error.
func ParseListen(s string) (a Address, err error) {
	err = a.read(s, map[string]*string{"tls_cert": &a.Files.Cert, "tls_key": &a.Files.Key})
	if err == nil && a.TLS && (a.Files.Cert == "" || a.Files.Key == "") {
		err = fmt.Errorf("expected a certificate and its key, HOST:PORT?tls_cert=FILE&tls_key=FILE, got %q", s)
	}
	return a, err
}

// ParseServer reads the address of a server: HOST:PORT, http://HOST:PORT, or with TLS https://HOST:PORT, whose certificate an authority
// of the system has signed, and HOST:PORT?tls_ca=FILE.
func ParseServer(s string) (a Address, err error) {
	scheme, rest, named := strings.Cut(s, "://")
	if !named {
		rest = s
	}
	err = a.read(rest, map[string]*string{"tls_ca": &a.Files.CA})
	switch {
	case err != nil:
	case named && scheme != "http" && scheme != "https", scheme == "http" && a.TLS:
		err = fmt.Errorf("expected HOST:PORT?tls_ca=FILE or https://HOST:PORT, got %q", s)
	}
	a.TLS = a.TLS || named && scheme == "https"
	return a, err
}

func (a *Address) read(s string, files map[string]*string) error {
	at, parameters, _ := strings.Cut(s, "?")
	host, port, err := net.SplitHostPort(strings.TrimSuffix(at, "/"))
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("expected HOST:PORT such as 127.0.0.1:8080, or port 0 for a free one, got %q", s)
	}
	if a.Host, a.Port = host, port; host == "" {
		a.Host = "127.0.0.1"
	}
	query, err := url.ParseQuery(parameters)
	for name := range query {
		if files[name] == nil || query.Get(name) == "" {
			return fmt.Errorf("expected %s=FILE behind the ?, got %q", strings.Join(slices.Sorted(maps.Keys(files)), "=FILE&"), s)
		}
		*files[name], a.TLS = query.Get(name), true
	}
	return err
}

// String returns HOST:PORT.
func (a Address) String() string { return net.JoinHostPort(a.Host, a.Port) }

// IsLocal reports whether only this machine reaches the address.
func (a Address) IsLocal() bool {
	ip, err := netip.ParseAddr(a.Host)
	return err == nil && ip.IsLoopback() || strings.EqualFold(a.Host, "localhost")
}

// Load reads the files for TLS; it returns nil without TLS.
func (a Address) Load() (*tls.Config, error) {
	if !a.TLS {
		return nil, nil
	}
	return a.Files.Load()
}
