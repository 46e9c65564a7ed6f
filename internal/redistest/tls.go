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

// StartTLS starts a server that takes no client without a certificate, with ca.pem, client.pem and client.key in a
// folder. A plain port is there besides; the address is of the TLS port and names the files.
func StartTLS(ctx context.Context, path, folder string, args ...string) (_ *redis.Server, address string, err error) {
	files := redis.Files{CA: filepath.Join(folder, "ca.pem"), Cert: filepath.Join(folder, "client.pem"), Key: filepath.Join(folder, "client.key")}
	if err := writeCertificate(files); err != nil {
		return nil, "", err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	at := l.Addr().String()
	_, port, _ := net.SplitHostPort(at)
	a, err := redis.ParseAddress("rediss://" + at)
	a.Files = files
	if err = errors.Join(err, l.Close()); err != nil {
		return nil, "", err
	}
	s, err := redis.StartProcess(ctx, path, append(args, "--tls-port", port, "--tls-auth-clients", "yes",
		"--tls-ca-cert-file", files.CA, "--tls-cert-file", files.Cert, "--tls-key-file", files.Key)...)
	return s, a.String(), err
}

// writeCertificate makes one certificate for authority, server and client, good for a day.
func writeCertificate(files redis.Files) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	return errors.Join(err, os.WriteFile(files.CA, certificate, 0o600), os.WriteFile(files.Cert, certificate, 0o600),
		os.WriteFile(files.Key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
}
