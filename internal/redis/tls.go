package redis

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/dq-bench/dq-bench/internal/text"
)

// Files name PEM files of this machine: the authorities that a server's certificate is trusted by, instead of the
// system's, and the client's own certificate with its key. Each may be empty.
type Files struct{ CA, Cert, Key string }

// fileParameters are the parameters of a URL that name files.
var fileParameters = [...]string{"tls_ca", "tls_cert", "tls_key"}

// each calls do for each file with the name of its parameter.
func (f *Files) each(do func(name string, file *string)) {
	for i, file := range []*string{&f.CA, &f.Cert, &f.Key} {
		do(fileParameters[i], file)
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

// loaded is t with its files for TLS read.
func (t Address) loaded() (Address, error) {
	if t.Files == (Files{}) {
		return t, nil
	}
	t.trust = &tls.Config{MinVersion: tls.VersionTLS12}
	if t.Files.CA != "" {
		text, err := readPEM(t.Files.CA)
		if err != nil {
			return t, fmt.Errorf("the authority's certificate: %w", err)
		}
		t.trust.RootCAs = x509.NewCertPool()
		if !t.trust.RootCAs.AppendCertsFromPEM(text) {
			return t, fmt.Errorf("the authority's certificate: expected PEM with a certificate in %s", t.Files.CA)
		}
	}
	if t.Files.Cert != "" {
		cert, err1 := readPEM(t.Files.Cert)
		key, err2 := readPEM(t.Files.Key)
		pair, err3 := tls.X509KeyPair(cert, key)
		if err := errors.Join(err1, err2, err3); err != nil {
			return t, fmt.Errorf("the client's certificate %s with the key %s: %w", t.Files.Cert, t.Files.Key, &oneLine{err})
		}
		t.trust.Certificates = []tls.Certificate{pair}
	}
	return t, nil
}

// tlsConfig names no host: who dials takes the host of the address, which is another for each node of a set.
func (t Address) tlsConfig() *tls.Config {
	switch {
	case !t.TLS:
		return nil
	case t.trust != nil:
		return t.trust.Clone()
	}
	return &tls.Config{MinVersion: tls.VersionTLS12}
}

// mostPEM bounds a file, in bytes: all authorities of a system are a quarter of it.
const mostPEM = 1 << 20

func readPEM(name string) ([]byte, error) {
	return text.ReadFile(context.Background(), name, mostPEM)
}
