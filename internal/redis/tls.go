package redis

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/dq-bench/dq-bench/internal/text"
)

// Files name PEM files of this machine: the authorities to trust instead of the system's, and the client's certificate with its
// key. Each may be empty.
type Files struct{ CA, Cert, Key string }

// mostPEM bounds a file, in bytes. All authorities of a system take a quarter of it.
const mostPEM = 1 << 20

// check refuses names without TLS, and half of a pair.
func (f Files) check(withTLS bool) error {
	switch {
	case f != Files{} && !withTLS:
		return errors.New("files for TLS need rediss://, rediss+cluster:// or rediss+sentinel://")
	case (f.Cert == "") != (f.Key == ""):
		return errors.New("a client's certificate and its key belong together, one of them is missing")
	}
	return nil
}

// loaded returns the address with its files for TLS read.
func (a Address) loaded() (Address, error) {
	if !a.TLS {
		return a, nil
	}
	read := func(name string) ([]byte, error) { return text.ReadFile(context.Background(), name, mostPEM) }
	a.trust = &tls.Config{MinVersion: tls.VersionTLS12}
	if a.Files.CA != "" {
		authorities, err := read(a.Files.CA)
		if err != nil {
			return a, fmt.Errorf("the authority's certificate: %w", err)
		}
		a.trust.RootCAs = x509.NewCertPool()
		if !a.trust.RootCAs.AppendCertsFromPEM(authorities) {
			return a, fmt.Errorf("the authority's certificate: expected PEM with a certificate in %s", a.Files.CA)
		}
	}
	if a.Files.Cert != "" {
		cert, err1 := read(a.Files.Cert)
		key, err2 := read(a.Files.Key)
		pair, err3 := tls.X509KeyPair(cert, key)
		if err := errors.Join(err1, err2, err3); err != nil {
			return a, fmt.Errorf("the client's certificate %s with the key %s: %w", a.Files.Cert, a.Files.Key, &oneLine{err})
		}
		a.trust.Certificates = []tls.Certificate{pair}
	}
	return a, nil
}
