package listen

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/internal/text"
)

// Address is an address to listen at, or of a server.
type Address struct {
	Host, Port string
	TLS        bool
	Files      Files
}

// Parse reads an address to listen at: HOST:PORT, or with TLS HOST:PORT?tls_cert=FILE&tls_key=FILE. The default host is loopback. A command
// adds the name of its flag to the error.
func Parse(s string) (a Address, err error) {
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

// Files name PEM files: the authorities to trust instead of the system's, and a certificate with its key. Each may be empty.
type Files struct{ CA, Cert, Key string }

// mostPEM bounds a file, in bytes. All authorities of a system take a quarter of it.
const mostPEM = 1 << 20

// Load reads the files.
func (f Files) Load(ctx context.Context) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CA != "" {
		authorities, err := text.ReadFile(ctx, f.CA, mostPEM)
		if err != nil {
			return nil, fmt.Errorf("the authority's certificate: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(authorities) {
			return nil, fmt.Errorf("the authority's certificate: expected PEM with a certificate in %s", f.CA)
		}
	}
	if f.Cert != "" {
		cert, err1 := text.ReadFile(ctx, f.Cert, mostPEM)
		key, err2 := text.ReadFile(ctx, f.Key, mostPEM)
		pair, err3 := tls.X509KeyPair(cert, key)
		if err := cmp.Or(err1, err2, err3); err != nil {
			return nil, fmt.Errorf("the certificate %s with the key %s: %w", f.Cert, f.Key, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
