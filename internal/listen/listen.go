// Package listen serves HTTP at a user's address, and finds ports that a server can take again.
package listen

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
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

// Check returns an error for text that is no address to listen at; example is a port. A command adds the name of its flag.
func Check(addr string, example int) error {
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("expected HOST:PORT such as 127.0.0.1:%d, or port 0 for a free one, got %q", example, addr)
	}
	return nil
}

// Host returns the host of a checked address; the default is loopback.
func Host(addr string) string {
	if host, _, err := net.SplitHostPort(addr); err == nil && host != "" {
		return host
	}
	return "127.0.0.1"
}

// IsLocal reports whether only this machine reaches an address to listen at.
func IsLocal(addr string) bool {
	host := Host(addr)
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback() || strings.EqualFold(host, "localhost")
}

// Server answers requests until Close.
type Server struct {
	listener net.Listener
	server   *http.Server
	done     chan error
}

// Serve listens at a checked address.
func Serve(ctx context.Context, addr string, handler http.Handler) (*Server, error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(Host(addr), port))
	if err != nil {
		return nil, err
	}
	s := &Server{listener, &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}, make(chan error, 1)}
	go func() { s.done <- s.server.Serve(listener) }()
	return s, nil
}

// URL returns where the first page is. A server that listens at all addresses has the one of this machine.
func (s *Server) URL() string {
	at := s.listener.Addr().String()
	if host, port, err := net.SplitHostPort(at); err == nil && net.ParseIP(host).IsUnspecified() {
		at = net.JoinHostPort("127.0.0.1", port)
	}
	return "http://" + at + "/"
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
