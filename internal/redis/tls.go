package redis

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"github.com/dq-bench/dq-bench/internal/text"
)

// Files name PEM files of this machine: the authorities to trust instead of the system's, and the client's certificate with its
// key. Each may be empty.
type Files struct{ CA, Cert, Key string }

// mostPEM bounds a file, in bytes. All authorities of a system take a quarter of it.
const mostPEM = 1 << 20

// loaded returns the address with its files for TLS read.
func (a Address) loaded() (_ Address, err error) {
	if a.TLS {
		a.trust, err = a.Files.Load()
	}
	return a, err
}

// Load reads the files.
func (f Files) Load() (*tls.Config, error) {
	read := func(name string) ([]byte, error) { return text.ReadFile(context.Background(), name, mostPEM) }
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CA != "" {
		authorities, err := read(f.CA)
		if err != nil {
			return nil, fmt.Errorf("the authority's certificate: %w", err)
		}
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM(authorities) {
			return nil, fmt.Errorf("the authority's certificate: expected PEM with a certificate in %s", f.CA)
		}
	}
	if f.Cert != "" {
		cert, err1 := read(f.Cert)
		key, err2 := read(f.Key)
		pair, err3 := tls.X509KeyPair(cert, key)
		if err := cmp.Or(err1, err2, err3); err != nil {
			return nil, fmt.Errorf("the certificate %s with the key %s: %w", f.Cert, f.Key, OneLine(err))
		}
		trust.Certificates = []tls.Certificate{pair}
	}
	return trust, nil
}
