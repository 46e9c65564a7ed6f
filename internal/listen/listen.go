// Package listen serves HTTP at a user's address, and finds ports that a server can take again.
package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"
)

const (
	headerTimeout = 5 * time.Second
	// closeTimeout bounds the answers that run at the end.
	closeTimeout = 2 * time.Second

	// firstStable to lastStable are below Linux's range for outgoing connections, 32768 to 60999: no connection of another program takes a
	// port while its listener is closed.
	firstStable, lastStable, stableTries = 12_000, 32_000, 100
)

// Server answers requests until Close.
type Server struct {
	listener net.Listener
	server   *http.Server
	done     chan error
	scheme   string
}

// Serve listens at HOST:PORT, with TLS unless config is nil.
func Serve(ctx context.Context, addr string, config *tls.Config, handler http.Handler) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%w; choose another address, or port 0 for a free one", err)
	}
	s := &Server{listener, &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout, TLSConfig: config}, make(chan error, 1), "http"}
	serve := s.server.Serve
	if config != nil {
		s.scheme, serve = "https", func(l net.Listener) error { return s.server.ServeTLS(l, "", "") }
	}
	go func() { s.done <- serve(listener) }()
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

// Stable listens on 127.0.0.1 at a port that a server can listen at again after the listener is closed.
func Stable(ctx context.Context) (l net.Listener, err error) {
	for range stableTries {
		port := firstStable + rand.IntN(lastStable-firstStable)
		if l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("no free port on 127.0.0.1 from %d to %d: %w", firstStable, lastStable, err)
}
