// Package listen serves HTTP at an address that a user named, for as long as a command
// lasts. Without a host that is this machine alone.
package listen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

const (
	headerTimeout = 5 * time.Second
	// closeTimeout is how long answers under way may take still at the end.
	closeTimeout = 2 * time.Second
)

// Check refuses what can never be an address to listen at. Its error is wrong usage, but
// for the name of the flag; example is a port.
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

// Host is that of an address which Check passed, loopback where it names none.
func Host(addr string) string {
	if host, _, err := net.SplitHostPort(addr); err == nil && host != "" {
		return host
	}
	return "127.0.0.1"
}

// Server answers requests until Close.
type Server struct {
	listener net.Listener
	server   *http.Server
	done     chan error
}

// Serve listens at addr, as Check has it. It fails if that cannot be listened at, for example because another process does.
func Serve(ctx context.Context, addr string, handler http.Handler) (*Server, error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(Host(addr), port))
	if err != nil {
		return nil, err
	}
	s := &Server{
		listener: listener,
		server:   &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout},
		done:     make(chan error, 1),
	}
	go func() { s.done <- s.server.Serve(listener) }()
	return s, nil
}

// URL is where the server is, without a path: of one that listens at all addresses, where it is from this machine.
func (s *Server) URL() string {
	at := s.listener.Addr().String()
	if host, port, err := net.SplitHostPort(at); err == nil && net.ParseIP(host).IsUnspecified() {
		at = net.JoinHostPort("127.0.0.1", port)
	}
	return "http://" + at
}

// Close stops listening and lets answers under way end, for a time.
func (s *Server) Close() error {
	ending, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := s.server.Shutdown(ending)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.server.Close() // what still lasts, such as a profile, ends with the command
	}
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
