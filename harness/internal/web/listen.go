package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

const (
	headerTimeout = 5 * time.Second
	// closeTimeout bounds the answers that run at the end.
	closeTimeout = 2 * time.Second
)

// Server answers requests until Close.
type Server struct {
	listener net.Listener
	server   *http.Server
	done     chan error
	scheme   string
}

// serve listens at HOST:PORT, with TLS unless config is nil.
func serve(ctx context.Context, addr string, config *tls.Config, handler http.Handler) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%w; choose another address, or port 0 for a free one", err)
	}
	s := &Server{listener, &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout, TLSConfig: config}, make(chan error, 1), "http"}
	accept := s.server.Serve
	if config != nil {
		s.scheme, accept = "https", func(l net.Listener) error { return s.server.ServeTLS(l, "", "") }
	}
	go func() { s.done <- accept(listener) }()
	return s, nil
}

// URL returns the address of the first page: of a server that listens at all addresses, an address of this machine.
func (s *Server) URL() string {
	at := s.listener.Addr().String()
	if host, port, err := net.SplitHostPort(at); err == nil && net.ParseIP(host).IsUnspecified() {
		at = net.JoinHostPort("127.0.0.1", port)
	}
	return s.scheme + "://" + at + "/"
}

// Close stops listening. Running answers, such as a profile, have 2 s to end.
func (s *Server) Close() error {
	ending, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := s.server.Shutdown(ending)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.server.Close()
	}
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
