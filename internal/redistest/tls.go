package redistest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/dq-bench/dq-bench/internal/redis"
)

// StartTLS starts a server that accepts only clients with a certificate, and writes ca.pem, client.pem and client.key into a folder.
// The address has the TLS port and names the files. The server has a port without TLS as well.
func StartTLS(ctx context.Context, path, folder string, args ...string) (_ *redis.Server, address string, err error) {
	l, err := redis.Stable(ctx)
	if err != nil {
		return nil, "", err
	}
	at := l.Addr().String()
	a, err := redis.ParseAddress("rediss://" + at)
	files, err1 := WriteCertificate(folder)
	a.Files = files
	if err := errors.Join(err, l.Close(), err1); err != nil {
		return nil, "", err
	}
	_, port, _ := net.SplitHostPort(at)
	s, err := redis.StartProcess(ctx, path, append(args, "--tls-port", port, "--tls-auth-clients", "yes",
		"--tls-ca-cert-file", a.Files.CA, "--tls-cert-file", a.Files.Cert, "--tls-key-file", a.Files.Key)...)
	return s, a.String(), err
}

// WriteCertificate writes one certificate for authority, server and client, on 127.0.0.1 and valid for a day.
func WriteCertificate(folder string) (files redis.Files, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return files, err
	}
	files = redis.Files{CA: filepath.Join(folder, "ca.pem"), Cert: filepath.Join(folder, "client.pem"), Key: filepath.Join(folder, "client.key")}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	certificate, err1 := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	private, err2 := x509.MarshalPKCS8PrivateKey(key)
	write := func(file, kind string, content []byte) error {
		return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600)
	}
	return files, errors.Join(err1, err2, write(files.CA, "CERTIFICATE", certificate), write(files.Cert, "CERTIFICATE", certificate), write(files.Key, "PRIVATE KEY", private))
}
