package topology

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// The files of a server with TLS, and of its client.
const (
	caFile        = "ca.pem"
	serverFile    = "server.pem"
	serverKeyFile = "server.key"
	clientFile    = "client.pem"
	clientKeyFile = "client.key"
)

// issuer is a certificate and the key that it signs with.
type issuer struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// writeCertificates makes an authority, a server's certificate for 127.0.0.1 and a client's, all good
// for a day. It writes what server and client need into the folder, and returns what a client does.
func writeCertificates(folder string) (*tls.Config, error) {
	now := time.Now()
	template := func(n int64, name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(n), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
			KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
		}
	}
	ca := template(1, "topologies")
	ca.IsCA, ca.KeyUsage = true, x509.KeyUsageCertSign
	authority, err := issue(ca, nil)
	if err != nil {
		return nil, err
	}
	of := template(2, "server")
	of.IPAddresses, of.ExtKeyUsage = []net.IP{net.IPv4(127, 0, 0, 1)}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	serving, err := issue(of, authority)
	if err != nil {
		return nil, err
	}
	by := template(3, "client")
	by.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	asking, err := issue(by, authority)
	if err != nil {
		return nil, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(serving.key)
	if err != nil {
		return nil, err
	}
	clientKey, err := x509.MarshalPKCS8PrivateKey(asking.key)
	if err != nil {
		return nil, err
	}
	for file, block := range map[string]*pem.Block{
		caFile:        {Type: "CERTIFICATE", Bytes: authority.certificate.Raw},
		serverFile:    {Type: "CERTIFICATE", Bytes: serving.certificate.Raw},
		serverKeyFile: {Type: "PRIVATE KEY", Bytes: key},
		clientFile:    {Type: "CERTIFICATE", Bytes: asking.certificate.Raw},
		clientKeyFile: {Type: "PRIVATE KEY", Bytes: clientKey},
	} {
		if err := os.WriteFile(filepath.Join(folder, file), pem.EncodeToMemory(block), 0o600); err != nil {
			return nil, err
		}
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(authority.certificate)
	return &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: trusted,
		Certificates: []tls.Certificate{{Certificate: [][]byte{asking.certificate.Raw}, PrivateKey: asking.key}},
	}, nil
}

// issue signs a certificate with a new key; by itself where by is nil.
func issue(of *x509.Certificate, by *issuer) (*issuer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	signer := by
	if signer == nil {
		signer = &issuer{of, key}
	}
	raw, err := x509.CreateCertificate(rand.Reader, of, signer.certificate, key.Public(), signer.key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(raw)
	return &issuer{certificate, key}, err
}
