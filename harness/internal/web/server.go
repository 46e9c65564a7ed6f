// Package web answers: what is in a browser while a run lasts, and afterwards?
//
// One Server has the page of the run under way, a Live, or the list of stored runs, a Stored. The pages are those of package
// report, and ask nothing but this server.
package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/load"
)

const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second // of a request with its body
	writeTimeout  = 5 * time.Second  // for a browser to read what it is sent
	closeTimeout  = 2 * time.Second
)

// Serve listens at addr, as load.ParseListen has it, until Close. It refuses a request for a host name other than addr's: such a
// request comes from a page of another server whose name leads here. Pages may be nil. Metrics, unless nil, are served under any
// name at /metrics; /healthz answers any name. The door, unless nil, lets agents in.
func Serve(ctx context.Context, addr string, pages, metrics http.Handler, door *load.Door) (*Server, error) {
	at, err := load.ParseListen(addr)
	if err != nil {
		return nil, err
	}
	config, err := at.Load()
	if err != nil {
		return nil, err
	}
	all := http.NewServeMux()
	if pages != nil {
		all.Handle("/", guard(at.Host, pages))
	}
	all.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	if metrics != nil {
		all.Handle("GET /metrics", metrics)
	}
	if door != nil {
		all.Handle("/agent", door)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at.String())
	if err != nil {
		return nil, fmt.Errorf("pages cannot be served at %s: %w; choose another address, or port 0 for a free one", at, err)
	}
	s := &Server{http: http.Server{Handler: all, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout}, url: "http", done: make(chan error, 1)}
	if config != nil {
		s.url, listener = "https", tls.NewListener(listener, config)
	}
	shown := listener.Addr().String()
	if host, port, err := net.SplitHostPort(shown); err == nil && net.ParseIP(host).IsUnspecified() {
		shown = net.JoinHostPort("127.0.0.1", port)
	}
	s.url += "://" + shown + "/"
	go func() { s.done <- s.http.Serve(listener) }()
	return s, nil
}

// Server answers requests until Close.
type Server struct {
	http http.Server
	url  string
	done chan error
}

// URL returns the address of the first page: of a server that listens at all addresses, an address of this machine.
func (s *Server) URL() string { return s.url }

// Close stops listening. Running answers, such as a profile, have 2 s to end.
func (s *Server) Close() error {
	ending, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = s.http.Shutdown(ending)
	err := s.http.Close()
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// guard lets through what a page of this server asks for, and what somebody types.
func guard(own string, pages http.Handler) http.Handler {
	pages = http.NewCrossOriginProtection().Handler(pages)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isHere(r.Host, own) {
			http.Error(w, "this server has another name", http.StatusMisdirectedRequest)
			return
		}
		if r.ContentLength == 0 { // it is read, and the answer may take longer
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		}
		head := w.Header()
		head.Set("Content-Security-Policy", "frame-ancestors 'none'") // of more, each page has its own
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cache-Control", "no-store")
		pages.ServeHTTP(w, r)
	})
}

// isHere reports whether a request's host is an address, this machine, or the server's own
// name.
func isHere(asked, own string) bool {
	host := (&url.URL{Host: asked}).Hostname()
	address, err := netip.ParseAddr(host)
	return err == nil && address.Zone() == "" || strings.EqualFold(host, "localhost") || strings.EqualFold(host, own)
}
