package redis

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
)

// Files name PEM files of this machine: the authorities that a server's certificate is trusted by,
// instead of the system's, and the client's own certificate with its key. Each may be empty.
type Files struct{ CA, Cert, Key string }

// The parameters of a URL that name them.
const (
	caParameter   = "tls_ca"
	certParameter = "tls_cert"
	keyParameter  = "tls_key"
)

// takeFiles returns the files that a query names, and removes them from it.
func takeFiles(query url.Values) Files {
	f := Files{CA: query.Get(caParameter), Cert: query.Get(certParameter), Key: query.Get(keyParameter)}
	for _, name := range []string{caParameter, certParameter, keyParameter} {
		query.Del(name)
	}
	return f
}

// put names the files in a query.
func (f Files) put(query url.Values) {
	for name, file := range map[string]string{caParameter: f.CA, certParameter: f.Cert, keyParameter: f.Key} {
		if file != "" {
			query.Set(name, file)
		}
	}
}

// check refuses files that can never be right, whatever is in them: half of a pair, or any without TLS.
func (f Files) check(withTLS bool) error {
	switch {
	case f != Files{} && !withTLS:
		return errors.New("files for TLS need rediss://, rediss+cluster:// or rediss+sentinel://")
	case (f.Cert == "") != (f.Key == ""):
		return errors.New("a client's certificate and its key belong together, one of them is missing")
	}
	return nil
}

// config reads the files. It names no server: who dials adds the host.
func (f Files) config() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CA != "" {
		text, err := readPEM(f.CA)
		if err != nil {
			return nil, fmt.Errorf("the authority's certificate: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("the authority's certificate: expected PEM with a certificate in %s", f.CA)
		}
	}
	if f.Cert != "" {
		pair, err := f.pair()
		if err != nil {
			return nil, fmt.Errorf("the client's certificate %s with the key %s: %w", f.Cert, f.Key, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

func (f Files) pair() (tls.Certificate, error) {
	cert, err := readPEM(f.Cert)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := readPEM(f.Key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

// mostPEM bounds a file, in bytes: those of all authorities of a system are a quarter of it.
const mostPEM = 1 << 20

func readPEM(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostPEM+1))
	if err == nil && len(text) > mostPEM {
		err = fmt.Errorf("%s: expected at most %d bytes", name, mostPEM)
	}
	return text, err
}
