// Package redisurl reads the URL of one Redis: what go-redis reads, and which TLS files to use.
package redisurl

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"

	"github.com/redis/go-redis/v9"
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

// TakeFiles returns the files that a query names, and removes them from it.
func TakeFiles(query url.Values) Files {
	f := Files{CA: query.Get(caParameter), Cert: query.Get(certParameter), Key: query.Get(keyParameter)}
	for _, name := range []string{caParameter, certParameter, keyParameter} {
		query.Del(name)
	}
	return f
}

// Put names the files in a query.
func (f Files) Put(query url.Values) {
	for name, file := range map[string]string{caParameter: f.CA, certParameter: f.Cert, keyParameter: f.Key} {
		if file != "" {
			query.Set(name, file)
		}
	}
}

// Check refuses files that can never be right, whatever is in them: half of a pair, or any without TLS.
func (f Files) Check(withTLS bool) error {
	switch {
	case f != Files{} && !withTLS:
		return errors.New("files for TLS need rediss://, rediss+cluster:// or rediss+sentinel://")
	case (f.Cert == "") != (f.Key == ""):
		return errors.New("a client's certificate and its key belong together, one of them is missing")
	}
	return nil
}

// Config reads the files. It names no server: who dials adds the host.
func (f Files) Config() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CA != "" {
		text, err := read(f.CA)
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
	cert, err := read(f.Cert)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := read(f.Key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

// most bounds a file, in bytes: those of all authorities of a system are a quarter of it.
const most = 1 << 20

func read(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && len(text) > most {
		err = fmt.Errorf("%s: expected at most %d bytes", name, most)
	}
	return text, err
}

// Parse is redis.ParseURL for a URL that may also name files for TLS:
//
//	rediss://host:port?tls_ca=ca.pem&tls_cert=client.pem&tls_key=client.key
//
// An error names no password.
func Parse(address string) (*redis.Options, error) {
	options, err := parse(address)
	return options, hide(address, err)
}

func parse(address string) (*redis.Options, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	query := u.Query()
	files := TakeFiles(query)
	if err := files.Check(u.Scheme == "rediss"); err != nil {
		return nil, err
	}
	u.RawQuery = query.Encode()
	options, err := redis.ParseURL(u.String())
	if err != nil || files == (Files{}) {
		return options, err
	}
	options.TLSConfig, err = files.Config()
	return options, err
}
